//! What is hosted, and the choice between a PTY and none.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;

use super::host::{self, Observer};
use super::keyboard::Desk;
use super::outcome::{HostError, Outcome};
use super::overlay::Overlay;
use super::{direct, tty};

/// The program, its arguments, and what differs in its environment (`None` takes a variable out).
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    pub path: &'a Path,
    pub args: &'a [OsString],
    pub env: &'a [(OsString, Option<OsString>)],
}

/// Hosts the program to its end: in a PTY when there is a user at a terminal, else with harn's own descriptors.
///
/// Through `desk` others on harn's side may type.
///
/// `observer` is called on the thread of the byte path, after the bytes were passed on, and must never wait. One that
/// panics is not called again; the program goes on.
///
/// Other threads of the process must have all signals blocked, so that a stop stops this thread before it goes on. Signals
/// that end a process reach the program while this runs, and harn again afterwards.
pub fn run(
    program: &Program<'_>,
    overlay: Option<Overlay>,
    desk: Option<Desk>,
    observer: &mut Observer<'_>,
) -> Result<Outcome, HostError> {
    if tty::is_present() {
        host::run(program, overlay, desk, observer)
    } else {
        direct::run(program, observer)
    }
}

impl Program<'_> {
    pub(super) fn apply_env(&self, command: &mut Command) {
        for (name, value) in self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Why exec failed: no such program, or one that cannot run.
    pub(super) fn exec_error(&self, errno: Errno) -> HostError {
        let program = self.path.to_owned();
        let is_search = [Errno::ENOENT, Errno::ENOTDIR, Errno::EACCES].contains(&errno);
        if is_search && !self.is_somewhere() {
            HostError::NotFound(program)
        } else {
            HostError::NotExecutable { program, errno }
        }
    }

    /// Whether there is a file of this name, by path or on PATH.
    fn is_somewhere(&self) -> bool {
        if self.path.as_os_str().as_bytes().contains(&b'/') {
            return self.path.symlink_metadata().is_ok();
        }
        let dirs = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&dirs).any(|dir| dir.join(self.path).symlink_metadata().is_ok())
    }
}
