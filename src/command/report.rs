//! `harn context`: the orientation report. Who am I, where, when, with whom, and how full.
//!
//! Each section fails on its own: one that cannot be had says why, the others are printed all the same.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::choose::choose;
use super::dispatch::{say, say_json};
use super::gauge::{ContextWire, number};
use super::session::{self, Session};
use super::{clock, place, witness};
use crate::cli::{ContextArgs, Section};
use crate::continuity::snapshot::{Dirty, DirtyPath};
use crate::continuity::{RepoSnapshot, RepoState};
use crate::event::{SCHEMA, Timestamp};
use crate::exit::Exit;
use crate::repo;
use crate::store::Layout;
use crate::store::index::Entry;
use crate::supervisor::run;
use crate::text::{age, one_line};

const GIT_LIMIT: Duration = Duration::from_secs(5);
const COMMITS: usize = 3;
const DIRTY_SHOWN: usize = 10;

/// A section's facts and its lines for people; or why there are none.
type Told = Result<(Value, Vec<String>), String>;

struct Report<'a> {
    layout: &'a Layout,
    cwd: &'a Path,
    now: Timestamp,
    /// The session this is about, or why there is none.
    chosen: Result<(Entry, Session), String>,
}

pub(super) fn run(args: &ContextArgs) -> anyhow::Result<Exit> {
    let layout = place::layout()?;
    let cwd = std::env::current_dir().context("cannot tell the current directory")?;
    let chosen = choose(&layout, None, &cwd)
        .map_err(|error| error.to_string())
        .and_then(|entry| match Session::view(&layout, &entry) {
            Ok(session) => Ok((entry, session)),
            Err(error) => Err(error.to_string()),
        });
    let report = Report {
        layout: &layout,
        cwd: &cwd,
        now: clock::now(),
        chosen,
    };
    let wanted: &[Section] = if args.section.is_empty() {
        &Section::ALL
    } else {
        &args.section
    };
    let told = wanted
        .iter()
        .map(|section| (*section, report.tell(*section)));
    if args.json {
        let sections: Map<String, Value> = told
            .map(|(section, told)| {
                let facts = match told {
                    Ok((facts, _)) => facts,
                    Err(why) => json!({"unavailable": why}),
                };
                (section.name().to_owned(), facts)
            })
            .collect();
        return say_json(&json!({"schema": SCHEMA, "sections": sections}));
    }
    let mut lines = Vec::new();
    for (section, told) in told {
        let body = match told {
            Ok((_, body)) => body,
            Err(why) => vec![format!("(unavailable: {})", one_line(&why))],
        };
        for (number, line) in body.into_iter().enumerate() {
            let title = if number == 0 { section.name() } else { "" };
            lines.push(format!("{title:<9}{line}").trim_end().to_owned());
        }
    }
    say(&lines.join("\n"))
}

impl Report<'_> {
    fn tell(&self, section: Section) -> Told {
        match section {
            Section::Self_ => self.who(),
            Section::Time => Ok((json!({"now": self.now}), vec![self.now.to_string()])),
            Section::Repo => self.repository(),
            Section::Commits => self.commits(),
            Section::Peers => self.peers(),
            Section::Context => self.context(),
            Section::Capsule => self.capsule(),
        }
    }

    fn session(&self) -> Result<&Session, String> {
        self.chosen
            .as_ref()
            .map(|(_, session)| session)
            .map_err(Clone::clone)
    }

    fn who(&self) -> Told {
        let session = self.session()?;
        let facts = json!({
            "session": session.id,
            "adapter": session.adapter,
            "run": session.run,
            "project": session.project.display().to_string(),
            "cwd": self.cwd.display().to_string(),
        });
        let run = session
            .run
            .as_ref()
            .map_or("no run".to_owned(), |run| format!("run {run}"));
        let id = one_line(session.id.as_str());
        Ok((
            facts,
            vec![format!("session {id} ({}), {run}", session.adapter)],
        ))
    }

    fn repository(&self) -> Told {
        match repo::snapshot_within(self.cwd, GIT_LIMIT) {
            RepoState::Known(repo) => {
                let facts = serde_json::to_value(&*repo).map_err(|error| error.to_string())?;
                Ok((facts, repository_lines(&repo)))
            }
            RepoState::NotARepository => Err("not a git worktree".to_owned()),
            RepoState::TimedOut => Err("git timed out".to_owned()),
            RepoState::Failed { reason } => Err(reason),
        }
    }

    fn commits(&self) -> Told {
        let commits = repo::recent_commits(self.cwd, COMMITS)
            .map_err(|error| error.reason())?
            .ok_or("not a git worktree")?;
        let facts = commits
            .iter()
            .map(|it| json!({"id": it.id, "at": it.at, "summary": it.summary}))
            .collect();
        let mut lines: Vec<String> = commits
            .iter()
            .map(|it| {
                let short: String = it.id.chars().take(8).collect();
                let ago = age(self.now.ms_since(it.at));
                format!("{short} {} ({ago} ago)", one_line(&it.summary))
            })
            .collect();
        if lines.is_empty() {
            lines.push("none yet".to_owned());
        }
        Ok((Value::Array(facts), lines))
    }

    /// Other sessions of this project that have not ended, and this user's live runs elsewhere.
    fn peers(&self) -> Told {
        let own = self.session().ok().map(|session| session.id.clone());
        let project = place::project_at(self.cwd);
        let entries = session::of_project(self.layout, &project).map_err(|e| e.to_string())?;
        let mut facts = Vec::new();
        let mut lines = Vec::new();
        for entry in entries
            .iter()
            .filter(|entry| Some(&entry.session) != own.as_ref())
        {
            let peer = match Session::view(self.layout, entry) {
                Ok(peer) => peer,
                Err(error) => {
                    lines.push(format!(
                        "{} cannot be read: {error}",
                        one_line(entry.session.as_str())
                    ));
                    continue;
                }
            };
            let (state, id) = (&peer.state, one_line(peer.id.as_str()));
            if state.session.ended {
                continue;
            }
            let last = state.session.last_event_at;
            let heard = last.map_or("never heard".to_owned(), |at| {
                format!("heard {} ago", age(self.now.ms_since(at)))
            });
            facts.push(json!({
                "session": peer.id, "adapter": peer.adapter, "phase": state.phase.word(),
                "last_event_at": last,
            }));
            lines.push(format!(
                "{id} ({}), {}, {heard}",
                peer.adapter,
                state.phase.word()
            ));
        }
        let runs = run::live(self.layout).map_err(|error| error.to_string())?;
        for live in runs {
            let complaints = witness::complaints(&live);
            let (run, speaker) = (live.run, live.speaker);
            let known = speaker.is_some_and(|speaker| {
                Some(&speaker.session) == own.as_ref()
                    || entries.iter().any(|entry| entry.session == speaker.session)
            });
            if !known {
                facts.push(json!({
                    "run": run.id, "adapter": run.adapter, "name": run.name,
                    "problems": complaints,
                }));
                lines.push(format!("run {} ({}) elsewhere", run.id, run.adapter));
                lines.extend(complaints.iter().map(|it| one_line(it)));
            }
        }
        if lines.is_empty() {
            lines.push("none".to_owned());
        }
        Ok((Value::Array(facts), lines))
    }

    fn context(&self) -> Told {
        let session = self.session()?;
        let state = &session.state;
        let facts = json!({
            "phase": state.phase.word(),
            "generation": state.generation,
            "compactions": state.compactions,
            "measured": ContextWire::of(&state.context, state.session.last_event_at, self.now),
        });
        let line = format!(
            "{}, {} compactions reported; {}",
            state.phase.word(),
            state.compactions,
            number(state, self.now)
        );
        Ok((facts, vec![line]))
    }

    fn capsule(&self) -> Told {
        let session = self.session()?;
        let capsule = session
            .state
            .capsule
            .as_ref()
            .ok_or("no checkpoint has been saved yet")?;
        let path = session.capsule_path(capsule.generation);
        let facts = json!({
            "generation": capsule.generation, "at": capsule.at, "trigger": capsule.trigger,
            "path": path,
        });
        let ago = age(self.now.ms_since(capsule.at));
        Ok((
            facts,
            vec![format!(
                "{}, saved {ago} ago: {}",
                capsule.generation,
                one_line(&path)
            )],
        ))
    }
}

fn repository_lines(repo: &RepoSnapshot) -> Vec<String> {
    let upstream = repo.upstream.as_ref().map_or_else(String::new, |upstream| {
        let name = upstream.name.display();
        format!(
            ", {} ahead and {} behind {name}",
            upstream.ahead, upstream.behind
        )
    });
    let mut lines = vec![format!("{}{upstream}", repo.head.describe())];
    if let Some(operation) = repo.operation {
        lines.push(format!("a {} is in progress", operation.name()));
    }
    match &repo.dirty {
        Dirty::Known(list) if list.total == 0 => lines.push("no uncommitted changes".to_owned()),
        Dirty::Known(list) => {
            let shown = list.paths.iter().take(DIRTY_SHOWN);
            lines.extend(shown.map(DirtyPath::line));
            let hidden = list.total.saturating_sub(DIRTY_SHOWN as u64);
            if hidden > 0 {
                lines.push(format!("and {hidden} more"));
            }
        }
        Dirty::Unknown { reason } => {
            lines.push(format!("uncommitted changes unknown: {}", one_line(reason)));
        }
    }
    lines
}

impl Section {
    pub(super) const ALL: [Self; 7] = [
        Self::Self_,
        Self::Time,
        Self::Repo,
        Self::Commits,
        Self::Peers,
        Self::Context,
        Self::Capsule,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Self_ => "self",
            Self::Time => "time",
            Self::Repo => "repo",
            Self::Commits => "commits",
            Self::Peers => "peers",
            Self::Context => "context",
            Self::Capsule => "capsule",
        }
    }
}
