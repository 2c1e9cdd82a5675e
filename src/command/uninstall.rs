//! `harn uninstall <adapter>`: takes out of the harness's files what `install` put there.

use super::install::{Desk, explain, refuse};
use super::installed::{How, report};
use super::sheet::{Plan, SheetError};
use crate::adapter::site::Scope;
use crate::cli::UninstallArgs;
use crate::exit::Exit;
use crate::install::{self, Format, Parts};

pub(super) fn run(args: &UninstallArgs) -> anyhow::Result<Exit> {
    let desk = match Desk::new(&args.adapter, args.scope)? {
        Ok(desk) => desk,
        Err(unfit) => return Ok(explain(&unfit)),
    };
    let plans = match plans(&desk, args) {
        Ok(plans) => plans,
        Err(error) => return Ok(refuse(&error)),
    };
    let how = if args.dry_run { How::Shown } else { How::Done };
    report(&desk, &plans, &[], how, args.json)
}

fn plans(desk: &Desk, args: &UninstallArgs) -> Result<Vec<Plan>, SheetError> {
    let is_everything = !args.statusline && !args.keys;
    let mut plans = Vec::new();
    if is_everything || args.statusline {
        let adapter = desk.adapter();
        for (format, sheet) in desk.all_sheets()? {
            let refused = |refusal| sheet.refused(refusal);
            let parts = Parts {
                hooks: is_everything,
                status_line: true,
            };
            let text = &sheet.text;
            let spots = sheet.spots();
            let stripped = install::strip(format, text, adapter, parts, spots).map_err(refused)?;
            let hooks = install::hooks_in(format, &stripped, adapter).map_err(refused)?;
            let has_line = format == Format::Json
                && install::has_status_line(&stripped, adapter).map_err(refused)?;
            let is_all = hooks.is_empty() && !has_line;
            plans.push(sheet.uninstall(&stripped, is_all));
        }
    }
    if (args.keys || (is_everything && desk.scope == Scope::User))
        && let Some(sheet) = desk.keys()?
    {
        let stripped = install::strip_keys(&sheet.text, sheet.spots());
        let stripped = stripped.map_err(|refusal| sheet.refused(refusal))?;
        plans.push(sheet.uninstall(&stripped, true));
    }
    Ok(plans)
}
