//! One walk over the worktree: each directory that holds tracked files is listed once, its tracked
//! files are compared by their stats, its other names become candidates.
//!
//! No file is opened here. Directories are shared out among threads when there are many files.

use std::fs::{self, DirEntry, Metadata};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use gix::bstr::{BString, ByteSlice as _};
use gix::index::entry::{Flags, Mode, Stat, stat};
use gix::index::{Entry, State};

use super::budget::Budget;
use super::error::RepoError;

/// A directory with fewer tracked files below it is walked by the thread that met it.
const TASK_FILES: usize = 256;
/// Fewer tracked files than this are not worth a second thread.
const PARALLEL_FILES: usize = 2_000;
const MAX_THREADS: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) stat: stat::Options,
    pub(super) fs: gix::fs::Capabilities,
    /// `core.sparseCheckout`: a file that is there in spite of its skip-worktree bit counts.
    pub(super) is_sparse: bool,
}

/// What the stats alone say of a tracked path that is not plainly clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    Deleted,
    TypeChanged,
    ModeChanged,
    /// Other stats, or too young to be trusted: its content must tell.
    Touched(u64),
    IntentToAdd,
    Unreadable,
}

#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Index entries by position.
    pub(super) suspects: Vec<(usize, Suspect)>,
    /// Submodules that have a directory.
    pub(super) submodules: Vec<usize>,
    /// Names the index does not hold, and whether each is a directory.
    pub(super) strangers: Vec<(BString, bool)>,
}

#[derive(Debug)]
struct Task {
    /// Empty, or ending in `/`.
    dir: BString,
    entries: Range<usize>,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: Vec<Task>,
    busy: usize,
    failure: Option<RepoError>,
}

#[derive(Debug)]
pub(super) struct Walk<'a> {
    root: &'a Path,
    index: &'a State,
    settings: Settings,
    budget: Budget<'a>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct File<'i> {
    name: &'i [u8],
    at: usize,
    is_seen: bool,
}

struct Dir<'i> {
    name: &'i [u8],
    entries: Range<usize>,
    is_seen: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        root: &'a Path,
        index: &'a State,
        settings: Settings,
        budget: Budget<'a>,
    ) -> Self {
        let first = Task {
            dir: BString::default(),
            entries: 0..index.entries().len(),
        };
        let queue = Mutex::new(Queue {
            tasks: vec![first],
            ..Queue::default()
        });
        Self {
            root,
            index,
            settings,
            budget,
            queue,
            changed: Condvar::new(),
        }
    }

    /// Walks, while `meanwhile` runs on the calling thread before it joins in.
    pub(super) fn run<T>(
        &self,
        meanwhile: impl FnOnce() -> Result<T, RepoError>,
    ) -> Result<(Outcome, T), RepoError> {
        let threads = if self.index.entries().len() < PARALLEL_FILES {
            1
        } else {
            std::thread::available_parallelism()
                .map_or(1, usize::from)
                .min(MAX_THREADS)
        };
        let (mut outcome, others, value) = std::thread::scope(|scope| {
            let spawned: Vec<_> = (1..threads).map(|_| scope.spawn(|| self.work())).collect();
            let value = meanwhile();
            let mine = self.work();
            let others: Vec<_> = spawned
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect();
            (mine, others, value)
        });
        if let Some(failure) = self.lock().failure.take() {
            return Err(failure);
        }
        for other in others {
            match other {
                Ok(other) => {
                    outcome.suspects.extend(other.suspects);
                    outcome.submodules.extend(other.submodules);
                    outcome.strangers.extend(other.strangers);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        outcome.submodules.sort_unstable();
        outcome.suspects.sort_unstable_by_key(|(at, _)| *at);
        outcome.strangers.sort_unstable();
        Ok((outcome, value?))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> Outcome {
        let mut outcome = Outcome::default();
        let mut queue = self.lock();
        loop {
            if queue.failure.is_some() || (queue.tasks.is_empty() && queue.busy == 0) {
                self.changed.notify_all();
                return outcome;
            }
            let Some(task) = queue.tasks.pop() else {
                queue = self
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            queue.busy += 1;
            drop(queue);
            let mut more = Vec::new();
            let result = self.directory(task, &mut outcome, &mut more);
            queue = self.lock();
            queue.busy -= 1;
            queue.tasks.append(&mut more);
            if let Err(failure) = result {
                queue.failure.get_or_insert(failure);
            }
            if queue.tasks.len() > 1 || queue.busy == 0 {
                self.changed.notify_all();
            }
        }
    }

    fn directory(
        &self,
        task: Task,
        outcome: &mut Outcome,
        more: &mut Vec<Task>,
    ) -> Result<(), RepoError> {
        self.budget.check()?;
        let path = self.root.join(std::ffi::OsStr::from_bytes(&task.dir));
        let (mut files, mut dirs) = self.children(&task);
        let listing = match fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(error) => {
                return self.unlisted(task, outcome, error);
            }
        };
        for found in listing {
            let found = found.map_err(|source| RepoError::Worktree {
                path: path.clone(),
                source,
            })?;
            self.name(&task.dir, &found, (&mut files, &mut dirs), outcome);
        }
        for file in files.iter().filter(|file| !file.is_seen) {
            self.unseen(
                file.at,
                &path.join(std::ffi::OsStr::from_bytes(file.name)),
                outcome,
            );
        }
        for dir in dirs {
            if !dir.is_seen {
                self.all_deleted(dir.entries, outcome);
                continue;
            }
            let mut below = task.dir.clone();
            below.extend_from_slice(dir.name);
            below.push(b'/');
            if self
                .entry(dir.entries.start)
                .is_some_and(|it| it.mode.is_sparse())
            {
                outcome
                    .suspects
                    .push((dir.entries.start, Suspect::Unreadable));
                continue;
            }
            let task = Task {
                dir: below,
                entries: dir.entries,
            };
            if task.entries.len() >= TASK_FILES {
                more.push(task);
            } else {
                self.directory(task, outcome, more)?;
            }
        }
        Ok(())
    }

    fn entry(&self, at: usize) -> Option<&'a Entry> {
        self.index.entries().get(at)
    }

    /// The files and directories that the index holds directly in a directory, each in order.
    fn children(&self, task: &Task) -> (Vec<File<'a>>, Vec<Dir<'a>>) {
        let backing = self.index.path_backing();
        let (mut files, mut dirs): (Vec<File<'a>>, Vec<Dir<'a>>) = (Vec::new(), Vec::new());
        let entries = self.index.entries();
        let mut at = task.entries.start;
        while at < task.entries.end {
            let Some(entry) = entries.get(at) else { break };
            let path: &[u8] = entry.path_in(backing);
            let rest = path.get(task.dir.len()..).unwrap_or_default();
            if let Some(slash) = rest.find_byte(b'/') {
                let stem = path.get(..=task.dir.len() + slash).unwrap_or_default();
                let tail = entries.get(at..task.entries.end).unwrap_or_default();
                let below = tail
                    .partition_point(|it| it.path_in(backing).starts_with(stem))
                    .max(1);
                let name = rest.get(..slash).unwrap_or_default();
                dirs.push(Dir {
                    name,
                    entries: at..at + below,
                    is_seen: false,
                });
                at += below;
            } else {
                if files.last().is_none_or(|last| last.name != rest) {
                    files.push(File {
                        name: rest,
                        at,
                        is_seen: false,
                    });
                }
                at += 1;
            }
        }
        (files, dirs)
    }

    fn name(
        &self,
        dir: &BString,
        found: &DirEntry,
        (files, dirs): (&mut [File<'a>], &mut [Dir<'a>]),
        outcome: &mut Outcome,
    ) {
        let mut name = found.file_name().into_vec();
        if self.settings.fs.precompose_unicode && !name.is_ascii() {
            let text = BString::from(std::mem::take(&mut name));
            let composed = gix::utils::str::precompose_bstr(std::borrow::Cow::Owned(text));
            name = Vec::from(composed.into_owned());
        }
        let fold = self.settings.fs.ignore_case;
        if name == b".git" || (fold && name.eq_ignore_ascii_case(b".git")) {
            return;
        }
        let Ok(kind) = found.file_type() else { return };
        if let Some(file) = find(files, &name, fold, |it| it.name, b"") {
            // A directory in place of a file: git tells only that the file is gone.
            if !kind.is_dir() || self.is_submodule(file.at) {
                file.is_seen = true;
                self.tracked(file.at, || found.metadata(), outcome);
            }
            return;
        }
        if kind.is_dir()
            && let Some(dir) = find(dirs, &name, fold, |it| it.name, b"/")
        {
            dir.is_seen = true;
            return;
        }
        if kind.is_dir() || kind.is_file() || kind.is_symlink() {
            let mut path = dir.clone();
            path.extend_from_slice(&name);
            if kind.is_dir() {
                path.push(b'/');
            }
            outcome.strangers.push((path, kind.is_dir()));
        }
    }

    fn is_submodule(&self, at: usize) -> bool {
        self.entry(at).is_some_and(|it| it.mode.is_submodule())
    }

    fn tracked(
        &self,
        at: usize,
        metadata: impl FnOnce() -> std::io::Result<Metadata>,
        outcome: &mut Outcome,
    ) {
        let Some(entry) = self.entry(at) else { return };
        if is_trusted(entry, self.settings.is_sparse) {
            return;
        }
        let suspect = match metadata() {
            Ok(_) if entry.mode.is_submodule() => {
                outcome.submodules.push(at);
                return;
            }
            Ok(metadata) => self.compare(entry, &metadata),
            Err(error) => Some(absent(&error)),
        };
        outcome
            .suspects
            .extend(suspect.map(|suspect| (at, suspect)));
    }

    fn compare(&self, entry: &Entry, metadata: &Metadata) -> Option<Suspect> {
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            return Some(Suspect::IntentToAdd);
        }
        let kind = metadata.file_type();
        let is_link = entry.mode == Mode::SYMLINK;
        if kind.is_dir() {
            return Some(Suspect::Deleted);
        }
        // Without symlinks a link is checked out as a file that holds its target.
        let as_expected = if is_link {
            kind.is_symlink() || (kind.is_file() && !self.settings.fs.symlink)
        } else {
            kind.is_file()
        };
        if !as_expected {
            return Some(Suspect::TypeChanged);
        }
        let is_executable = metadata.mode() & 0o100 != 0;
        if !is_link
            && self.settings.fs.executable_bit
            && is_executable != (entry.mode == Mode::FILE_EXECUTABLE)
        {
            return Some(Suspect::ModeChanged);
        }
        let now = stat_of(metadata);
        let is_same = now.matches(&entry.stat, self.settings.stat)
            && !entry
                .stat
                .is_racy(self.index.timestamp(), self.settings.stat);
        (!is_same).then_some(Suspect::Touched(metadata.len()))
    }

    /// The listing did not show it; on a file system that folds names it may be there all the same.
    fn unseen(&self, at: usize, path: &Path, outcome: &mut Outcome) {
        let Some(entry) = self.entry(at) else { return };
        if is_trusted(entry, false) {
            return;
        }
        if self.settings.fs.ignore_case || self.settings.fs.precompose_unicode {
            self.tracked(at, || fs::symlink_metadata(path), outcome);
        } else {
            outcome.suspects.push((at, Suspect::Deleted));
        }
    }

    fn all_deleted(&self, entries: Range<usize>, outcome: &mut Outcome) {
        for at in entries {
            if self
                .entry(at)
                .is_some_and(|it| !is_trusted(it, false) && !it.mode.is_sparse())
            {
                outcome.suspects.push((at, Suspect::Deleted));
            }
        }
    }

    /// A directory that vanished holds nothing; one that may not be listed may still be looked into.
    fn unlisted(
        &self,
        task: Task,
        outcome: &mut Outcome,
        error: std::io::Error,
    ) -> Result<(), RepoError> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        if task.dir.is_empty() {
            return Err(RepoError::Worktree {
                path: PathBuf::from(self.root),
                source: error,
            });
        }
        if matches!(error.kind(), NotFound | NotADirectory) {
            self.all_deleted(task.entries, outcome);
            return Ok(());
        }
        for at in task.entries {
            let Some(entry) = self.entry(at) else { break };
            let name = std::ffi::OsStr::from_bytes(entry.path_in(self.index.path_backing()));
            self.tracked(at, || fs::symlink_metadata(self.root.join(name)), outcome);
        }
        Ok(())
    }
}

fn find<'l, T>(
    list: &'l mut [T],
    name: &[u8],
    fold: bool,
    name_of: impl Fn(&T) -> &[u8],
    end: &[u8],
) -> Option<&'l mut T> {
    // Directories are ordered as if their names ended in a slash, as the index orders paths.
    let order = |it: &T| name_of(it).iter().chain(end).cmp(name.iter().chain(end));
    match list.binary_search_by(order) {
        Ok(at) => list.get_mut(at),
        Err(_) if fold => list
            .iter_mut()
            .find(|it| name_of(it).eq_ignore_ascii_case(name)),
        Err(_) => None,
    }
}

/// Entries that the user told git not to look at, and conflicts, which are told by their stages.
fn is_trusted(entry: &Entry, looks_at_skipped: bool) -> bool {
    entry.flags.contains(Flags::ASSUME_VALID)
        || (entry.flags.contains(Flags::SKIP_WORKTREE) && !looks_at_skipped)
        || entry.stage_raw() != 0
}

fn absent(error: &std::io::Error) -> Suspect {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    if matches!(error.kind(), NotFound | NotADirectory) {
        Suspect::Deleted
    } else {
        Suspect::Unreadable
    }
}

fn stat_of(metadata: &Metadata) -> Stat {
    // The index stores the low 32 bits of each.
    let low = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default();
    let time = |secs: i64, nanos: i64| stat::Time {
        secs: u32::try_from(secs).unwrap_or_default(),
        nsecs: u32::try_from(nanos).unwrap_or_default(),
    };
    Stat {
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        dev: low(metadata.dev()),
        ino: low(metadata.ino()),
        uid: metadata.uid(),
        gid: metadata.gid(),
        size: low(metadata.len()),
    }
}
