//! Exit codes: the list scripts rely on. `harn run` returns its program's own codes besides these.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok,
    /// harn failed.
    Failed,
    /// Not done, for a reason that is not a failure.
    NotDone,
    /// Something was begun, and nothing proves how it ended.
    Unconfirmed,
    /// Wrong command line.
    Usage,
    /// Data that cannot be used.
    BadData,
    /// A bug in harn.
    Internal,
    /// The program to run is there but cannot be executed.
    NotExecutable,
    /// There is no such program to run.
    NotFound,
    /// What the hosted program returned.
    Program(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::NotDone => 3,
            Self::Unconfirmed => 4,
            Self::Usage => 64,
            Self::BadData => 65,
            Self::Internal => 70,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Program(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
