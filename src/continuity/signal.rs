//! What a harness told a hook, in harn's own words.
//!
//! Pure data. `adapter::decode` makes it from the harness's JSON, `continuity::step` reads it; one that met a held lock waits
//! in the session's spool in this form.

use serde::{Deserialize, Serialize};

use crate::event::{
    CompactionTrigger, HarnessId, PromptOrigin, SessionId, StartSource, TurnEnd, TurnId,
};

/// One decoded hook call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookInput {
    pub adapter: HarnessId,
    pub session: SessionId,
    /// Where the agent stands now; git facts come from here.
    pub cwd: Option<String>,
    pub transcript: Option<String>,
    pub turn: Option<TurnId>,
    /// The harness's own id of the tool call that this is about.
    #[serde(default)]
    pub call: Option<String>,
    /// Set when a sub-agent speaks under its parent's session id.
    pub agent: Option<String>,
    pub mode: Option<String>,
    pub model: Option<String>,
    pub signal: Signal,
    /// What the harness's record proves of the newest briefing, looked up before the signal is carried out.
    #[serde(default)]
    pub delivery: Option<Delivery>,
    /// The same call was carried out before.
    #[serde(default)]
    pub is_repeated: bool,
}

/// What a harness's own record proves of a briefing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Its tag stands there.
    Delivered,
    /// The model has replied since, and the tag stands nowhere before.
    Absent,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    SessionStarted {
        source: StartSource,
    },
    SessionEnded {
        reason: Option<String>,
    },
    PromptSubmitted {
        text: String,
        origin: PromptOrigin,
    },
    TurnStopped {
        end: TurnEnd,
        last_message: Option<String>,
    },
    ToolStarted {
        tool: String,
    },
    ToolFinished {
        tool: String,
        ok: bool,
        wrote: Vec<String>,
    },
    PermissionRequested {
        tool: String,
    },
    AgentStarted {
        agent: String,
        kind: Option<String>,
    },
    AgentStopped {
        agent: String,
    },
    CompactionAnnounced {
        trigger: CompactionTrigger,
        instructions: Option<String>,
    },
    CompactionReported {
        trigger: CompactionTrigger,
    },
    /// Known to the manifest, of no use to continuity.
    Other,
}
