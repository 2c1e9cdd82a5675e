//! One look at an owned session: who speaks for the run, what the log tells, what the client says of itself, what is on the
//! screen.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use nix::fcntl::OFlag;

use super::desk::Setup;
use super::ear::{Heard, Hearing};
use super::record;
use crate::adapter::recipe::{Around, Editing, Recipe, StatusSource, StatusWord};
use crate::adapter::report::AgentState;
use crate::compaction::{Activity, Keys, Sight, View};
use crate::continuity::State;
use crate::event::{Event, EventBody, PromptOrigin, SessionId, StartSource, Timestamp, Tokens};
use crate::process;
use crate::store::dir::DirError;
use crate::store::{Layout, SessionStore, index, log};
use crate::supervisor::run::{self, Run, RunDir, Speaker};
use crate::telemetry::Confidence;

/// Small files of the client's are read up to here.
const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Between two looks at the client's settings.
const SETTINGS_PAUSE: Duration = Duration::from_millis(500);
/// A sub-agent that has not stopped by then is taken for lost.
const AGENT_MS: u64 = 30 * 60 * 1_000;

/// Why the run has no session that could be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoSession {
    #[error("no session has been seen in this run yet: its hooks have not spoken")]
    Unseen,
    #[error("the process that owns the session is gone")]
    Dead,
    #[error("the session is also open in run {0}")]
    Elsewhere(String),
    #[error("the session's state cannot be read: {0}")]
    Store(String),
    #[error("the session's record is not known")]
    NoRecord,
}

pub(super) struct World {
    pub(super) layout: Layout,
    pub(super) run: Run,
    pub(super) recipe: Recipe,
    pub(super) hearing: Hearing,
    pub(super) has_launch_key: bool,
    pub(super) now: fn() -> Timestamp,
    pub(super) instant: fn() -> Instant,
    pub(super) session: Option<Known>,
    settings: Option<(Instant, Keys, Editing)>,
}

/// A session, as far as its log was read.
pub(super) struct Known {
    pub(super) speaker: Speaker,
    store: SessionStore,
    offset: u64,
    pub(super) state: State,
    /// The user's prompts; none where the beginning is not known.
    turns: Option<u32>,
    /// All of the user's prompts that were seen.
    pub(super) prompts: u64,
    permission_at: Option<Timestamp>,
}

impl World {
    pub(super) fn new(setup: Setup, now: fn() -> Timestamp, instant: fn() -> Instant) -> Self {
        Self {
            layout: setup.layout,
            run: setup.run,
            recipe: setup.recipe,
            hearing: setup.hearing,
            has_launch_key: setup.has_launch_key,
            now,
            instant,
            session: None,
            settings: None,
        }
    }

    /// Follows the run's session and its log; what is new in it.
    pub(super) fn refresh(&mut self) -> Result<Vec<Event>, NoSession> {
        let store = |error: DirError| NoSession::Store(error.to_string());
        let dir = RunDir::open(&self.layout, &self.run.id).map_err(store)?;
        let speaker = dir.map(|dir| dir.speaker()).transpose().map_err(store)?;
        let speaker = speaker.flatten().ok_or(NoSession::Unseen)?;
        if !process::is_alive(speaker.process) {
            return Err(NoSession::Dead);
        }
        if self
            .session
            .as_ref()
            .is_none_or(|known| known.speaker != speaker)
        {
            self.session = Some(open(&self.layout, speaker)?);
        }
        match &mut self.session {
            Some(known) => known.read_log().map_err(store),
            None => Err(NoSession::Unseen),
        }
    }

    /// Whether another live run spoke for this session before.
    pub(super) fn rival(&self, session: &SessionId) -> Option<NoSession> {
        let runs = run::live(&self.layout).unwrap_or_default();
        let other = runs.into_iter().find(|live| {
            live.run.id != self.run.id
                && live
                    .speaker
                    .as_ref()
                    .is_some_and(|it| it.session == *session)
                && live.run.started_at <= self.run.started_at
        });
        other.map(|live| NoSession::Elsewhere(live.run.id.to_string()))
    }

    pub(super) fn record_path(&self) -> Result<PathBuf, NoSession> {
        let known = self.session.as_ref().ok_or(NoSession::Unseen)?;
        let transcript = known.state.session.transcript.as_ref();
        transcript.map(PathBuf::from).ok_or(NoSession::NoRecord)
    }

    /// One look.
    pub(super) fn view(&mut self) -> View {
        let at = (self.now)();
        let instant = (self.instant)();
        let path = self.record_path().ok();
        let (keys, editing) = self.settings(path.as_deref(), instant);
        let status = self.status(path.as_deref());
        let Self {
            hearing,
            recipe,
            session,
            ..
        } = self;
        let heard = hearing.heard();
        let (activity, source) = match recipe.status {
            StatusSource::File { .. } => (with_title(status, &heard, recipe), "status file"),
            StatusSource::Reports { .. } => (reported(heard.state), "state report"),
        };
        let sight = heard.screen.as_ref().map_or(Sight::UNKNOWN, |screen| {
            screen.look(|model| (recipe.sight)(model, editing))
        });
        let idle_since = match activity {
            Activity::Idle { since, .. } => Some(since),
            Activity::Busy | Activity::Dialog | Activity::Unknown => None,
        };
        View {
            at,
            activity,
            source,
            sight,
            draft: heard.draft(),
            quiet_ms: heard.last_key.map(|key| {
                let quiet = instant.saturating_duration_since(key).as_millis();
                u64::try_from(quiet).unwrap_or(u64::MAX)
            }),
            // The client says itself that it is at its prompt again: whatever was asked has been answered.
            is_permission_open: session
                .as_ref()
                .and_then(|known| known.permission_at)
                .is_some_and(|asked| idle_since.is_none_or(|since| since <= asked)),
            has_agents: session.as_ref().is_some_and(|known| known.has_agents(at)),
            turns: session.as_ref().and_then(|known| known.turns),
            record_bytes: path.as_deref().and_then(record::length),
            keys,
        }
    }

    fn settings(&mut self, record: Option<&Path>, now: Instant) -> (Keys, Editing) {
        if let Some((read_at, keys, editing)) = self.settings
            && now.saturating_duration_since(read_at) < SETTINGS_PAUSE
        {
            return (keys, editing);
        }
        let Some(record) = record else {
            return (Keys::default(), Editing::Modal);
        };
        let around = Around {
            record,
            read: &|path| read_small(path).map(|(text, _)| text),
            has_launch_key: self.has_launch_key,
        };
        let found = ((self.recipe.keys)(&around), (self.recipe.editing)(&around));
        self.settings = Some((now, found.0, found.1));
        found
    }

    /// By the client's status file.
    fn status(&self, record: Option<&Path>) -> Activity {
        let StatusSource::File { path, parse } = self.recipe.status else {
            return Activity::Unknown;
        };
        let (Some(record), Some(known)) = (record, &self.session) else {
            return Activity::Unknown;
        };
        let file = path(record, known.speaker.process.pid);
        let Some((text, changed)) = file.and_then(|file| read_small(&file)) else {
            return Activity::Unknown;
        };
        let Some(status) = parse(&text).filter(|it| it.session == known.speaker.session) else {
            return Activity::Unknown;
        };
        let since = status.since.unwrap_or(changed);
        match status.word {
            StatusWord::Idle => Activity::Idle {
                since,
                has_background: false,
            },
            StatusWord::Background => Activity::Idle {
                since,
                has_background: true,
            },
            StatusWord::Busy => Activity::Busy,
            StatusWord::Waiting => Activity::Dialog,
        }
    }

    /// Tokens that the harness itself reported since its last compaction.
    pub(super) fn reported_tokens(&self) -> Option<Tokens> {
        let sample = self.session.as_ref()?.state.context.current.as_ref()?;
        let is_reported = match sample.confidence {
            Confidence::Reported | Confidence::Inferred => true,
            Confidence::Estimated | Confidence::Unknown => false,
        };
        sample.used_tokens.filter(|_| is_reported)
    }
}

impl Known {
    fn read_log(&mut self) -> Result<Vec<Event>, DirError> {
        let mut found = Vec::new();
        loop {
            let batch = log::read_from(self.store.dir(), self.offset)?;
            for event in batch.events {
                self.apply(&event);
                found.push(event);
            }
            if batch.next_offset <= self.offset {
                return Ok(found);
            }
            self.offset = batch.next_offset;
        }
    }

    fn apply(&mut self, event: &Event) {
        self.state.apply(&event.body, event.at);
        if let EventBody::SessionStarted { source, .. } = &event.body {
            match source {
                StartSource::Startup | StartSource::Clear => self.turns = Some(0),
                StartSource::Compact => {}
                StartSource::Resume | StartSource::Fork | StartSource::Unknown => self.turns = None,
            }
        } else if let EventBody::PromptSubmitted { origin, .. } = &event.body {
            self.permission_at = None;
            if *origin == PromptOrigin::User {
                self.prompts += 1;
                self.turns = self.turns.map(|turns| turns.saturating_add(1));
            }
        } else if matches!(
            event.body,
            EventBody::TurnStopped { .. } | EventBody::ToolFinished { .. }
        ) {
            self.permission_at = None;
        } else if matches!(event.body, EventBody::PermissionRequested { .. }) {
            self.permission_at = Some(event.at);
        }
    }

    fn has_agents(&self, now: Timestamp) -> bool {
        let mut agents = self.state.work.in_flight.iter();
        agents.any(|agent| now.ms_since(agent.at) < AGENT_MS)
    }
}

fn open(layout: &Layout, speaker: Speaker) -> Result<Known, NoSession> {
    let store = |error: DirError| NoSession::Store(error.to_string());
    let entry = index::find(layout, &speaker.session).map_err(store)?;
    let entry = entry.ok_or(NoSession::Unseen)?;
    let context = index::open_context(layout, &entry).map_err(store)?;
    Ok(Known {
        store: SessionStore::open(&context, &speaker.session).map_err(store)?,
        speaker,
        offset: 0,
        state: State::default(),
        turns: None,
        prompts: 0,
        permission_at: None,
    })
}

/// A title that says "busy" is believed before a file that says "idle".
fn with_title(activity: Activity, heard: &Heard, recipe: &Recipe) -> Activity {
    let is_busy = match (recipe.is_busy_title, &heard.title) {
        (Some(is_busy), Some(title)) => is_busy(title),
        _ => false,
    };
    if is_busy && matches!(activity, Activity::Idle { .. }) {
        Activity::Busy
    } else {
        activity
    }
}

fn reported(state: Option<(AgentState, Timestamp)>) -> Activity {
    match state {
        Some((AgentState::Idle | AgentState::Done | AgentState::Failed, since)) => Activity::Idle {
            since,
            has_background: false,
        },
        Some((AgentState::Working, _)) => Activity::Busy,
        Some((AgentState::Blocked(_), _)) => Activity::Dialog,
        Some((AgentState::Clear, _)) | None => Activity::Unknown,
    }
}

/// The text of a regular file, and when it was changed.
fn read_small(path: &Path) -> Option<(Vec<u8>, Timestamp)> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
        .ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > FILE_BYTES {
        return None;
    }
    let changed = meta.modified().ok()?;
    let ms = changed.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let mut text = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut text).ok()?;
    let ms = i64::try_from(ms.as_millis()).ok()?;
    Some((text, Timestamp::from_unix_ms(ms)))
}
