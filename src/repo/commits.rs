//! The newest commits of a branch, by first parents.

use std::path::Path;

use super::error::RepoError;
use super::open::{self, Place};
use crate::event::Timestamp;

/// One commit, as the orientation report shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    pub at: Timestamp,
    /// First line of the message, whatever bytes it held made printable.
    pub summary: String,
}

/// At most `count` commits from HEAD back; none on a branch without a commit. `None` outside a repository.
pub fn recent_commits(cwd: &Path, count: usize) -> Result<Option<Vec<Commit>>, RepoError> {
    let root = match open::find(cwd) {
        None => return Ok(None),
        Some(Place::Bare) => return Err(RepoError::Bare),
        Some(Place::Worktree(root)) => root,
    };
    let repo = open::open(&root)?;
    let mut commits = Vec::new();
    let head = repo
        .head()
        .map_err(|error| RepoError::Head(Box::new(error)))?;
    let mut next = head.id().map(gix::Id::detach);
    while let Some(id) = next.filter(|_| commits.len() < count) {
        let fail = |error| RepoError::Read {
            what: "a commit",
            source: Box::new(error),
        };
        let commit = repo
            .find_object(id)
            .map_err(fail)?
            .try_into_commit()
            .map_err(fail)?;
        let seconds = commit.time().map_err(fail)?.seconds;
        let message = commit.message_raw().map_err(fail)?;
        let line = message
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        commits.push(Commit {
            id: id.to_string(),
            at: Timestamp::from_unix_ms(seconds.saturating_mul(1_000)),
            summary: crate::continuity::byte_path::printable(line),
        });
        next = commit.parent_ids().next().map(gix::Id::detach);
    }
    Ok(Some(commits))
}
