//! What harn knows of one session's continuity, and how each event changes it.
//!
//! Pure. `State::apply` is the only way a phase changes, so folding the event log again gives the live state; what
//! is no event (the words of a prompt or a summary) lies in `Work` and lives in the state file alone. `step` decides
//! what to do, `command/` does it.

use serde::{Deserialize, Serialize};

use crate::event::{
    BriefingChannel, CheckpointTrigger, CompactionTrigger, EventBody, StartSource, Timestamp,
    Tokens, TurnId,
};
use crate::telemetry::Meter;

/// Touched paths kept, newest last.
const TOUCHED_LIMIT: usize = 100;
/// Notes kept; the contract's limit.
pub const NOTES_LIMIT: usize = 20;
/// Characters of one note; the contract's limit.
pub const NOTE_CHARS: usize = 500;

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Phase {
    Observing,
    Checkpointed {
        generation: u64,
        attempt: Option<String>,
    },
    Recovered {
        generation: Option<u64>,
        via: BriefingChannel,
    },
    Degraded {
        reason: String,
    },
}

impl Phase {
    /// The word of the contract.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Observing => "observing",
            Self::Checkpointed { .. } => "checkpointed",
            Self::Recovered { .. } => "recovered",
            Self::Degraded { .. } => "degraded",
        }
    }
}

/// How far a briefing is known to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryState {
    Prepared,
    /// Printed on the harness's channel; nothing proves that the model saw it.
    Injected,
    /// Its tag stands in the harness's own transcript.
    Delivered,
}

/// The newest briefing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    pub state: RecoveryState,
    pub via: BriefingChannel,
    pub tag: String,
    pub attempt: String,
    pub generation: Option<u64>,
    /// Length of the transcript when it was printed, in bytes.
    pub transcript_offset: Option<u64>,
    pub at: Timestamp,
}

/// One compaction, by whoever triggered it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub id: String,
    pub turn: Option<TurnId>,
    pub trigger: CompactionTrigger,
    /// The capsule made for it.
    pub generation: Option<u64>,
    /// The harness reported that it compacted.
    pub completed: bool,
    /// The channel a briefing was printed on for it.
    pub briefed: Option<BriefingChannel>,
    /// No prompt and no end of a turn has come since.
    pub open: bool,
    /// What the context held when it began, as reported.
    #[serde(default)]
    pub tokens_before: Option<Tokens>,
}

impl Attempt {
    /// Whether a signal of the turn `turn` may belong to this attempt.
    pub fn joins(&self, turn: Option<&TurnId>) -> bool {
        match (&self.turn, turn) {
            (Some(mine), Some(its)) => mine == its,
            _ => self.open,
        }
    }
}

/// The newest capsule, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsuleRef {
    pub id: String,
    pub generation: u64,
    pub trigger: CheckpointTrigger,
    pub at: Timestamp,
    pub bytes: u64,
    pub truncated: Vec<String>,
}

/// Words and when they were said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub text: String,
    pub at: Timestamp,
}

/// What a note is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    Task,
    Keep,
    Next,
}

/// Where a note was written: by a person at a terminal, or from inside the session (then most likely the agent).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteOrigin {
    Terminal,
    Session,
}

/// Durable words for the next capsule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
    pub origin: NoteOrigin,
    pub at: Timestamp,
}

/// A file that the agent's own tools wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    pub path: String,
    pub at: Timestamp,
}

/// The work itself: what a briefing gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The newest words of the user that started a turn.
    pub request: Option<Said>,
    /// The beginning of the agent's last answer.
    pub summary: Option<Said>,
    pub notes: Vec<Note>,
    pub touched: Vec<Touched>,
    pub last_tool: Option<String>,
    /// Sub-agents that were started and have not stopped.
    #[serde(default)]
    pub in_flight: Vec<InFlight>,
}

/// A sub-agent at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    pub agent: String,
    pub kind: Option<String>,
    pub at: Timestamp,
}

/// Facts about the session that the harness reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub transcript: Option<String>,
    /// The permission mode of the newest prompt.
    pub mode: Option<String>,
    pub started_at: Option<Timestamp>,
    pub last_event_at: Option<Timestamp>,
    pub ended: bool,
}

impl SessionFacts {
    /// What was told replaces what was known; what was not stays.
    fn learn(&mut self, model: Option<&String>, cwd: Option<&String>, transcript: Option<&String>) {
        for (mine, told) in [
            (&mut self.model, model),
            (&mut self.cwd, cwd),
            (&mut self.transcript, transcript),
        ] {
            if let Some(told) = told {
                *mine = Some(told.clone());
            }
        }
    }
}

/// Continuity of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub phase: Phase,
    /// The highest generation ever allocated.
    pub generation: u64,
    /// Attempts seen so far; names the next one.
    pub attempts: u64,
    pub attempt: Option<Attempt>,
    /// Compactions that the harness reported.
    pub compactions: u64,
    pub capsule: Option<CapsuleRef>,
    pub recovery: Option<Recovery>,
    pub session: SessionFacts,
    pub work: Work,
    #[serde(default)]
    pub context: Meter,
}

impl Default for State {
    fn default() -> Self {
        Self {
            phase: Phase::Observing,
            generation: 0,
            attempts: 0,
            attempt: None,
            compactions: 0,
            capsule: None,
            recovery: None,
            session: SessionFacts::default(),
            work: Work::default(),
            context: Meter::default(),
        }
    }
}

impl State {
    /// The attempt that still waits for its end.
    pub fn open_attempt(&self) -> Option<&Attempt> {
        self.attempt.as_ref().filter(|attempt| attempt.open)
    }

    pub fn next_attempt_id(&self) -> String {
        format!("a{}", self.attempts + 1)
    }

    /// Changes the state by one event.
    pub fn apply(&mut self, body: &EventBody, at: Timestamp) {
        self.date(body, at);
        match body {
            EventBody::SessionStarted {
                source,
                model,
                cwd,
                transcript,
            } => {
                self.start_session(*source, at);
                self.session
                    .learn(model.as_ref(), cwd.as_ref(), transcript.as_ref());
            }
            EventBody::SessionEnded { reason: _ } => {
                self.session.ended = true;
                self.work.in_flight.clear();
                self.close_attempt();
            }
            EventBody::PromptSubmitted {
                mode,
                turn: _,
                origin: _,
            } => self.prompted(mode.as_ref()),
            EventBody::TurnStopped { .. } => {
                // A reported compaction still waits for its briefing.
                if !self
                    .attempt
                    .as_ref()
                    .is_some_and(|it| it.completed && it.briefed.is_none())
                {
                    self.close_attempt();
                }
            }
            EventBody::ToolStarted { tool, agent } => {
                if agent.is_none() {
                    self.work.last_tool = Some(tool.clone());
                }
            }
            EventBody::ToolFinished { wrote, .. } => self.touch(wrote, at),
            EventBody::AgentStarted { agent, kind } => {
                self.work.in_flight.retain(|it| it.agent != *agent);
                let (agent, kind) = (agent.clone(), kind.clone());
                self.work.in_flight.push(InFlight { agent, kind, at });
            }
            EventBody::AgentStopped { agent } => {
                self.work.in_flight.retain(|it| it.agent != *agent);
            }
            EventBody::PermissionRequested { .. }
            | EventBody::SessionNested { .. }
            | EventBody::SessionLinked { .. }
            | EventBody::ContextSampled(_)
            | EventBody::ContextBoundary { .. }
            // Requests to harn and what harn did about them: the harness tells itself when it compacts.
            | EventBody::ManagedRequested { .. }
            | EventBody::ManagedTyped { .. }
            | EventBody::ManagedSubmitted { .. }
            | EventBody::ManagedSettled { .. } => {}
            EventBody::CompactionStarted {
                attempt,
                turn,
                trigger,
            } => {
                self.begin_attempt(attempt, turn.clone(), *trigger);
            }
            EventBody::CompactionCompleted { attempt, trigger } => {
                self.complete_attempt(attempt, *trigger);
            }
            EventBody::CheckpointCreated { .. } => self.checkpointed(body, at),
            EventBody::RecoveryInjected { .. } => self.injected(body, at),
            EventBody::RecoveryDelivered { tag, attempt: _ } => {
                if let Some(recovery) = self.recovery.as_mut().filter(|it| it.tag == *tag) {
                    recovery.state = RecoveryState::Delivered;
                }
            }
            EventBody::Degraded { reason } => {
                self.phase = Phase::Degraded {
                    reason: reason.clone(),
                };
            }
        }
        self.measure(body, at);
    }

    fn date(&mut self, body: &EventBody, at: Timestamp) {
        let is_first = self.session.last_event_at.replace(at).is_none();
        let is_beginning = if let EventBody::SessionStarted { source, .. } = body {
            !matches!(source, StartSource::Resume | StartSource::Compact)
        } else {
            // A fork tells of its start under the id it comes from.
            matches!(body, EventBody::PromptSubmitted { .. })
        };
        if is_first && is_beginning {
            self.context.begin(at);
        }
    }

    /// What an event means for the meter; after all else, so that an attempt knows what it began with.
    fn measure(&mut self, body: &EventBody, at: Timestamp) {
        if let EventBody::ContextSampled(sample) = body {
            self.context.apply(sample);
        } else if let EventBody::ContextBoundary {
            trigger,
            before_tokens,
            recorded_at,
        } = body
        {
            self.bounded(*trigger, *before_tokens, *recorded_at);
        } else if matches!(body, EventBody::PromptSubmitted { .. }) {
            self.context.prompted(at);
        } else if matches!(body, EventBody::TurnStopped { .. }) {
            self.context.answered();
        } else if matches!(body, EventBody::CompactionCompleted { .. }) {
            self.context.compacted(at);
        }
    }

    fn start_session(&mut self, source: StartSource, at: Timestamp) {
        self.session.ended = false;
        if source != StartSource::Compact || self.session.started_at.is_none() {
            self.session.started_at = Some(at);
        }
    }

    fn prompted(&mut self, mode: Option<&String>) {
        self.session.ended = false;
        if let Some(mode) = mode {
            self.session.mode = Some(mode.clone());
        }
        self.close_attempt();
    }

    /// A prompt or the end of a turn: what was announced and never reported is over.
    fn close_attempt(&mut self) {
        let Some(attempt) = &mut self.attempt else {
            return;
        };
        attempt.open = false;
        if let Phase::Checkpointed { attempt, .. } = &mut self.phase {
            *attempt = None;
        }
    }

    fn begin_attempt(&mut self, id: &str, turn: Option<TurnId>, trigger: CompactionTrigger) {
        self.attempts += 1;
        self.attempt = Some(Attempt {
            id: id.to_owned(),
            turn,
            trigger,
            generation: None,
            completed: false,
            briefed: None,
            open: true,
            tokens_before: self
                .context
                .current
                .as_ref()
                .and_then(|sample| sample.used_tokens),
        });
    }

    fn complete_attempt(&mut self, id: &str, trigger: CompactionTrigger) {
        self.compactions += 1;
        if self.attempt.as_ref().is_none_or(|attempt| attempt.id != id) {
            self.begin_attempt(id, None, trigger);
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.completed = true;
        }
    }

    fn checkpointed(&mut self, body: &EventBody, at: Timestamp) {
        let EventBody::CheckpointCreated {
            generation,
            capsule,
            trigger,
            bytes,
            truncated,
            ..
        } = body
        else {
            return;
        };
        self.generation = self.generation.max(*generation);
        self.capsule = Some(CapsuleRef {
            id: capsule.clone(),
            generation: *generation,
            trigger: *trigger,
            at,
            bytes: *bytes,
            truncated: truncated.clone(),
        });
        if *trigger == CheckpointTrigger::Late {
            // Made after the fact: it stands for no attempt.
            return;
        }
        let mut joined = None;
        if *trigger == CheckpointTrigger::PreCompact
            && let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.open)
        {
            attempt.generation = Some(*generation);
            joined = Some(attempt.id.clone());
        }
        self.phase = Phase::Checkpointed {
            generation: *generation,
            attempt: joined,
        };
    }

    fn injected(&mut self, body: &EventBody, at: Timestamp) {
        let EventBody::RecoveryInjected {
            attempt: id,
            generation,
            tag,
            via,
            transcript_offset,
            ..
        } = body
        else {
            return;
        };
        let attempt = self.attempt.as_mut().filter(|attempt| attempt.id == *id);
        let has_capsule = attempt.is_some_and(|attempt| {
            attempt.briefed = Some(*via);
            attempt.generation.is_some()
        });
        if has_capsule {
            self.phase = Phase::Recovered {
                generation: *generation,
                via: *via,
            };
        }
        self.recovery = Some(Recovery {
            state: RecoveryState::Injected,
            via: *via,
            tag: tag.clone(),
            attempt: id.clone(),
            generation: *generation,
            transcript_offset: *transcript_offset,
            at,
        });
    }

    /// A record that does not say who asked takes the word of the attempt it ends.
    fn bounded(&mut self, trigger: CompactionTrigger, before: Option<Tokens>, at: Timestamp) {
        let attempt = self.attempt.as_ref().filter(|attempt| attempt.completed);
        let trigger = match (trigger, attempt) {
            (CompactionTrigger::Unknown, Some(attempt)) => attempt.trigger,
            (told, _) => told,
        };
        let before = before.or(attempt.and_then(|attempt| attempt.tokens_before));
        self.context.boundary(trigger, before, at);
    }

    fn touch(&mut self, wrote: &[String], at: Timestamp) {
        for path in wrote {
            self.work.touched.retain(|touched| touched.path != *path);
            self.work.touched.push(Touched {
                path: path.clone(),
                at,
            });
        }
        let excess = self.work.touched.len().saturating_sub(TOUCHED_LIMIT);
        self.work.touched.drain(..excess);
    }
}
