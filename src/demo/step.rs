//! What the agent does, one thing after the other. A turn, a compaction, a line of a script: all are lists of steps.

use super::compaction::{Manner, Order};
use super::dialog::Dialog;
use super::entry::Entry;
use super::hook::HookCall;
use super::record::Record;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Print(Entry),
    /// The spinner's word from here on.
    Spin(String),
    Pause(u64),
    /// Tells the hooks and waits for them.
    Hook(HookCall),
    Record(Record),
    Tool(Tool),
    /// The tool's deed itself, after hooks and permission.
    Act(Tool),
    /// Behind the last step of a tool; where a refused one goes on.
    ToolEnd,
    Ask(Dialog),
    /// From the next answer on this many tokens are in use.
    Usage(u64),
    /// The model answers: it sees what hooks had for it.
    Reply(String),
    /// The model answers after a compaction: with a briefing, or without one.
    Recall {
        with: String,
        without: String,
    },
    /// Compacts by itself when there is no room for the next request.
    Room,
    Summarize(Order),
    Compacted {
        order: Order,
        summary: String,
    },
    /// Stops the turn where it is, as Esc does.
    Cancel,
    /// The session's start is told to the hooks with the next prompt.
    StartLater(&'static str),
    /// A shell command of the user's.
    Shell(String),
    /// A task that starts a turn by itself after so many milliseconds.
    Background(u64),
    Manner(Manner),
    Stop {
        is_active: bool,
    },
    Exit(u8),
}

/// Something done to the scratch repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) act: Act,
    pub(super) needs_permission: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Write { path: &'static str, text: String },
    Run { command: String },
}

impl Tool {
    pub(super) fn name(&self) -> &'static str {
        match self.act {
            Act::Write { .. } => "Write",
            Act::Run { .. } => "Bash",
        }
    }

    pub(super) fn subject(&self) -> &str {
        match &self.act {
            Act::Write { path, .. } => path,
            Act::Run { command } => command,
        }
    }
}
