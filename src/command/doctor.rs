//! `harn doctor --terminal`: puts a terminal right that something left broken.

use anyhow::Context as _;

use crate::cli::DoctorArgs;
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    if args.terminal {
        terminal::reset().context("cannot reset the terminal")?;
    }
    Ok(Exit::Ok)
}
