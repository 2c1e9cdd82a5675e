//! How an attempt ended, in the words of the contract.

use serde::{Deserialize, Serialize};

use super::Evidence;
use crate::event::{RunId, SessionId, Tokens};

/// Only `Confirmed` may be shown as "compacted".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The harness's own record holds the compaction.
    Confirmed,
    /// Nothing to compact, or the harness has no such command.
    Skipped,
    /// Nothing was submitted.
    Refused,
    /// The harness said that it failed.
    Failed,
    Cancelled,
    /// The text became a prompt.
    Misfired,
    /// Something was submitted, and nothing proves what became of it.
    Unconfirmed,
    /// The caller does not wait.
    Pending,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Skipped => "skipped",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Misfired => "misfired",
            Self::Unconfirmed => "unconfirmed",
            Self::Pending => "pending",
        }
    }
}

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `harn compact` outside the session.
    Terminal,
    /// The key in the overlay.
    Overlay,
    /// The user's own rule.
    Policy,
    /// A process of the session itself.
    Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Timing {
    pub requested_to_typed: Option<u64>,
    pub typed_to_started: Option<u64>,
    pub started_to_confirmed: Option<u64>,
}

/// Tokens in use; `after` stays unknown where the harness only estimates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenCounts {
    pub before: Option<Tokens>,
    pub after: Option<Tokens>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FocusReport {
    pub text: String,
    pub applied: bool,
}

/// The document that `harn compact --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub schema: u32,
    pub run: Option<RunId>,
    pub session: Option<SessionId>,
    pub attempt: Option<String>,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub origin: Origin,
    pub focus: Option<FocusReport>,
    pub evidence: Vec<Evidence>,
    pub tokens: TokenCounts,
    pub generation: Option<u64>,
    pub timing_ms: Timing,
    /// A file to start a fresh session with, where the compaction failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<String>,
}
