//! `harn context verify`: rebuilds the state from events and capsules and says where the stored one differs.

use serde::Serialize;
use serde_json::Value;

use super::briefing;
use super::dispatch::{say, say_json};
use super::session::Session;
use crate::cli::SessionArgs;
use crate::continuity::State;
use crate::continuity::state::Work;
use crate::event::{EventBody, SCHEMA, SessionId};
use crate::exit::Exit;
use crate::store::dir::DirError;
use crate::store::log;
use crate::telemetry::meter::Aside;
use crate::text::one_line;

#[derive(Serialize)]
struct VerifyWire<'a> {
    schema: u32,
    session: &'a SessionId,
    ok: bool,
    events: u64,
    damaged_lines: u64,
    capsules: u64,
    /// One line each.
    differences: Vec<String>,
}

pub(super) fn run(session: &Session, args: &SessionArgs) -> anyhow::Result<Exit> {
    let mut found = Vec::new();
    let mut rebuilt = State::default();
    let mut capsules_told = Vec::new();
    let (events, damaged_lines) = rebuild(session, &mut rebuilt, &mut capsules_told)?;
    let generations = session.store.generations()?;
    rebuilt.generation = rebuilt
        .generation
        .max(generations.last().copied().unwrap_or(0));
    compare(
        "",
        &told_by_events(&rebuilt)?,
        &told_by_events(&session.state)?,
        &mut found,
    );
    for generation in &generations {
        match briefing::read(session, *generation) {
            None => found.push(format!("checkpoint {generation} cannot be read")),
            Some(capsule) if capsule.generation != *generation => found.push(format!(
                "the file of checkpoint {generation} holds checkpoint {}",
                capsule.generation
            )),
            Some(_) if !capsules_told.contains(generation) => {
                found.push(format!("checkpoint {generation} is not in the log"));
            }
            Some(_) => {}
        }
    }
    let oldest = generations.first().copied().unwrap_or(u64::MAX);
    // Older ones went by the retention rule.
    let missing = capsules_told
        .iter()
        .filter(|it| **it > oldest && !generations.contains(it));
    found.extend(missing.map(|it| format!("the log tells of checkpoint {it}, which has no file")));
    if damaged_lines > 0 {
        found.push(format!("{damaged_lines} lines of the log are no events"));
    }
    let wire = VerifyWire {
        schema: SCHEMA,
        session: &session.id,
        ok: found.is_empty(),
        events,
        damaged_lines,
        capsules: generations.len() as u64,
        differences: found,
    };
    let exit = if wire.ok { Exit::Ok } else { Exit::BadData };
    if args.json {
        say_json(&wire)?;
        return Ok(exit);
    }
    let mut lines: Vec<String> = wire.differences.iter().map(|line| one_line(line)).collect();
    lines.push(format!(
        "{} events, {} checkpoints: {}",
        wire.events,
        wire.capsules,
        if wire.ok {
            "the stored state is what they tell"
        } else {
            "see above"
        }
    ));
    say(&lines.join("\n"))?;
    Ok(exit)
}

fn rebuild(
    session: &Session,
    state: &mut State,
    capsules: &mut Vec<u64>,
) -> Result<(u64, u64), DirError> {
    let (mut events, mut damaged, mut offset) = (0, 0, 0);
    loop {
        let batch = log::read_from(session.store.dir(), offset)?;
        for event in &batch.events {
            if let EventBody::CheckpointCreated { generation, .. } = &event.body {
                capsules.push(*generation);
            }
            state.apply(&event.body, event.at);
        }
        events += batch.events.len() as u64;
        damaged += batch.damaged;
        if batch.next_offset <= offset {
            return Ok((events, damaged));
        }
        offset = batch.next_offset;
    }
}

/// The part of a state that events tell: words and where the agent stands are none.
fn told_by_events(state: &State) -> Result<Value, serde_json::Error> {
    let mut state = state.clone();
    state.work = Work {
        request: None,
        summary: None,
        notes: Vec::new(),
        ..state.work
    };
    state.session.cwd = None;
    state.session.transcript = None;
    state.context.aside = Aside::default();
    serde_json::to_value(&state)
}

fn compare(path: &str, rebuilt: &Value, stored: &Value, found: &mut Vec<String>) {
    if rebuilt == stored {
        return;
    }
    match (rebuilt, stored) {
        (Value::Object(rebuilt), Value::Object(stored)) if rebuilt.len() == stored.len() => {
            for (name, value) in rebuilt {
                let dot = if path.is_empty() { "" } else { "." };
                let other = stored.get(name).unwrap_or(&Value::Null);
                compare(&format!("{path}{dot}{name}"), value, other, found);
            }
        }
        _ => found.push(format!(
            "{path}: the log tells {rebuilt}, the state file holds {stored}"
        )),
    }
}
