//! Follows an owned run's session and keeps the overlay up to date: a thread beside the byte path that may wait for the disk.
//!
//! Facts come from the event log, read by offset, and the meter's from the harness's own record as well, of which the system
//! tells when it grows; where it has no watch to give, the record is looked at every five seconds. It looks once a second
//! while the terminal is busy, once a minute while something on show grows older, and not at all otherwise. The host tells
//! it what happens through a bounded queue and never waits; nothing depends on it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::run::{Run, RunDir};
use super::status::{self, Facts, HOOKS_PATIENCE_MS, Hooks};
use crate::adapter::report::LatestReport;
use crate::continuity::State;
use crate::continuity::capsule::Capsule;
use crate::continuity::snapshot::{Head, RepoState};
use crate::event::{Event, EventBody, HarnessId, RunId, SessionId, Timestamp};
use crate::repo;
use crate::store::dir::DirError;
use crate::store::index;
use crate::store::{Layout, SessionStore, log};
use crate::telemetry::{Fact, Meter};
use crate::terminal::overlay::{Line, Notice, Part, Poster, Tone};
use crate::terminal::{Action, spawn_deaf};
use crate::watch::Bell;

/// Between two looks while the terminal is busy.
const BUSY: Duration = Duration::from_secs(1);
/// Between two looks at a record of whose growth the system does not tell, while the terminal is quiet.
const UNTOLD: Duration = Duration::from_secs(5);
/// Looks that follow the last output: a turn's last event comes after its last frame.
const LINGER: u32 = 5;
/// Looks between two readings of HEAD when no event has come.
const LOOKS_A_HEAD: u32 = 15;
/// Messages that may wait.
const QUEUE: usize = 16;

/// What a run is, for its follower.
#[derive(Debug)]
pub struct Followed {
    pub layout: Layout,
    pub run: RunId,
    pub adapter: HarnessId,
    pub started_at: Timestamp,
    pub has_hooks: bool,
    /// Set where the harness asks before it runs hooks, and where a record of the run tells when that was not answered;
    /// what a person does about it.
    pub trust_hint: Option<String>,
    /// What the client says of itself in its output, where it does.
    pub agent: Option<Arc<LatestReport>>,
    pub project: PathBuf,
    /// Somebody else answers the compact key.
    pub takes_requests: bool,
}

/// How the follower reaches the rest of harn.
#[expect(missing_debug_implementations, reason = "holds closures")]
pub struct Means {
    pub now: fn() -> Timestamp,
    /// Saves a checkpoint of this session, and says in one line how it went.
    pub checkpoint: Box<dyn Fn(&SessionId) -> String + Send>,
    /// What the harness's own record has gained since the last call; none while there is none.
    pub record: RecordReader,
}

type RecordReader = Box<dyn FnMut(Whose<'_>) -> Option<Gained> + Send>;

/// Whose record is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    Session(&'a SessionId),
    /// A run for which no hook speaks.
    Silent(&'a Run),
}

/// News of a harness's own record.
#[derive(Debug)]
pub struct Gained {
    pub path: PathBuf,
    pub facts: Vec<Fact>,
}

enum Message {
    Stirred,
    Asked(Action),
}

/// The host's end.
#[derive(Debug)]
pub struct Follower {
    /// The one strong handle: the thread goes when it goes.
    sign: Arc<Sign>,
}

/// What host and follower tell each other without a message.
#[derive(Debug, Default)]
struct Signs {
    /// Set by the host with each output.
    is_busy: AtomicBool,
    /// Set by the follower when it needs a message to look again.
    is_asleep: AtomicBool,
}

/// How the follower is told that there may be something to see.
#[derive(Debug)]
struct Sign {
    messages: SyncSender<Message>,
    signs: Arc<Signs>,
}

impl Sign {
    fn stir(&self) {
        self.signs.is_busy.store(true, Ordering::Relaxed);
        if self.signs.is_asleep.load(Ordering::Relaxed)
            && self.signs.is_asleep.swap(false, Ordering::Relaxed)
            && self.messages.try_send(Message::Stirred).is_err()
        {
            tracing::trace!("follower not woken");
        }
    }
}

impl Follower {
    /// Starts the thread. It goes when this end does, and keeps nothing waiting.
    pub fn start(followed: Followed, means: Means, poster: Poster) -> std::io::Result<Self> {
        let (messages, received) = sync_channel(QUEUE);
        let signs = Arc::new(Signs::default());
        let sign = Arc::new(Sign {
            messages,
            signs: Arc::clone(&signs),
        });
        let mut watch = Watch {
            followed,
            means,
            poster,
            signs: Arc::clone(&signs),
            session: None,
            silent: None,
            is_deaf: false,
            head: None,
            looks_since_head: 0,
            sign: Arc::downgrade(&sign),
            bell: None,
        };
        spawn_deaf("follower", move || watch.run(&received))?;
        Ok(Self { sign })
    }

    /// The terminal is busy.
    pub fn stir(&self) {
        self.sign.stir();
    }

    pub fn ask(&self, action: Action) {
        if self.sign.messages.try_send(Message::Asked(action)).is_err() {
            tracing::debug!("follower does not listen");
        }
    }
}

struct Watch {
    followed: Followed,
    means: Means,
    poster: Poster,
    signs: Arc<Signs>,
    session: Option<Session>,
    /// A run whose hooks do not speak.
    silent: Option<Silent>,
    /// A turn went by without any hook.
    is_deaf: bool,
    head: Option<Head>,
    looks_since_head: u32,
    sign: Weak<Sign>,
    /// The record that is watched.
    bell: Option<(PathBuf, Bell)>,
}

/// What is known of a run without its hooks.
struct Silent {
    run: Run,
    meter: Meter,
}

/// The session that speaks for the run.
struct Session {
    id: SessionId,
    store: SessionStore,
    offset: u64,
    state: State,
    saved_head: Option<(u64, Option<Head>)>,
}

impl Watch {
    fn run(&mut self, messages: &Receiver<Message>) {
        let mut looks = LINGER;
        loop {
            if let Err(error) = self.look() {
                tracing::debug!(%error, "session not read");
            }
            self.read_record();
            self.post();
            let wait = if looks > 0 {
                Some(BUSY)
            } else {
                let is_told = self
                    .bell
                    .as_ref()
                    .is_none_or(|(_, bell)| bell.is_watching());
                quiet_wait(self.next_change(), is_told)
            };
            self.signs.is_asleep.store(looks == 0, Ordering::Relaxed);
            let received = match wait {
                Some(wait) => messages.recv_timeout(wait),
                None => messages
                    .recv()
                    .map_err(|_closed| RecvTimeoutError::Disconnected),
            };
            match received {
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(Message::Stirred) => looks = LINGER,
                Ok(Message::Asked(action)) => {
                    looks = LINGER;
                    self.answer(action);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let was_busy = self.signs.is_busy.swap(false, Ordering::Relaxed);
                    looks = if was_busy {
                        LINGER
                    } else {
                        looks.saturating_sub(1)
                    };
                }
            }
        }
    }

    /// Takes what the log has gained.
    fn look(&mut self) -> Result<(), DirError> {
        let Some(run) = RunDir::open(&self.followed.layout, &self.followed.run)? else {
            return Ok(());
        };
        let Some(speaker) = run.speaker()? else {
            self.is_deaf = run.sight()?.is_some();
            if self.silent.is_none() && (self.is_deaf || !self.followed.has_hooks) {
                // Its client is in the record by now: a turn was seen.
                self.silent = run
                    .read()?
                    .filter(|run| run.client.is_some())
                    .map(|run| Silent {
                        run,
                        meter: Meter::default(),
                    });
            }
            return Ok(());
        };
        self.silent = None;
        if self
            .session
            .as_ref()
            .is_none_or(|session| session.id != speaker.session)
        {
            self.session = open(&self.followed.layout, &speaker.session)?;
        }
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        loop {
            let batch = log::read_from(session.store.dir(), session.offset)?;
            if !batch.events.is_empty() {
                self.looks_since_head = 0;
            }
            for event in &batch.events {
                session.apply(event);
            }
            if batch.next_offset <= session.offset {
                return Ok(());
            }
            session.offset = batch.next_offset;
        }
    }

    /// Reads the harness's own record, which grows between two hooks as well.
    fn read_record(&mut self) {
        let (whose, meter) = match (&mut self.session, &mut self.silent) {
            (Some(session), _) => (Whose::Session(&session.id), &mut session.state.context),
            (None, Some(Silent { run, meter })) => (Whose::Silent(run), meter),
            (None, None) => return,
        };
        let Some(gained) = (self.means.record)(whose) else {
            return;
        };
        let is_other = self
            .bell
            .as_ref()
            .is_none_or(|(watched, _)| *watched != gained.path);
        if is_other && matches!(whose, Whose::Silent(_)) {
            *meter = Meter::default();
        }
        let now = (self.means.now)();
        for fact in &gained.facts {
            meter.take(fact, now);
        }
        if is_other {
            let sign = Weak::clone(&self.sign);
            let ring = move || {
                if let Some(sign) = sign.upgrade() {
                    sign.stir();
                }
            };
            let bell = Bell::on_file(&gained.path, ring);
            self.bell = Some((gained.path, bell));
        }
    }

    fn post(&mut self) {
        let now = (self.means.now)();
        if self.looks_since_head == 0 {
            self.head = repo::head(&self.followed.project);
        }
        self.looks_since_head = (self.looks_since_head + 1) % LOOKS_A_HEAD;
        if let Some(session) = &mut self.session {
            session.read_saved_head();
        }
        let saved = self
            .session
            .as_ref()
            .and_then(|session| session.saved_head.as_ref());
        let facts = Facts {
            adapter: &self.followed.adapter,
            hooks: self.hooks(now),
            state: self.session.as_ref().map(|session| &session.state),
            meter: self.silent.as_ref().map(|silent| &silent.meter),
            agent: self.followed.agent.as_ref().and_then(|agent| agent.get()),
            head: self.head.as_ref(),
            saved_head: saved.and_then(|(_, head)| head.as_ref()),
            now,
        };
        self.poster.post(Notice::Status(status::line(&facts)));
    }

    fn hooks(&self, now: Timestamp) -> Hooks<'_> {
        match (&self.session, self.followed.has_hooks) {
            (Some(_), _) => Hooks::Seen,
            (None, false) => Hooks::Off,
            (None, true) => match &self.followed.trust_hint {
                Some(hint) if self.is_deaf => Hooks::Refused(hint),
                // Such a harness may speak as late as at the first prompt.
                Some(_) => Hooks::Silent { for_ms: 0 },
                None => Hooks::Silent {
                    for_ms: now.ms_since(self.followed.started_at),
                },
            },
        }
    }

    /// How long what is shown stays true by itself.
    fn next_change(&self) -> Option<Duration> {
        let now = (self.means.now)();
        let Some(session) = &self.session else {
            let waited = now.ms_since(self.followed.started_at);
            let is_timed = self.followed.has_hooks && self.followed.trust_hint.is_none();
            let is_waiting = is_timed && waited < HOOKS_PATIENCE_MS;
            return is_waiting.then(|| Duration::from_millis(HOOKS_PATIENCE_MS - waited));
        };
        let age = now.ms_since(session.state.capsule.as_ref()?.at);
        let unit = if age < 3_600_000 { 60_000 } else { 3_600_000 };
        Some(Duration::from_millis(unit - age % unit))
    }

    fn answer(&self, action: Action) {
        let text = match action {
            Action::Toggle | Action::Help => return,
            Action::Compact if self.followed.takes_requests => return,
            Action::Compact => {
                "compact: not in this run; type the harness's own command".to_owned()
            }
            Action::Note => match &self.session {
                Some(session) => format!(
                    "in another terminal: harn note --session {} 'TEXT'",
                    session.id
                ),
                None => "no session yet; later: harn note 'TEXT'".to_owned(),
            },
            Action::Checkpoint => match &self.session {
                Some(session) => (self.means.checkpoint)(&session.id),
                None => "no checkpoint: no session has been seen yet".to_owned(),
            },
        };
        let line = Line(vec![Part::new(text, Tone::Strong, 0)]);
        self.poster.post(Notice::Message(line));
    }
}

/// How long nobody needs to look; none: until there is a message.
fn quiet_wait(next_change: Option<Duration>, is_told: bool) -> Option<Duration> {
    let untold = (!is_told).then_some(UNTOLD);
    next_change.into_iter().chain(untold).min()
}

impl Session {
    /// Folds an event. A sample that is older than what was read of the record meanwhile is no news.
    fn apply(&mut self, event: &Event) {
        if let EventBody::ContextSampled(sample) = &event.body
            && self
                .state
                .context
                .current
                .as_ref()
                .is_some_and(|current| current.at > sample.at)
        {
            return;
        }
        self.state.apply(&event.body, event.at);
    }

    fn read_saved_head(&mut self) {
        let generation = self
            .state
            .capsule
            .as_ref()
            .map(|capsule| capsule.generation);
        let known = self.saved_head.as_ref().map(|(generation, _)| *generation);
        if generation == known {
            return;
        }
        self.saved_head = generation.map(|generation| (generation, self.head_of(generation)));
    }

    fn head_of(&self, generation: u64) -> Option<Head> {
        let bytes = self.store.read_capsule(generation).ok()??;
        let capsule: Capsule = serde_json::from_slice(&bytes).ok()?;
        match capsule.repo {
            RepoState::Known(snapshot) => Some(snapshot.head),
            RepoState::NotARepository | RepoState::TimedOut | RepoState::Failed { .. } => None,
        }
    }
}

fn open(layout: &Layout, id: &SessionId) -> Result<Option<Session>, DirError> {
    let Some(entry) = index::find(layout, id)? else {
        return Ok(None);
    };
    let store = SessionStore::open(&index::open_context(layout, &entry)?, id)?;
    Ok(Some(Session {
        id: id.clone(),
        store,
        offset: 0,
        state: State::default(),
        saved_head: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_watch_a_quiet_record_is_still_looked_at() {
        let minute = Duration::from_mins(1);
        let short = Duration::from_secs(1);
        for (next_change, is_told, wait) in [
            (None, true, None),
            (Some(minute), true, Some(minute)),
            (None, false, Some(UNTOLD)),
            (Some(minute), false, Some(UNTOLD)),
            (Some(short), false, Some(short)),
        ] {
            assert_eq!(
                quiet_wait(next_change, is_told),
                wait,
                "{next_change:?} {is_told}"
            );
        }
    }
}
