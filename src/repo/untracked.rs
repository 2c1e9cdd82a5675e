//! Which of the names that the index does not hold are untracked rather than ignored, as git's
//! `normal` mode shows them: a directory is one entry, and only if something in it would be added.

use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::index::State;
use gix::index::entry::Mode;
use gix::worktree::stack::state::ignore::Source;

use super::budget::Budget;
use super::error::RepoError;
use super::open::is_git_entry;

/// Directories nested deeper than this are taken to hold something.
const MAX_DEPTH: usize = 256;

struct Sieve<'a> {
    root: &'a Path,
    excludes: gix::AttributeStack<'a>,
    budget: Budget<'a>,
}

pub(super) fn untracked(
    repo: &gix::Repository,
    index: &State,
    root: &Path,
    strangers: Vec<(BString, bool)>,
    budget: Budget<'_>,
) -> Result<Vec<BString>, RepoError> {
    if strangers.is_empty() {
        return Ok(Vec::new());
    }
    let excludes = repo
        .excludes(index, None, Source::WorktreeThenIdMappingIfNotSkipped)
        .map_err(RepoError::read("ignore files"))?;
    let mut sieve = Sieve {
        root,
        excludes,
        budget,
    };
    let mut found = Vec::new();
    for (path, is_dir) in strangers {
        budget.check()?;
        if sieve.holds(path.as_bstr(), is_dir, 0)? {
            found.push(path);
        }
    }
    Ok(found)
}

impl Sieve<'_> {
    /// Whether `git add` of this path would add anything. A directory's path ends in `/`.
    fn holds(&mut self, path: &BStr, is_dir: bool, depth: usize) -> Result<bool, RepoError> {
        let mode = if is_dir { Mode::DIR } else { Mode::FILE };
        let bare = path.strip_suffix(b"/").unwrap_or(path).as_bstr();
        let is_ignored = self
            .excludes
            .at_entry(bare, Some(mode))
            .map_err(RepoError::read("ignore files"))?
            .is_excluded();
        if is_ignored {
            return Ok(false);
        }
        let full = self.root.join(std::ffi::OsStr::from_bytes(bare));
        if !is_dir || depth >= MAX_DEPTH || is_git_entry(&full.join(".git")) {
            return Ok(true);
        }
        // A directory that cannot be listed is not shown, as in git.
        let Ok(listing) = fs::read_dir(&full) else {
            return Ok(false);
        };
        for found in listing.flatten() {
            self.budget.check()?;
            let Ok(kind) = found.file_type() else {
                continue;
            };
            let name = found.file_name().into_vec();
            if name == b".git" || !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
                continue;
            }
            let mut below = path.to_owned();
            below.extend_from_slice(&name);
            if kind.is_dir() {
                below.push(b'/');
            }
            if self.holds(below.as_bstr(), kind.is_dir(), depth + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
