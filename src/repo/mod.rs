//! The one user of gix: reads a repository into a [`RepoState`](crate::continuity::RepoState).
//!
//! Strictly a reader (but for `create`, which makes harn's own scratch repositories). It takes no lock, writes nothing (the index's cached stats stay stale rather
//! than refreshed), runs no program, and reads no `GIT_*` variable. gix opens the repository, its
//! configuration, references, objects, index, ignore and attribute files; the comparison itself is
//! ours, in one walk over the worktree, so that it has a deadline and never meets a filter.

mod budget;
mod commits;
mod content;
mod create;
mod dirty;
mod error;
mod head;
mod open;
mod read;
mod rename;
mod staged;
mod submodule;
mod untracked;
mod walk;

pub use commits::{Commit, recent_commits};
pub use create::create;
pub use error::RepoError;
pub use open::{branch, head, worktree_root};
pub use read::{Reading, is_tracked, snapshot, snapshot_within};
