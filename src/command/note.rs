//! `harn note`: durable words for the next capsule.

use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use super::choose::choose_or_complain;
use super::dispatch::{complain, say, say_json};
use super::session::Session;
use super::{clock, place};
use crate::adapter::registry;
use crate::cli::NoteArgs;
use crate::continuity::mask::mask;
use crate::continuity::state::{NOTE_CHARS, NOTES_LIMIT, Note, NoteKind, NoteOrigin};
use crate::event::{SCHEMA, SessionId, Timestamp};
use crate::exit::Exit;
use crate::store::dir::Durability;
use crate::text::{age, one_line};

const PATIENCE: Duration = Duration::from_secs(5);

/// Why a note was not taken.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum NoteError {
    #[error("a note has 1 to {NOTE_CHARS} characters; this one has {0}")]
    Length(usize),
    #[error("there are {NOTES_LIMIT} notes already")]
    Full,
    #[error("there is no note {0}")]
    Unknown(usize),
}

#[derive(Serialize)]
struct NotesWire<'a> {
    schema: u32,
    session: &'a SessionId,
    notes: Vec<NoteWire<'a>>,
}

#[derive(Serialize)]
struct NoteWire<'a> {
    number: usize,
    kind: NoteKind,
    text: &'a str,
    origin: NoteOrigin,
    at: Timestamp,
}

pub(super) fn run(args: &NoteArgs) -> anyhow::Result<Exit> {
    let layout = place::layout()?;
    let cwd = std::env::current_dir().context("cannot tell the current directory")?;
    let entry = match choose_or_complain(&layout, args.session.session.as_deref(), &cwd)? {
        Ok(entry) => entry,
        Err(exit) => return Ok(exit),
    };
    if args.list {
        return list(&Session::view(&layout, &entry)?, args.session.json);
    }
    let mut session = Session::open(&layout, &entry, PATIENCE)?;
    let notes = &mut session.state.work.notes;
    let changed = match (args.drop, &args.text) {
        (Some(number), _) => drop_note(notes, number),
        (None, Some(text)) => add(notes, kind(args), text, clock::now()),
        (None, None) => {
            complain(
                &"no note was given",
                Some("harn note TEXT, or --list, or --drop N"),
            );
            return Ok(Exit::Usage);
        }
    };
    if let Err(why) = changed {
        let hint = "harn note --list shows them, harn note --drop N removes one";
        complain(&why, (!matches!(why, NoteError::Length(_))).then_some(hint));
        return Ok(Exit::Usage);
    }
    session.save(Durability::Synced)?;
    list(&session, args.session.json)
}

fn kind(args: &NoteArgs) -> NoteKind {
    match (args.task, args.next) {
        (true, _) => NoteKind::Task,
        (false, true) => NoteKind::Next,
        (false, false) => NoteKind::Keep,
    }
}

/// Adds a note. There is one task and one next step: a newer one takes the older one's place.
pub(super) fn add(
    notes: &mut Vec<Note>,
    kind: NoteKind,
    text: &str,
    at: Timestamp,
) -> Result<(), NoteError> {
    let text = mask(&one_line(text.trim()));
    let chars = text.chars().count();
    if chars == 0 || chars > NOTE_CHARS {
        return Err(NoteError::Length(chars));
    }
    match kind {
        NoteKind::Task | NoteKind::Next => notes.retain(|note| note.kind != kind),
        NoteKind::Keep => {}
    }
    if notes.len() >= NOTES_LIMIT {
        return Err(NoteError::Full);
    }
    notes.push(Note {
        kind,
        text,
        origin: origin(),
        at,
    });
    Ok(())
}

fn drop_note(notes: &mut Vec<Note>, number: usize) -> Result<(), NoteError> {
    if number == 0 || number > notes.len() {
        return Err(NoteError::Unknown(number));
    }
    notes.remove(number - 1);
    Ok(())
}

/// A process with a run's or a harness's variables in it was most likely started by the agent.
fn origin() -> NoteOrigin {
    let is_inside = place::run_hint().is_some()
        || registry::all().any(|manifest| place::session_hint(&manifest).is_some());
    if is_inside {
        NoteOrigin::Session
    } else {
        NoteOrigin::Terminal
    }
}

fn list(session: &Session, as_json: bool) -> anyhow::Result<Exit> {
    let notes = session.state.work.notes.iter().zip(1..);
    if as_json {
        let notes = notes
            .map(|(note, number)| NoteWire {
                number,
                kind: note.kind,
                text: &note.text,
                origin: note.origin,
                at: note.at,
            })
            .collect();
        return say_json(&NotesWire {
            schema: SCHEMA,
            session: &session.id,
            notes,
        });
    }
    let now = clock::now();
    let lines: Vec<String> = notes
        .map(|(note, number)| {
            let kind = match note.kind {
                NoteKind::Task => "task",
                NoteKind::Keep => "keep",
                NoteKind::Next => "next",
            };
            let origin = match note.origin {
                NoteOrigin::Terminal => "terminal",
                NoteOrigin::Session => "session",
            };
            let ago = age(now.ms_since(note.at));
            format!(
                "{number:>2} {kind}  {}  ({origin}, {ago} ago)",
                one_line(&note.text)
            )
        })
        .collect();
    if lines.is_empty() {
        say("no notes")
    } else {
        say(&lines.join("\n"))
    }
}
