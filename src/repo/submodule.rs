//! What differs in the submodules that are checked out, each read as a repository of its own.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use gix::bstr::BString;
use gix::index::State;
use gix::submodule::config::Ignore;

use super::budget::Budget;
use super::dirty::Found;
use super::error::RepoError;
use super::open::{is_git_entry, open};
use super::read::Source;
use crate::continuity::snapshot::{Change, Submodule};

/// Submodules within submodules are followed this far.
pub(super) const MAX_DEPTH: usize = 8;

pub(super) fn submodules(
    source: &Source<'_>,
    index: &State,
    positions: &[usize],
    found: &mut Found,
) -> Result<(), RepoError> {
    if positions.is_empty() {
        return Ok(());
    }
    let ignored = ignored(source.repo);
    let general = source
        .repo
        .config_snapshot()
        .string("diff.ignoreSubmodules");
    let general = general.and_then(|it| Ignore::try_from(it.as_ref()).ok());
    for entry in positions.iter().filter_map(|at| index.entries().get(*at)) {
        let path = entry.path(index);
        let ignore = ignored
            .get(path)
            .copied()
            .flatten()
            .or(general)
            .unwrap_or(Ignore::None);
        let root = source.root.join(std::ffi::OsStr::from_bytes(path));
        if matches!(ignore, Ignore::All) || !is_git_entry(&root.join(".git")) {
            continue;
        }
        match difference(&root, entry.id, ignore, source.budget, source.depth) {
            Ok(None) => {}
            Ok(Some(difference)) => found.submodule(path, difference),
            Err(RepoError::TimedOut) => return Err(RepoError::TimedOut),
            Err(_) => found.unstaged(path, Change::Unknown),
        }
    }
    Ok(())
}

fn ignored(repo: &gix::Repository) -> HashMap<BString, Option<Ignore>> {
    let submodules = repo.submodules().ok().flatten().into_iter().flatten();
    submodules
        .filter_map(|it| Some((it.path().ok()?, it.ignore().ok().flatten())))
        .collect()
}

fn difference(
    root: &Path,
    recorded: gix::ObjectId,
    ignore: Ignore,
    budget: Budget<'_>,
    depth: usize,
) -> Result<Option<Submodule>, RepoError> {
    // gix's own trust and path rules compare resolved roots.
    let root = std::fs::canonicalize(root).map_err(|source| RepoError::Worktree {
        path: root.to_path_buf(),
        source,
    })?;
    let repo = open(&root)?;
    let commit = repo.head_id().is_ok_and(|id| id != recorded);
    let mut difference = Submodule {
        commit,
        modified: false,
        untracked: false,
    };
    if !matches!(ignore, Ignore::Dirty) && depth < MAX_DEPTH {
        let source = Source {
            repo: &repo,
            root: &root,
            budget,
            depth: depth + 1,
        };
        let inside = source.find()?;
        difference.modified = inside.has_tracked();
        difference.untracked = inside.has_untracked() && !matches!(ignore, Ignore::Untracked);
    }
    Ok((difference != Submodule::default()).then_some(difference))
}
