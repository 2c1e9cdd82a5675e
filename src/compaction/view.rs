//! What the machine is shown of the world: one look at the client, and what its record says.

use crate::event::{CompactionTrigger, Timestamp, Tokens};
use crate::terminal::Draft;

/// What the client is at, by its own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// At its prompt.
    Idle {
        since: Timestamp,
        /// A task of its own goes on and may start a turn at any time.
        has_background: bool,
    },
    Busy,
    /// It waits for an answer of the user's.
    Dialog,
    /// Nothing tells.
    Unknown,
}

/// The place where the user's text goes, as it is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Composer {
    /// There, and nothing in it.
    Empty,
    Holds(String),
    /// What is typed there would be run by a shell.
    Shell,
    /// There, but keys are commands.
    Commands,
    /// A picker, a search, a transcript view or a dialog stands in its place.
    Hidden,
    /// The screen is not known, or shows nothing known.
    Unknown,
}

/// What the screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub composer: Composer,
    /// The first row of an open menu: what Enter would choose.
    pub menu: Option<String>,
}

impl Sight {
    pub const HIDDEN: Self = Self {
        composer: Composer::Hidden,
        menu: None,
    };
    pub const UNKNOWN: Self = Self {
        composer: Composer::Unknown,
        menu: None,
    };
}

/// One look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// When it was taken.
    pub at: Timestamp,
    pub activity: Activity,
    /// Where that was read, for people.
    pub source: &'static str,
    pub sight: Sight,
    pub draft: Draft,
    /// How long the user has pressed no key, in milliseconds; none: never any.
    pub quiet_ms: Option<u64>,
    /// A permission was asked for, and nothing has followed.
    pub is_permission_open: bool,
    /// Sub-agents work.
    pub has_agents: bool,
    /// The user's turns that a compaction could shorten; none where nobody counted from the start.
    pub turns: Option<u32>,
    /// The session's record can be read, up to this length in bytes.
    pub record_bytes: Option<u64>,
    /// Keys that only the composer knows, as far as they are bound now.
    pub keys: super::Keys,
}

/// What the harness answered to its own command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// There is nothing to compact yet.
    TooShort(String),
    NoCommand(String),
    Cancelled(String),
    Failed(String),
}

/// A line of the session's record that matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The harness compacted.
    Boundary {
        trigger: CompactionTrigger,
        id: Option<String>,
        before: Option<Tokens>,
    },
    Reply(Reply),
    /// These words became a prompt.
    Prompt(String),
}
