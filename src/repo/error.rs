//! What can fail while a repository is read, and the one line that says so.

use std::error::Error as _;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    #[error("open {path}")]
    Open {
        path: PathBuf,
        source: Box<gix::Error>,
    },
    #[error("the repository has no worktree (bare)")]
    Bare,
    #[error("references are stored as {0}, which harn does not read")]
    RefStorage(String),
    #[error("core.worktree names another directory")]
    ForeignWorktree,
    #[error("read HEAD")]
    Head(#[source] Box<gix::Error>),
    #[error("read the index")]
    Index(#[source] Box<gix::Error>),
    #[error("read {what}")]
    Read {
        what: &'static str,
        source: Box<gix::Error>,
    },
    #[error("read {path}")]
    Worktree {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("timed out")]
    TimedOut,
}

impl RepoError {
    pub(super) fn read(what: &'static str) -> impl FnOnce(gix::Error) -> Self {
        move |source| Self::Read {
            what,
            source: Box::new(source),
        }
    }

    /// The whole chain on one line.
    pub fn reason(&self) -> String {
        let mut reason = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !reason.ends_with(&text) {
                reason.push_str(": ");
                reason.push_str(&text);
            }
            cause = error.source();
        }
        reason.replace('\n', " ")
    }
}
