//! How to read a harness's own record of its context: transcript, status line, settings.
//!
//! Pure. What differs between harnesses lies in their own files; this one finds them by id.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{claude_code, codex, demo};
use crate::event::{HarnessId, SessionId, Tokens};
use crate::telemetry::meter::Knob;
use crate::telemetry::{Fact, Reading};

/// Whose lines are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub session: &'a SessionId,
    /// The model that the session was started with; its name may say more than the record's.
    pub model: Option<&'a str>,
}

/// What a line of a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    pub fact: Option<Fact>,
    pub is_damaged: bool,
}

impl Parsed {
    pub(super) const NOTHING: Self = Self {
        fact: None,
        is_damaged: false,
    };
    pub(super) const DAMAGED: Self = Self {
        fact: None,
        is_damaged: true,
    };
}

/// What a status line was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusReport {
    pub session: SessionId,
    pub project: Option<String>,
    pub reading: Reading,
}

/// Settings that move the automatic compaction, and what they are known to mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knobs {
    pub knobs: Vec<Knob>,
    /// About where a compaction is to be expected; none where the settings do not tell.
    pub threshold: Option<Tokens>,
}

/// Where settings may be read from.
#[expect(missing_debug_implementations, reason = "holds closures")]
pub struct Settings<'a> {
    pub var: &'a dyn Fn(&str) -> Option<OsString>,
    /// The text of a small file; none where there is none.
    pub read: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
    pub project: &'a Path,
    /// What an owned run was started with, the user's own `--settings` included.
    pub run: Option<PathBuf>,
}

/// A status line as settings name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    pub command: String,
    /// The keys beside the command: padding, refresh interval and what else the client may know.
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// Reads the standard input of a status line.
pub type StatusParser = fn(&[u8]) -> Option<StatusReport>;

/// The readers of one harness.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// One line of the transcript.
    pub line: fn(&[u8], Subject<'_>) -> Parsed,
    /// Whether a file is a session's own transcript and not a sub-agent's.
    pub is_main: fn(&Path) -> bool,
    /// Whether a record that begins with this line is of a conversation with the user. Only for a client whose session process
    /// holds its record open, so that it can be found where no hook has named it.
    pub is_held: Option<fn(&[u8]) -> bool>,
    /// The standard input of a status line; none where there is no status line.
    pub status_line: Option<StatusParser>,
    /// The user's own status line, by their settings.
    pub own_status_line: fn(&Settings<'_>) -> Option<StatusLine>,
    pub knobs: fn(&Settings<'_>) -> Knobs,
}

/// The readers for a harness; none where harn has none.
pub fn gauge(id: &HarnessId) -> Option<Gauge> {
    match id.as_str() {
        "claude-code" => Some(claude_code::GAUGE),
        "codex" => Some(codex::GAUGE),
        "demo" => Some(demo::GAUGE),
        _ => None,
    }
}
