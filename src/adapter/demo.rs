//! The built-in demo agent: what its manifest cannot say. It writes the records of Claude Code and has no settings files.

use std::ffi::OsString;

use super::gauge::{Gauge, Knobs};
use super::recipe::{Around, Editing, Recipe};
use super::{claude_code, codex};
use crate::compaction::Keys;

/// How its context is read.
pub(super) const GAUGE: Gauge = Gauge {
    own_status_line: |_| None,
    knobs: |_| Knobs {
        knobs: Vec::new(),
        threshold: None,
    },
    ..claude_code::GAUGE
};

/// Its habits are those it was told to imitate, and so are its keys.
pub(super) fn recipe(args: &[OsString]) -> Recipe {
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let is_like_codex =
        has("--like=codex") || args.windows(2).any(|pair| pair == ["--like", "codex"]);
    let (like, keys): (Recipe, fn(&Around<'_>) -> Keys) = if is_like_codex {
        (codex::RECIPE, CODEX_KEYS)
    } else {
        (claude_code::RECIPE, CLAUDE_KEYS)
    };
    Recipe {
        keys: if has("--submit-keys") {
            keys
        } else {
            |_| Keys::default()
        },
        editing: |_| Editing::Plain,
        fresh: "harn run -- demo",
        ..like
    }
}

const CLAUDE_KEYS: fn(&Around<'_>) -> Keys = |_| Keys {
    compact: Some(claude_code::keys::COMPACT.bytes),
    submit: Some(claude_code::keys::SUBMIT.bytes),
};
const CODEX_KEYS: fn(&Around<'_>) -> Keys = |_| Keys {
    compact: None,
    submit: Some(codex::SUBMIT_BYTES),
};
