//! Which session a command means.
//!
//! Named by `--session`; else the session of the run this is called in; else the one the harness put into the
//! environment; else the only live session of this project. Never a guess: several are listed and nothing is done.

use std::path::Path;

use super::dispatch::complain;
use super::place;
use super::session::{self, Session, SessionError};
use super::witness;
use crate::adapter::registry;
use crate::event::SessionId;
use crate::exit::Exit;
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::store::index::{self, Entry};
use crate::supervisor::run::RunDir;

/// Why no session was chosen.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChoiceError {
    #[error(transparent)]
    Store(#[from] DirError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("no session {0} is known")]
    Unknown(SessionId),
    #[error("no session of this project is known")]
    NoneHere,
    #[error("this project has several sessions:{}", list(.0))]
    Several(Vec<SessionId>),
}

fn list(sessions: &[SessionId]) -> String {
    sessions.iter().fold(String::new(), |mut text, id| {
        text.push_str("\n  ");
        text.push_str(&crate::text::one_line(id.as_str()));
        text
    })
}

/// Chooses the session.
pub(super) fn choose(
    layout: &Layout,
    named: Option<&str>,
    cwd: &Path,
) -> Result<Entry, ChoiceError> {
    if let Some(id) = named {
        let id = SessionId::new(id);
        return index::find(layout, &id)?.ok_or(ChoiceError::Unknown(id));
    }
    for id in [of_run(layout)?, of_harness()].into_iter().flatten() {
        if let Some(entry) = index::find(layout, &id)? {
            return Ok(entry);
        }
    }
    of_project(layout, cwd)
}

/// `choose` for commands: what a person can mend is told, and its exit code given back.
pub(super) fn choose_or_complain(
    layout: &Layout,
    named: Option<&str>,
    cwd: &Path,
) -> anyhow::Result<Result<Entry, Exit>> {
    let error = match choose(layout, named, cwd) {
        Ok(entry) => return Ok(Ok(entry)),
        Err(error) => error,
    };
    let deaf = witness::problems(layout, None).into_iter().next();
    let hint = match &error {
        ChoiceError::Store(_) | ChoiceError::Session(_) => return Err(error.into()),
        ChoiceError::Unknown(_) | ChoiceError::NoneHere => deaf.as_deref().unwrap_or(
            "a session is known from its first hook on: start one with `harn run -- <harness>`",
        ),
        ChoiceError::Several(_) => "name one with --session ID",
    };
    complain(&error, Some(hint));
    Ok(Err(Exit::Usage))
}

fn of_run(layout: &Layout) -> Result<Option<SessionId>, DirError> {
    let Some(id) = place::run_hint() else {
        return Ok(None);
    };
    let Some(dir) = RunDir::open(layout, &id)? else {
        return Ok(None);
    };
    Ok(dir.speaker()?.map(|speaker| speaker.session))
}

fn of_harness() -> Option<SessionId> {
    registry::all().find_map(|manifest| place::session_hint(&manifest))
}

fn of_project(layout: &Layout, cwd: &Path) -> Result<Entry, ChoiceError> {
    let entries = session::of_project(layout, &place::project_at(cwd))?;
    let mut live = Vec::new();
    for entry in &entries {
        // Whether it ended stands in the state and near the end of its log, however long that is.
        match Session::glance(layout, entry) {
            Ok(session) if session.state.session.ended => {}
            // Another tool's state beside harn's own log.
            Ok(_) | Err(SessionError::Foreign { .. }) => live.push(entry),
            Err(error) => tracing::warn!(%error, session = %entry.session, "passed over"),
        }
    }
    match (live.as_slice(), entries.as_slice()) {
        ([only], _) => Ok((*only).clone()),
        ([], []) => Err(ChoiceError::NoneHere),
        ([], [only]) => Ok(only.clone()),
        ([], ended) => Err(ChoiceError::Several(ids(ended.iter()))),
        (several, _) => Err(ChoiceError::Several(ids(several.iter().copied()))),
    }
}

fn ids<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<SessionId> {
    entries.map(|entry| entry.session.clone()).collect()
}
