//! `harn context list` and `diff`: the checkpoints of a session, and what lies between two of them.

use serde::Serialize;

use super::briefing;
use super::clock;
use super::dispatch::{complain, say, say_json};
use super::session::Session;
use crate::cli::{DiffArgs, SessionArgs};
use crate::continuity::snapshot::{Branch, Dirty};
use crate::continuity::state::Work;
use crate::continuity::{Capsule, Drift, RepoState};
use crate::event::{CheckpointTrigger, SCHEMA, SessionId, Timestamp};
use crate::exit::Exit;
use crate::text::{age, one_line, shorten};

/// Paths named a finding.
const DIFF_PATHS: usize = 20;
const REQUEST_CHARS: usize = 60;

#[derive(Serialize)]
struct ListWire<'a> {
    schema: u32,
    session: &'a SessionId,
    capsules: Vec<RowWire>,
}

#[derive(Serialize)]
struct RowWire {
    generation: u64,
    /// Absent facts mean that the capsule's file cannot be read.
    id: Option<String>,
    trigger: Option<CheckpointTrigger>,
    at: Option<Timestamp>,
    branch: Option<String>,
    commit: Option<String>,
    /// The two for people; no fact of its own.
    #[serde(skip)]
    head: String,
    dirty: Option<u64>,
    request: Option<String>,
    path: String,
}

pub(super) fn list(session: &Session, args: &SessionArgs) -> anyhow::Result<Exit> {
    let rows: Vec<RowWire> = session
        .store
        .generations()?
        .into_iter()
        .map(|generation| row(session, generation, briefing::read(session, generation)))
        .collect();
    if args.json {
        return say_json(&ListWire {
            schema: SCHEMA,
            session: &session.id,
            capsules: rows,
        });
    }
    if rows.is_empty() {
        return say("no checkpoint has been saved yet");
    }
    let lines: Vec<String> = rows.iter().map(row_text).collect();
    say(&lines.join("\n"))
}

fn row(session: &Session, generation: u64, capsule: Option<Capsule>) -> RowWire {
    let path = session.capsule_path(generation);
    let Some(capsule) = capsule else {
        return RowWire {
            generation,
            id: None,
            trigger: None,
            at: None,
            branch: None,
            commit: None,
            head: String::new(),
            dirty: None,
            request: None,
            path,
        };
    };
    let repo = match &capsule.repo {
        RepoState::Known(repo) => Some(repo),
        RepoState::NotARepository | RepoState::TimedOut | RepoState::Failed { .. } => None,
    };
    let branch = repo.and_then(|repo| match repo.head.branch.as_ref()? {
        Branch::Branch(name) | Branch::Unborn(name) => Some(name.display()),
        Branch::Detached => None,
    });
    let dirty = repo.and_then(|repo| match &repo.dirty {
        Dirty::Known(list) => Some(list.total),
        Dirty::Unknown { .. } => None,
    });
    let commit = repo.and_then(|repo| repo.head.commit.clone());
    let head = repo.map_or("repository unknown".to_owned(), |repo| repo.head.describe());
    RowWire {
        generation,
        id: Some(capsule.id),
        trigger: Some(capsule.trigger),
        at: Some(capsule.at),
        branch,
        commit,
        head,
        dirty,
        request: capsule.work.request.map(|said| said.text),
        path,
    }
}

fn row_text(row: &RowWire) -> String {
    let (Some(at), Some(trigger)) = (row.at, row.trigger) else {
        return format!(
            "{:>4}  cannot be read: {}",
            row.generation,
            one_line(&row.path)
        );
    };
    let trigger = match trigger {
        CheckpointTrigger::PreCompact => "pre compact",
        CheckpointTrigger::Manual => "manual",
        CheckpointTrigger::Late => "late",
        CheckpointTrigger::Rolling => "rolling",
    };
    let dirty = row.dirty.map_or("-".to_owned(), |dirty| dirty.to_string());
    let request = row.request.as_deref().map(one_line).unwrap_or_default();
    format!(
        "{:>4}  {:<11}  {:>7} ago  {}, {dirty} dirty  {}",
        row.generation,
        trigger,
        age(clock::now().ms_since(at)),
        row.head,
        shorten(&request, REQUEST_CHARS)
    )
    .trim_end()
    .to_owned()
}

#[derive(Serialize)]
struct DiffWire<'a> {
    schema: u32,
    session: &'a SessionId,
    from: u64,
    to: u64,
    /// How the repository differs, a finding a line.
    repository: Vec<String>,
    request: ChangeWire,
    notes: SetWire,
    touched: SetWire,
}

#[derive(Serialize)]
struct ChangeWire {
    from: Option<String>,
    to: Option<String>,
}

#[derive(Serialize)]
struct SetWire {
    added: Vec<String>,
    removed: Vec<String>,
}

pub(super) fn diff(session: &Session, args: &DiffArgs) -> anyhow::Result<Exit> {
    let read = |generation| {
        briefing::read(session, generation).ok_or_else(|| {
            complain(
                &format!("checkpoint {generation} cannot be read"),
                Some("harn context list shows which there are"),
            );
            Exit::Usage
        })
    };
    let (from, to) = match (read(args.from), read(args.to)) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(exit), _) | (_, Err(exit)) => return Ok(exit),
    };
    let wire = DiffWire {
        schema: SCHEMA,
        session: &session.id,
        from: from.generation,
        to: to.generation,
        repository: Drift::between(&from.repo, &to.repo).lines(DIFF_PATHS),
        request: ChangeWire {
            from: request(&from.work),
            to: request(&to.work),
        },
        notes: set(&notes(&from.work), &notes(&to.work)),
        touched: set(&touched(&from.work), &touched(&to.work)),
    };
    if args.session.json {
        return say_json(&wire);
    }
    say(&diff_text(&wire))
}

fn diff_text(wire: &DiffWire<'_>) -> String {
    let mut lines = vec![format!("checkpoint {} -> {}", wire.from, wire.to)];
    lines.extend(
        wire.repository
            .iter()
            .map(|line| format!("  {}", one_line(line))),
    );
    if wire.request.from != wire.request.to {
        let words = |text: &Option<String>| {
            text.as_deref()
                .map_or("none".to_owned(), |text| shorten(&one_line(text), 200))
        };
        lines.push(format!("  request was: {}", words(&wire.request.from)));
        lines.push(format!("  request is:  {}", words(&wire.request.to)));
    }
    for (what, set) in [("note", &wire.notes), ("written file", &wire.touched)] {
        lines.extend(
            set.added
                .iter()
                .map(|it| format!("  + {what}: {}", one_line(it))),
        );
        lines.extend(
            set.removed
                .iter()
                .map(|it| format!("  - {what}: {}", one_line(it))),
        );
    }
    lines.join("\n")
}

fn request(work: &Work) -> Option<String> {
    work.request.as_ref().map(|said| said.text.clone())
}

fn notes(work: &Work) -> Vec<String> {
    work.notes.iter().map(|note| note.text.clone()).collect()
}

fn touched(work: &Work) -> Vec<String> {
    work.touched
        .iter()
        .map(|touched| touched.path.clone())
        .collect()
}

fn set(from: &[String], to: &[String]) -> SetWire {
    let only = |these: &[String], those: &[String]| {
        these
            .iter()
            .filter(|it| !those.contains(it))
            .cloned()
            .collect()
    };
    SetWire {
        added: only(to, from),
        removed: only(from, to),
    }
}
