//! How hosting ended, and why it could not begin.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

/// The program's own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Exited(u8),
    Signaled(u8),
}

impl Outcome {
    /// The status as a shell shows it: the program's code, or 128 + the signal that ended it.
    pub fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => signal.saturating_add(128),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("{}: not found", .0.display())]
    NotFound(PathBuf),
    #[error("{}: cannot be executed: {}", program.display(), describe(*.errno))]
    NotExecutable { program: PathBuf, errno: Errno },
    #[error("{step}: {source}")]
    Io {
        step: &'static str,
        source: io::Error,
    },
    #[error("the launcher ended before the program did")]
    LauncherLost,
}

impl HostError {
    /// For `map_err`: names what was being done.
    pub(super) fn at<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Io {
            step,
            source: source.into(),
        }
    }
}

fn describe(errno: Errno) -> &'static str {
    // The file is there, so what is missing is what its first line names.
    if errno == Errno::ENOENT {
        "its interpreter is missing"
    } else {
        errno.desc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_a_signal_is_128_more() {
        assert_eq!(
            (Outcome::Exited(37).code(), Outcome::Signaled(15).code()),
            (37, 143)
        );
    }
}
