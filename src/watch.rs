//! Tells that something in a directory may have changed.
//!
//! The one user of notify. A hint and no more: whoever waits looks for itself after each return. Where the system has
//! no watches left, or the file system tells nothing (a network mount, a container's shared folder), waiting ends at the
//! polling interval, and nothing else is different.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// How often to look where the system tells of changes: it may still miss those made elsewhere.
const WATCHED_INTERVAL: Duration = Duration::from_secs(1);
/// How often to look where it does not.
const POLLED_INTERVAL: Duration = Duration::from_millis(250);

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
        // One wake is as good as many.
        let (wake, wakes) = sync_channel(1);
        let started = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is no change, and a reader must not wake itself.
            let is_change = event.as_ref().is_ok_and(|event| !event.kind.is_access());
            if (is_change || event.is_err()) && wake.try_send(()).is_err() {
                tracing::trace!("a wake is on its way already");
            }
        })
        .and_then(|mut watcher| {
            watcher.watch(dir, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        let watcher = match started {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::info!(dir = %dir.display(), %error, "no watch is to be had; polling");
                None
            }
        };
        Self { watcher, wakes }
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
