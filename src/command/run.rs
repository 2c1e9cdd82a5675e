//! `harn run`: hosts a program and returns its exit code.

use std::path::Path;

use super::dispatch::complain;
use crate::cli::RunArgs;
use crate::exit::Exit;
use crate::terminal::{self, HostError, Program};

pub(super) fn run(args: &RunArgs) -> Exit {
    let Some((path, rest)) = args.program.split_first() else {
        return Exit::Usage;
    };
    let program = Program {
        path: Path::new(path),
        args: rest,
        env: &[],
    };
    let error = match terminal::run(&program, &mut |_| {}) {
        Ok(outcome) => return Exit::Program(outcome.code()),
        Err(error) => error,
    };
    let (exit, hint) = match &error {
        HostError::NotFound(_) => (
            Exit::NotFound,
            Some("check the spelling, or give the program's path"),
        ),
        HostError::NotExecutable { .. } => (
            Exit::NotExecutable,
            Some("check the file's permissions and its first line"),
        ),
        HostError::Io { .. } | HostError::LauncherLost => (Exit::Failed, None),
    };
    complain(&error, hint);
    exit
}
