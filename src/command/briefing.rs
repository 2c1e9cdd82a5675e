//! Prepares a briefing: finds its capsule, looks at the repository again, has the text written.

use std::time::Duration;

use super::delivery;
use super::session::Session;
use crate::continuity::briefing::{Basis, Facts, render};
use crate::continuity::capsule::{self, Capsule};
use crate::continuity::{Drift, RepoState};
use crate::event::{BriefingChannel, CompactionTrigger, EventBody, Timestamp};

/// Paths named a finding of the drift.
const DRIFT_PATHS: usize = 5;

/// A briefing ready to print.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) text: String,
    tag: String,
    generation: Option<u64>,
    transcript_offset: Option<u64>,
}

impl Prepared {
    /// The event that says it was printed.
    pub(super) fn injected(&self, attempt: String, via: BriefingChannel) -> EventBody {
        EventBody::RecoveryInjected {
            attempt,
            generation: self.generation,
            tag: self.tag.clone(),
            via,
            chars: self.text.chars().count() as u64,
            transcript_offset: self.transcript_offset,
        }
    }
}

/// Writes the briefing for one attempt. What cannot be read is said in it; it always comes.
pub(super) fn prepare(
    session: &Session,
    attempt: &str,
    now: Timestamp,
    git_limit: Duration,
) -> Prepared {
    let own = session
        .state
        .attempt
        .as_ref()
        .filter(|known| known.id == attempt);
    let mine = own
        .and_then(|attempt| attempt.generation)
        .and_then(|it| read(session, it));
    let older = || {
        let generations = session.store.generations().unwrap_or_default();
        generations
            .iter()
            .rev()
            .find_map(|generation| read(session, *generation))
    };
    let (capsule, is_older) = match mine {
        Some(capsule) => (Some(capsule), false),
        None => (older(), true),
    };
    let basis = match &capsule {
        Some(capsule) if is_older => Basis::Older(capsule),
        Some(capsule) => Basis::Checkpoint(capsule),
        None => Basis::State(&session.state.work),
    };
    let generation = capsule.as_ref().map(|capsule| capsule.generation);
    // Unique to the attempt: two briefings from one capsule are told apart in a transcript.
    let id = capsule
        .as_ref()
        .map_or("none", |capsule| capsule.id.as_str());
    let tag = capsule::tag(generation.unwrap_or(0), &format!("{id}/{attempt}"));
    let path = generation.map(|generation| session.capsule_path(generation));
    let facts = Facts {
        tag: tag.clone(),
        now,
        trigger: own.map_or(CompactionTrigger::Unknown, |attempt| attempt.trigger),
        drift: capsule
            .as_ref()
            .map_or_else(Vec::new, |capsule| drift(&capsule.repo, session, git_limit)),
        capsule_path: path.as_deref(),
        transcript: session.state.session.transcript.as_deref(),
        mode: session.state.session.mode.as_deref(),
    };
    Prepared {
        text: render(&basis, &facts),
        tag,
        generation,
        transcript_offset: delivery::length(&session.state),
    }
}

fn drift(before: &RepoState, session: &Session, git_limit: Duration) -> Vec<String> {
    let now = session.snapshot(git_limit);
    Drift::between(before, &now).lines(DRIFT_PATHS)
}

/// A capsule by its generation; a damaged one is no capsule.
pub(super) fn read(session: &Session, generation: u64) -> Option<Capsule> {
    let bytes = match session.store.read_capsule(generation) {
        Ok(bytes) => bytes?,
        Err(error) => {
            tracing::warn!(%error, generation, "the capsule cannot be read");
            return None;
        }
    };
    match serde_json::from_slice::<Capsule>(&bytes) {
        Ok(capsule) if capsule.format == capsule::FORMAT => Some(capsule),
        Ok(capsule) => {
            tracing::warn!(
                generation,
                format = capsule.format,
                "not a capsule of this format"
            );
            None
        }
        Err(error) => {
            tracing::warn!(%error, generation, "the capsule is damaged");
            None
        }
    }
}
