//! What goes into an attempt, what comes out of it, and where it stands in between.

use super::Focus;
use super::evidence::Way;
use super::gate::{Plan, Wait};
use super::outcome::{Origin, Outcome};
use super::view::{Record, View};
use crate::event::{CompactionTrigger, RunId, SessionId, Timestamp};
use crate::terminal::{Typed, Typing};

/// What the text is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The harness's own compaction.
    Compaction,
    /// A prompt: the fixed line that goes on with the task.
    Prompt,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub goal: Goal,
    pub attempt: String,
    pub run: RunId,
    pub session: SessionId,
    pub origin: Origin,
    pub focus: Option<Focus>,
    pub at: Timestamp,
    /// The request is withdrawn if nothing was typed by then.
    pub until: Timestamp,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Look(Box<View>),
    /// To the last [`Effect::Type`].
    Answer(Typed),
    /// The harness announced a compaction.
    Announced(CompactionTrigger),
    /// The harness said by a hook that it compacted.
    Reported(CompactionTrigger),
    Saved {
        generation: u64,
    },
    /// The harness said by a hook that it has a prompt.
    Prompted,
    /// A line of the record behind the mark, and where it begins.
    Recorded {
        record: Record,
        offset: u64,
    },
    /// The last one who waited has gone.
    Withdrawn,
    /// There will be no more of this session, for this reason.
    Gone(String),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// From here on the record counts.
    Mark {
        offset: u64,
    },
    Type(Typing),
    TellRequested,
    TellTyped,
    TellSubmitted(Way),
    /// The harness cannot compact: its work is saved all the same.
    Checkpoint,
    Settle,
}

/// Where the attempt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    Waiting(Wait),
    /// The keyboard was ordered to type.
    Ordered(Plan),
    /// The text is in the composer, if all went well.
    Typed(Way, &'static [u8]),
    /// The keyboard was ordered to send it.
    Sending(Way),
    /// The keyboard was ordered to take it back.
    TakingBack(Outcome, String),
    Submitted,
    Started,
    /// The record holds the compaction.
    Proven,
    Settled(Outcome),
}
