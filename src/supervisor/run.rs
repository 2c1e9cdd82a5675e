//! The record of an owned run, in the user's state directory.
//!
//! `runs/<run id>/run.json` is written by `harn run`, `session.json` beside it by the first hook that speaks for the
//! run, `settings.json` is the generated wiring. All go when the run ends; what a killed run left is swept by the next
//! one.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::event::{HarnessId, RunId, SessionId, Timestamp};
use crate::process::{self, Process};
use crate::store::dir::{Dir, DirError, Durability};
use crate::store::format::{self, Read};
use crate::store::home;
use crate::store::layout::Layout;

const RECORD_FILE: &str = "run.json";
const SPEAKER_FILE: &str = "session.json";
const SETTINGS_FILE: &str = "settings.json";
const STATUS_LINE_FILE: &str = "statusline.json";
const SIGHT_FILE: &str = "sight.json";
const FILES: [&str; 5] = [
    RECORD_FILE,
    SPEAKER_FILE,
    SETTINGS_FILE,
    STATUS_LINE_FILE,
    SIGHT_FILE,
];
const LIMIT_BYTES: u64 = 64 * 1024;

/// One owned run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub name: Option<String>,
    pub adapter: HarnessId,
    /// The hosting harn process.
    pub host: Process,
    /// The program as harn started it; none until it runs.
    pub client: Option<Process>,
    pub started_at: Timestamp,
    /// Where it was started; none in records of older versions.
    #[serde(default)]
    pub project: Option<PathBuf>,
    /// Where it takes requests; none: it takes none.
    #[serde(default)]
    pub socket: Option<PathBuf>,
}

/// Who speaks for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    pub process: Process,
    /// The session it spoke of last.
    pub session: SessionId,
}

/// What `harn run` itself saw of a session whose hooks had not spoken when its first turn was over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    pub turn_at: Timestamp,
    /// Why the session is not this run's; none: nothing says so.
    pub unowned: Option<String>,
}

impl Sight {
    /// A turn was seen, and nothing is known beside.
    pub fn at(turn_at: Timestamp) -> Self {
        Self {
            turn_at,
            unowned: None,
        }
    }
}

/// A live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    pub run: Run,
    pub speaker: Option<Speaker>,
    pub sight: Option<Sight>,
}

/// An open run directory.
#[derive(Debug)]
pub struct RunDir {
    dir: Dir,
}

impl RunDir {
    /// Makes the directory of a new run.
    pub fn create(layout: &Layout, id: &RunId) -> Result<Self, DirError> {
        let runs = home::ensure_room(layout, home::RUNS)?;
        Ok(Self {
            dir: runs.ensure(id.as_str())?,
        })
    }

    /// The directory of a run by an id from the environment; `None` when there is none.
    pub fn open(layout: &Layout, id: &RunId) -> Result<Option<Self>, DirError> {
        let is_plain = id
            .as_str()
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_plain || id.as_str().is_empty() {
            return Ok(None);
        }
        let Some(runs) = home::open_room(layout, home::RUNS)? else {
            return Ok(None);
        };
        match runs.child(id.as_str()) {
            Ok(dir) => Ok(Some(Self { dir })),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn read(&self) -> Result<Option<Run>, DirError> {
        self.read_file(RECORD_FILE, format::RUN)
    }

    pub fn write(&self, run: &Run) -> Result<(), DirError> {
        self.write_file(RECORD_FILE, run)
    }

    pub fn speaker(&self) -> Result<Option<Speaker>, DirError> {
        self.read_file(SPEAKER_FILE, format::RUN)
    }

    pub fn set_speaker(&self, speaker: &Speaker) -> Result<(), DirError> {
        self.write_file(SPEAKER_FILE, speaker)
    }

    pub fn sight(&self) -> Result<Option<Sight>, DirError> {
        self.read_file(SIGHT_FILE, format::RUN)
    }

    pub fn set_sight(&self, sight: &Sight) -> Result<(), DirError> {
        self.write_file(SIGHT_FILE, sight)
    }

    /// Where the generated settings go; the name is the same for the whole run.
    pub fn settings_path(&self) -> PathBuf {
        self.dir.path().join(SETTINGS_FILE)
    }

    pub fn write_settings(&self, bytes: &[u8]) -> Result<(), DirError> {
        self.dir.replace(SETTINGS_FILE, bytes, Durability::Atomic)
    }

    /// The command of the status line that the user passed to this run, for the bridge that stands in its place.
    pub fn write_status_line(&self, command: &str) -> Result<(), DirError> {
        self.write_file(STATUS_LINE_FILE, &command)
    }

    pub fn status_line(&self) -> Result<Option<String>, DirError> {
        self.read_file(STATUS_LINE_FILE, format::RUN)
    }

    fn read_file<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
        format: format::Format,
    ) -> Result<Option<T>, DirError> {
        let bytes = self.dir.read(name, LIMIT_BYTES)?;
        Ok(bytes.and_then(|bytes| match format.read(&bytes) {
            Read::Ours(content) => Some(content),
            Read::Foreign | Read::Newer(_) | Read::Damaged(_) => None,
        }))
    }

    fn write_file<T: Serialize>(&self, name: &str, content: &T) -> Result<(), DirError> {
        match format::RUN.write(content) {
            Ok(bytes) => self.dir.replace(name, &bytes, Durability::Atomic),
            Err(error) => Err(DirError::Io {
                what: "write",
                path: self.dir.path().join(name),
                source: std::io::Error::other(error),
            }),
        }
    }
}

/// Removes everything a run has left.
pub fn remove(layout: &Layout, id: &RunId) -> Result<(), DirError> {
    match home::open_room(layout, home::RUNS)? {
        Some(runs) => remove_in(&runs, id.as_str()),
        None => Ok(()),
    }
}

fn remove_in(runs: &Dir, name: &str) -> Result<(), DirError> {
    let dir = runs.child(name)?;
    for file in dir.names()? {
        if FILES.contains(&file.as_str()) || file.strip_suffix(".tmp").is_some() {
            dir.remove(&file)?;
        }
    }
    runs.remove_dir(name)
}

/// Removes what runs left whose harn is gone.
pub fn sweep(layout: &Layout) -> Result<(), DirError> {
    let runs = home::ensure_room(layout, home::RUNS)?;
    for name in runs.names()? {
        let Ok(dir) = runs.child(&name) else { continue };
        let record = RunDir { dir }.read()?;
        // A run without a record is either just being made or was never finished: its id holds the time.
        let is_dead = match record {
            Some(run) => !process::is_alive(run.host),
            None => is_old(&name),
        };
        if is_dead {
            remove_in(&runs, &name)?;
        }
    }
    Ok(())
}

/// How many runs are left whose harn is gone.
pub fn stale(layout: &Layout) -> Result<usize, DirError> {
    let Some(runs) = home::open_room(layout, home::RUNS)? else {
        return Ok(0);
    };
    let mut count = 0;
    for name in runs.names()? {
        let Ok(dir) = runs.child(&name) else { continue };
        let record = RunDir { dir }.read()?;
        count += usize::from(record.is_some_and(|run| !process::is_alive(run.host)));
    }
    Ok(count)
}

/// Whether a run id (a UUID v7) was made long enough ago that its record must be there by now.
fn is_old(name: &str) -> bool {
    const GRACE_S: u64 = 600;
    let Some(made) = uuid::Uuid::try_parse(name)
        .ok()
        .and_then(|id| id.get_timestamp())
    else {
        return false;
    };
    let now = uuid::Uuid::now_v7()
        .get_timestamp()
        .map_or(0, |stamp| stamp.to_unix().0);
    now.saturating_sub(made.to_unix().0) > GRACE_S
}

/// The live runs of this user.
pub fn live(layout: &Layout) -> Result<Vec<Live>, DirError> {
    let Some(runs) = home::open_room(layout, home::RUNS)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for name in runs.names()? {
        let Ok(dir) = runs.child(&name) else { continue };
        let dir = RunDir { dir };
        if let Some(run) = dir.read()?
            && process::is_alive(run.host)
        {
            found.push(Live {
                run,
                speaker: dir.speaker()?,
                sight: dir.sight()?,
            });
        }
    }
    Ok(found)
}

/// A run as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Live(Live),
    /// Its harn is gone, and nothing was put in order.
    Dead(Live),
    /// What cannot be read, and why.
    Unreadable(String),
}

/// All runs of this user by id, dead ones too; one that cannot be read takes nothing from the others.
pub fn survey(layout: &Layout) -> Result<Vec<(String, Found)>, DirError> {
    let Some(runs) = home::open_room(layout, home::RUNS)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for name in runs.names()? {
        let look = || -> Result<Option<Live>, DirError> {
            let dir = RunDir {
                dir: runs.child(&name)?,
            };
            let Some(run) = dir.read()? else {
                return Ok(None);
            };
            Ok(Some(Live {
                run,
                speaker: dir.speaker()?,
                sight: dir.sight()?,
            }))
        };
        let run = match look() {
            Ok(Some(live)) if process::is_alive(live.run.host) => Found::Live(live),
            Ok(Some(live)) => Found::Dead(live),
            // Being made, or swept at this moment.
            Ok(None) if !is_old(&name) => continue,
            Ok(None) => Found::Unreadable("the run has no record that can be read".to_owned()),
            Err(error) if error.is_missing() => continue,
            Err(error) => Found::Unreadable(error.to_string()),
        };
        found.push((name, run));
    }
    Ok(found)
}
