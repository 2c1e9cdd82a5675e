//! Every path, once.
//!
//! Reads the environment it is given and no file. A session id never becomes a file name: its key does.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::event::SessionId;

pub const STATE_FILE: &str = "state.json";
pub const EVENTS_FILE: &str = "events.ndjson";
pub const LOCK_FILE: &str = "lock";
pub const CAPSULES_DIR: &str = "capsules";
pub const PREVIOUS_STATE_FILE: &str = "state.previous.json";
pub const DAMAGED_STATE_FILE: &str = "state.damaged.json";
pub const ROLLING_FILE: &str = "rolling.json";
pub const SPOOL_DIR: &str = "spool";
pub const SEEN_FILE: &str = "seen";
pub const BRIEFING_FILE: &str = "briefing.md";
/// The work for a fresh session, written when a compaction failed.
pub const HANDOFF_FILE: &str = "handoff.md";
/// harn's directory in a project; another tool uses the same name, see `index`.
pub const PROJECT_DIR: &str = ".harnery";
/// harn's own corner where `PROJECT_DIR` is another tool's.
pub const CORNER_DIR: &str = "harn";
pub const CONTEXT_DIR: &str = "context";
pub const IGNORE_FILE: &str = ".gitignore";
/// Marks a `PROJECT_DIR` that harn made, and keeps it out of the repository.
pub const IGNORE_TEXT: &[u8] = b"# made by harn\n*\n";

/// Hex digits of a key.
const KEY_DIGITS: usize = 24;

/// The user's own directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `$HARN_STATE_DIR`, else `$XDG_STATE_HOME`, in which harn has a directory of its own.
    pub base: PathBuf,
    /// `$HARN_STATE_DIR` was given: it is harn's own, and the state tree of every project goes there.
    pub gathered: bool,
    pub config: PathBuf,
}

/// No home directory and no override either.
#[derive(Debug, thiserror::Error)]
#[error("cannot tell where state lives: neither HOME nor HARN_STATE_DIR is set")]
pub struct NoHome;

impl Layout {
    /// Derives the directories from environment variables.
    pub fn from_env(var: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
        let absolute = |name: &str| {
            var(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let base = |name: &str, below: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(below)))
        };
        let config = base("XDG_CONFIG_HOME", ".config");
        let given = absolute("HARN_STATE_DIR");
        let gathered = given.is_some();
        let state = given
            .or_else(|| base("XDG_STATE_HOME", ".local/state"))
            .ok_or(NoHome)?;
        let config = config
            .unwrap_or_else(|| state.clone())
            .join("harn/config.toml");
        Ok(Self {
            base: state,
            gathered,
            config,
        })
    }
}

/// A session's key: 24 hex digits of the SHA-256 of its id.
pub fn session_key(session: &SessionId) -> String {
    key(session.as_str().as_bytes())
}

/// A project's key below the user's state directory.
pub fn project_key(project: &Path) -> String {
    key(project.as_os_str().as_bytes())
}

fn key(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    crate::text::hex(hash.get(..KEY_DIGITS / 2).unwrap_or_default())
}

/// The file of a generation; sorts by number up to 999,999.
pub fn capsule_file(generation: u64) -> String {
    format!("{generation:06}.json")
}

/// The generation a capsule's file name stands for.
pub fn generation_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    (digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(vars: &[(&str, &str)]) -> Option<Layout> {
        Layout::from_env(|name| {
            vars.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        })
        .ok()
    }

    #[test]
    fn directories_follow_the_environment_and_ignore_relative_ones() {
        let at = |vars| layout(vars).map(|layout| (layout.base, layout.config));
        let paths = |state: &str, config: &str| Some((state.into(), config.into()));
        assert_eq!(
            at(&[("HOME", "/h"), ("XDG_STATE_HOME", "rel")]),
            paths("/h/.local/state", "/h/.config/harn/config.toml")
        );
        assert_eq!(
            at(&[
                ("HOME", "/h"),
                ("XDG_STATE_HOME", "/s"),
                ("XDG_CONFIG_HOME", "/c")
            ]),
            paths("/s", "/c/harn/config.toml")
        );
        assert_eq!(
            at(&[("HARN_STATE_DIR", "/x")]),
            paths("/x", "/x/harn/config.toml")
        );
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn a_hostile_session_id_becomes_a_plain_key() {
        let key = session_key(&SessionId::new("../../x"));
        assert_eq!(key.len(), 24);
        assert!(key.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn capsule_names_and_generations_agree_beyond_six_digits() {
        for generation in [1, 999_999, 1_000_000] {
            assert_eq!(generation_of(&capsule_file(generation)), Some(generation));
        }
        assert_eq!(generation_of("1.json"), None);
    }
}
