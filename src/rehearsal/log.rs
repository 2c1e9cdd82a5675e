//! Every request a server saw, in order, with what became of it; callers wait on it instead of sleeping.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A step of a conversation, tools offered.
    Main,
    /// The compaction's own request.
    Summary,
    /// The client's small errands, such as a title.
    Side,
    CountTokens,
    Other,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The whole answer was handed to the connection, with this status.
    Done(u16),
    /// The client went away, or the server was stopped, before that.
    Aborted,
}

#[derive(Debug, Clone)]
pub struct Entry {
    /// From 1, in order of arrival over all kinds.
    pub n: usize,
    pub at: SystemTime,
    pub kind: Kind,
    pub method: String,
    pub path: String,
    /// `Null` when there was none, or none that is JSON.
    pub body: Arc<Value>,
    /// `None` while the answer is on its way.
    pub end: Option<End>,
}

/// Shared by the server and its caller.
#[derive(Debug, Default)]
pub struct RequestLog {
    entries: Mutex<Vec<Entry>>,
    changed: Condvar,
}

impl RequestLog {
    pub fn all(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    pub fn of(&self, kind: Kind) -> Vec<Entry> {
        self.lock()
            .iter()
            .filter(|entry| entry.kind == kind)
            .cloned()
            .collect()
    }

    /// Waits until `count` requests of this kind have arrived; `None` when `limit` is over first.
    pub fn wait_for(&self, kind: Kind, count: usize, limit: Duration) -> Option<Vec<Entry>> {
        self.wait_until(limit, |entries| of(entries, kind).count() >= count)
            .map(|entries| of(&entries, kind).cloned().collect())
    }

    /// Waits until `count` requests of this kind have been answered in full.
    pub fn wait_done(&self, kind: Kind, count: usize, limit: Duration) -> Option<Vec<Entry>> {
        let is_done = |entry: &&Entry| matches!(entry.end, Some(End::Done(_)));
        self.wait_until(limit, |entries| {
            of(entries, kind).filter(is_done).count() >= count
        })
        .map(|entries| of(&entries, kind).filter(is_done).cloned().collect())
    }

    /// Waits until the log satisfies `is_met`; `None` when `limit` is over first.
    pub fn wait_until(
        &self,
        limit: Duration,
        is_met: impl Fn(&[Entry]) -> bool,
    ) -> Option<Vec<Entry>> {
        let (entries, waited) = self
            .changed
            .wait_timeout_while(self.lock(), limit, |entries| !is_met(entries))
            .unwrap_or_else(PoisonError::into_inner);
        (!waited.timed_out()).then(|| entries.clone())
    }

    /// Records an arrival; the answer's end is told by what is returned.
    pub(super) fn open(
        self: &Arc<Self>,
        kind: Kind,
        method: String,
        path: String,
        body: Value,
    ) -> Ending {
        let mut entries = self.lock();
        let n = entries.len() + 1;
        entries.push(Entry {
            n,
            at: now(),
            kind,
            method,
            path,
            body: Arc::new(body),
            end: None,
        });
        drop(entries);
        self.changed.notify_all();
        Ending {
            log: Arc::clone(self),
            n,
            end: End::Aborted,
        }
    }

    fn close(&self, n: usize, end: End) {
        if let Some(entry) = self.lock().get_mut(n - 1) {
            entry.end = Some(end);
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of(entries: &[Entry], kind: Kind) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(move |entry| entry.kind == kind)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the arrival of a request is when it is read"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Closes its entry when dropped: aborted, unless `done` was told before.
#[derive(Debug)]
pub(super) struct Ending {
    log: Arc<RequestLog>,
    n: usize,
    end: End,
}

impl Ending {
    pub(super) fn n(&self) -> usize {
        self.n
    }

    pub(super) fn done(&mut self, status: u16) {
        self.end = End::Done(status);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.log.close(self.n, self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(log: &Arc<RequestLog>, kind: Kind) -> Ending {
        log.open(kind, "POST".to_owned(), "/".to_owned(), Value::Null)
    }

    #[test]
    fn an_exchange_is_open_then_done_or_aborted() {
        let log = Arc::new(RequestLog::default());
        let mut first = open(&log, Kind::Main);
        let second = open(&log, Kind::Side);
        assert_eq!(
            log.all().iter().map(|e| (e.n, e.end)).collect::<Vec<_>>(),
            [(1, None), (2, None)]
        );
        first.done(200);
        drop((first, second));
        assert_eq!(
            log.all().iter().map(|e| (e.n, e.end)).collect::<Vec<_>>(),
            [(1, Some(End::Done(200))), (2, Some(End::Aborted))]
        );
    }

    #[test]
    fn waiting_ends_with_the_awaited_request_or_with_the_limit() {
        let log = Arc::new(RequestLog::default());
        assert!(
            log.wait_for(Kind::Summary, 1, Duration::from_millis(1))
                .is_none()
        );
        let remote = Arc::clone(&log);
        let sender = std::thread::spawn(move || open(&remote, Kind::Summary).done(200));
        let seen = log
            .wait_done(Kind::Summary, 1, Duration::from_secs(10))
            .unwrap();
        assert_eq!(seen.iter().map(|e| e.n).collect::<Vec<_>>(), [1]);
        sender.join().unwrap();
    }
}
