//! The continuity machine: one signal in, a list of effects out.
//!
//! Pure: no IO, no clock. The effects are carried out in order by `command/hook.rs`; each recorded event goes through
//! `State::apply`, so what is decided here never changes a phase by itself.
//!
//! Rules worth knowing: signals of one compaction are joined by the harness's turn id; a pre-signal that comes again
//! within one attempt makes no second capsule; the next attempt always makes a new one; a manual checkpoint never
//! stands in for it; one briefing per attempt; a
//! second one only if the harness's own record proves that it did not take the first; a post-signal without a capsule is
//! `degraded` and still briefed.

use super::signal::{Delivery, HookInput, Signal};
use super::state::{RecoveryState, State};
use crate::event::{
    BriefingChannel, CheckpointTrigger, CompactionTrigger, EventBody, PromptOrigin, StartSource,
};

/// What `command/` has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Append the event and apply it.
    Record(EventBody),
    /// Make a capsule, record it.
    Checkpoint {
        trigger: CheckpointTrigger,
        instructions: Option<String>,
    },
    /// Keep the work along the way: no generation, no phase. With git only where that costs the user no time.
    Roll { with_git: bool },
    /// Make the rolling capsule a generation, because its compaction went by unannounced.
    PromoteRolling,
    /// Print a briefing for the attempt, then record that.
    Brief {
        via: BriefingChannel,
        attempt: String,
    },
    /// Keep the user's words.
    RememberRequest(String),
    /// Keep the beginning of the agent's answer.
    RememberSummary(String),
}

/// The reason of a `degraded` that a missing pre-signal makes.
pub const NO_CHECKPOINT: &str =
    "the harness reported a compaction for which no checkpoint was made";

/// Decides what one signal asks for.
pub fn step(state: &State, input: &HookInput) -> Vec<Effect> {
    if input.agent.is_some() {
        return step_agent(input);
    }
    let mut effects = delivered(state, input);
    effects.extend(step_main(state, input));
    effects
}

/// Says once that the newest briefing arrived.
fn delivered(state: &State, input: &HookInput) -> Vec<Effect> {
    match (&state.recovery, input.delivery) {
        (Some(recovery), Some(Delivery::Delivered))
            if recovery.state == RecoveryState::Injected =>
        {
            let (attempt, tag) = (recovery.attempt.clone(), recovery.tag.clone());
            vec![Effect::Record(EventBody::RecoveryDelivered {
                attempt,
                tag,
            })]
        }
        _ => Vec::new(),
    }
}

fn step_main(state: &State, input: &HookInput) -> Vec<Effect> {
    match &input.signal {
        Signal::SessionStarted { source } => start(state, input, *source),
        Signal::SessionEnded { reason } => {
            vec![Effect::Record(EventBody::SessionEnded {
                reason: reason.clone(),
            })]
        }
        Signal::PromptSubmitted { text, origin } => prompt(state, input, text, *origin),
        Signal::TurnStopped { end, last_message } => {
            let stopped = EventBody::TurnStopped {
                turn: input.turn.clone(),
                end: *end,
            };
            let mut effects = vec![Effect::Record(stopped)];
            effects.extend(last_message.clone().map(Effect::RememberSummary));
            effects.push(Effect::Roll { with_git: true });
            effects
        }
        Signal::CompactionAnnounced {
            trigger,
            instructions,
        } => announced(state, input, *trigger, instructions.clone()),
        Signal::CompactionReported { trigger } => reported(state, input, *trigger),
        Signal::ToolStarted { .. }
        | Signal::ToolFinished { .. }
        | Signal::PermissionRequested { .. }
        | Signal::AgentStarted { .. }
        | Signal::AgentStopped { .. }
        | Signal::Other => step_agent(input),
    }
}

/// Tools and permission requests, which count whoever speaks; a sub-agent does nothing else.
fn step_agent(input: &HookInput) -> Vec<Effect> {
    let agent = input.agent.clone();
    match &input.signal {
        Signal::ToolStarted { tool } => {
            vec![Effect::Record(EventBody::ToolStarted {
                tool: tool.clone(),
                agent,
            })]
        }
        Signal::ToolFinished { tool, ok, wrote } => {
            let (tool, ok, wrote) = (tool.clone(), *ok, wrote.clone());
            vec![Effect::Record(EventBody::ToolFinished {
                tool,
                agent,
                ok,
                wrote,
            })]
        }
        Signal::PermissionRequested { tool } => {
            vec![Effect::Record(EventBody::PermissionRequested {
                tool: tool.clone(),
                agent,
            })]
        }
        Signal::AgentStarted { agent, kind } => {
            let (agent, kind) = (agent.clone(), kind.clone());
            vec![Effect::Record(EventBody::AgentStarted { agent, kind })]
        }
        Signal::AgentStopped { agent } => {
            vec![Effect::Record(EventBody::AgentStopped {
                agent: agent.clone(),
            })]
        }
        Signal::SessionStarted { .. }
        | Signal::SessionEnded { .. }
        | Signal::PromptSubmitted { .. }
        | Signal::TurnStopped { .. }
        | Signal::CompactionAnnounced { .. }
        | Signal::CompactionReported { .. }
        | Signal::Other => Vec::new(),
    }
}

fn start(state: &State, input: &HookInput, source: StartSource) -> Vec<Effect> {
    let mut effects = vec![Effect::Record(EventBody::SessionStarted {
        source,
        model: input.model.clone(),
        cwd: input.cwd.clone(),
        transcript: input.transcript.clone(),
    })];
    if source == StartSource::Compact {
        effects.extend(reported(state, input, CompactionTrigger::Unknown));
        let attempt = state
            .attempt
            .as_ref()
            .filter(|attempt| attempt.joins(input.turn.as_ref()));
        match attempt {
            Some(attempt) if attempt.briefed.is_some() => {}
            Some(attempt) => effects.push(brief(BriefingChannel::SessionStart, &attempt.id)),
            None => {
                effects.push(brief(
                    BriefingChannel::SessionStart,
                    &state.next_attempt_id(),
                ));
            }
        }
    }
    effects
}

fn brief(via: BriefingChannel, attempt: &str) -> Effect {
    Effect::Brief {
        via,
        attempt: attempt.to_owned(),
    }
}

fn prompt(state: &State, input: &HookInput, text: &str, origin: PromptOrigin) -> Vec<Effect> {
    let mut effects = Vec::new();
    // Nothing was printed for a compaction that was reported: this prompt is the second chance.
    if let Some(attempt) = state.open_attempt()
        && attempt.completed
        && attempt.briefed.is_none()
    {
        effects.push(brief(BriefingChannel::Prompt, &attempt.id));
    }
    // It was printed, the model has replied since, and its tag is nowhere: the harness did not take it.
    if let (Some(recovery), Some(Delivery::Absent)) = (&state.recovery, input.delivery)
        && recovery.state == RecoveryState::Injected
        && recovery.via == BriefingChannel::SessionStart
    {
        effects.push(brief(BriefingChannel::Prompt, &recovery.attempt));
    }
    if input.is_repeated {
        return effects;
    }
    effects.push(Effect::Record(EventBody::PromptSubmitted {
        turn: input.turn.clone(),
        origin,
        mode: input.mode.clone(),
    }));
    if origin == PromptOrigin::User {
        effects.push(Effect::RememberRequest(text.to_owned()));
    }
    effects.push(Effect::Roll { with_git: false });
    effects
}

fn announced(
    state: &State,
    input: &HookInput,
    trigger: CompactionTrigger,
    instructions: Option<String>,
) -> Vec<Effect> {
    let checkpoint = Effect::Checkpoint {
        trigger: CheckpointTrigger::PreCompact,
        instructions,
    };
    let delivered_again = state
        .open_attempt()
        .filter(|attempt| attempt.joins(input.turn.as_ref()) && !attempt.completed);
    match delivered_again {
        Some(attempt) if attempt.generation.is_some() => Vec::new(),
        Some(_) => vec![checkpoint],
        None => {
            let started = EventBody::CompactionStarted {
                attempt: state.next_attempt_id(),
                turn: input.turn.clone(),
                trigger,
            };
            vec![Effect::Record(started), checkpoint]
        }
    }
}

fn reported(state: &State, input: &HookInput, trigger: CompactionTrigger) -> Vec<Effect> {
    let degraded = Effect::Record(EventBody::Degraded {
        reason: NO_CHECKPOINT.to_owned(),
    });
    let completed = |attempt: String, trigger| {
        Effect::Record(EventBody::CompactionCompleted { attempt, trigger })
    };
    match state
        .attempt
        .as_ref()
        .filter(|attempt| attempt.joins(input.turn.as_ref()))
    {
        Some(attempt) if attempt.completed => Vec::new(),
        Some(attempt) => {
            let mut effects = vec![completed(attempt.id.clone(), attempt.trigger)];
            if attempt.generation.is_none() {
                effects.extend([degraded, Effect::PromoteRolling]);
            }
            effects
        }
        None => vec![
            completed(state.next_attempt_id(), trigger),
            degraded,
            Effect::PromoteRolling,
        ],
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
