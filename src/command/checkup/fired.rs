//! When each event of an adapter was last seen, by the logs of this project's sessions.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::super::clock;
use super::super::session;
use super::{Finding, Findings, Level};
use crate::adapter::manifest::{Manifest, SignalKind};
use crate::event::{Event, EventBody, EventSource, HarnessId, StartSource, Timestamp, TurnEnd};
use crate::store::Layout;
use crate::text::age;

/// Of each log, so much of its end is looked at, in bytes.
const END_BYTES: u64 = 512 * 1024;

/// One event of the harness's, and when it last came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fired {
    event: String,
    last_at: Option<Timestamp>,
}

/// Tells of the events that are wired or were seen.
pub(super) fn look(
    layout: &Layout,
    manifest: &Manifest,
    wired: &[String],
    project: &Path,
    found: &mut Findings,
) {
    // What cannot be read is told with the sessions.
    let entries = session::of_project(layout, project).unwrap_or_default();
    let mut last = BTreeMap::new();
    for entry in entries.iter().filter(|it| it.adapter == manifest.id) {
        for (kind, at) in latest(
            &session::newest_events(layout, entry, END_BYTES),
            &manifest.id,
        ) {
            let known = last.entry(kind).or_insert(at);
            *known = at.max(*known);
        }
    }
    if last.is_empty() && wired.is_empty() {
        return;
    }
    let events: Vec<Fired> = manifest
        .events
        .iter()
        .map(|spec| Fired {
            event: spec.native.clone(),
            last_at: last.get(&spec.signal).copied(),
        })
        .filter(|it| it.last_at.is_some() || wired.contains(&it.event))
        .collect();
    found.0.push(finding(&manifest.id, events, clock::now()));
}

fn finding(id: &HarnessId, events: Vec<Fired>, now: Timestamp) -> Finding {
    let seen: Vec<String> = events
        .iter()
        .filter_map(|it| {
            Some(format!(
                "{} {} ago",
                it.event,
                age(now.ms_since(it.last_at?))
            ))
        })
        .collect();
    let unseen: Vec<&str> = events
        .iter()
        .filter(|it| it.last_at.is_none())
        .map(|it| it.event.as_str())
        .collect();
    let (what, hint) = match (seen.is_empty(), unseen.is_empty()) {
        (true, _) => (
            format!("{id}: no hook has fired in this project"),
            Some("start a session; if it stays so, look at what is wrong above, and into the log"),
        ),
        (false, true) => (format!("{id}: {}", seen.join(", ")), None),
        (false, false) => (
            format!("{id}: {}; not yet: {}", seen.join(", "), unseen.join(", ")),
            None,
        ),
    };
    Finding {
        check: "hooks",
        level: Level::Ok,
        what: crate::text::one_line(&what),
        hint: hint.map(str::to_owned),
        events: Some(events),
    }
}

/// The newest time of each signal that hooks brought.
fn latest(events: &[Event], adapter: &HarnessId) -> BTreeMap<SignalKind, Timestamp> {
    let mut latest = BTreeMap::new();
    // One hook's events bear one time. A compaction's end that a start told of is no report of its own.
    let mut restarted_at = None;
    for event in events {
        if event.source != EventSource::Hook || event.adapter != *adapter {
            continue;
        }
        if let EventBody::SessionStarted {
            source: StartSource::Compact,
            ..
        } = event.body
        {
            restarted_at = Some(event.at);
        }
        let kind = kind_of(&event.body);
        let is_echo =
            kind == Some(SignalKind::CompactionReported) && restarted_at == Some(event.at);
        if let Some(kind) = kind.filter(|_| !is_echo) {
            let known = latest.entry(kind).or_insert(event.at);
            *known = event.at.max(*known);
        }
    }
    latest
}

fn kind_of(body: &EventBody) -> Option<SignalKind> {
    match body {
        EventBody::SessionStarted { .. } => Some(SignalKind::SessionStarted),
        EventBody::SessionEnded { .. } => Some(SignalKind::SessionEnded),
        EventBody::PromptSubmitted { .. } => Some(SignalKind::PromptSubmitted),
        EventBody::TurnStopped { end, .. } => Some(match end {
            TurnEnd::Completed => SignalKind::TurnStopped,
            TurnEnd::Failed => SignalKind::TurnFailed,
            TurnEnd::Interrupted => SignalKind::TurnInterrupted,
        }),
        EventBody::ToolStarted { .. } => Some(SignalKind::ToolStarted),
        EventBody::ToolFinished { ok, .. } => Some(if *ok {
            SignalKind::ToolFinished
        } else {
            SignalKind::ToolFailed
        }),
        EventBody::AgentStarted { .. } => Some(SignalKind::AgentStarted),
        EventBody::AgentStopped { .. } => Some(SignalKind::AgentStopped),
        EventBody::PermissionRequested { .. } => Some(SignalKind::PermissionRequested),
        EventBody::CompactionStarted { .. } => Some(SignalKind::CompactionAnnounced),
        EventBody::CompactionCompleted { .. } => Some(SignalKind::CompactionReported),
        EventBody::SessionLinked { .. }
        | EventBody::SessionNested { .. }
        | EventBody::CheckpointCreated { .. }
        | EventBody::RecoveryInjected { .. }
        | EventBody::ContextSampled(_)
        | EventBody::ContextBoundary { .. }
        | EventBody::RecoveryDelivered { .. }
        | EventBody::Degraded { .. }
        | EventBody::ManagedRequested { .. }
        | EventBody::ManagedTyped { .. }
        | EventBody::ManagedSubmitted { .. }
        | EventBody::ManagedSettled { .. } => None,
    }
}
