//! Which project a session belongs to, and where its state lies.
//!
//! One small file a session under the user's own state directory, written at the session's first event under a lock,
//! so that parallel hooks of one session agree. Nothing in a project directory decides where harn writes.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::dir::{Dir, DirError, Durability};
use super::format::{self, Read};
use super::home;
use super::layout::{
    CONTEXT_DIR, CORNER_DIR, IGNORE_FILE, IGNORE_TEXT, Layout, PROJECT_DIR, STATE_FILE, session_key,
};
use crate::continuity::BytePath;
use crate::event::{HarnessId, SessionId};

const LOCK: &str = "lock";
const LIMIT_BYTES: u64 = 64 * 1024;
const IGNORE_LIMIT_BYTES: u64 = 4 * 1024;

/// Where the `context/` of a project lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// `<project>/.harnery/`.
    Project,
    /// `<project>/.harnery/harn/`, where `.harnery` is another tool's.
    Corner,
    /// Under the user's state directory.
    User,
}

/// One session's entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub session: SessionId,
    pub adapter: HarnessId,
    project: BytePath,
    pub place: Place,
}

impl Entry {
    pub fn project(&self) -> PathBuf {
        self.project.to_path_buf()
    }
}

/// What is asked for a session that has no entry yet.
#[expect(missing_debug_implementations, reason = "holds a closure")]
pub struct Registration<'a> {
    pub session: &'a SessionId,
    pub adapter: &'a HarnessId,
    pub project: &'a Path,
    /// The user's config keeps state out of projects.
    pub with_user: bool,
    /// Whether the project's repository has `.harnery` in its index.
    pub is_tracked: &'a dyn Fn(&Path) -> bool,
}

/// The entry of a session, if it has one.
pub fn find(layout: &Layout, session: &SessionId) -> Result<Option<Entry>, DirError> {
    match home::open_room(layout, home::INDEX)? {
        Some(index) => find_in(&index, session),
        None => Ok(None),
    }
}

fn find_in(index: &Dir, session: &SessionId) -> Result<Option<Entry>, DirError> {
    let Some(bytes) = index.read(&file_name(session), LIMIT_BYTES)? else {
        return Ok(None);
    };
    match format::INDEX.read::<Entry>(&bytes) {
        Read::Ours(entry) if entry.session == *session => Ok(Some(entry)),
        Read::Ours(_) | Read::Foreign | Read::Newer(_) | Read::Damaged(_) => Ok(None),
    }
}

fn file_name(session: &SessionId) -> String {
    format!("{}.json", session_key(session))
}

/// All entries, unreadable ones left out.
pub fn entries(layout: &Layout) -> Result<Vec<Entry>, DirError> {
    Ok(survey(layout)?
        .into_iter()
        .filter_map(|(_, found)| found.ok())
        .collect())
}

/// A file of the index by name: its entry, or why it cannot be read.
pub type Surveyed = (String, Result<Entry, String>);

/// All files of the index.
pub fn survey(layout: &Layout) -> Result<Vec<Surveyed>, DirError> {
    let Some(index) = home::open_room(layout, home::INDEX)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for name in index.names()? {
        if name.strip_suffix(".json").is_none() {
            continue;
        }
        let entry = match index.read(&name, LIMIT_BYTES) {
            Ok(None) => continue,
            Ok(Some(bytes)) => match format::INDEX.read::<Entry>(&bytes) {
                Read::Ours(entry) => Ok(entry),
                Read::Foreign => Err("the index entry belongs to another tool".to_owned()),
                Read::Newer(version) => Err(format!(
                    "the index entry was written by a newer harn (format {version})"
                )),
                Read::Damaged(why) => Err(format!("the index entry is damaged: {why}")),
            },
            Err(error) => Err(error.to_string()),
        };
        found.push((name, entry));
    }
    Ok(found)
}

/// Takes a session's entry away.
pub fn forget(layout: &Layout, session: &SessionId) -> Result<(), DirError> {
    match home::open_room(layout, home::INDEX)? {
        Some(index) => index.remove(&file_name(session)),
        None => Ok(()),
    }
}

/// Finds the session's entry or makes it.
pub fn register(
    layout: &Layout,
    asked: &Registration<'_>,
    patience: Duration,
) -> Result<Entry, DirError> {
    let index = home::ensure_room(layout, home::INDEX)?;
    let _lock = index.lock(LOCK, patience)?;
    if let Some(entry) = find_in(&index, asked.session)? {
        return Ok(entry);
    }
    let entry = Entry {
        session: asked.session.clone(),
        adapter: asked.adapter.clone(),
        project: BytePath::new(asked.project.as_os_str().as_bytes()),
        place: choose(layout, asked),
    };
    match format::INDEX.write(&entry) {
        Ok(bytes) => index.replace(&file_name(asked.session), &bytes, Durability::Synced)?,
        Err(error) => tracing::error!(%error, "the session is not indexed"),
    }
    Ok(entry)
}

fn choose(layout: &Layout, asked: &Registration<'_>) -> Place {
    if asked.with_user || layout.gathered {
        return Place::User;
    }
    match choose_in_project(asked) {
        Ok(place) => place,
        Err(error) => {
            tracing::warn!(%error, "the project cannot hold state; it is kept with the user");
            Place::User
        }
    }
}

fn choose_in_project(asked: &Registration<'_>) -> Result<Place, DirError> {
    let project = Dir::open_trusted(asked.project)?;
    let ours = match project.child(PROJECT_DIR) {
        Ok(dir) => dir,
        Err(error) if error.is_missing() => {
            ensure_ignored(&project, PROJECT_DIR)?;
            return Ok(Place::Project);
        }
        Err(error) => return Err(error),
    };
    if (asked.is_tracked)(asked.project) {
        return Ok(Place::User);
    }
    let marked = ours
        .read(IGNORE_FILE, IGNORE_LIMIT_BYTES)?
        .is_some_and(|text| text == IGNORE_TEXT);
    if marked && !is_foreign(&ours, asked.session)? {
        return Ok(Place::Project);
    }
    ensure_ignored(&ours, CORNER_DIR)?;
    Ok(Place::Corner)
}

/// Whether another tool keeps its own state under this session's key.
fn is_foreign(dir: &Dir, session: &SessionId) -> Result<bool, DirError> {
    let state = dir
        .child(CONTEXT_DIR)
        .and_then(|context| context.child(&session_key(session)))
        .and_then(|session| session.read(STATE_FILE, 1024 * 1024));
    match state {
        Ok(Some(bytes)) => Ok(format::STATE.read::<serde::de::IgnoredAny>(&bytes) == Read::Foreign),
        Ok(None) => Ok(false),
        Err(error) if error.is_missing() => Ok(false),
        Err(error) => Err(error),
    }
}

/// A directory of harn's own that keeps itself out of the repository around it.
fn ensure_ignored(parent: &Dir, name: &str) -> Result<Dir, DirError> {
    match parent.child(name) {
        Err(error) if error.is_missing() => {
            let dir = parent.ensure(name)?;
            dir.create(IGNORE_FILE, IGNORE_TEXT, Durability::Atomic)?;
            Ok(dir)
        }
        other => other,
    }
}

/// Opens the `context/` directory of an entry, making it where it is missing.
pub fn ensure_context(layout: &Layout, entry: &Entry) -> Result<Dir, DirError> {
    let project = entry.project();
    let base = match entry.place {
        Place::Project => ensure_ignored(&Dir::open_trusted(&project)?, PROJECT_DIR)?,
        Place::Corner => {
            let outer = Dir::open_trusted(&project)?.ensure(PROJECT_DIR)?;
            ensure_ignored(&outer, CORNER_DIR)?
        }
        Place::User => home::ensure_project(layout, &project)?,
    };
    base.ensure(CONTEXT_DIR)
}

/// `ensure_context` for those who only look: makes nothing.
pub fn open_context(layout: &Layout, entry: &Entry) -> Result<Dir, DirError> {
    let project = entry.project();
    let base = match entry.place {
        Place::Project => Dir::open_trusted(&project)?.child(PROJECT_DIR)?,
        Place::Corner => Dir::open_trusted(&project)?
            .child(PROJECT_DIR)?
            .child(CORNER_DIR)?,
        Place::User => home::open_project(layout, &project)?,
    };
    base.child(CONTEXT_DIR)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
