//! `harn context status|show|checkpoint`: look at a session's continuity, save a checkpoint.

use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use super::choose::choose_or_complain;
use super::dispatch::{complain, say, say_json};
use super::gauge::{ContextWire, MeterWire, context_lines};
use super::session::Session;
use super::{
    briefing, capsules, checkpoint, clock, graph, note, place, report, telemetry, verify, witness,
};
use crate::adapter::manifest::{Dimension, Support};
use crate::adapter::registry;
use crate::cli::{CheckpointArgs, ContextArgs, ContextCommand, SessionArgs, ShowArgs, StatusArgs};
use crate::continuity::capsule::Capsule;
use crate::continuity::state::{NoteKind, Phase, RecoveryState};
use crate::event::{
    BriefingChannel, CheckpointTrigger, EventSource, HarnessId, RunId, SCHEMA, SessionId, Timestamp,
};
use crate::exit::Exit;
use crate::process;
use crate::store::Layout;
use crate::store::dir::Durability;
use crate::supervisor::run::RunDir;
use crate::text::{age, one_line};

/// A person waits: git may take its time.
const GIT_LIMIT: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(args: &ContextArgs) -> anyhow::Result<Exit> {
    let Some(command) = &args.command else {
        return report::run(args);
    };
    let layout = place::layout()?;
    let wanted = match command {
        ContextCommand::Status(StatusArgs { session }) => session,
        ContextCommand::Show(args) => &args.session,
        ContextCommand::Checkpoint(args) => &args.session,
        ContextCommand::List(args) => &args.session,
        ContextCommand::Diff(args) => &args.session,
        ContextCommand::Graph(args) => &args.session,
        ContextCommand::Verify(args) => &args.session,
    };
    let cwd = std::env::current_dir().context("cannot tell the current directory")?;
    let entry = match choose_or_complain(&layout, wanted.session.as_deref(), &cwd)? {
        Ok(entry) => entry,
        Err(exit) => return Ok(exit),
    };
    if let ContextCommand::Graph(args) = command {
        return graph::run(&Session::glance(&layout, &entry)?, args);
    }
    if let ContextCommand::Checkpoint(args) = command {
        return save(Session::open(&layout, &entry, PATIENCE)?, args);
    }
    let mut session = Session::view(&layout, &entry)?;
    match command {
        ContextCommand::Status(args) => {
            telemetry::preview(&mut session, clock::now());
            telemetry::recall(&mut session, &layout);
            status(&layout, &session, &args.session)
        }
        ContextCommand::Show(args) => show(&session, args),
        ContextCommand::List(args) => capsules::list(&session, &args.session),
        ContextCommand::Diff(args) => capsules::diff(&session, args),
        ContextCommand::Verify(args) => verify::run(&session, &args.session),
        ContextCommand::Checkpoint(_) | ContextCommand::Graph(_) => Ok(Exit::Internal),
    }
}

#[derive(Serialize)]
struct StatusWire<'a> {
    schema: u32,
    session: &'a SessionId,
    run: Option<&'a RunId>,
    owned: bool,
    adapter: &'a HarnessId,
    phase: &'static str,
    generation: u64,
    capsule: Option<CapsuleWire<'a>>,
    recovery: Option<RecoveryWire>,
    context: Option<ContextWire>,
    meter: MeterWire<'a>,
    degraded: Option<&'a str>,
    compactions: u64,
    capabilities: CapabilitiesWire,
    /// What is wrong with this session's state, a line each.
    problems: Vec<String>,
}

#[derive(Serialize)]
struct CapsuleWire<'a> {
    id: &'a str,
    path: String,
    trigger: CheckpointTrigger,
    at: Timestamp,
    bytes: u64,
    truncated: &'a [String],
}

#[derive(Serialize)]
struct RecoveryWire {
    state: RecoveryState,
    via: BriefingChannel,
    at: Timestamp,
}

#[derive(Serialize)]
struct CapabilitiesWire {
    telemetry: Support,
    pre_signal: Support,
    post_signal: Support,
    trigger: Support,
}

fn status(layout: &Layout, session: &Session, args: &SessionArgs) -> anyhow::Result<Exit> {
    let manifest = registry::load(session.adapter.as_str())?;
    let wire = StatusWire {
        schema: SCHEMA,
        session: &session.id,
        run: session.run.as_ref(),
        owned: is_owned(layout, session)?,
        adapter: &session.adapter,
        phase: session.state.phase.word(),
        generation: session.state.generation,
        capsule: session.state.capsule.as_ref().map(|capsule| CapsuleWire {
            id: &capsule.id,
            path: session.capsule_path(capsule.generation),
            trigger: capsule.trigger,
            at: capsule.at,
            bytes: capsule.bytes,
            truncated: &capsule.truncated,
        }),
        recovery: session
            .state
            .recovery
            .as_ref()
            .map(|recovery| RecoveryWire {
                state: recovery.state,
                via: recovery.via,
                at: recovery.at,
            }),
        context: ContextWire::of(
            &session.state.context,
            session.state.session.last_event_at,
            clock::now(),
        ),
        meter: MeterWire::of(&session.state),
        degraded: match &session.state.phase {
            Phase::Degraded { reason } => Some(reason),
            Phase::Observing | Phase::Checkpointed { .. } | Phase::Recovered { .. } => None,
        },
        compactions: session.state.compactions,
        capabilities: CapabilitiesWire {
            telemetry: manifest.support(Dimension::Telemetry),
            pre_signal: manifest.support(Dimension::PreSignal),
            post_signal: manifest.support(Dimension::PostSignal),
            trigger: manifest.support(if takes_requests(layout, session)? {
                Dimension::TriggerOwned
            } else {
                Dimension::TriggerUnowned
            }),
        },
        problems: problems(layout, session),
    };
    if args.json {
        say_json(&wire)
    } else {
        say(&status_text(&wire, session))
    }
}

/// Whether a live run hosts this session.
fn is_owned(layout: &Layout, session: &Session) -> anyhow::Result<bool> {
    let Some(id) = &session.run else {
        return Ok(false);
    };
    let Some(dir) = RunDir::open(layout, id)? else {
        return Ok(false);
    };
    let is_alive = dir.read()?.is_some_and(|run| process::is_alive(run.host));
    Ok(is_alive
        && dir
            .speaker()?
            .is_some_and(|speaker| speaker.session == session.id))
}

/// Whether that run can be asked for a compaction now.
fn takes_requests(layout: &Layout, session: &Session) -> anyhow::Result<bool> {
    if !is_owned(layout, session)? {
        return Ok(false);
    }
    let Some(id) = &session.run else {
        return Ok(false);
    };
    let run = RunDir::open(layout, id)?
        .map(|dir| dir.read())
        .transpose()?
        .flatten();
    Ok(run.is_some_and(|run| run.socket.is_some_and(|socket| socket.exists())))
}

/// Looks for what keeps the next checkpoint from being saved, or the last one from being read.
fn problems(layout: &Layout, session: &Session) -> Vec<String> {
    let mut found = witness::problems(layout, Some(&session.adapter));
    if let Err(error) = session.store.check_writable() {
        found.push(format!("nothing can be saved: {error}"));
    }
    if session.damaged_lines > 0 {
        found.push(format!(
            "{} lines of the event log are damaged",
            session.damaged_lines
        ));
    }
    if session.was_rebuilt {
        found.push("the state file is damaged; it is rebuilt at the next event".to_owned());
    }
    if let Some(capsule) = &session.state.capsule
        && briefing::read(session, capsule.generation).is_none()
    {
        found.push(format!("checkpoint {} cannot be read", capsule.generation));
    }
    match session.store.spooled() {
        Ok(left) if left.is_empty() => {}
        Ok(left) => found.push(format!("{} signals wait for the next event", left.len())),
        Err(error) => found.push(error.to_string()),
    }
    found
}

fn status_text(wire: &StatusWire<'_>, session: &Session) -> String {
    let now = clock::now();
    let ago = |at: Timestamp| age(now.ms_since(at));
    let owned = match (wire.owned, wire.run) {
        (true, Some(run)) => format!("owned by run {run}"),
        (false, _) | (true, None) => "not owned by a live run".to_owned(),
    };
    let mut lines = vec![
        format!(
            "session     {} ({}), {owned}",
            one_line(wire.session.as_str()),
            wire.adapter
        ),
        format!("phase       {}", wire.phase),
        match &wire.capsule {
            Some(capsule) => format!(
                "checkpoint  {} ({}), saved {} ago: {}",
                session
                    .state
                    .capsule
                    .as_ref()
                    .map_or(0, |capsule| capsule.generation),
                word(&capsule.trigger),
                ago(capsule.at),
                one_line(&capsule.path)
            ),
            None => "checkpoint  none yet".to_owned(),
        },
        match &wire.recovery {
            Some(recovery) => format!(
                "briefing    {} {} ago (via {})",
                word(&recovery.state),
                ago(recovery.at),
                word(&recovery.via)
            ),
            None => "briefing    none yet".to_owned(),
        },
        format!("compactions {} reported by the harness", wire.compactions),
    ];
    lines.extend(context_lines(&session.state, now));
    lines.push(format!("trigger     {}", word(&wire.capabilities.trigger)));
    if let Some(reason) = wire.degraded {
        lines.push(format!("degraded    {}", one_line(reason)));
    }
    lines.extend(
        wire.problems
            .iter()
            .map(|problem| format!("problem     {}", one_line(problem))),
    );
    lines.join("\n")
}

/// The word a value has in JSON.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word.replace('_', " "),
        Ok(_) | Err(_) => "unknown".to_owned(),
    }
}

fn show(session: &Session, args: &ShowArgs) -> anyhow::Result<Exit> {
    let newest = session.store.generations()?.last().copied();
    let Some(generation) = args.generation.or(newest) else {
        complain(
            &"no checkpoint has been saved yet",
            Some("save one: harn context checkpoint"),
        );
        return Ok(Exit::NotDone);
    };
    let Some(capsule) = briefing::read(session, generation) else {
        let known = session.store.generations()?;
        let missing = format!("checkpoint {generation} cannot be read");
        complain(
            &missing,
            Some(&format!("generations with a file: {known:?}")),
        );
        return Ok(if known.contains(&generation) {
            Exit::BadData
        } else {
            Exit::Usage
        });
    };
    if args.session.json {
        say_json(&capsule)
    } else {
        say(&capsule_text(session, &capsule))
    }
}

/// A capsule for people: the briefing it would make now.
fn capsule_text(session: &Session, capsule: &Capsule) -> String {
    use crate::continuity::briefing::{Basis, Facts, render};
    let path = session.capsule_path(capsule.generation);
    let facts = Facts {
        tag: capsule.tag(),
        now: clock::now(),
        trigger: capsule
            .compaction
            .as_ref()
            .map_or(crate::event::CompactionTrigger::Unknown, |compaction| {
                compaction.trigger
            }),
        drift: Vec::new(),
        capsule_path: Some(&path),
        transcript: capsule.origin.transcript.as_deref(),
        mode: capsule.origin.mode.as_deref(),
    };
    render(&Basis::Checkpoint(capsule), &facts)
        .trim_end()
        .to_owned()
}

#[derive(Serialize)]
struct SavedWire<'a> {
    schema: u32,
    session: &'a SessionId,
    generation: u64,
    capsule: &'a str,
    path: String,
    bytes: u64,
    truncated: &'a [String],
}

fn save(mut session: Session, args: &CheckpointArgs) -> anyhow::Result<Exit> {
    let at = clock::now();
    if let Some(text) = &args.note
        && let Err(why) = note::add(&mut session.state.work.notes, NoteKind::Keep, text, at)
    {
        complain(&why, None);
        return Ok(Exit::Usage);
    }
    let order = checkpoint::Order {
        trigger: CheckpointTrigger::Manual,
        instructions: None,
        source: EventSource::Cli,
        at,
        git_limit: GIT_LIMIT,
    };
    let capsule = checkpoint::make(&mut session, order)?;
    session.save(Durability::Synced)?;
    let bytes = session
        .state
        .capsule
        .as_ref()
        .map_or(0, |capsule| capsule.bytes);
    let path = session.capsule_path(capsule.generation);
    if args.session.json {
        say_json(&SavedWire {
            schema: SCHEMA,
            session: &session.id,
            generation: capsule.generation,
            capsule: &capsule.id,
            path,
            bytes,
            truncated: &capsule.truncated,
        })
    } else {
        say(&format!(
            "checkpoint {} saved: {}",
            capsule.generation,
            one_line(&path)
        ))
    }
}
