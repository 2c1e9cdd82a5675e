//! Changes to a text as small cuts and insertions, so that all else of it stays as it was.

use std::ops::Range;

/// Replaces a stretch; an empty one is an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) at: Range<usize>,
    pub(super) put: String,
}

impl Splice {
    pub(super) fn put(at: usize, text: impl Into<String>) -> Self {
        Self {
            at: at..at,
            put: text.into(),
        }
    }

    pub(super) fn cut(at: Range<usize>) -> Self {
        Self {
            at,
            put: String::new(),
        }
    }
}

/// The text with these changes, which must not overlap; insertions at one place keep their order.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.at.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for splice in splices {
        out.push_str(text.get(done..splice.at.start).unwrap_or_default());
        out.push_str(&splice.put);
        done = done.max(splice.at.end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Line and column of a byte, both from one, the column in characters.
pub(super) fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The whitespace at the beginning of the line in which this byte stands.
pub(super) fn indent_of(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(start..).unwrap_or_default();
    let end = line
        .find(|c: char| c != ' ' && c != '\t')
        .unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}
