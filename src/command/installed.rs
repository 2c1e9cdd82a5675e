//! What `harn install` and `harn uninstall` tell of the files they dealt with, and the doing of it.

use serde::Serialize;
use similar::TextDiff;

use super::dispatch::{complain, say, say_bytes, say_json};
use super::install::Desk;
use super::sheet::{Outcome, Plan, SheetError};
use crate::adapter::site::Scope;
use crate::event::SCHEMA;
use crate::exit::Exit;

/// What was done with the plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Only looked whether something is to be done.
    Check,
    /// Shown and not done.
    Shown,
    Done,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    adapter: &'a str,
    scope: &'static str,
    /// Whether anything differs from what is wanted.
    current: bool,
    written: bool,
    files: Vec<FileReport>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FileReport {
    path: String,
    outcome: Outcome,
    reasons: Vec<String>,
    backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// Does it, if it is to be done, and tells.
pub(super) fn report(
    desk: &Desk,
    plans: &[Plan],
    notes: &[String],
    how: How,
    is_json: bool,
) -> anyhow::Result<Exit> {
    let mut files = Vec::new();
    for plan in plans {
        let backup = match how {
            How::Done => match plan.carry_out(&desk.layout) {
                Ok(backup) => backup,
                Err(error) => return Ok(failed_at(&error, &files)),
            },
            How::Check | How::Shown => None,
        };
        files.push(FileReport {
            path: plan.sheet.path.display().to_string(),
            outcome: plan.outcome,
            reasons: plan.reasons.clone(),
            backup: backup.map(|path| path.display().to_string()),
            diff: (how == How::Shown && plan.is_change()).then(|| diff(plan)),
        });
    }
    if is_json {
        return say_json(&Report {
            schema: SCHEMA,
            adapter: desk.adapter(),
            scope: match desk.scope {
                Scope::User => "user",
                Scope::Project => "project",
                Scope::Local => "local",
            },
            current: !plans.iter().any(Plan::is_change),
            written: how == How::Done,
            files,
            notes,
        });
    }
    if how == How::Shown {
        let diffs: Vec<String> = files.into_iter().filter_map(|file| file.diff).collect();
        return say_bytes(diffs.concat().as_bytes());
    }
    let mut lines: Vec<String> = files.iter().flat_map(|file| told(file, how)).collect();
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    say(&lines.join("\n"))
}

fn failed_at(error: &SheetError, done: &[FileReport]) -> Exit {
    let hint = match done {
        [] => "nothing was written".to_owned(),
        done => {
            let paths: Vec<&str> = done.iter().map(|file| file.path.as_str()).collect();
            format!("done before: {}", paths.join(", "))
        }
    };
    complain(error, Some(&hint));
    Exit::Failed
}

fn told(file: &FileReport, how: How) -> Vec<String> {
    let word = match (how, file.outcome) {
        (_, Outcome::Unchanged) => "current",
        (How::Check | How::Shown, _) => "drift",
        (How::Done, Outcome::Created) => "created",
        (How::Done, Outcome::Changed) => "changed",
        (How::Done, Outcome::Restored) => "restored",
        (How::Done, Outcome::Removed) => "removed",
    };
    let mut lines = vec![format!("{word:<9} {}", file.path)];
    if how == How::Done && !file.reasons.is_empty() {
        let things = file.reasons.iter().filter_map(|it| it.split(": ").next());
        let things: Vec<&str> = things.collect();
        lines.push(format!("{:<9} {}", "", things.join(", ")));
    } else {
        lines.extend(file.reasons.iter().map(|it| format!("{:<9} {it}", "")));
    }
    if let Some(backup) = &file.backup {
        lines.push(format!("{:<9} {backup}", "before:"));
    }
    lines
}

fn diff(plan: &Plan) -> String {
    let (before, after) = plan.texts();
    let path = plan.sheet.path.display().to_string();
    let diff = TextDiff::from_lines(&before, &after);
    diff.unified_diff().header(&path, &path).to_string()
}
