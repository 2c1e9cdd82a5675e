//! Makes a capsule: for a compaction that was announced, or because somebody asked.

use std::time::Duration;

use super::session::Session;
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
    let repo = repo::snapshot_within(&cwd, order.git_limit);
    let attempt = match order.trigger {
        CheckpointTrigger::PreCompact => session.state.open_attempt(),
        CheckpointTrigger::Manual => None,
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
        repo,
    };
    let (capsule, bytes) = place(session, parts)?;
    let created = EventBody::CheckpointCreated {
        generation: capsule.generation,
        capsule: capsule.id.clone(),
        path: session.capsule_path(capsule.generation),
        trigger: capsule.trigger,
        bytes: bytes.len() as u64,
        truncated: capsule.truncated.clone(),
    };
    session.record(created, order.source, order.at);
    Ok(capsule)
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
