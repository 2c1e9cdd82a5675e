//! Carries out what the continuity machine decided: records, checkpoints, briefings, memories.

use std::io;
use std::time::Duration;

use super::checkpoint::{self, Order};
use super::session::Session;
use super::{briefing, delivery, place, retention, telemetry};
use crate::continuity::capsule::{REQUEST_CHARS, SUMMARY_CHARS};
use crate::continuity::mask::mask;
use crate::continuity::signal::{HookInput, Signal};
use crate::continuity::state::Said;
use crate::continuity::step::{self, Effect};
use crate::event::{EventSource, Timestamp};
use crate::store::Layout;
use crate::store::dir::Durability;
use crate::text::shorten;

/// Of a two-second deadline, what git may take.
pub(super) const GIT_LIMIT: Duration = Duration::from_millis(1_500);

/// Where a briefing goes.
pub(super) type Channel<'a> = &'a mut dyn FnMut(&str) -> io::Result<()>;

/// Takes one signal through the machine. Without a channel (a signal that waited in the spool) nothing is briefed.
///
/// No effect keeps the next one from happening: what fails is logged. Returns how durably the state is to be written.
pub(super) fn carry_out(
    layout: &Layout,
    session: &mut Session,
    input: &HookInput,
    at: Timestamp,
    mut channel: Option<Channel<'_>>,
) -> Durability {
    follow(session, input, at);
    // Measured before the machine steps, so that a compaction knows what it began with. A start is its own first event.
    let is_start = matches!(input.signal, Signal::SessionStarted { .. });
    let is_measured = channel.is_some() && input.agent.is_none();
    if is_measured && !is_start {
        telemetry::read_transcript(session, at);
    }
    let input = &HookInput {
        delivery: delivery::proof(&session.state),
        ..input.clone()
    };
    let mut durability = Durability::Atomic;
    for effect in step::step(&session.state, input) {
        match effect {
            Effect::Record(body) => session.record(body, EventSource::Hook, at),
            Effect::Checkpoint {
                trigger,
                instructions,
            } => {
                durability = Durability::Synced;
                let source = EventSource::Hook;
                let order = Order {
                    trigger,
                    instructions,
                    source,
                    at,
                    git_limit: GIT_LIMIT,
                };
                if let Err(error) = checkpoint::make(session, order) {
                    tracing::error!(%error, "no checkpoint was saved");
                }
                let retention = place::config_or_default(layout).retention;
                if let Err(error) = retention::prune_capsules(session, &retention) {
                    tracing::warn!(%error, "old checkpoints stay");
                }
            }
            Effect::Brief { via, attempt } => {
                let Some(print) = channel.as_mut() else {
                    continue;
                };
                durability = Durability::Synced;
                let prepared = briefing::prepare(session, &attempt, at, GIT_LIMIT);
                if let Err(error) = print(&prepared.text) {
                    tracing::error!(%error, "the briefing is not printed");
                    continue;
                }
                session.record(prepared.injected(attempt, via), EventSource::Hook, at);
                if let Err(error) = session.store.write_briefing(&prepared.text) {
                    tracing::warn!(%error, "the briefing is not kept for people");
                }
            }
            Effect::Roll { with_git } => {
                let git_limit = with_git.then_some(GIT_LIMIT);
                if let Err(error) = checkpoint::roll(session, at, git_limit) {
                    tracing::warn!(%error, "the rolling capsule is not kept");
                }
            }
            Effect::PromoteRolling => {
                if let Err(error) = checkpoint::promote(session, at) {
                    tracing::warn!(%error, "the rolling capsule is not made a checkpoint");
                }
            }
            Effect::RememberRequest(text) => {
                if let Some(said) = said(layout, &text, REQUEST_CHARS, at) {
                    session.state.work.request = Some(said);
                }
            }
            Effect::RememberSummary(text) => {
                if let Some(said) = said(layout, &text, SUMMARY_CHARS, at) {
                    session.state.work.summary = Some(said);
                }
            }
        }
    }
    if is_measured && is_start {
        telemetry::read_knobs(session);
        telemetry::read_transcript(session, at);
    }
    durability
}

/// The agent moves; where it stands is where git facts come from.
fn follow(session: &mut Session, input: &HookInput, at: Timestamp) {
    let is_first = session.state.session.last_event_at.is_none();
    if is_first && matches!(input.signal, Signal::PromptSubmitted { .. }) {
        // As the event will tell, but that comes after what is measured now.
        session.state.context.begin(at);
    }
    let facts = &mut session.state.session;
    for (mine, told) in [
        (&mut facts.cwd, &input.cwd),
        (&mut facts.transcript, &input.transcript),
    ] {
        if told.is_some() && input.agent.is_none() {
            mine.clone_from(told);
        }
    }
}

/// Words to keep, unless the user wants none kept.
fn said(layout: &Layout, text: &str, limit: usize, at: Timestamp) -> Option<Said> {
    let wanted = place::config_or_default(layout).capture.prompts;
    wanted.then(|| Said {
        text: mask(&shorten(text, limit)),
        at,
    })
}
