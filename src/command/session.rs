//! An open session: its directory, its lock, its state folded up to the newest event.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock;
use super::twice::{self, Mark};

use crate::continuity::{RepoState, State};
use crate::event::{Event, EventBody, EventSource, HarnessId, RunId, SessionId, Timestamp};
use crate::follow::Position;
use crate::repo::{self, Reading};
use crate::store::dir::{DirError, Durability, Lock};
use crate::store::format::Read;
use crate::store::index::{self, Entry};
use crate::store::log::{self, Tail};
use crate::store::{Layout, SessionStore};

/// Of a log, where only a glance is wanted.
const GLANCE_BYTES: u64 = 128 * 1024;

/// What `state.json` holds: the state and how far into the log it goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    session: SessionId,
    adapter: HarnessId,
    run: Option<RunId>,
    log_offset: u64,
    /// How far the harness's own record was read.
    #[serde(default)]
    followed: Option<Position>,
    state: State,
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error(transparent)]
    Store(#[from] DirError),
    #[error("{path} was written by a newer harn (format {version})", path = path.display())]
    Newer { path: PathBuf, version: u32 },
    #[error("{path} belongs to another tool", path = path.display())]
    Foreign { path: PathBuf },
}

/// A session with its lock held.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) store: SessionStore,
    pub(super) state: State,
    pub(super) id: SessionId,
    pub(super) adapter: HarnessId,
    /// The owned run this session belongs to.
    pub(super) run: Option<RunId>,
    pub(super) project: PathBuf,
    /// Lines of the log that could not be read.
    pub(super) damaged_lines: u64,
    pub(super) followed: Option<Position>,
    /// The state file was damaged.
    pub(super) was_rebuilt: bool,
    /// A reading of the repository at this directory that began before the session was open.
    pub(super) reading: RefCell<Option<(PathBuf, Reading)>>,
    tail: Tail,
    /// Held until the session is dropped; a reader holds none.
    lock: Option<Lock>,
}

impl Session {
    /// Opens a session to change it; waits for its lock as long as `patience`.
    pub(super) fn open(
        layout: &Layout,
        entry: &Entry,
        patience: Duration,
    ) -> Result<Self, SessionError> {
        let store = Self::store(layout, entry)?;
        let lock = store.lock(patience)?;
        Self::load(store, entry, Some(lock))
    }

    /// A session's directory alone, for those who write what needs no lock.
    pub(super) fn store(layout: &Layout, entry: &Entry) -> Result<SessionStore, DirError> {
        SessionStore::ensure(&index::ensure_context(layout, entry)?, &entry.session)
    }

    /// Opens a session to look at it.
    pub(super) fn view(layout: &Layout, entry: &Entry) -> Result<Self, SessionError> {
        let store = SessionStore::open(&index::open_context(layout, entry)?, &entry.session)?;
        Self::load(store, entry, None)
    }

    /// `view` for those who look at many: never more than the last part of a log is read, whatever its length.
    ///
    /// What lies between the stored state and that part are tool events and samples alone: all others renew the state.
    pub(super) fn glance(layout: &Layout, entry: &Entry) -> Result<Self, SessionError> {
        let store = SessionStore::open(&index::open_context(layout, entry)?, &entry.session)?;
        let path = store.dir().path().to_owned();
        let mut session = Self::bare(store, entry, None);
        let offset = match session.store.read_state::<Saved>()? {
            Some(Read::Ours(saved)) => session.take(saved),
            Some(Read::Newer(version)) => return Err(SessionError::Newer { path, version }),
            Some(Read::Foreign) => return Err(SessionError::Foreign { path }),
            Some(Read::Damaged(_)) => {
                session.was_rebuilt = true;
                match session.store.read_previous_state::<Saved>() {
                    Ok(Some(Read::Ours(saved))) => session.take(saved),
                    Ok(_) | Err(_) => 0,
                }
            }
            None => 0,
        };
        let near = session.tail.bytes.saturating_sub(GLANCE_BYTES);
        session.fold_from(offset.max(near))?;
        if near > offset {
            // The first line of the part was most likely cut.
            session.damaged_lines = session.damaged_lines.saturating_sub(1);
        }
        Ok(session)
    }

    fn bare(store: SessionStore, entry: &Entry, lock: Option<Lock>) -> Self {
        Self {
            state: State::default(),
            id: entry.session.clone(),
            adapter: entry.adapter.clone(),
            run: None,
            project: entry.project(),
            damaged_lines: 0,
            followed: None,
            was_rebuilt: false,
            reading: RefCell::default(),
            tail: log::tail(store.dir()).unwrap_or_else(|error| {
                tracing::error!(%error, "the event log cannot be read");
                Tail::default()
            }),
            lock,
            store,
        }
    }

    fn load(store: SessionStore, entry: &Entry, lock: Option<Lock>) -> Result<Self, SessionError> {
        let mut session = Self::bare(store, entry, lock);
        let offset = match session.store.read_state::<Saved>()? {
            Some(Read::Ours(saved)) => session.take(saved),
            Some(Read::Newer(version)) => {
                let path = session.store.dir().path().to_owned();
                return Err(SessionError::Newer { path, version });
            }
            Some(Read::Damaged(why)) => {
                tracing::warn!(why, "the state file is damaged; rebuilding it");
                session.was_rebuilt = true;
                if session.lock.is_some() {
                    session.store.quarantine_state()?;
                }
                match session.store.read_previous_state::<Saved>() {
                    Ok(Some(Read::Ours(saved))) => session.take(saved),
                    Ok(_) | Err(_) => 0,
                }
            }
            Some(Read::Foreign) | None => 0,
        };
        if let Err(error) = session.fold_from(offset) {
            tracing::error!(%error, "going on without the newest events");
        }
        let newest = session.store.generations()?.last().copied().unwrap_or(0);
        session.state.generation = session.state.generation.max(newest);
        Ok(session)
    }

    /// Takes a stored state over; gives the place of the log up to which it goes.
    fn take(&mut self, saved: Saved) -> u64 {
        self.state = saved.state;
        self.run = saved.run;
        self.followed = saved.followed;
        // A log that became shorter was replaced; what it told is in the state already.
        saved.log_offset.min(self.tail.bytes)
    }

    fn fold_from(&mut self, mut offset: u64) -> Result<(), DirError> {
        loop {
            let batch = log::read_from(self.store.dir(), offset)?;
            for event in &batch.events {
                self.state.apply(&event.body, event.at);
                if event.run.is_some() {
                    self.run.clone_from(&event.run);
                }
            }
            self.damaged_lines += batch.damaged;
            if batch.next_offset <= offset {
                return Ok(());
            }
            offset = batch.next_offset;
        }
    }

    /// Applies one event and appends it. A log that cannot be written is told and keeps nothing else from happening.
    pub(super) fn record(&mut self, body: EventBody, source: EventSource, at: Timestamp) {
        self.state.apply(&body, at);
        let event = self.event(body, source, at);
        match log::append(self.store.dir(), self.tail, std::slice::from_ref(&event)) {
            Ok(bytes) => {
                self.tail = Tail {
                    bytes,
                    last_seq: event.seq,
                    is_whole: true,
                }
            }
            Err(error) => tracing::error!(%error, seq = event.seq, "an event is not in the log"),
        }
    }

    fn event(&self, body: EventBody, source: EventSource, at: Timestamp) -> Event {
        Event {
            id: uuid::Uuid::now_v7().to_string(),
            seq: self.tail.last_seq + 1,
            at,
            session: self.id.clone(),
            run: self.run.clone(),
            adapter: self.adapter.clone(),
            source,
            body,
        }
    }

    /// Writes the state file.
    pub(super) fn save(&self, how: Durability) -> Result<(), DirError> {
        let saved = Saved {
            session: self.id.clone(),
            adapter: self.adapter.clone(),
            run: self.run.clone(),
            log_offset: self.tail.bytes,
            followed: self.followed,
            state: self.state.clone(),
        };
        self.store.write_state(&saved, how)
    }

    /// Where a capsule lies, for people and for the briefing.
    pub(super) fn capsule_path(&self, generation: u64) -> String {
        self.store.capsule_path(generation).display().to_string()
    }

    /// The repository where the agent stands: what a reading has begun with, else read now.
    pub(super) fn snapshot(&self, limit: Duration) -> RepoState {
        let cwd = self.cwd();
        match self.reading.take() {
            Some((begun, reading)) if begun == cwd => reading.wait(),
            Some(_) | None => repo::snapshot_within(&cwd, limit),
        }
    }

    /// Where the agent stands, as far as it told.
    pub(super) fn cwd(&self) -> PathBuf {
        self.state
            .session
            .cwd
            .as_ref()
            .map_or_else(|| self.project.clone(), PathBuf::from)
    }
}

/// Where and how one event is appended.
pub(super) struct Append<'a> {
    pub(super) layout: &'a Layout,
    pub(super) entry: &'a Entry,
    pub(super) mark: Option<&'a Mark>,
    pub(super) patience: Duration,
    /// Asked with the lock held; false: it is not to be done any more.
    pub(super) begins: &'a dyn Fn() -> bool,
}

/// Appends one event that changes nothing else, unless its call came before: no state is read, none written.
pub(super) fn append_only(order: &Append<'_>, event: Event) -> Result<(), DirError> {
    let (entry, mark) = (order.entry, order.mark);
    let store = SessionStore::ensure(&index::ensure_context(order.layout, entry)?, &entry.session)?;
    let _lock = store.lock(order.patience)?;
    let calls = mark.map(|_| twice::calls(&store)).unwrap_or_default();
    if mark.is_some_and(|mark| mark.is_second(&calls)) || !(order.begins)() {
        return Ok(());
    }
    let tail = log::tail(store.dir())?;
    let event = Event {
        seq: tail.last_seq + 1,
        ..event
    };
    log::append(store.dir(), tail, &[event])?;
    if let Some(mark) = mark {
        mark.note(&calls, &store, clock::now());
    }
    Ok(())
}

/// The sessions of one project that have an index entry.
pub(super) fn of_project(layout: &Layout, project: &Path) -> Result<Vec<Entry>, DirError> {
    let entries = index::entries(layout)?;
    Ok(entries
        .into_iter()
        .filter(|entry| entry.project() == project)
        .collect())
}

/// The events in the last part of a session's log, of so many bytes; none where it cannot be read.
pub(super) fn newest_events(layout: &Layout, entry: &Entry, limit_bytes: u64) -> Vec<Event> {
    let opened = index::open_context(layout, entry)
        .and_then(|context| SessionStore::open(&context, &entry.session));
    let Ok(store) = opened else {
        return Vec::new();
    };
    let end = log::tail(store.dir()).map_or(0, |tail| tail.bytes);
    let mut offset = end.saturating_sub(limit_bytes);
    let mut events = Vec::new();
    while let Ok(batch) = log::read_from(store.dir(), offset) {
        events.extend(batch.events);
        if batch.next_offset <= offset {
            break;
        }
        offset = batch.next_offset;
    }
    events
}
