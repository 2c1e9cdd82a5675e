//! `harn sessions`: every session of this user that harn knows, and every owned run.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;

use super::dispatch::{say, say_json};
use super::gauge::ContextWire;
use super::session::{Session, SessionError};
use super::{clock, place, telemetry, witness};
use crate::cli::SessionsArgs;
use crate::continuity::State;
use crate::continuity::state::Phase;
use crate::dashboard::{self, Attempt, Row, Standing, Usage};
use crate::event::{EventBody, HarnessId, RunId, SCHEMA, SessionId, Timestamp};
use crate::exit::Exit;
use crate::repo;
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::store::index::{self, Entry};
use crate::store::log;
use crate::supervisor::run::{self, Found, Live};
use crate::telemetry::Meter;
use crate::terminal;

/// Of the end of a log, where a compaction under way is sought.
const RECENT_BYTES: u64 = 32 * 1024;

pub(super) fn run(args: &SessionsArgs) -> anyhow::Result<Exit> {
    let layout = place::layout()?;
    let now = clock::now();
    let mut known = gather(&layout)?;
    known.sort_by_needs();
    if args.json {
        let sessions = known.known.iter().map(|it| it.wire(now)).collect();
        return say_json(&ListWire {
            schema: SCHEMA,
            sessions,
        });
    }
    if known.known.is_empty() {
        return say("no session is known; start one with `harn run -- <harness>`");
    }
    let rows: Vec<Row> = known.known.into_iter().map(|it| it.row).collect();
    say(&dashboard::table(&rows, now, terminal::columns()))
}

#[derive(Serialize)]
struct ListWire<'a> {
    schema: u32,
    sessions: Vec<RowWire<'a>>,
}

#[derive(Serialize)]
struct RowWire<'a> {
    session: Option<&'a SessionId>,
    run: Option<&'a RunId>,
    name: Option<&'a str>,
    adapter: Option<&'a HarnessId>,
    project: Option<&'a str>,
    branch: Option<&'a str>,
    state: Standing,
    phase: Option<&'static str>,
    generation: Option<u64>,
    compactions: Option<u64>,
    context: Option<ContextWire>,
    last_event_at: Option<Timestamp>,
    last_event_age_ms: Option<u64>,
    attempt: Option<&'a Attempt>,
    warnings: &'a [String],
}

/// A line and what it was made from.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) row: Row,
    /// The session's directory.
    pub(super) dir: Option<PathBuf>,
    state: Option<Box<State>>,
    /// What is measured where there is no state.
    meter: Option<Meter>,
}

impl Known {
    fn wire(&self, now: Timestamp) -> RowWire<'_> {
        let row = &self.row;
        let state = self.state.as_deref();
        let meter = state.map(|state| &state.context).or(self.meter.as_ref());
        RowWire {
            session: row.session.as_ref(),
            run: row.run.as_ref(),
            name: row.name.as_deref(),
            adapter: row.adapter.as_ref(),
            project: Some(row.project.as_str()).filter(|it| !it.is_empty()),
            branch: row.branch.as_deref(),
            state: row.standing,
            phase: row.phase,
            generation: state.map(|state| state.generation),
            compactions: state.map(|state| state.compactions),
            context: meter.and_then(|meter| ContextWire::of(meter, row.last_event_at, now)),
            last_event_at: row.last_event_at,
            last_event_age_ms: row
                .last_event_at
                .filter(|at| !dashboard::is_ahead(*at, now))
                .map(|at| now.ms_since(at)),
            attempt: row.attempt.as_ref(),
            warnings: &row.warnings,
        }
    }
}

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) known: Vec<Known>,
}

impl Gathered {
    fn sort_by_needs(&mut self) {
        let mut rows: Vec<Row> = self.known.iter().map(|it| it.row.clone()).collect();
        dashboard::sort(&mut rows);
        let place = |row: &Row| rows.iter().position(|it| it == row);
        self.known.sort_by_cached_key(|it| place(&it.row));
    }
}

/// The runs of this user, by the session that speaks for each.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Runs {
    live: Vec<Live>,
    dead: Vec<Live>,
    unreadable: Vec<(String, String)>,
}

impl Runs {
    pub(super) fn read(layout: &Layout) -> Result<Self, DirError> {
        let mut runs = Self::default();
        for (name, found) in run::survey(layout)? {
            match found {
                Found::Live(live) => runs.live.push(live),
                Found::Dead(dead) => runs.dead.push(dead),
                Found::Unreadable(why) => runs.unreadable.push((name, why)),
            }
        }
        Ok(runs)
    }

    fn of(list: &[Live], session: &SessionId) -> Option<Live> {
        let speaks = |live: &&Live| {
            live.speaker
                .as_ref()
                .is_some_and(|speaker| speaker.session == *session)
        };
        list.iter().find(speaks).cloned()
    }

    /// Lines for runs whose session has not spoken, and for what cannot be read.
    pub(super) fn without_session(&self) -> Vec<Known> {
        let is_silent = |live: &&Live| live.speaker.is_none();
        let live = self.live.iter().filter(is_silent);
        let dead = self.dead.iter().filter(is_silent);
        let unreadable = self.unreadable.iter();
        live.map(|live| of_run(live, Standing::Owned))
            .chain(dead.map(|dead| of_run(dead, Standing::Crashed)))
            .chain(unreadable.map(|(name, why)| bad(name, Standing::Unreadable, why.clone())))
            .collect()
    }
}

/// Reads every session's state and the end of its log.
fn gather(layout: &Layout) -> Result<Gathered, DirError> {
    let runs = Runs::read(layout)?;
    let mut branches = Branches::default();
    let mut known = runs.without_session();
    for (name, found) in index::survey(layout)? {
        known.push(match found {
            Ok(entry) => of_entry(layout, &runs, &mut branches, &entry),
            Err(why) => bad(&name, Standing::Unreadable, why),
        });
    }
    Ok(Gathered { known })
}

/// Branches by directory: many sessions share one.
#[derive(Debug, Default)]
pub(super) struct Branches(HashMap<PathBuf, Option<String>>);

impl Branches {
    fn at(&mut self, cwd: PathBuf) -> Option<String> {
        self.0
            .entry(cwd)
            .or_insert_with_key(|cwd| repo::branch(cwd))
            .clone()
    }
}

pub(super) fn bad(name: &str, standing: Standing, why: String) -> Known {
    Known {
        row: Row::unreadable(name.strip_suffix(".json").unwrap_or(name), standing, why),
        dir: None,
        state: None,
        meter: None,
    }
}

fn of_run(live: &Live, standing: Standing) -> Known {
    let run = &live.run;
    let mut warnings = witness::complaints(live);
    if standing == Standing::Crashed {
        warnings.push("the harn that hosted it is gone".to_owned());
    }
    let project = run.project.as_deref();
    let is_unheard = live.sight.is_some() && standing == Standing::Owned;
    let meter = if is_unheard {
        telemetry::silent(run, clock::now())
    } else {
        None
    };
    let usage = meter
        .as_ref()
        .map_or_else(Usage::default, |meter| usage(meter, None));
    Known {
        row: Row {
            session: None,
            run: Some(run.id.clone()),
            name: run.name.clone(),
            adapter: Some(run.adapter.clone()),
            project: project.map_or_else(String::new, |it| it.display().to_string()),
            branch: project.and_then(repo::branch),
            standing,
            phase: None,
            usage,
            last_event_at: None,
            attempt: None,
            warnings,
            takes_requests: standing == Standing::Owned && run.socket.is_some(),
        },
        dir: None,
        state: None,
        meter,
    }
}

/// The line of one session; what keeps it from being read is its warning.
pub(super) fn of_entry(
    layout: &Layout,
    runs: &Runs,
    branches: &mut Branches,
    entry: &Entry,
) -> Known {
    let live = Runs::of(&runs.live, &entry.session);
    let mut row = Row {
        session: Some(entry.session.clone()),
        run: live.as_ref().map(|live| live.run.id.clone()),
        name: live.as_ref().and_then(|live| live.run.name.clone()),
        adapter: Some(entry.adapter.clone()),
        project: entry.project().display().to_string(),
        branch: None,
        standing: Standing::Unreadable,
        phase: None,
        usage: Usage::default(),
        last_event_at: None,
        attempt: None,
        warnings: Vec::new(),
        takes_requests: false,
    };
    let session = match Session::glance(layout, entry) {
        Ok(session) => session,
        Err(error) => {
            if matches!(error, SessionError::Foreign { .. }) {
                row.standing = Standing::Foreign;
            }
            row.warnings.push(reason(&error, entry));
            return Known {
                row,
                dir: None,
                state: None,
                meter: None,
            };
        }
    };
    row.standing = standing(&session, live.as_ref(), runs);
    row.run = row.run.or_else(|| session.run.clone());
    row.phase = Some(session.state.phase.word());
    row.usage = usage(&session.state.context, session.state.session.last_event_at);
    row.last_event_at = session.state.session.last_event_at;
    row.warnings = warnings(&session, row.standing);
    if row.standing != Standing::Retired {
        row.branch = branches.at(session.cwd());
    }
    let is_owned = row.standing == Standing::Owned;
    row.takes_requests = is_owned && live.is_some_and(|live| live.run.socket.is_some());
    row.attempt = attempt(&session, is_owned);
    Known {
        row,
        dir: Some(session.store.dir().path().to_owned()),
        state: Some(Box::new(session.state)),
        meter: None,
    }
}

fn reason(error: &SessionError, entry: &Entry) -> String {
    match error {
        SessionError::Store(store) if store.is_missing() && !entry.project().is_dir() => {
            "the project directory is gone".to_owned()
        }
        SessionError::Store(store) if store.is_missing() => {
            "the session's state directory is gone".to_owned()
        }
        SessionError::Store(_) | SessionError::Newer { .. } | SessionError::Foreign { .. } => {
            error.to_string()
        }
    }
}

fn standing(session: &Session, live: Option<&Live>, runs: &Runs) -> Standing {
    if session.state.session.ended {
        return Standing::Retired;
    }
    if live.is_some() {
        return Standing::Owned;
    }
    let Some(run) = &session.run else {
        return Standing::Open;
    };
    // A run that goes on, for another session.
    if runs.live.iter().any(|live| live.run.id == *run) {
        return Standing::Retired;
    }
    Standing::Crashed
}

fn usage(meter: &Meter, last_event_at: Option<Timestamp>) -> Usage {
    let sample = meter.current.as_ref().or(meter.last.as_ref());
    let model = sample.and_then(|sample| sample.model.as_deref());
    Usage {
        used: meter.current.as_ref().and_then(|it| it.used_tokens),
        window: sample.and_then(|sample| sample.window_tokens),
        automatic: meter.automatic_range(model).map(|(least, _, _)| least),
        is_compacted: meter.current.is_none()
            && meter.absent == crate::telemetry::Absent::Compacted,
        is_stale: meter.is_stale(last_event_at),
    }
}

fn warnings(session: &Session, standing: Standing) -> Vec<String> {
    let mut found = Vec::new();
    if let Phase::Degraded { reason } = &session.state.phase {
        found.push(reason.clone());
    }
    if session.was_rebuilt {
        found.push("the state file is damaged".to_owned());
    }
    if session.damaged_lines > 0 {
        found.push(format!(
            "{} damaged lines in the log",
            session.damaged_lines
        ));
    }
    if standing == Standing::Crashed {
        found.push("its run is gone, and nobody said that the session ended".to_owned());
    }
    found
}

/// The compaction under way: harn's own as the log tells it, else the one that the harness announced.
fn attempt(session: &Session, is_owned: bool) -> Option<Attempt> {
    if is_owned && let Some(attempt) = managed(session) {
        return Some(attempt);
    }
    let open = session.state.open_attempt()?;
    (!open.completed && !session.state.session.ended).then(|| Attempt {
        id: open.id.clone(),
        stage: "announced",
    })
}

fn managed(session: &Session) -> Option<Attempt> {
    let dir = session.store.dir();
    let start = log::tail(dir).ok()?.bytes.saturating_sub(RECENT_BYTES);
    let batch = log::read_from(dir, start).ok()?;
    let mut open = None;
    for event in batch.events {
        let body = event.body;
        if let EventBody::ManagedRequested { attempt: id, .. } = body {
            let stage = "requested";
            open = Some(Attempt { id, stage });
        } else if let EventBody::ManagedTyped { attempt: id } = body {
            open = Some(Attempt { id, stage: "typed" });
        } else if let EventBody::ManagedSubmitted { attempt: id, .. } = body {
            let stage = "submitted";
            open = Some(Attempt { id, stage });
        } else if matches!(body, EventBody::ManagedSettled { .. }) {
            open = None;
        }
    }
    open
}
