//! Tells that something in a directory may have changed.
//!
//! The one user of notify. A hint and no more: whoever waits looks for itself after each return. Where the system has
//! no watches left, or the file system tells nothing (a network mount, a container's shared folder), waiting ends at the
//! polling interval, and nothing else is different.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// How often to look where the system tells of changes: it may still miss those made elsewhere.
const WATCHED_INTERVAL: Duration = Duration::from_secs(1);
/// How often to look where it does not.
const POLLED_INTERVAL: Duration = Duration::from_millis(250);

/// Called with what happened, on a thread of the watcher's.
type Handler = Box<dyn Fn(notify::Result<notify::Event>) + Send>;

/// Somebody is told of changes until this is dropped.
#[derive(Debug)]
pub struct Bell {
    watcher: Option<RecommendedWatcher>,
}

impl Bell {
    /// Rings when the file of this path may have changed. Never fails: without a watcher it never rings, and whoever rests on
    /// it has to look by themselves as well.
    pub fn on_file(path: &Path, ring: impl Fn() + Send + 'static) -> Self {
        Self::made(path, ring, notify::recommended_watcher)
    }

    /// The same with another maker of watchers.
    fn made(
        path: &Path,
        ring: impl Fn() + Send + 'static,
        make: impl FnOnce(Handler) -> notify::Result<RecommendedWatcher>,
    ) -> Self {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name().map(OsString::from)) else {
            return Self { watcher: None };
        };
        let handler: Handler = Box::new(move |event| {
            let is_about = |event: &notify::Event| {
                event.need_rescan()
                    || event
                        .paths
                        .iter()
                        .any(|path| path.file_name() == Some(&name))
            };
            if is_change(&event) && event.as_ref().map_or(true, is_about) {
                ring();
            }
        });
        Self {
            watcher: start(dir, handler, make),
        }
    }

    /// Whether the system tells of changes.
    pub fn is_watching(&self) -> bool {
        self.watcher.is_some()
    }
}

/// Reading is no change, and a reader must not wake itself.
fn is_change(event: &notify::Result<notify::Event>) -> bool {
    event.as_ref().map_or(true, |event| !event.kind.is_access())
}

fn start(
    dir: &Path,
    handler: Handler,
    make: impl FnOnce(Handler) -> notify::Result<RecommendedWatcher>,
) -> Option<RecommendedWatcher> {
    let started = make(handler).and_then(|mut watcher| {
        watcher.watch(dir, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    started
        .inspect_err(|error| {
            tracing::info!(dir = %dir.display(), %error, "no watch is to be had; polling");
        })
        .ok()
}

/// A directory that is watched, or polled.
#[derive(Debug)]
pub struct Watch {
    /// Watching ends when it is dropped.
    watcher: Option<RecommendedWatcher>,
    wakes: Receiver<()>,
}

impl Watch {
    /// Never fails: without a watcher there is the polling interval.
    pub fn new(dir: &Path) -> Self {
        Self::made(dir, notify::recommended_watcher)
    }

    fn made(dir: &Path, make: impl FnOnce(Handler) -> notify::Result<RecommendedWatcher>) -> Self {
        // One wake is as good as many.
        let (wake, wakes) = sync_channel(1);
        let handler: Handler = Box::new(move |event| {
            if is_change(&event) && wake.try_send(()).is_err() {
                tracing::trace!("a wake is on its way already");
            }
        });
        Self {
            watcher: start(dir, handler, make),
            wakes,
        }
    }

    /// Whether the system tells of changes.
    pub fn is_watching(&self) -> bool {
        self.watcher.is_some()
    }

    /// Returns when something may have changed, at the latest after `limit` or the interval.
    pub fn wait(&self, limit: Duration) {
        let interval = if self.watcher.is_some() {
            WATCHED_INTERVAL
        } else {
            POLLED_INTERVAL
        };
        match self.wakes.recv_timeout(limit.min(interval)) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            // No watcher holds the other end.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(limit.min(interval)),
        }
    }
}

/// Directories that are watched, or polled; which ones may change.
#[derive(Debug)]
pub struct Several {
    watcher: Option<RecommendedWatcher>,
    dirs: BTreeSet<PathBuf>,
    /// One that is wanted cannot be watched.
    is_short: bool,
    wake: SyncSender<()>,
    wakes: Receiver<()>,
}

impl Several {
    /// Watches nothing yet. Never fails: without a watcher there is the polling interval.
    pub fn new() -> Self {
        Self::made(notify::recommended_watcher)
    }

    /// Where the system tells of no changes.
    pub fn untold() -> Self {
        Self::made(|_| Err(notify::Error::generic("not asked")))
    }

    fn made(make: impl FnOnce(Handler) -> notify::Result<RecommendedWatcher>) -> Self {
        let (wake, wakes) = sync_channel(1);
        let told = wake.clone();
        let handler: Handler = Box::new(move |event| {
            if is_change(&event) && told.try_send(()).is_err() {
                tracing::trace!("a wake is on its way already");
            }
        });
        let watcher = make(handler)
            .inspect_err(|error| tracing::info!(%error, "no watch is to be had; polling"))
            .ok();
        Self {
            watcher,
            dirs: BTreeSet::new(),
            is_short: false,
            wake,
            wakes,
        }
    }

    /// From now on these directories, and no others.
    pub fn aim(&mut self, dirs: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        for gone in self.dirs.difference(dirs) {
            if let Err(error) = watcher.unwatch(gone) {
                tracing::debug!(dir = %gone.display(), %error, "not watched any more");
            }
        }
        let mut held: BTreeSet<PathBuf> = self.dirs.intersection(dirs).cloned().collect();
        for new in dirs.difference(&self.dirs) {
            match watcher.watch(new, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    held.insert(new.clone());
                }
                Err(error) => {
                    tracing::debug!(dir = %new.display(), %error, "no watch is to be had; polling");
                }
            }
        }
        self.is_short = held.len() < dirs.len();
        self.dirs = held;
    }

    /// Ends a wait from elsewhere.
    pub fn waker(&self) -> SyncSender<()> {
        self.wake.clone()
    }

    /// Whether the system tells of changes in all of them.
    pub fn is_watching(&self) -> bool {
        self.watcher.is_some() && !self.is_short
    }

    /// Returns when something may have changed, at the latest after `limit` or the interval; whether it was told so.
    pub fn wait(&self, limit: Duration) -> bool {
        let interval = if self.is_watching() {
            WATCHED_INTERVAL
        } else {
            POLLED_INTERVAL
        };
        self.wakes.recv_timeout(limit.min(interval)).is_ok()
    }
}

impl Default for Several {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::ops::ControlFlow;

    use super::*;
    use crate::follow::{Follower, Limits};

    /// What a system answers whose watches are used up.
    fn no_space(_handler: Handler) -> notify::Result<RecommendedWatcher> {
        Err(notify::Error::io(std::io::Error::from(
            std::io::ErrorKind::StorageFull,
        )))
    }

    #[test]
    fn bell_rings_for_its_own_file_and_is_silent_without_a_watcher() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("t"), dir.path().join("other"));
        let (ring, rings) = sync_channel(64);
        let sender = ring.clone();
        let bell = Bell::on_file(&path, move || sender.try_send("t").unwrap_or_default());
        assert!(bell.is_watching());
        let second = Bell::on_file(&other, move || ring.try_send("other").unwrap_or_default());
        std::fs::File::create(&other).unwrap();
        assert_eq!(rings.recv_timeout(Duration::from_secs(10)), Ok("other"));
        std::fs::File::create(&path).unwrap();
        while rings.recv_timeout(Duration::from_secs(10)).unwrap() != "t" {}
        drop((bell, second));
        assert!(!Bell::made(&path, || {}, no_space).is_watching());
        assert!(!Bell::on_file(Path::new("/nowhere/at/all"), || {}).is_watching());
    }

    #[test]
    fn several_without_a_watcher_are_waited_for_no_longer_than_the_interval() {
        let dir = tempfile::tempdir().unwrap();
        let all = BTreeSet::from([dir.path().to_owned()]);
        let mut told = Several::new();
        told.aim(&all);
        assert!(told.is_watching());
        std::fs::File::create(dir.path().join("f")).unwrap();
        assert!((0..10).any(|_| told.wait(Duration::from_secs(10))));
        // One that cannot be watched makes all of them polled.
        told.aim(&BTreeSet::from([dir.path().join("missing")]));
        for mut several in [told, Several::made(no_space), Several::untold()] {
            several.aim(&BTreeSet::from([dir.path().join("missing")]));
            assert!(!several.is_watching());
            // A longer wait would not end within the limit of any test.
            while several.wait(Duration::from_hours(1)) {}
        }
    }

    #[test]
    fn appended_lines_are_found_with_and_without_a_watch() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        let watches = [
            (Watch::new(dir.path()), true),
            (Watch::new(Path::new("/nowhere/at/all")), false),
            (Watch::made(dir.path(), no_space), false),
        ];
        for (watch, is_watching) in watches {
            assert_eq!(watch.is_watching(), is_watching);
            let mut file = std::fs::File::create(&path).unwrap();
            let mut follower = Follower::new(&path, Limits::PATIENT, None);
            follower
                .poll(&mut |_, _| ControlFlow::Continue(()))
                .unwrap();
            file.write_all(b"line\n").unwrap();
            let mut seen = 0;
            for _ in 0..40 {
                watch.wait(Duration::from_millis(500));
                seen += follower
                    .poll(&mut |_, _| ControlFlow::Continue(()))
                    .unwrap()
                    .lines;
                if seen > 0 {
                    break;
                }
            }
            assert_eq!(seen, 1);
        }
    }
}
