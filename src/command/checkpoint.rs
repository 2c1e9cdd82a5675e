//! Makes a capsule: for a compaction that was announced, or because somebody asked.

use std::time::Duration;

use super::session::Session;
use crate::continuity::RepoState;
use crate::continuity::capsule::{Capsule, Compaction, Origin, Parts};
use crate::event::{CheckpointTrigger, EventBody, EventSource, Timestamp};
use crate::repo;
use crate::store::dir::DirError;

/// Why no capsule was made.
#[derive(Debug, thiserror::Error)]
pub(super) enum CheckpointError {
    #[error(transparent)]
    Store(#[from] DirError),
    #[error("the capsule cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) trigger: CheckpointTrigger,
    pub(super) instructions: Option<String>,
    pub(super) source: EventSource,
    pub(super) at: Timestamp,
    /// Past this the capsule is written without the git part.
    pub(super) git_limit: Duration,
}

/// Writes the next generation and records it.
pub(super) fn make(session: &mut Session, order: Order) -> Result<Capsule, CheckpointError> {
    let cwd = session.cwd();
    let repo = session.snapshot(order.git_limit);
    let attempt = match order.trigger {
        CheckpointTrigger::PreCompact => session.state.open_attempt(),
        CheckpointTrigger::Manual | CheckpointTrigger::Late | CheckpointTrigger::Rolling => None,
    };
    let parts = Parts {
        id: uuid::Uuid::now_v7().to_string(),
        generation: session.state.generation + 1,
        trigger: order.trigger,
        at: order.at,
        compaction: attempt.map(|attempt| Compaction {
            attempt: attempt.id.clone(),
            trigger: attempt.trigger,
            instructions: order.instructions,
        }),
        origin: origin(session, &cwd),
        work: session.state.work.clone(),
        context: session.state.context.current.clone(),
        repo,
    };
    record(session, parts, order.source, order.at)
}

/// Writes the capsule, then its event.
fn record(
    session: &mut Session,
    parts: Parts,
    source: EventSource,
    at: Timestamp,
) -> Result<Capsule, CheckpointError> {
    let (capsule, bytes) = place(session, parts)?;
    let created = EventBody::CheckpointCreated {
        generation: capsule.generation,
        capsule: capsule.id.clone(),
        path: session.capsule_path(capsule.generation),
        trigger: capsule.trigger,
        bytes: bytes.len() as u64,
        truncated: capsule.truncated.clone(),
    };
    session.record(created, source, at);
    Ok(capsule)
}

/// Between two looks at the repository for the rolling capsule.
const ROLL_GIT_EVERY_MS: u64 = 30_000;

/// Replaces the rolling capsule. The repository is read at the end of a turn only, and not again within half a minute;
/// between, the newest reading is kept.
pub(super) fn roll(
    session: &Session,
    at: Timestamp,
    git_limit: Option<Duration>,
) -> Result<(), CheckpointError> {
    let cwd = session.cwd();
    let before = rolling(session);
    let is_fresh = |capsule: &Capsule| {
        at.ms_since(capsule.at) < ROLL_GIT_EVERY_MS && matches!(capsule.repo, RepoState::Known(_))
    };
    let repo = match (git_limit, before) {
        (Some(_), Some(before)) if is_fresh(&before) => before.repo,
        (Some(limit), _) => repo::snapshot_within(&cwd, limit),
        (None, Some(before)) => before.repo,
        (None, None) => RepoState::Failed {
            reason: "not read yet".to_owned(),
        },
    };
    let parts = Parts {
        id: uuid::Uuid::now_v7().to_string(),
        generation: 0,
        trigger: CheckpointTrigger::Rolling,
        at,
        compaction: None,
        origin: origin(session, &cwd),
        work: session.state.work.clone(),
        context: session.state.context.current.clone(),
        repo,
    };
    let (_, bytes) = Capsule::seal(parts)?;
    session.store.write_rolling(&bytes)?;
    Ok(())
}

/// Makes the rolling capsule the next generation; there may be none.
pub(super) fn promote(session: &mut Session, at: Timestamp) -> Result<(), CheckpointError> {
    let newest = session.state.capsule.as_ref().map(|capsule| capsule.at);
    let Some(rolling) = rolling(session).filter(|rolling| newest < Some(rolling.at)) else {
        return Ok(());
    };
    let parts = Parts {
        id: rolling.id,
        generation: session.state.generation + 1,
        trigger: CheckpointTrigger::Late,
        at: rolling.at,
        compaction: None,
        origin: rolling.origin,
        work: rolling.work,
        context: rolling.context,
        repo: rolling.repo,
    };
    record(session, parts, EventSource::Hook, at)?;
    Ok(())
}

fn rolling(session: &Session) -> Option<Capsule> {
    let bytes = session.store.read_rolling().ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Takes the first free generation: one that a crash left without an event is never written over.
fn place(session: &Session, mut parts: Parts) -> Result<(Capsule, Vec<u8>), CheckpointError> {
    loop {
        let (capsule, bytes) = Capsule::seal(parts.clone())?;
        if session.store.create_capsule(capsule.generation, &bytes)? {
            return Ok((capsule, bytes));
        }
        parts.generation += 1;
    }
}

fn origin(session: &Session, cwd: &std::path::Path) -> Origin {
    let facts = &session.state.session;
    Origin {
        session: session.id.clone(),
        adapter: session.adapter.clone(),
        run: session.run.clone(),
        model: facts.model.clone(),
        transcript: facts.transcript.clone(),
        project: Some(session.project.display().to_string()),
        cwd: Some(cwd.display().to_string()),
        mode: facts.mode.clone(),
    }
}
