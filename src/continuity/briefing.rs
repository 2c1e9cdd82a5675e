//! The briefing: what an agent gets back after a compaction.
//!
//! Pure: a capsule and facts in, at most `LIMIT_CHARS` characters out, most important first. It is labelled as data
//! recorded by harn, never tells the agent to begin anew, and says what it does not know.

use super::capsule::Capsule;
use super::snapshot::{Dirty, DirtyPath, RepoState};
use super::state::{NoteKind, NoteOrigin, Work};
use crate::event::{CompactionTrigger, Timestamp};
use crate::text::{age, one_line, printable, shorten};

/// Characters of a whole briefing. Claude and Codex both cut hook context at about 10,000.
pub const LIMIT_CHARS: usize = 6_000;

const REQUEST_CHARS: usize = 1_400;
const NOTES_CHARS: usize = 1_800;
const LIST_CHARS: usize = 900;
const LINE_CHARS: usize = 300;

/// Where the briefed work comes from.
#[derive(Clone, Debug)]
pub enum Basis<'a> {
    /// The capsule that was made for this very compaction.
    Checkpoint(&'a Capsule),
    /// An older capsule: it predates the compaction.
    Older(&'a Capsule),
    /// No capsule at all: what the state holds.
    State(&'a Work),
}

/// What the capsule cannot know.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub tag: String,
    pub now: Timestamp,
    pub trigger: CompactionTrigger,
    /// Lines that tell how the repository differs from the capsule's; empty: nothing differs.
    pub drift: Vec<String>,
    /// Where the whole capsule lies.
    pub capsule_path: Option<&'a str>,
    pub transcript: Option<&'a str>,
    pub mode: Option<&'a str>,
}

/// Writes the briefing.
pub fn render(basis: &Basis<'_>, facts: &Facts<'_>) -> String {
    let work = match basis {
        Basis::Checkpoint(capsule) | Basis::Older(capsule) => &capsule.work,
        Basis::State(work) => work,
    };
    let mut sections = vec![header(basis, facts)];
    sections.extend(request(work));
    sections.extend(notes(work, NoteKind::Task, "Task, as noted:"));
    sections.extend(notes(work, NoteKind::Next, "Next step, as noted:"));
    sections.extend(notes(work, NoteKind::Keep, "Must keep, verbatim:"));
    sections.extend(mode(facts));
    sections.extend(drift(facts));
    sections.extend(paths(basis, work));
    sections.extend(in_flight(work));
    sections.extend(summary(work));
    sections.extend(instructions(basis));
    sections.push(rest(facts));
    fit(&sections, facts)
}

fn header(basis: &Basis<'_>, facts: &Facts<'_>) -> Vec<String> {
    let trigger = match facts.trigger {
        CompactionTrigger::Manual => "manual",
        CompactionTrigger::Auto => "automatic",
        CompactionTrigger::Unknown => "reported",
    };
    let saved = match basis {
        Basis::Checkpoint(capsule) => {
            format!(
                "checkpoint {}, saved {} ago",
                capsule.generation,
                age_of(capsule, facts)
            )
        }
        Basis::Older(capsule) => format!(
            "no checkpoint was made for this compaction; this is checkpoint {}, saved {} ago, which predates it",
            capsule.generation,
            age_of(capsule, facts)
        ),
        Basis::State(_) => "no checkpoint exists; this is what harn saw of the session".to_owned(),
    };
    vec![
        format!("{} Work state recorded by harn: {saved} ({trigger} compaction).", facts.tag),
        "This is recorded data, not a message from the user. Go on with the work below; where it differs from \
         what you see, trust what you see."
            .to_owned(),
    ]
}

fn age_of(capsule: &Capsule, facts: &Facts<'_>) -> String {
    age(facts.now.ms_since(capsule.at))
}

fn request(work: &Work) -> Option<Vec<String>> {
    let request = work.request.as_ref()?;
    let text = shorten(printable(request.text.trim()).as_str(), REQUEST_CHARS);
    let mut lines = vec!["Open request, in the user's words:".to_owned()];
    lines.extend(text.lines().map(|line| format!("> {line}")));
    Some(lines)
}

fn notes(work: &Work, kind: NoteKind, title: &str) -> Option<Vec<String>> {
    let mut left = NOTES_CHARS;
    let mut lines = vec![title.to_owned()];
    let mut hidden = 0;
    for note in work.notes.iter().rev().filter(|note| note.kind == kind) {
        let origin = match note.origin {
            NoteOrigin::Terminal => "",
            NoteOrigin::Session => " (written inside the session)",
        };
        let line = format!("- {}{origin}", one_line(&note.text));
        match left.checked_sub(line.chars().count()) {
            Some(rest) => {
                left = rest;
                lines.push(line);
            }
            None => hidden += 1,
        }
    }
    if hidden > 0 {
        lines.push(format!("- {hidden} more notes in the checkpoint file"));
    }
    (lines.len() > 1).then_some(lines)
}

fn mode(facts: &Facts<'_>) -> Option<Vec<String>> {
    let mode = facts.mode.filter(|mode| *mode != "default")?;
    let mode = shorten(&one_line(mode), 40);
    Some(vec![match mode.as_str() {
        "plan" => {
            "Mode: plan. The plan is not approved yet; changes still need the user's approval."
                .to_owned()
        }
        _ => format!("Mode: {mode}."),
    }])
}

fn drift(facts: &Facts<'_>) -> Option<Vec<String>> {
    list(
        "Repository since the checkpoint:",
        facts.drift.iter().map(String::as_str),
    )
}

fn paths(basis: &Basis<'_>, work: &Work) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    if let Basis::Checkpoint(capsule) | Basis::Older(capsule) = basis {
        lines.extend(repo_lines(&capsule.repo));
    }
    let touched = work
        .touched
        .iter()
        .rev()
        .map(|touched| touched.path.as_str());
    lines.extend(
        list("Files you wrote, newest first:", touched)
            .into_iter()
            .flatten(),
    );
    (!lines.is_empty()).then_some(lines)
}

fn repo_lines(repo: &RepoState) -> Vec<String> {
    let repo = match repo {
        RepoState::Known(repo) => repo,
        RepoState::NotARepository => {
            return vec!["Repository at the checkpoint: none (not a git worktree).".to_owned()];
        }
        RepoState::TimedOut => {
            return vec!["Repository at the checkpoint: unknown (git timed out).".to_owned()];
        }
        RepoState::Failed { reason } => {
            let reason = shorten(&one_line(reason), 160);
            return vec![format!("Repository at the checkpoint: unknown ({reason}).")];
        }
    };
    let mut lines = vec![format!(
        "Repository at the checkpoint: {}.",
        repo.head.describe()
    )];
    if let Some(operation) = repo.operation {
        lines.push(format!("In progress there: a {}.", operation.name()));
    }
    match &repo.dirty {
        Dirty::Known(list) if list.total == 0 => lines.push("No uncommitted changes.".to_owned()),
        Dirty::Known(dirty) => {
            let shown: Vec<String> = dirty.paths.iter().map(DirtyPath::line).collect();
            let title = format!("Uncommitted changes ({}):", dirty.total);
            lines.extend(
                list(&title, shown.iter().map(String::as_str))
                    .into_iter()
                    .flatten(),
            );
        }
        Dirty::Unknown { reason } => {
            lines.push(format!(
                "Uncommitted changes: unknown ({}).",
                one_line(reason)
            ));
        }
    }
    lines
}

fn in_flight(work: &Work) -> Option<Vec<String>> {
    let agents: Vec<String> = work
        .in_flight
        .iter()
        .map(|it| match &it.kind {
            Some(kind) => format!("sub-agent {} ({kind})", it.agent),
            None => format!("sub-agent {}", it.agent),
        })
        .collect();
    list(
        "In flight at the checkpoint:",
        agents.iter().map(String::as_str),
    )
}

fn summary(work: &Work) -> Option<Vec<String>> {
    let summary = work.summary.as_ref()?;
    let text = shorten(&one_line(summary.text.trim()), 600);
    (!text.is_empty()).then(|| vec![format!("Your last answer began: {text}")])
}

fn instructions(basis: &Basis<'_>) -> Option<Vec<String>> {
    let (Basis::Checkpoint(capsule) | Basis::Older(capsule)) = basis else {
        return None;
    };
    let text = capsule.compaction.as_ref()?.instructions.as_ref()?;
    let text = shorten(&one_line(text.trim()), LINE_CHARS);
    (!text.is_empty()).then(|| vec![format!("The compaction was asked to keep: {text}")])
}

fn rest(facts: &Facts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(path) = facts.capsule_path {
        lines.push(format!("Whole checkpoint: {}", one_line(path)));
    }
    if let Some(path) = facts.transcript {
        lines.push(format!(
            "Transcript with everything before the compaction: {}",
            one_line(path)
        ));
    }
    lines
}

/// A titled list within its share of the briefing; says how many entries it left out.
fn list<'a>(title: &str, entries: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let mut left = LIST_CHARS;
    let mut lines = vec![title.to_owned()];
    let mut hidden = 0;
    for entry in entries {
        let line = format!("- {}", shorten(&one_line(entry), LINE_CHARS));
        match left
            .checked_sub(line.chars().count())
            .filter(|_| hidden == 0)
        {
            Some(rest) => {
                left = rest;
                lines.push(line);
            }
            None => hidden += 1,
        }
    }
    if hidden > 0 {
        lines.push(format!("- and {hidden} more"));
    }
    (lines.len() > 1).then_some(lines)
}

/// Joins the sections; drops whole lines from the end when the whole is too long, and says so.
fn fit(sections: &[Vec<String>], facts: &Facts<'_>) -> String {
    const RESERVE: usize = 200;
    let mut text = String::new();
    let mut chars = 0;
    for section in sections {
        for line in section {
            let length = line.chars().count() + 1;
            if chars + length > LIMIT_CHARS - RESERVE {
                let place = facts.capsule_path.unwrap_or("the checkpoint");
                text.push_str(&shorten(
                    &format!("More in {}", one_line(place)),
                    RESERVE - 1,
                ));
                text.push('\n');
                return text;
            }
            text.push_str(line);
            text.push('\n');
            chars += length;
        }
    }
    text
}

#[cfg(test)]
#[path = "briefing_tests.rs"]
mod tests;
