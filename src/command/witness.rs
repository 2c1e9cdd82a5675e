//! Watches, beside the byte path, whether harn's hooks speak in a run whose harness may refuse them.
//!
//! A thread of its own: it takes the client's reports of its state, and once the first turn is over, or has gone on for
//! long, looks whether a hook has spoken for the run. If none has, that is written beside the run's record, where the
//! other commands find it. Nothing here touches the terminal.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::clock;
use crate::adapter::manifest::{Manifest, SessionLock};
use crate::adapter::registry;
use crate::adapter::report::{AgentState, LatestReport, ReportScanner};
use crate::event::HarnessId;
use crate::process::{self, Process};
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::supervisor::run::{self, Live, RunDir, Sight};
use crate::terminal::spawn_deaf;

/// A turn that goes on for so long has had its hooks.
const LONG_TURN: Duration = Duration::from_secs(30);

enum Note {
    Started(Process),
    State(AgentState),
}

/// The watching thread, and the ear that feeds it.
pub(super) struct Witness {
    notes: Sender<Note>,
    scanner: Option<ReportScanner>,
    latest: Arc<LatestReport>,
    hint: String,
    had_turn: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Witness {
    /// Begins to watch; none where the harness asks nobody whether hooks may run.
    pub(super) fn start(
        manifest: &Manifest,
        lock: Option<SessionLock>,
        dir: RunDir,
    ) -> Option<Self> {
        let hint = manifest.trust.as_ref()?.hint.clone();
        let (notes, received) = channel();
        let had_turn = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&had_turn);
        let thread = spawn_deaf("witness", move || {
            let turn = watch(&received, lock.as_ref(), &dir);
            seen.store(turn, Ordering::SeqCst);
        });
        match thread {
            Ok(thread) => Some(Self {
                hint,
                notes,
                scanner: manifest
                    .report
                    .as_ref()
                    .map(|report| ReportScanner::new(report.osc)),
                latest: Arc::default(),
                had_turn,
                thread,
            }),
            Err(error) => {
                tracing::warn!(%error, "nobody watches whether hooks are seen");
                None
            }
        }
    }

    /// What a person does to have the hooks run.
    pub(super) fn hint(&self) -> &str {
        &self.hint
    }

    /// What the client says of itself, as of now.
    pub(super) fn latest(&self) -> Arc<LatestReport> {
        Arc::clone(&self.latest)
    }

    /// Called on the byte path: queues, never waits.
    pub(super) fn started(&self, client: Process) {
        self.note(Note::Started(client));
    }

    /// Called on the byte path: looks, queues, never waits.
    pub(super) fn output(&mut self, bytes: &[u8]) {
        let Self {
            notes,
            scanner,
            latest,
            ..
        } = self;
        if let Some(scanner) = scanner {
            scanner.push(bytes, &mut |state| {
                latest.set(state);
                if notes.send(Note::State(state)).is_err() {
                    tracing::debug!("nobody listens to the client's state");
                }
            });
        }
    }

    fn note(&self, note: Note) {
        if self.notes.send(note).is_err() {
            tracing::debug!("nobody listens to the client's state");
        }
    }

    /// Whether a turn was seen, when the run is over.
    pub(super) fn end(self) -> bool {
        drop(self.notes);
        self.thread.join().is_ok() && self.had_turn.load(Ordering::SeqCst)
    }
}

/// Until the run is over; whether a turn was seen.
fn watch(notes: &Receiver<Note>, lock: Option<&SessionLock>, dir: &RunDir) -> bool {
    let mut client = None;
    let mut is_working = false;
    loop {
        let note = if is_working {
            notes.recv_timeout(LONG_TURN)
        } else {
            notes
                .recv()
                .map_err(|_disconnected| RecvTimeoutError::Disconnected)
        };
        match note {
            Ok(Note::Started(process)) => client = Some(process),
            Ok(Note::State(AgentState::Working)) => is_working = true,
            // Work that ends in neither is a start-up's.
            Ok(Note::State(AgentState::Idle | AgentState::Clear)) => is_working = false,
            Ok(Note::State(AgentState::Blocked(_))) => {}
            Ok(Note::State(AgentState::Done | AgentState::Failed))
            | Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    if let Err(error) = look(dir, client, lock) {
        tracing::warn!(%error, "cannot tell whether hooks are seen");
    }
    // The rest is of no concern; the queue goes with the run.
    true
}

fn look(dir: &RunDir, client: Option<Process>, lock: Option<&SessionLock>) -> Result<(), DirError> {
    if dir.speaker()?.is_some() {
        return Ok(());
    }
    let unowned = client
        .zip(lock)
        .and_then(|(client, lock)| unowned(client, lock));
    dir.set_sight(&Sight {
        turn_at: clock::now(),
        unowned,
    })
}

/// Why the session is not this run's, where the system tells.
fn unowned(client: Process, lock: &SessionLock) -> Option<String> {
    let is_lock = |path: &Path| {
        path.parent().and_then(Path::file_name) == Some(lock.folder.as_ref())
            && path.extension() == Some(lock.extension.as_ref())
    };
    let holders = process::holders_below(client, is_lock)?;
    holders.is_empty().then(|| {
        "no process of this run holds the lock of a conversation; it lives in another process"
            .to_owned()
    })
}

/// What is wrong with a run whose hooks have not been seen, a line each.
pub(super) fn complaints(live: &Live) -> Vec<String> {
    match &live.sight {
        Some(sight) if live.speaker.is_none() => {
            let unowned = sight.unowned.as_ref();
            let unowned = unowned.map(|why| format!("the run does not own its session: {why}"));
            unseen(&live.run.adapter)
                .into_iter()
                .chain(unowned)
                .collect()
        }
        Some(_) | None => Vec::new(),
    }
}

/// What is wrong with the live runs of one harness, or of any.
pub(super) fn problems(layout: &Layout, adapter: Option<&HarnessId>) -> Vec<String> {
    let runs = run::live(layout).unwrap_or_else(|error| {
        tracing::warn!(%error, "the live runs cannot be read");
        Vec::new()
    });
    let of_adapter = runs
        .iter()
        .filter(|live| adapter.is_none_or(|id| live.run.adapter == *id));
    of_adapter
        .flat_map(|live| {
            let told = complaints(live).into_iter();
            told.map(|what| format!("run {}: {what}", live.run.id))
        })
        .collect()
}

/// The words for hooks that were not seen.
fn unseen(adapter: &HarnessId) -> Option<String> {
    let trust = registry::load(adapter.as_str()).ok()?.trust?;
    Some(format!("hooks not seen: {}", trust.hint))
}
