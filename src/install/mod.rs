//! What `harn install` makes of a user's settings file, and `harn uninstall` of that.
//!
//! Pure: text in, text out. A text is changed in small places and nowhere else, so that comments, order, indentation,
//! line ends and what other tools have put there stay as they were. There are no marks in the file: an entry is harn's
//! by the command it runs (`adapter::own`). What a text does not tell when harn's part is gone again (whether `{}` stood
//! there before or nothing) is kept as `Spot`s by the caller.

mod bindings;
mod hooks;
mod json;
mod place;
pub mod receipt;
mod splice;
mod status_line;
mod toml;

use serde::{Deserialize, Serialize};

use crate::adapter::own::Bridge;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Toml,
}

/// One hook that harn wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The harness's own name of the event.
    pub event: String,
    pub command: String,
    pub timeout_s: u64,
}

/// One hook of harn's that a text holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The event it is listed under.
    pub event: String,
    /// The event it would report.
    pub reports: String,
    pub command: String,
    pub timeout_s: Option<u64>,
}

/// What was at a place before harn put something there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    pub path: Vec<String>,
    pub was: Was,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Was {
    Absent,
    /// Brackets with nothing but this between them.
    Empty(String),
    /// Another value, as written.
    Value(String),
}

/// A changed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub text: String,
    /// What differs from before, a line each; empty: nothing does.
    pub reasons: Vec<String>,
    pub spots: Vec<Spot>,
}

/// Which of harn's parts are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub hooks: bool,
    pub status_line: bool,
}

/// Why a text is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        line: usize,
        column: usize,
        what: String,
    },
    #[error("line {line}, column {column}: {name} is not {expected}")]
    Shape {
        line: usize,
        column: usize,
        name: String,
        expected: &'static str,
    },
    #[error("line {line}, column {column}: {keys} has another meaning already")]
    KeysTaken {
        line: usize,
        column: usize,
        keys: String,
    },
}

/// Puts harn's hooks in, brings those that are there up to date, and takes out what is no longer wanted.
pub fn merge_hooks(
    format: Format,
    text: &str,
    adapter: &str,
    wanted: &[Hook],
    spots: &[Spot],
) -> Result<Change, Refusal> {
    match format {
        Format::Json => hooks::merge(text, adapter, wanted, spots),
        Format::Toml => toml::merge(text, adapter, wanted, spots),
    }
}

/// Puts the bridge in the place of the status line, in front of the user's own.
pub fn merge_status_line(
    text: &str,
    adapter: &str,
    harn: &str,
    spots: &[Spot],
) -> Result<Change, Refusal> {
    status_line::merge(text, adapter, harn, spots)
}

/// Adds the chords to the user's key bindings.
pub fn merge_keys(text: &str, spots: &[Spot]) -> Result<Change, Refusal> {
    bindings::merge(text, spots)
}

/// Takes harn's parts out.
pub fn strip(
    format: Format,
    text: &str,
    adapter: &str,
    parts: Parts,
    spots: &[Spot],
) -> Result<String, Refusal> {
    match format {
        Format::Json => {
            let mut text = text.to_owned();
            if parts.hooks {
                text = hooks::strip(&text, adapter, spots)?;
            }
            if parts.status_line {
                text = status_line::strip(&text, adapter, spots)?;
            }
            Ok(text)
        }
        Format::Toml if parts.hooks => toml::strip(text, adapter),
        Format::Toml => Ok(text.to_owned()),
    }
}

/// Takes those chords out again that were put in.
pub fn strip_keys(text: &str, spots: &[Spot]) -> Result<String, Refusal> {
    bindings::strip(text, spots)
}

/// harn's hooks in a text.
pub fn hooks_in(format: Format, text: &str, adapter: &str) -> Result<Vec<Found>, Refusal> {
    match format {
        Format::Json => hooks::find(text, adapter),
        Format::Toml => toml::find(text, adapter),
    }
}

/// Whether harn's status line is in a text.
pub fn has_status_line(text: &str, adapter: &str) -> Result<bool, Refusal> {
    status_line::is_ours(text, adapter)
}

/// harn's status line in a JSON text: its command, and the user's own behind it.
pub fn status_line_in(text: &str, adapter: &str) -> Result<Option<(String, Bridge)>, Refusal> {
    status_line::find(text, adapter)
}

/// Line and column of a byte, up to which all is text.
pub fn place_in(bytes: &[u8], at: usize) -> (usize, usize) {
    splice::place_of(&String::from_utf8_lossy(bytes), at)
}

/// Whether a TOML text has hooks of anybody's.
pub fn has_hook_tables(text: &str) -> bool {
    toml::has_hooks(text)
}

#[cfg(test)]
#[path = "corpus_tests.rs"]
mod tests;
