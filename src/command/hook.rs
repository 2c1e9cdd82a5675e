//! `harn hook <adapter> <event>`: what a harness calls.
//!
//! Complete in itself: decodes, decides, stores, replies; no runtime, no daemon, no network. Fails open: whatever goes
//! wrong is logged, and the harness gets exit code 0 and an empty stdout. A watchdog holds the deadline, because a file
//! system can hang where no limit of harn's reaches.

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::effect;
use super::owner::{Owner, owner};
use super::place;
use super::session::{self, Append, Session, SessionError};
use super::stdin::{PayloadError, read_payload};
use super::twice::{self, Mark};
use super::watchdog::Watchdog;
use super::{clock, log_file, retention};
use crate::adapter::decode::{DecodeError, Decoded, decode};
use crate::adapter::manifest::{EventSpec, Manifest, SignalKind};
use crate::adapter::registry::{self, RegistryError};
use crate::adapter::reply::{Decision, reply};
use crate::cli::HookArgs;
use crate::continuity::signal::{HookInput, Signal};
use crate::continuity::step::{self, Effect};
use crate::event::{Event, EventBody, EventSource, HarnessId, StartSource, Timestamp};
use crate::exit::Exit;
use crate::repo::Reading;
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::store::format::{self, Read};
use crate::store::index::{self, Entry, Registration};
use crate::store::layout::NoHome;

/// Why a hook did nothing.
#[derive(Debug, thiserror::Error)]
enum HookError {
    #[error(transparent)]
    Home(#[from] NoHome),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("adapter {adapter} has no event {event:?}")]
    UnknownEvent { adapter: HarnessId, event: String },
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error(transparent)]
    Store(#[from] DirError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("the signal cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A signal that met a held lock.
#[derive(Debug, Serialize, Deserialize)]
struct Spooled {
    at: Timestamp,
    #[serde(default)]
    mark: Option<Mark>,
    input: HookInput,
}

/// Runs the hook; the harness never learns of a failure.
pub(super) fn run(args: &HookArgs) -> Exit {
    let began = clock::now();
    if place::is_disabled() || place::var(place::DEPTH).is_some() {
        return Exit::Ok;
    }
    let layout = match place::layout() {
        Ok(layout) => layout,
        // Without a home there is no log to tell it to either.
        Err(NoHome) => return Exit::Ok,
    };
    log_file::begin(
        &layout,
        place::var(place::LOG)
            .and_then(|f| f.into_string().ok())
            .as_deref(),
    );
    if let Err(error) = answer(&layout, args, began) {
        tracing::warn!(adapter = args.adapter, event = args.event, %error, "hook did nothing");
    }
    Exit::Ok
}

fn answer(layout: &Layout, args: &HookArgs, began: Timestamp) -> Result<(), HookError> {
    let manifest = registry::load(&args.adapter)?;
    let Some(spec) = manifest.event(&args.event) else {
        let (adapter, event) = (manifest.id.clone(), args.event.clone());
        return Err(HookError::UnknownEvent { adapter, event });
    };
    let deadline = deadline(spec.signal);
    let watchdog = Watchdog::start(deadline);
    let bytes = read_payload(&mut io::stdin().lock())?;
    let input = match decode(&manifest, spec, &bytes)? {
        Decoded::Input(input) => *input,
        Decoded::Ignored(why) => {
            // A person who wonders why nothing happens looks into the log as it is by default.
            tracing::warn!(
                adapter = args.adapter,
                event = args.event,
                why,
                "left alone"
            );
            return Ok(());
        }
    };
    let reading = begin_reading(&input);
    let now = clock::now();
    // Waiting for another hook of this session may take half of the time there is.
    let patience = deadline / 2;
    let owner = owner(layout, &manifest, &input);
    let mark = Mark::new(&spec.native, &input, &bytes, began);
    let call = Call {
        mark: &mark,
        layout,
        manifest: &manifest,
        spec,
        input: &input,
        now,
        patience,
        watchdog: &watchdog,
    };
    let entry = call.entry()?;
    watchdog.decoded(call.saving(&entry));
    if is_plain_event(spec.signal) {
        call.append(&entry, &owner)
    } else {
        call.step(&entry, owner, reading)
    }
}

/// Around a compaction the repository is read whatever the session holds: that begins while the session is being opened.
fn begin_reading(input: &HookInput) -> Option<(PathBuf, Reading)> {
    let is_around = matches!(
        input.signal,
        Signal::CompactionAnnounced { .. }
            | Signal::SessionStarted {
                source: StartSource::Compact
            }
    );
    let cwd = PathBuf::from(input.cwd.as_ref().filter(|_| is_around)?);
    let reading = Reading::begin(&cwd, effect::GIT_LIMIT);
    Some((cwd, reading))
}

/// Events that change no phase, so that no state has to be read for them.
fn is_plain_event(signal: SignalKind) -> bool {
    matches!(
        signal,
        SignalKind::ToolStarted
            | SignalKind::ToolFinished
            | SignalKind::ToolFailed
            | SignalKind::PermissionRequested
            | SignalKind::AgentStarted
            | SignalKind::AgentStopped
    )
}

/// How long a harness may wait for harn, by event.
fn deadline(signal: SignalKind) -> Duration {
    Duration::from_millis(match signal {
        SignalKind::ToolStarted
        | SignalKind::ToolFinished
        | SignalKind::ToolFailed
        | SignalKind::PermissionRequested
        | SignalKind::AgentStarted
        | SignalKind::AgentStopped => 300,
        SignalKind::PromptSubmitted => 500,
        SignalKind::SessionEnded | SignalKind::TurnInterrupted => 1_000,
        SignalKind::SessionStarted
        | SignalKind::TurnStopped
        | SignalKind::TurnFailed
        | SignalKind::CompactionAnnounced
        | SignalKind::CompactionReported => 2_000,
    })
}

/// One hook call, decoded.
struct Call<'a> {
    mark: &'a Mark,
    layout: &'a Layout,
    manifest: &'a Manifest,
    spec: &'a EventSpec,
    input: &'a HookInput,
    now: Timestamp,
    patience: Duration,
    watchdog: &'a Watchdog,
}

impl Call<'_> {
    /// The session's index entry, made at its first event.
    fn entry(&self) -> Result<Entry, HookError> {
        match index::find(self.layout, &self.input.session) {
            Ok(Some(entry)) => return Ok(entry),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the index cannot be read"),
        }
        let config = place::config_or_default(self.layout);
        let project = place::project_of(self.manifest, &self.cwd());
        let registration = Registration {
            session: &self.input.session,
            adapter: &self.manifest.id,
            project: &project,
            with_user: place::keeps_state_with_user(&config),
            is_tracked: &place::is_tracked,
        };
        Ok(index::register(self.layout, &registration, self.patience)?)
    }

    fn cwd(&self) -> PathBuf {
        let told = self
            .input
            .cwd
            .as_ref()
            .map(PathBuf::from)
            .filter(|cwd| cwd.is_absolute());
        told.or_else(|| std::env::current_dir().ok())
            .unwrap_or_else(|| Path::new("/").to_owned())
    }

    /// Events that change no phase: one appended line, folded by whoever needs the state next.
    fn append(&self, entry: &Entry, owner: &Owner) -> Result<(), HookError> {
        let effects = step::step(&crate::continuity::State::default(), self.input);
        for effect in effects {
            let Effect::Record(body) = effect else {
                continue;
            };
            let event = Event {
                id: uuid::Uuid::now_v7().to_string(),
                seq: 0,
                at: self.now,
                session: self.input.session.clone(),
                run: match owner {
                    Owner::Run(id, _) => Some(id.clone()),
                    Owner::Nested(_) | Owner::Nobody => None,
                },
                adapter: self.manifest.id.clone(),
                source: EventSource::Hook,
                body,
            };
            let order = Append {
                layout: self.layout,
                entry,
                mark: Some(self.mark),
                patience: self.patience,
                begins: &|| self.watchdog.writes(),
            };
            match session::append_only(&order, event) {
                Err(DirError::Locked(_)) => self.spool(entry)?,
                appended => appended?,
            }
        }
        Ok(())
    }

    fn step(
        &self,
        entry: &Entry,
        owner: Owner,
        reading: Option<(PathBuf, Reading)>,
    ) -> Result<(), HookError> {
        let mut session = match Session::open(self.layout, entry, self.patience) {
            Err(SessionError::Store(DirError::Locked(path))) => {
                tracing::info!(path = %path.display(), "locked; the signal waits in the spool");
                return self.spool(entry);
            }
            Err(SessionError::Store(error)) => {
                // It cannot be changed, but perhaps be read: a briefing may still go out.
                tracing::error!(%error, "the session cannot be opened for writing");
                Session::view(self.layout, entry)?
            }
            opened => opened?,
        };
        if !self.watchdog.writes() {
            return Ok(());
        }
        session.reading = RefCell::new(reading);
        let calls = twice::calls(&session.store);
        let is_repeated = self.mark.is_second(&calls);
        if is_repeated && !matches!(self.input.signal, Signal::PromptSubmitted { .. }) {
            return Ok(());
        }
        let input = HookInput {
            is_repeated,
            ..self.input.clone()
        };
        self.settle_owner(&mut session, owner);
        self.carry_out_spooled(&mut session);
        let mut print = |text: &str| {
            self.watchdog.reply();
            print(&reply(self.spec, &Decision::Context(text.to_owned())))
        };
        let durability = effect::carry_out(
            self.layout,
            &mut session,
            &input,
            self.now,
            Some(&mut print),
        );
        session.save(durability)?;
        if !is_repeated {
            self.mark.note(&calls, &session.store, clock::now());
        }
        self.forget_old_sessions(session);
        Ok(())
    }

    /// At a start, when nobody waits for an answer any more.
    fn forget_old_sessions(&self, session: Session) {
        let is_start = matches!(
            self.input.signal,
            Signal::SessionStarted {
                source: StartSource::Startup | StartSource::Unknown
            }
        );
        let project = session.project.clone();
        drop(session);
        if is_start {
            let retention = place::config_or_default(self.layout).retention;
            let pruned = retention::prune_sessions(self.layout, &project, &retention, self.now);
            if let Err(error) = pruned {
                tracing::warn!(%error, "old sessions stay");
            }
        }
    }

    /// Leaves the signal for whoever holds the lock next.
    fn spool(&self, entry: &Entry) -> Result<(), HookError> {
        if self.watchdog.writes() {
            spool(self.layout, entry, &self.spooled())?;
        }
        Ok(())
    }

    fn spooled(&self) -> Spooled {
        Spooled {
            at: self.now,
            mark: Some(self.mark.clone()),
            input: self.input.clone(),
        }
    }

    /// The same for when the time is over first.
    fn saving(&self, entry: &Entry) -> Box<dyn FnOnce() + Send> {
        let (layout, entry, spooled) = (self.layout.clone(), entry.clone(), self.spooled());
        Box::new(move || {
            if let Err(error) = spool(&layout, &entry, &spooled) {
                tracing::warn!(%error, "a signal is lost");
            }
        })
    }

    fn carry_out_spooled(&self, session: &mut Session) {
        let left = session.store.spooled().unwrap_or_else(|error| {
            tracing::warn!(%error, "the spool cannot be read");
            Vec::new()
        });
        for (name, bytes) in left {
            match format::SPOOLED.read::<Spooled>(&bytes) {
                Read::Ours(spooled) => {
                    let calls = twice::calls(&session.store);
                    let is_second =
                        |mark: &Mark| mark.is_twin_of(self.mark) || mark.is_second(&calls);
                    if !spooled.mark.as_ref().is_some_and(is_second) {
                        effect::carry_out(self.layout, session, &spooled.input, spooled.at, None);
                        if let Some(mark) = &spooled.mark {
                            mark.note(&calls, &session.store, clock::now());
                        }
                    }
                }
                Read::Newer(_) => continue,
                Read::Foreign | Read::Damaged(_) => {
                    tracing::warn!(name, "a damaged file in the spool is dropped");
                }
            }
            if let Err(error) = session.store.unspool(&name) {
                tracing::warn!(%error, "a spooled signal stays, and will count twice");
            }
        }
    }

    /// Says once that a session below a run is not the run's own.
    fn settle_owner(&self, session: &mut Session, owner: Owner) {
        match owner {
            Owner::Run(id, previous) => {
                session.run = Some(id);
                if let Some(previous) = previous {
                    let linked = EventBody::SessionLinked { previous };
                    session.record(linked, EventSource::Hook, self.now);
                }
            }
            Owner::Nobody => session.run = None,
            Owner::Nested(outer_run) => {
                session.run = None;
                if session.state.session.started_at.is_none() {
                    let nested = EventBody::SessionNested { outer_run };
                    session.record(nested, EventSource::Hook, self.now);
                }
            }
        }
    }
}

fn spool(layout: &Layout, entry: &Entry, spooled: &Spooled) -> Result<(), HookError> {
    let store = Session::store(layout, entry)?;
    store.spool(&format::SPOOLED.write(spooled)?)?;
    Ok(())
}

/// The one write to stdout: a whole document or nothing.
fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}
