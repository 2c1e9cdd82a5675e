//! One hook call that a harness makes twice, because it has harn's hooks from two of its settings.
//!
//! Two deliveries of one call run side by side, a few hundredths of a second apart, and have the same payload. A call that
//! has an id of its own is known by it, whenever it comes again; any other one where its second delivery began before the
//! first one had ended, so that what merely happens again in the same words counts. Where nothing is lost by it, one that
//! follows at once counts as the same, too.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::continuity::signal::{HookInput, Signal};
use crate::event::{StartSource, Timestamp};
use crate::store::SessionStore;
use crate::store::seen::{Calls, KEY_CHARS};

/// Two deliveries of a call without an id begin no further apart, in milliseconds.
const TWINS_MS: u64 = 2_000;

/// No further apart than this, in milliseconds, one follows the other at once.
const AT_ONCE_MS: u64 = 100;

/// What makes a call known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    key: String,
    has_id: bool,
    /// How long after the end of the first delivery the second one may begin, with nothing in between, in milliseconds.
    slack_ms: u64,
    /// When this delivery began.
    began: Timestamp,
}

impl Mark {
    pub(super) fn new(event: &str, input: &HookInput, payload: &[u8], began: Timestamp) -> Self {
        let is_prompt = matches!(input.signal, Signal::PromptSubmitted { .. });
        let has_id = input.call.is_some() || (is_prompt && input.turn.is_some());
        let mut hash = Sha256::new();
        hash.update(event.as_bytes());
        hash.update([0]);
        match &input.call {
            Some(call) => {
                hash.update(call.as_bytes());
                hash.update([0]);
                hash.update(input.agent.as_deref().unwrap_or_default().as_bytes());
            }
            None => hash.update(payload),
        }
        let digest = hash.finalize();
        let half = digest.get(..KEY_CHARS / 2).unwrap_or_default();
        Self {
            key: crate::text::hex(half),
            has_id,
            slack_ms: slack_ms(&input.signal),
            began,
        }
    }

    /// Whether the other delivery of this call is among these.
    pub(super) fn is_second(&self, calls: &Calls) -> bool {
        calls.find(&self.key).is_some_and(|seen| {
            let late_ms = self.began.ms_since(seen.at);
            self.has_id || late_ms == 0 || (seen.is_newest && late_ms <= self.slack_ms)
        })
    }

    /// Whether both are deliveries of one call, neither of them carried out.
    pub(super) fn is_twin_of(&self, other: &Self) -> bool {
        let apart = self.began.ms_since(other.began) + other.began.ms_since(self.began);
        self.key == other.key && (self.has_id || apart < TWINS_MS)
    }

    /// Remembers that this delivery has been carried out.
    pub(super) fn note(&self, calls: &Calls, store: &SessionStore, now: Timestamp) {
        if let Err(error) = calls.note(store.dir(), &self.key, now) {
            tracing::warn!(%error, "a second delivery of this call would count");
        }
    }
}

/// What tells nothing new when it comes again at once.
fn slack_ms(signal: &Signal) -> u64 {
    match signal {
        // The machine itself takes a compaction's signals once, however often they come.
        Signal::SessionStarted { source } if *source != StartSource::Compact => AT_ONCE_MS,
        Signal::SessionEnded { .. }
        | Signal::PermissionRequested { .. }
        | Signal::AgentStarted { .. }
        | Signal::AgentStopped { .. } => AT_ONCE_MS,
        Signal::SessionStarted { .. }
        | Signal::PromptSubmitted { .. }
        | Signal::TurnStopped { .. }
        | Signal::ToolStarted { .. }
        | Signal::ToolFinished { .. }
        | Signal::CompactionAnnounced { .. }
        | Signal::CompactionReported { .. }
        | Signal::Other => 0,
    }
}

/// The session's newest calls. For the holder of its lock, and as long as that is held.
pub(super) fn calls(store: &SessionStore) -> Calls {
    Calls::read(store.dir()).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot tell whether this call came twice");
        Calls::default()
    })
}
