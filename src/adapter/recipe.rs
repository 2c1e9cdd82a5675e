//! How a harness's own compact command is typed, and what proves it: one recipe for each harness that has one.
//!
//! Pure. A recipe asks for all of its evidence on every version of the client; on one that it was not verified on, its basis
//! falls to `declared`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{claude_code, codex, demo};
use crate::compaction::{Keys, Manner, Record, Sight};
use crate::event::{HarnessId, SessionId, Timestamp};
use crate::terminal::{Cell, Model};

/// The facts and readers of one harness.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub manner: Manner,
    pub status: StatusSource,
    /// Reads the prompt and what lies over it from the screen.
    pub sight: fn(&Model, Editing) -> Sight,
    /// Reads one line of the session's record.
    pub record: fn(&[u8], &SessionId) -> Option<Record>,
    /// Whether a window title says that the client works; none where titles say nothing.
    pub is_busy_title: Option<fn(&str) -> bool>,
    /// The keys that only the composer knows, as they are bound now.
    pub keys: fn(&Around<'_>) -> Keys,
    /// How keys in the composer are meant.
    pub editing: fn(&Around<'_>) -> Editing,
    /// The command line of a fresh session, before its first prompt.
    pub fresh: &'static str,
}

/// Where the client tells what it is at.
#[derive(Clone, Copy, Debug)]
pub enum StatusSource {
    /// A file of the process, beside the session's record.
    File {
        path: fn(record: &Path, pid: u32) -> Option<PathBuf>,
        parse: fn(&[u8]) -> Option<Status>,
    },
    /// Reports in its output, see `report`.
    Reports { osc: u32 },
}

/// A status file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub session: SessionId,
    pub word: StatusWord,
    /// Since when; none where the file does not say.
    pub since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusWord {
    Idle,
    /// Idle, with a task in the background.
    Background,
    Busy,
    Waiting,
}

/// How keys in the composer are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Editing {
    /// Text is text.
    Plain,
    /// There is a mode in which keys are commands.
    Modal,
}

/// What a recipe may look at beside screen and record.
#[expect(missing_debug_implementations, reason = "holds a closure")]
pub struct Around<'a> {
    /// The session's record.
    pub record: &'a Path,
    /// The text of a small file; none where there is none.
    pub read: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
    /// The run was started with the key that only the composer knows.
    pub has_launch_key: bool,
}

/// The recipe for a harness; none where it has no command or harn does not know how to type it.
pub fn recipe(id: &HarnessId, args: &[OsString]) -> Option<Recipe> {
    match id.as_str() {
        "claude-code" => Some(claude_code::RECIPE),
        "codex" => Some(codex::RECIPE),
        "demo" => Some(demo::recipe(args)),
        _ => None,
    }
}

/// All rows of the screen; none where one of them is not known.
pub(super) fn texts(model: &Model) -> Option<Vec<String>> {
    let (rows, _) = model.size();
    (0..rows).map(|row| model.text(row)).collect()
}

/// What was typed in a composer's line: without its mark, or its indent, and without faint cells.
pub(super) fn typed(line: &[Cell]) -> String {
    let mut text = String::new();
    for cell in line.iter().skip(2) {
        match cell.text.as_str() {
            _ if cell.is_dim => text.push(' '),
            "" | "\u{a0}" => text.push(' '),
            told => text.push_str(told),
        }
    }
    text.truncate(text.trim_end().len());
    text
}
