//! The vocabulary of the house: ids, times, canonical events.
//!
//! Every room speaks these types. This file does no IO and reads no clock; `store::log` writes events, `command/`
//! hands in the time. The JSON form of an event is part of the outside contract.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::compaction::{Evidence, Origin, Outcome, Way};
use crate::telemetry::ContextSample;

/// The `"schema"` of every JSON document harn prints or stores.
pub const SCHEMA: u32 = 1;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the text as it is; it never becomes a file name (see `store::layout`).
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A harness's own session id.
    SessionId
);
id!(
    /// One `harn run`.
    RunId
);
id!(
    /// An adapter, by the name of its folder (`kebab-case`).
    HarnessId
);
id!(
    /// The harness's own id of one turn, which joins the signals of one compaction.
    TurnId
);

/// A number of model tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

/// A moment, RFC 3339 UTC with milliseconds in every output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Milliseconds since the Unix epoch; out of range becomes the epoch itself.
    pub fn from_unix_ms(ms: i64) -> Self {
        Self(jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    pub fn as_unix_ms(self) -> i64 {
        self.0.as_millisecond()
    }

    /// The moment so many milliseconds later.
    #[must_use]
    pub fn after_ms(self, ms: u64) -> Self {
        Self::from_unix_ms(self.as_unix_ms().saturating_add_unsigned(ms))
    }

    /// Milliseconds from `earlier` to `self`; a clock that went back gives 0.
    pub fn ms_since(self, earlier: Self) -> u64 {
        u64::try_from(self.as_unix_ms() - earlier.as_unix_ms()).unwrap_or(0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl std::str::FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// Who saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    Hook,
    Statusline,
    Transcript,
    Supervisor,
    Cli,
}

/// How a session came to be, in the harness's own distinction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSource {
    Startup,
    Resume,
    Clear,
    Compact,
    Fork,
    /// Absent or a word this version of harn does not know; treated as a start-up.
    Unknown,
}

/// Who asked the harness to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    Manual,
    Auto,
    Unknown,
}

/// What made a capsule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointTrigger {
    /// The harness announced a compaction.
    PreCompact,
    /// A person or a script asked for it.
    Manual,
    /// A compaction was reported that nothing had announced: what was kept along the way became a checkpoint.
    Late,
    /// Kept along the way, one file, no generation.
    Rolling,
}

/// The channel a briefing went out on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BriefingChannel {
    SessionStart,
    Prompt,
}

/// Who wrote the text of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptOrigin {
    User,
    /// The harness itself: a background task that ended, a local command.
    Harness,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    Completed,
    Failed,
    /// The user or a hook stopped it.
    Interrupted,
}

/// What happened, with names, numbers, ids and paths only: no prompt, no tool output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum EventBody {
    #[serde(rename = "session.started")]
    SessionStarted {
        source: StartSource,
        model: Option<String>,
        cwd: Option<String>,
        transcript: Option<String>,
    },
    #[serde(rename = "session.ended")]
    SessionEnded { reason: Option<String> },
    /// The run's session process goes on under another session id.
    #[serde(rename = "session.linked")]
    SessionLinked { previous: SessionId },
    /// A session below a run that is not the run's own.
    #[serde(rename = "session.nested")]
    SessionNested { outer_run: RunId },
    #[serde(rename = "prompt.submitted")]
    PromptSubmitted {
        turn: Option<TurnId>,
        origin: PromptOrigin,
        mode: Option<String>,
    },
    #[serde(rename = "turn.stopped")]
    TurnStopped { turn: Option<TurnId>, end: TurnEnd },
    #[serde(rename = "tool.started")]
    ToolStarted { tool: String, agent: Option<String> },
    #[serde(rename = "tool.finished")]
    ToolFinished {
        tool: String,
        agent: Option<String>,
        ok: bool,
        wrote: Vec<String>,
    },
    #[serde(rename = "agent.started")]
    AgentStarted { agent: String, kind: Option<String> },
    #[serde(rename = "agent.stopped")]
    AgentStopped { agent: String },
    #[serde(rename = "permission.requested")]
    PermissionRequested { tool: String, agent: Option<String> },
    #[serde(rename = "context.checkpoint.created")]
    CheckpointCreated {
        generation: u64,
        capsule: String,
        path: String,
        trigger: CheckpointTrigger,
        bytes: u64,
        truncated: Vec<String>,
    },
    #[serde(rename = "context.compaction.started")]
    CompactionStarted {
        attempt: String,
        turn: Option<TurnId>,
        trigger: CompactionTrigger,
    },
    /// The harness said that it compacted; never harn's own word.
    #[serde(rename = "context.compaction.completed")]
    CompactionCompleted {
        attempt: String,
        trigger: CompactionTrigger,
    },
    #[serde(rename = "context.recovery.injected")]
    RecoveryInjected {
        attempt: String,
        generation: Option<u64>,
        tag: String,
        via: BriefingChannel,
        chars: u64,
        /// Length of the harness's transcript when the briefing was printed, in bytes; the proof is sought behind it.
        #[serde(default)]
        transcript_offset: Option<u64>,
    },
    #[serde(rename = "context.sampled")]
    ContextSampled(ContextSample),
    /// The harness's own record holds a compaction.
    #[serde(rename = "context.boundary")]
    ContextBoundary {
        trigger: CompactionTrigger,
        before_tokens: Option<Tokens>,
        recorded_at: Timestamp,
    },
    #[serde(rename = "context.recovery.delivered")]
    RecoveryDelivered { attempt: String, tag: String },
    #[serde(rename = "context.degraded")]
    Degraded { reason: String },
    /// Somebody asked harn for a compaction; never a word on whether there was one.
    #[serde(rename = "compaction.requested")]
    ManagedRequested {
        attempt: String,
        origin: Origin,
        has_focus: bool,
    },
    /// The command's text, or the key that stands for it, was written to the harness.
    #[serde(rename = "compaction.typed")]
    ManagedTyped { attempt: String },
    #[serde(rename = "compaction.submitted")]
    ManagedSubmitted { attempt: String, way: Way },
    #[serde(rename = "compaction.settled")]
    ManagedSettled {
        attempt: String,
        origin: Origin,
        outcome: Outcome,
        reason: Option<String>,
        evidence: Vec<Evidence>,
        generation: Option<u64>,
    },
}

/// One line of `events.ndjson`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: String,
    pub seq: u64,
    pub at: Timestamp,
    pub session: SessionId,
    pub run: Option<RunId>,
    pub adapter: HarnessId,
    pub source: EventSource,
    pub body: EventBody,
}

#[derive(Serialize, Deserialize)]
struct EventWire {
    schema: u32,
    id: String,
    seq: u64,
    at: Timestamp,
    #[serde(rename = "type")]
    kind: String,
    session: SessionId,
    run: Option<RunId>,
    adapter: HarnessId,
    source: EventSource,
    #[serde(default)]
    data: serde_json::Value,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let mut body = serde_json::to_value(&self.body).map_err(S::Error::custom)?;
        let kind = body
            .get("type")
            .and_then(|kind| kind.as_str())
            .unwrap_or_default()
            .to_owned();
        EventWire {
            schema: SCHEMA,
            id: self.id.clone(),
            seq: self.seq,
            at: self.at,
            kind,
            session: self.session.clone(),
            run: self.run.clone(),
            adapter: self.adapter.clone(),
            source: self.source,
            data: body
                .get_mut("data")
                .map(serde_json::Value::take)
                .unwrap_or_default(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = EventWire::deserialize(deserializer)?;
        let body = serde_json::json!({"type": wire.kind, "data": wire.data});
        Ok(Self {
            id: wire.id,
            seq: wire.seq,
            at: wire.at,
            session: wire.session,
            run: wire.run,
            adapter: wire.adapter,
            source: wire.source,
            body: serde_json::from_value(body).map_err(D::Error::custom)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_line_has_the_envelope_of_the_contract() {
        let event = Event {
            id: "0190".into(),
            seq: 17,
            at: Timestamp::from_unix_ms(1_700_000_000_123),
            session: SessionId::new("s1"),
            run: None,
            adapter: HarnessId::new("demo"),
            source: EventSource::Hook,
            body: EventBody::SessionEnded {
                reason: Some("clear".into()),
            },
        };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(
            line,
            r#"{"schema":1,"id":"0190","seq":17,"at":"2023-11-14T22:13:20.123Z","type":"session.ended","session":"s1","run":null,"adapter":"demo","source":"hook","data":{"reason":"clear"}}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_age() {
        let early = Timestamp::from_unix_ms(1_000);
        let late = Timestamp::from_unix_ms(3_500);
        assert_eq!((late.ms_since(early), early.ms_since(late)), (2_500, 0));
    }
}
