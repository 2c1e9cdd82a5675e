//! The directory of one session: state, events, capsules, the lock.
//!
//! Holds bytes and formats; what they mean is decided elsewhere. All writers take the lock first.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::dir::{Dir, DirError, Durability, Lock};
use super::format::{self, Read};
use super::layout::{
    BRIEFING_FILE, CAPSULES_DIR, DAMAGED_STATE_FILE, EVENTS_FILE, HANDOFF_FILE, LOCK_FILE,
    PREVIOUS_STATE_FILE, ROLLING_FILE, SEEN_FILE, SPOOL_DIR, STATE_FILE, capsule_file,
    generation_of, session_key,
};
use crate::event::SessionId;

const STATE_LIMIT_BYTES: u64 = 1024 * 1024;
/// A prompt can be as large as a payload.
const SPOOLED_LIMIT_BYTES: u64 = 64 * 1024 * 1024;
const CAPSULE_LIMIT_BYTES: u64 = 256 * 1024;

/// An open session directory.
#[derive(Debug)]
pub struct SessionStore {
    dir: Dir,
}

impl SessionStore {
    /// Opens a session's directory below `context/`, making it where it is missing.
    pub fn ensure(context: &Dir, session: &SessionId) -> Result<Self, DirError> {
        Ok(Self {
            dir: context.ensure(&session_key(session))?,
        })
    }

    /// Opens a session's directory if there is one.
    pub fn open(context: &Dir, session: &SessionId) -> Result<Self, DirError> {
        Ok(Self {
            dir: context.child(&session_key(session))?,
        })
    }

    pub fn lock(&self, patience: Duration) -> Result<Lock, DirError> {
        self.dir.lock(LOCK_FILE, patience)
    }

    /// Whether a write would come through, by writing something that is taken away at once.
    pub fn check_writable(&self) -> Result<(), DirError> {
        const PROBE: &str = ".probe.tmp";
        self.dir.remove(PROBE)?;
        self.dir.create(PROBE, b"\n", Durability::Atomic)?;
        self.dir.remove(PROBE)
    }

    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The state file; `None` where there is none yet.
    pub fn read_state<T: DeserializeOwned>(&self) -> Result<Option<Read<T>>, DirError> {
        let bytes = self.dir.read(STATE_FILE, STATE_LIMIT_BYTES)?;
        Ok(bytes.map(|bytes| format::STATE.read(&bytes)))
    }

    /// The state file before the newest durable write.
    pub fn read_previous_state<T: DeserializeOwned>(&self) -> Result<Option<Read<T>>, DirError> {
        let bytes = self.dir.read(PREVIOUS_STATE_FILE, STATE_LIMIT_BYTES)?;
        Ok(bytes.map(|bytes| format::STATE.read(&bytes)))
    }

    /// Replaces the state file; a durable write keeps the one before it.
    pub fn write_state<T: Serialize>(&self, state: &T, how: Durability) -> Result<(), DirError> {
        match format::STATE.write(state) {
            Ok(bytes) => {
                if how == Durability::Synced {
                    self.dir.keep_as(STATE_FILE, PREVIOUS_STATE_FILE)?;
                }
                self.dir.replace(STATE_FILE, &bytes, how)
            }
            Err(error) => {
                let source = std::io::Error::other(error);
                Err(DirError::Io {
                    what: "write",
                    path: self.dir.path().join(STATE_FILE),
                    source,
                })
            }
        }
    }

    /// Puts a damaged state file aside, so that nothing of it is lost.
    pub fn quarantine_state(&self) -> Result<(), DirError> {
        if let Some(bytes) = self.dir.read(STATE_FILE, STATE_LIMIT_BYTES)? {
            self.dir
                .replace(DAMAGED_STATE_FILE, &bytes, Durability::Atomic)?;
        }
        Ok(())
    }

    /// Generations whose capsules exist, in order.
    pub fn generations(&self) -> Result<Vec<u64>, DirError> {
        let capsules = match self.dir.child(CAPSULES_DIR) {
            Ok(capsules) => capsules,
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found: Vec<u64> = capsules
            .names()?
            .iter()
            .filter_map(|name| generation_of(name))
            .collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Writes a capsule under its generation; false when that generation is taken.
    pub fn create_capsule(&self, generation: u64, bytes: &[u8]) -> Result<bool, DirError> {
        let capsules = self.dir.ensure(CAPSULES_DIR)?;
        // Every writer here holds the session's lock, so what is half done is nobody's any more.
        for dir in [&self.dir, &capsules] {
            dir.sweep_temps()?;
        }
        capsules.create(&capsule_file(generation), bytes, Durability::Synced)
    }

    pub fn remove_capsule(&self, generation: u64) -> Result<(), DirError> {
        self.dir
            .child(CAPSULES_DIR)?
            .remove(&capsule_file(generation))
    }

    pub fn read_capsule(&self, generation: u64) -> Result<Option<Vec<u8>>, DirError> {
        match self.dir.child(CAPSULES_DIR) {
            Ok(capsules) => capsules.read(&capsule_file(generation), CAPSULE_LIMIT_BYTES),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The one capsule without a generation, replaced as the work goes on.
    pub fn write_rolling(&self, bytes: &[u8]) -> Result<(), DirError> {
        self.dir.replace(ROLLING_FILE, bytes, Durability::Atomic)
    }

    pub fn read_rolling(&self) -> Result<Option<Vec<u8>>, DirError> {
        self.dir.read(ROLLING_FILE, CAPSULE_LIMIT_BYTES)
    }

    pub fn capsule_path(&self, generation: u64) -> PathBuf {
        self.dir
            .path()
            .join(CAPSULES_DIR)
            .join(capsule_file(generation))
    }

    /// Leaves something for the next process that gets the lock.
    pub fn spool(&self, bytes: &[u8]) -> Result<(), DirError> {
        let spool = self.dir.ensure(SPOOL_DIR)?;
        let name = format!("{}.json", uuid::Uuid::now_v7());
        spool.replace(&name, bytes, Durability::Atomic)
    }

    /// What was left, oldest first, by name.
    pub fn spooled(&self) -> Result<Vec<(String, Vec<u8>)>, DirError> {
        let spool = match self.dir.child(SPOOL_DIR) {
            Ok(spool) => spool,
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = spool.names()?;
        // A UUID v7 begins with its time.
        names.sort_unstable();
        let mut left = Vec::new();
        for name in names.into_iter().filter(|name| !name.starts_with('.')) {
            if let Some(bytes) = spool.read(&name, SPOOLED_LIMIT_BYTES)? {
                left.push((name, bytes));
            }
        }
        Ok(left)
    }

    /// Takes one spooled file away; it has been carried out.
    pub fn unspool(&self, name: &str) -> Result<(), DirError> {
        self.dir.child(SPOOL_DIR)?.remove(name)
    }

    /// Keeps the newest briefing for people to read.
    pub fn write_briefing(&self, text: &str) -> Result<(), DirError> {
        self.dir
            .replace(BRIEFING_FILE, text.as_bytes(), Durability::Atomic)
    }
}

/// Removes a session's directory, unless somebody holds its lock or it holds anything that is not harn's.
pub fn remove(context: &Dir, session: &SessionId, patience: Duration) -> Result<(), DirError> {
    const FILES: [&str; 9] = [
        HANDOFF_FILE,
        BRIEFING_FILE,
        DAMAGED_STATE_FILE,
        EVENTS_FILE,
        PREVIOUS_STATE_FILE,
        ROLLING_FILE,
        SEEN_FILE,
        STATE_FILE,
        LOCK_FILE,
    ];
    let store = SessionStore::open(context, session)?;
    let _lock = store.lock(patience)?;
    for generation in store.generations()? {
        store.remove_capsule(generation)?;
    }
    for (name, _) in store.spooled()? {
        store.unspool(&name)?;
    }
    for file in FILES {
        store.dir.remove(file)?;
    }
    for folder in [CAPSULES_DIR, SPOOL_DIR] {
        store.dir.remove_dir(folder)?;
    }
    context.remove_dir(&session_key(session))
}
