//! One reading of a repository, within a deadline.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use gix::bstr::BStr;
use gix::index::State;

use super::budget::{Budget, now};
use super::content::{Comparer, fingerprint};
use super::dirty::Found;
use super::error::RepoError;
use super::open::{self, Place};
use super::walk::{Outcome, Settings, Suspect, Walk};
use super::{head, rename, staged, submodule, untracked};
use crate::continuity::snapshot::{Change, Conflict, Dirty, DirtyList};
use crate::continuity::{BytePath, RepoSnapshot, RepoState};

/// Percent of the time after which each nicety is dropped: the upstream's distance, fingerprints,
/// renames by likeness. The facts themselves may use what remains.
const UPSTREAM_SHARE: u32 = 90;
const FINGERPRINT_SHARE: u32 = 75;
const RENAME_SHARE: u32 = 50;
/// Of the caller's time, so that an answer cut short still arrives in it.
const READER_SHARE: u32 = 90;

/// A worktree, and what limits a reading of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) repo: &'a gix::Repository,
    pub(super) root: &'a Path,
    pub(super) budget: Budget<'a>,
    pub(super) depth: usize,
}

/// Reads the repository that holds `cwd`, on this thread, until `allowed` is over or `interrupt`
/// is set. When time runs out after HEAD was read, only the dirty paths are unknown.
pub fn snapshot(cwd: &Path, allowed: Duration, interrupt: &AtomicBool) -> RepoState {
    let budget = Budget::new(allowed, interrupt);
    let root = match open::find(cwd) {
        None => return RepoState::NotARepository,
        Some(Place::Bare) => {
            return RepoState::Failed {
                reason: RepoError::Bare.reason(),
            };
        }
        Some(Place::Worktree(root)) => root,
    };
    match known(&root, budget) {
        Ok(snapshot) => RepoState::Known(Box::new(snapshot)),
        Err(RepoError::TimedOut) => RepoState::TimedOut,
        Err(error) => RepoState::Failed {
            reason: error.reason(),
        },
    }
}

/// A reading on a thread of its own, which is left to itself when the file system does not answer in time.
#[derive(Debug)]
pub struct Reading {
    deadline: Instant,
    interrupt: Arc<AtomicBool>,
    state: Result<mpsc::Receiver<RepoState>, String>,
}

impl Reading {
    /// Begins to read the repository that holds `cwd`.
    pub fn begin(cwd: &Path, allowed: Duration) -> Self {
        let interrupt = Arc::new(AtomicBool::new(false));
        let (state_tx, state_rx) = mpsc::sync_channel(1);
        let (cwd, seen) = (cwd.to_path_buf(), Arc::clone(&interrupt));
        let reader = std::thread::Builder::new()
            .name("harn-repo".to_owned())
            .spawn(move || {
                let state = snapshot(&cwd, allowed / 100 * READER_SHARE, &seen);
                // Nobody waits any more: the answer came too late, and that has been reported.
                drop(state_tx.send(state));
            });
        Self {
            deadline: now() + allowed,
            interrupt,
            state: reader
                .map(|_| state_rx)
                .map_err(|error| format!("start the reading thread: {error}")),
        }
    }

    /// What was read, at the latest when the time is over.
    pub fn wait(self) -> RepoState {
        let state = match self.state {
            Ok(state) => state,
            Err(reason) => return RepoState::Failed { reason },
        };
        match state.recv_timeout(self.deadline.saturating_duration_since(now())) {
            Ok(state) => state,
            Err(RecvTimeoutError::Timeout) => {
                self.interrupt.store(true, Ordering::Relaxed);
                RepoState::TimedOut
            }
            Err(RecvTimeoutError::Disconnected) => RepoState::Failed {
                reason: "the reading thread died".to_owned(),
            },
        }
    }
}

/// Like [`snapshot`], but returns in time even when the file system does not answer.
pub fn snapshot_within(cwd: &Path, allowed: Duration) -> RepoState {
    Reading::begin(cwd, allowed).wait()
}

/// Whether the index of the worktree at `root` holds `prefix` or anything below it.
pub fn is_tracked(root: &Path, prefix: &Path) -> Result<bool, RepoError> {
    let root = std::fs::canonicalize(root).map_err(|source| RepoError::Worktree {
        path: root.to_path_buf(),
        source,
    })?;
    let repo = open::open(&root)?;
    let index = index(&repo)?;
    let path = BytePath::from(prefix);
    let path = path.as_bytes();
    let entries = index.prefixed_entries(BStr::new(path)).unwrap_or_default();
    Ok(entries.iter().any(|it| {
        let rest = it.path(&index).get(path.len()..).unwrap_or_default();
        rest.is_empty() || rest.starts_with(b"/")
    }))
}

fn known(root: &Path, budget: Budget<'_>) -> Result<RepoSnapshot, RepoError> {
    let repo = open::open(root)?;
    let common_dir = repo.common_dir();
    let common_dir = std::fs::canonicalize(common_dir).map_err(|source| RepoError::Worktree {
        path: common_dir.to_path_buf(),
        source,
    })?;
    let linked = repo.worktree().is_some_and(|it| !it.is_main());
    let superproject = open::superproject(root, &common_dir);
    let head = head::head(&repo)?;
    let source = Source {
        repo: &repo,
        root,
        budget,
        depth: 0,
    };
    let dirty = match source.find() {
        Ok(found) => {
            let mut list: DirtyList = found.into_list();
            fingerprint(root, &mut list, budget.share(FINGERPRINT_SHARE));
            Dirty::Known(list)
        }
        Err(error) => Dirty::Unknown {
            reason: error.reason(),
        },
    };
    Ok(RepoSnapshot {
        root: BytePath::from(root),
        common_dir: BytePath::from(common_dir.as_path()),
        linked,
        superproject: superproject.map(|it| BytePath::from(it.as_path())),
        operation: head::operation(&repo),
        upstream: head::upstream(&repo, budget.share(UPSTREAM_SHARE)),
        head,
        dirty,
    })
}

/// The checksum over the whole index is not verified (git does not either); its structure is.
fn index(repo: &gix::Repository) -> Result<gix::index::File, RepoError> {
    let options = gix::index::decode::Options::default();
    let read =
        || gix::index::File::at_or_default(repo.index_path(), repo.object_hash(), true, options);
    // A split index is two files: a writer may have replaced both between our two reads.
    read()
        .or_else(|_| read())
        .map_err(|source| RepoError::Index(Box::new(source)))
}

impl Source<'_> {
    /// Everything that differs between HEAD, index and worktree.
    pub(super) fn find(&self) -> Result<Found, RepoError> {
        let Self {
            repo, root, budget, ..
        } = *self;
        budget.check()?;
        let index = index(repo)?;
        let tree = match repo
            .head()
            .map_err(|source| RepoError::Head(Box::new(source)))?
        {
            head if head.is_unborn() => None,
            _ => Some(
                repo.head_tree_id()
                    .map_err(RepoError::read("HEAD's tree"))?
                    .detach(),
            ),
        };
        let walk = Walk::new(root, &index, self.settings()?, budget);
        let (outcome, mut staged) = walk.run(|| staged::staged(repo, tree, &index, budget))?;

        let mut found = Found::default();
        conflicts(&index, &mut found);
        let renames = if self.finds_renames() {
            rename::renames(repo, &mut staged, budget.share(RENAME_SHARE))
        } else {
            Vec::new()
        };
        for it in &staged.deleted {
            found.staged(it.path.as_ref(), Change::Deleted);
        }
        for it in &staged.added {
            found.staged(it.path.as_ref(), Change::Added);
        }
        for (path, change) in &staged.changed {
            found.staged(path.as_ref(), *change);
        }
        for (from, to) in &renames {
            found.renamed(from.path.as_ref(), to.path.as_ref());
        }
        self.worktree(&index, outcome, &mut found)?;
        Ok(found)
    }

    fn worktree(
        &self,
        index: &State,
        outcome: Outcome,
        found: &mut Found,
    ) -> Result<(), RepoError> {
        let mut comparer = None;
        for (at, suspect) in outcome.suspects {
            let Some(entry) = index.entries().get(at) else {
                continue;
            };
            let path = entry.path(index);
            let change = match suspect {
                Suspect::Deleted => Change::Deleted,
                Suspect::TypeChanged => Change::TypeChanged,
                Suspect::ModeChanged => Change::Modified,
                Suspect::IntentToAdd => Change::Added,
                Suspect::Unreadable => Change::Unknown,
                Suspect::Touched(size) => {
                    self.budget.check()?;
                    let comparer = match &mut comparer {
                        Some(comparer) => comparer,
                        None => comparer.insert(Comparer::new(self.repo, index, self.root)?),
                    };
                    comparer.change(entry, size, self.budget)
                }
            };
            if change != Change::Unchanged {
                found.unstaged(path, change);
            }
        }
        submodule::submodules(self, index, &outcome.submodules, found)?;
        for path in
            untracked::untracked(self.repo, index, self.root, outcome.strangers, self.budget)?
        {
            found.untracked(path);
        }
        Ok(())
    }

    fn settings(&self) -> Result<Settings, RepoError> {
        let read = RepoError::read;
        Ok(Settings {
            stat: self.repo.stat_options().map_err(read("stat settings"))?,
            fs: self
                .repo
                .filesystem_options()
                .map_err(read("file system settings"))?,
            is_sparse: self
                .repo
                .config_snapshot()
                .boolean("core.sparseCheckout")
                .unwrap_or(false),
        })
    }

    fn finds_renames(&self) -> bool {
        let config = self.repo.config_snapshot();
        let is_off = |key: &str| {
            config
                .string(key)
                .map(|_| config.boolean(key) == Some(false))
        };
        !is_off("status.renames")
            .or_else(|| is_off("diff.renames"))
            .unwrap_or(false)
    }
}

fn conflicts(index: &State, found: &mut Found) {
    let mut stages = std::collections::BTreeMap::<&BStr, u8>::new();
    for entry in index.entries().iter().filter(|it| it.stage_raw() != 0) {
        *stages.entry(entry.path(index)).or_default() |= 1 << entry.stage_raw();
    }
    for (path, stages) in stages {
        // Bits: 1 base, 2 ours, 3 theirs.
        let conflict = match (stages & 2 != 0, stages & 4 != 0, stages & 8 != 0) {
            (true, false, false) => Conflict::BothDeleted,
            (false, true, false) => Conflict::AddedByUs,
            (true, true, false) => Conflict::DeletedByThem,
            (false, false, true) => Conflict::AddedByThem,
            (true, false, true) => Conflict::DeletedByUs,
            (false, true, true) => Conflict::BothAdded,
            (_, _, _) => Conflict::BothModified,
        };
        found.conflict(path, conflict);
    }
}
