//! `harn doctor`: is everything wired, trusted, firing and writable; `--terminal` puts a terminal right that something left
//! broken.

use anyhow::Context as _;

use serde::Serialize;

use super::checkup::{self, Finding, Level};
use super::dispatch::{say, say_json};
use super::place;
use crate::cli::DoctorArgs;
use crate::event::SCHEMA;
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    if args.terminal {
        terminal::reset().context("cannot reset the terminal")?;
        return Ok(Exit::Ok);
    }
    let cwd = std::env::current_dir().context("cannot tell the current directory")?;
    let findings = checkup::all(&place::project_at(&cwd)).0;
    let ok = findings.iter().all(|it| it.level != Level::Wrong);
    if args.json {
        say_json(&ReportWire {
            schema: SCHEMA,
            findings: &findings,
            ok,
        })?;
    } else {
        let lines: Vec<String> = findings.iter().map(line).collect();
        say(&lines.join("\n"))?;
    }
    Ok(if ok { Exit::Ok } else { Exit::Failed })
}

#[derive(Serialize)]
struct ReportWire<'a> {
    schema: u32,
    findings: &'a [Finding],
    ok: bool,
}

fn line(finding: &Finding) -> String {
    let word = match finding.level {
        Level::Ok => "ok",
        Level::Warn => "warn",
        Level::Wrong => "WRONG",
    };
    let hint = finding.hint.as_ref();
    let hint = hint.map_or_else(String::new, |hint| format!("\n       hint: {hint}"));
    format!("{word:<6} {}: {}{hint}", finding.check, finding.what)
}
