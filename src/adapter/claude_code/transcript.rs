//! Usage and boundaries in the client's transcript.
//!
//! Pure. One message is several lines with the same id and the same usage, so the newest usable line is the context and
//! nothing is ever summed. Side chains, lines of another session, aborted replies (all zero) are passed over.

use std::path::Path;

use serde::Deserialize;

use crate::adapter::gauge::{Parsed, Subject};
use crate::event::{CompactionTrigger, Timestamp, Tokens};
use crate::telemetry::line::{self, Line};
use crate::telemetry::number::{Count, Flag, Part, Words};
use crate::telemetry::sample::Formula;
use crate::telemetry::{Boundary, Fact, Reading, SampleSource};

/// Windows that models of this client have.
pub(super) const SIZES: &[u64] = &[200_000, 1_000_000];
/// In a model's name: the large window was asked for.
const LARGE: &str = "[1m]";

const NEEDLES: [&str; 2] = ["\"usage\"", "compact_boundary"];
const HEADS: [&str; 2] = ["{\"parentUuid\"", "{\"type\""];

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LineWire {
    r#type: Words,
    subtype: Words,
    is_sidechain: Flag,
    agent_id: Words,
    session_id: Words,
    timestamp: Words,
    message: Part<MessageWire>,
    compact_metadata: Part<BoundaryWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageWire {
    model: Words,
    usage: Part<UsageWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BoundaryWire {
    trigger: Words,
    pre_tokens: Count,
}

/// Tokens of one reply, in the transcript as in the status line.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageWire {
    #[serde(rename = "input_tokens")]
    input: Count,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_creation: Count,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Count,
}

impl UsageWire {
    /// What the context held; none where no count is usable.
    pub(super) fn context(self) -> Option<Tokens> {
        let counts = [self.input, self.cache_creation, self.cache_read];
        if counts.iter().all(|count| count.0.is_none()) {
            return None;
        }
        Some(Tokens(counts.iter().map(|count| count.or_zero()).sum()))
    }
}

/// Whether the file is a session's own; sub-agents have theirs in a folder or under a name of their own.
pub(super) fn is_main(path: &Path) -> bool {
    let is_below = path.iter().any(|part| part == "subagents");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !is_below && !name.starts_with("agent-")
}

/// Reads one line.
pub(super) fn parse(line: &[u8], subject: Subject<'_>) -> Parsed {
    let (wire, is_damaged) = match line::read::<LineWire>(line, &NEEDLES, &HEADS) {
        Line::Skipped => return Parsed::NOTHING,
        Line::Damaged => return Parsed::DAMAGED,
        Line::Whole(wire) => (wire, false),
        Line::Mended(wire) => (wire, true),
    };
    let session = wire.session_id.0.as_deref();
    let is_foreign = session.is_some_and(|id| id != subject.session.as_str());
    let is_side = wire.is_sidechain.0 || wire.agent_id.0.is_some();
    let fact = if is_foreign || is_side {
        None
    } else {
        fact(wire, subject)
    };
    Parsed { fact, is_damaged }
}

fn fact(wire: LineWire, subject: Subject<'_>) -> Option<Fact> {
    let at: Option<Timestamp> = wire.timestamp.0.and_then(|text| text.parse().ok());
    match (wire.r#type.0.as_deref(), wire.subtype.0.as_deref()) {
        (Some("assistant"), _) => {
            let message = wire.message.0?;
            let used = message.usage.0?.context()?;
            (used != Tokens(0)).then(|| Fact::Reading(reading(used, message.model.0, at, subject)))
        }
        (Some("system"), Some("compact_boundary")) => {
            let meta = wire.compact_metadata.0.unwrap_or_default();
            Some(Fact::Boundary(Boundary {
                trigger: match meta.trigger.0.as_deref() {
                    Some("manual") => CompactionTrigger::Manual,
                    Some("auto") => CompactionTrigger::Auto,
                    Some(_) | None => CompactionTrigger::Unknown,
                },
                before: meta.pre_tokens.0.map(Tokens),
                at,
            }))
        }
        _ => None,
    }
}

fn reading(
    used: Tokens,
    model: Option<String>,
    at: Option<Timestamp>,
    subject: Subject<'_>,
) -> Reading {
    Reading {
        used: Some(used),
        window: None,
        window_guess: guess(model.as_deref(), subject.model),
        sizes: SIZES,
        percent: None,
        formula: Formula::Plain,
        is_estimate: false,
        model,
        source: SampleSource::Transcript,
        at,
    }
}

/// The record's model name lacks the mark of the large window; the one that the session started with has it.
fn guess(model: Option<&str>, started_with: Option<&str>) -> Option<Tokens> {
    let model = model?;
    let is_large = started_with.is_some_and(|name| {
        name.strip_suffix(LARGE)
            .is_some_and(|stem| model.starts_with(stem))
    });
    let size = if is_large || model.ends_with(LARGE) {
        SIZES.last()
    } else {
        SIZES.first()
    };
    size.map(|size| Tokens(*size))
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
