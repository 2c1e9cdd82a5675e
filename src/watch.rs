//! Tells that something in a directory may have changed.
//!
//! The one user of notify. A hint and no more: whoever waits looks for itself after each return. Where the system has
//! no watches left, or the file system tells nothing (a network mount, a container's shared folder), waiting ends at the
//! polling interval, and nothing else is different.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// How often to look where the system tells of changes: it may still miss those made elsewhere.
const WATCHED_INTERVAL: Duration = Duration::from_secs(1);
/// How often to look where it does not.
const POLLED_INTERVAL: Duration = Duration::from_millis(250);

/// Directories that are watched, or polled.
#[derive(Debug)]
pub struct Watch {
    /// Watching ends when it is dropped.
    watcher: Option<RecommendedWatcher>,
    dirs: BTreeSet<PathBuf>,
    /// One that is wanted cannot be watched.
    is_short: bool,
    wake: SyncSender<()>,
    wakes: Receiver<()>,
}

impl Watch {
    /// Never fails: without a watcher there is the polling interval.
    pub fn new(dir: &Path) -> Self {
        let mut watch = Self::unaimed();
        watch.aim(&BTreeSet::from([dir.to_owned()]));
        watch
    }

    /// Watches nothing yet.
    pub fn unaimed() -> Self {
        // One wake is as good as many.
        let (wake, wakes) = sync_channel(1);
        let wakes_waiter = wake.clone();
        let started = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is no change, and a reader must not wake itself.
            let is_change = event.as_ref().is_ok_and(|event| !event.kind.is_access());
            if (is_change || event.is_err()) && wakes_waiter.try_send(()).is_err() {
                tracing::trace!("a wake is on its way already");
            }
        });
        let watcher = started
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
                    tracing::info!(dir = %new.display(), %error, "no watch is to be had; polling");
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
        match self.wakes.recv_timeout(limit.min(interval)) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::ops::ControlFlow;

    use super::*;
    use crate::follow::{Follower, Limits};

    #[test]
    fn appended_lines_are_found_with_and_without_a_watch() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        for (number, watched) in [dir.path(), Path::new("/nowhere/at/all")]
            .into_iter()
            .enumerate()
        {
            let watch = Watch::new(watched);
            assert_eq!(watch.is_watching(), number == 0);
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
