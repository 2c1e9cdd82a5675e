//! How long a reading of the repository takes as a whole process, beside `git status` in the same
//! run: `cargo bench --bench checkpoint`. The bound is 1.25 times git's time and 3 ms.
//!
//! This program starts itself with `--reading <directory>` for the measured process.

#[path = "support/scratch.rs"]
mod scratch;
mod support;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};
use harn::continuity::RepoState;
use scratch::Scratch;
use support::timing::{Contestant, medians, millis};

const SIZES: [usize; 2] = [5_000, 50_000];
const DIRTY: [usize; 3] = [0, 10, 1_000];
const ROUNDS: usize = 21;

fn main() -> Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(first) if first == "--reading" => {
            let dir = args.next().context("--reading needs a directory")?;
            let state = harn::repo::snapshot_within(Path::new(&dir), Duration::from_secs(30));
            let is_known = matches!(state, RepoState::Known(_));
            Ok(if is_known {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Some(first) if first == "--nothing" => Ok(ExitCode::SUCCESS),
        _ => table(),
    }
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn table() -> Result<ExitCode> {
    println!(
        "{:>7} {:>6} {:>9} {:>9} {:>9} {:>6}  bound",
        "files", "dirty", "start ms", "git ms", "harn ms", "ratio"
    );
    let mut all_within = true;
    for files in SIZES {
        let scratch = Scratch::new(files)?;
        for dirty in DIRTY {
            scratch.dirty(dirty)?;
            let mut contestants = [
                Contestant {
                    name: "start",
                    command: myself("--nothing", scratch.root())?,
                    input: None,
                },
                Contestant {
                    name: "git",
                    command: scratch.status(),
                    input: None,
                },
                Contestant {
                    name: "harn",
                    command: myself("--reading", scratch.root())?,
                    input: None,
                },
            ];
            let times = medians(&mut contestants, ROUNDS)?;
            let [start, git, harn] = times.as_slice() else {
                continue;
            };
            let (start, git, harn) = (millis(*start), millis(*git), millis(*harn));
            let is_within = harn <= git * 1.25 + 3.0;
            all_within &= is_within;
            let bound = if is_within { "met" } else { "MISSED" };
            println!(
                "{files:>7} {dirty:>6} {start:>9.1} {git:>9.1} {harn:>9.1} {:>6.2}  {bound}",
                harn / git
            );
        }
    }
    Ok(if all_within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn myself(what: &str, dir: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(what).arg(dir);
    Ok(command)
}
