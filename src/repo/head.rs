//! Where HEAD stands, what is in progress, and how far the upstream is.

use gix::head::Kind;
use gix::remote::Direction;
use gix::state::InProgress;

use super::budget::Budget;
use super::error::RepoError;
use crate::continuity::BytePath;
use crate::continuity::snapshot::{Branch, Head, Operation, Upstream};

/// Commits counted on one side at most; beyond it the distance is unknown.
const MAX_DISTANCE: u64 = 10_000;

pub(super) fn head(repo: &gix::Repository) -> Result<Head, RepoError> {
    let head = repo
        .head()
        .map_err(|source| RepoError::Head(Box::new(source)))?;
    let short = |name: &gix::refs::FullName| BytePath::new(name.shorten().to_vec());
    let found = match &head.kind {
        Kind::Symbolic(reference) => Head {
            branch: Some(Branch::Branch(short(&reference.name))),
            commit: head.id().map(|id| id.to_string()),
        },
        Kind::Unborn(name) => Head {
            branch: Some(Branch::Unborn(short(name))),
            commit: None,
        },
        Kind::Detached { target, peeled } => Head {
            branch: Some(Branch::Detached),
            commit: Some(peeled.as_ref().unwrap_or(target).to_string()),
        },
    };
    Ok(found)
}

pub(super) fn operation(repo: &gix::Repository) -> Option<Operation> {
    repo.state().map(|state| match state {
        InProgress::ApplyMailbox => Operation::Am,
        InProgress::ApplyMailboxRebase | InProgress::Rebase | InProgress::RebaseInteractive => {
            Operation::Rebase
        }
        InProgress::CherryPick | InProgress::CherryPickSequence => Operation::CherryPick,
        InProgress::Merge => Operation::Merge,
        InProgress::Bisect => Operation::Bisect,
        InProgress::Revert | InProgress::RevertSequence => Operation::Revert,
    })
}

/// `None` when there is no upstream, it is gone, or it cannot be counted within `budget`.
pub(super) fn upstream(repo: &gix::Repository, budget: Budget<'_>) -> Option<Upstream> {
    let name = repo.head_name().ok()??;
    let tracking = repo
        .branch_remote_tracking_ref_name(name.as_ref(), Direction::Fetch)?
        .ok()?;
    let theirs = repo
        .find_reference(tracking.as_ref())
        .ok()?
        .into_fully_peeled_id()
        .ok()?
        .detach();
    let ours = repo.head_id().ok()?.detach();
    Some(Upstream {
        name: BytePath::new(tracking.shorten().to_vec()),
        ahead: distance(repo, ours, theirs, budget)?,
        behind: distance(repo, theirs, ours, budget)?,
    })
}

/// How many commits `tip` has that `hidden` has not.
fn distance(
    repo: &gix::Repository,
    tip: gix::ObjectId,
    hidden: gix::ObjectId,
    budget: Budget<'_>,
) -> Option<u64> {
    if tip == hidden {
        return Some(0);
    }
    if budget.is_over() {
        return None;
    }
    let mut count = 0;
    for commit in repo.rev_walk([tip]).with_hidden([hidden]).all().ok()? {
        commit.ok()?;
        count += 1;
        if count > MAX_DISTANCE || budget.is_over() {
            return None;
        }
    }
    Some(count)
}
