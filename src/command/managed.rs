//! The managed compactions of a hosted run: starts the pilot and its socket, and feeds them what the host tells.
//!
//! Whatever cannot be started is logged, and the run goes on as a plain host.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::session::{self, Append, Session};
use super::{briefing, clock, overlay, place};
use crate::adapter::Manifest;
use crate::adapter::recipe::Recipe;
use crate::event::{Event, EventBody, EventSource, RunId, SessionId};
use crate::process::{self, Process};
use crate::store::dir::{Dir, DirError, Durability};
use crate::store::layout::HANDOFF_FILE;
use crate::store::{Layout, home, index};
use crate::supervisor::control::{self, Control, ControlError};
use crate::supervisor::pilot::{Ear, Hearing, Means, Message, Pilot, Rules, Setup};
use crate::supervisor::run::Run;
use crate::terminal::overlay::{Line, Notice, Part, Poster, Tone};
use crate::terminal::{Action, Desk, HostEvent, keyboard};

/// For the lock of the session's log.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two words to the pilot that the session does something.
const STIR: Duration = Duration::from_secs(1);
/// The repository is looked at for so long before a hand-over is written without it.
const GIT_LIMIT: Duration = Duration::from_millis(1_500);

/// Why a run takes no requests.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManagedError {
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] DirError),
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// The run's pilot, its socket, and what feeds it.
pub(super) struct Managed {
    ear: Ear,
    pilot: Pilot,
    control: Control,
    messages: Sender<Message>,
    client: Arc<Mutex<Option<Process>>>,
    /// There is a rule that looks at the context while the session does something.
    has_rule: bool,
    stirred_at: Option<Instant>,
}

/// What the run brings.
pub(super) struct Parts<'a> {
    pub(super) layout: &'a Layout,
    pub(super) run: &'a Run,
    pub(super) manifest: &'a Manifest,
    pub(super) recipe: Recipe,
    pub(super) has_launch_key: bool,
    pub(super) rules: Rules,
    pub(super) poster: Option<Poster>,
}

impl Managed {
    /// Starts both; the desk is for the host.
    pub(super) fn start(parts: &Parts<'_>) -> Result<(Self, Desk), ManagedError> {
        let (keyboard, desk) = keyboard()?;
        let hearing = Hearing::default();
        let ear = Ear::new(hearing.clone(), &parts.recipe, clock::now, clock::instant);
        let path = socket_path(parts.layout, &parts.run.id)?;
        let setup = Setup {
            layout: parts.layout.clone(),
            run: parts.run.clone(),
            recipe: parts.recipe,
            has_launch_key: parts.has_launch_key,
            rules: parts.rules,
            keyboard,
            hearing,
        };
        let pilot = Pilot::start(setup, means(parts))?;
        let messages = pilot.messages();
        let client: Arc<Mutex<Option<Process>>> = Arc::default();
        let known = Arc::clone(&client);
        let control = Control::listen(
            path,
            parts.run.id.clone(),
            messages.clone(),
            Arc::new(move || *known.lock().unwrap_or_else(PoisonError::into_inner)),
            clock::instant,
        )?;
        let managed = Self {
            ear,
            pilot,
            control,
            messages,
            client,
            has_rule: parts.rules.compact_at.is_some(),
            stirred_at: None,
        };
        Ok((managed, desk))
    }

    pub(super) fn socket(&self) -> &Path {
        self.control.path()
    }

    /// Called on the byte path: notes and queues, never waits.
    pub(super) fn hear(&mut self, event: HostEvent<'_>) {
        self.ear.hear(event);
        match event {
            HostEvent::Started { pid } => {
                let seen = u32::try_from(pid).ok().and_then(process::see);
                *self.client.lock().unwrap_or_else(PoisonError::into_inner) =
                    seen.map(|seen| seen.process);
            }
            HostEvent::Asked(Action::Compact) => self.send(Message::Key),
            HostEvent::Output(_) => self.stir(),
            HostEvent::Input(_)
            | HostEvent::Resized(_)
            | HostEvent::Stopped
            | HostEvent::Continued
            | HostEvent::Asked(_)
            | HostEvent::Ended(_) => {}
        }
    }

    /// Once a second at most, while there is output.
    fn stir(&mut self) {
        if !self.has_rule {
            return;
        }
        let now = clock::instant();
        let is_soon = |last: Instant| now.saturating_duration_since(last) < STIR;
        if !self.stirred_at.is_some_and(is_soon) {
            self.stirred_at = Some(now);
            self.send(Message::Stirred);
        }
    }

    fn send(&self, message: Message) {
        if self.messages.send(message).is_err() {
            tracing::debug!("the pilot does not listen");
        }
    }

    /// The session is over: what is open is settled, the socket goes.
    pub(super) fn end(self) {
        self.send(Message::Over);
        self.pilot.end();
    }
}

fn means(parts: &Parts<'_>) -> Means {
    let (layout, run, adapter) = (
        parts.layout.clone(),
        parts.run.id.clone(),
        parts.manifest.id.clone(),
    );
    let record = move |session: &SessionId, body: EventBody| {
        let event = Event {
            id: uuid::Uuid::now_v7().to_string(),
            seq: 0,
            at: clock::now(),
            session: session.clone(),
            run: Some(run.clone()),
            adapter: adapter.clone(),
            source: EventSource::Supervisor,
            body,
        };
        let done = index::find(&layout, session).and_then(|entry| match entry {
            Some(entry) => {
                let order = Append {
                    layout: &layout,
                    entry: &entry,
                    mark: None,
                    patience: PATIENCE,
                    begins: &|| true,
                };
                session::append_only(&order, event)
            }
            None => Ok(()),
        });
        if let Err(error) = done {
            tracing::warn!(%error, "an event of a managed compaction is not in the log");
        }
    };
    let poster = parts.poster.clone();
    let tell = move |text: &str| {
        tracing::info!(text, "managed compaction");
        if let Some(poster) = &poster {
            let line = Line(vec![Part::new(text, Tone::Strong, 0)]);
            poster.post(Notice::Message(line));
        }
    };
    let layout = parts.layout.clone();
    let hand_over = move |session: &SessionId| {
        hand_over(&layout, session)
            .inspect_err(|error| tracing::warn!(%error, "no hand-over was written"))
            .ok()
    };
    Means {
        now: clock::now,
        instant: clock::instant,
        checkpoint: Box::new(overlay::save_checkpoint),
        record: Box::new(record),
        tell: Box::new(tell),
        hand_over: Box::new(hand_over),
    }
}

/// The work as it is, for a fresh session: saved as a checkpoint first, then written as text.
fn hand_over(layout: &Layout, id: &SessionId) -> anyhow::Result<String> {
    overlay::save_checkpoint(id);
    let entry = index::find(layout, id)?.ok_or_else(|| anyhow::anyhow!("no session {id}"))?;
    let session = Session::view(layout, &entry)?;
    let prepared = briefing::prepare(&session, "", clock::now(), GIT_LIMIT);
    let dir = session.store.dir();
    dir.replace(HANDOFF_FILE, prepared.text.as_bytes(), Durability::Atomic)?;
    Ok(dir.path().join(HANDOFF_FILE).display().to_string())
}

/// In the user's runtime directory, else in a directory below the state directory.
fn socket_path(layout: &Layout, run: &RunId) -> Result<std::path::PathBuf, ManagedError> {
    let runtime = place::var("XDG_RUNTIME_DIR").map(std::path::PathBuf::from);
    let runtime = runtime.filter(|path| path.is_absolute());
    let runtime = runtime.and_then(|path| {
        Dir::open_trusted(&path)
            .and_then(|dir| dir.ensure("harn"))
            .inspect_err(|error| tracing::info!(%error, "no socket in the runtime directory"))
            .ok()
    });
    let state = home::ensure_room(layout, home::SOCKETS)?;
    let places: Vec<Dir> = runtime.into_iter().chain([state]).collect();
    Ok(control::place(&places, &format!("{run}.sock"))?)
}
