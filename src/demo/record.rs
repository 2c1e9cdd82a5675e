//! What the transcript is told, whatever its format.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    /// A prompt, the user's or the client's own.
    User {
        text: String,
    },
    /// Text that a hook gave to the model.
    Context {
        event: String,
        text: String,
    },
    /// One model answer and what it cost.
    Assistant {
        text: String,
        used: u64,
    },
    Tool {
        name: String,
        input: Value,
    },
    /// What the client has to say; only some families keep it.
    Notice {
        text: String,
    },
    /// A local command's outcome.
    Local {
        text: String,
    },
    Interrupted,
    /// A compaction that is done.
    Boundary(Boundary),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Boundary {
    pub(super) trigger: &'static str,
    pub(super) focus: String,
    pub(super) before: u64,
    pub(super) summary: String,
    /// The first is 1.
    pub(super) number: u64,
}

/// Where a record stands: session, turn and moment.
#[derive(Debug, Clone)]
pub(super) struct At {
    pub(super) session: String,
    pub(super) prompt_id: Option<String>,
    pub(super) cwd: String,
    /// RFC 3339, UTC.
    pub(super) time: String,
}

/// Turns records into lines. Ids come from a counter, so that equal runs give equal lines.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    seed: u128,
    count: u128,
}

impl Ids {
    pub(super) fn new(seed: u128) -> Self {
        Self { seed, count: 0 }
    }

    pub(super) fn next(&mut self) -> String {
        self.count += 1;
        uuid::Uuid::from_u128(self.seed.wrapping_add(self.count)).to_string()
    }
}
