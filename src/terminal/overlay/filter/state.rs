//! What the filter knows and keeps. The other files of this folder change it.

use super::super::cursor::Cursor;
use super::super::pen::Pen;
use super::super::sequence::Kind;

/// Edited output of one call, about; input is left for the next call beyond it.
pub(super) const OUT_LIMIT: usize = 64 * 1024;
/// Bytes of a command string that are looked at.
pub(super) const HEAD_LIMIT: usize = 64;

/// How the overlay is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// In the last row; the program has one row less.
    Row,
    /// Not now: the program has all rows.
    Hidden,
    /// In the window's title; the output is left as it is.
    Title,
}

/// Where in the stream the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Ground,
    Text(Kind),
    /// In a control sequence too long to be held.
    Overlong,
}

/// What DECSC saves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Saved {
    pub(super) position: Option<(u16, u16)>,
    /// At least the row.
    pub(super) row: Option<u16>,
    pub(super) is_origin: bool,
    pub(super) pen: Pen,
    pub(super) charset: Charset,
}

/// Who has the position that the program's next DECRC goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slot {
    /// The terminal, as the program saved it.
    Terminal(Saved),
    /// The filter; the terminal's place is free to use.
    Host(Saved),
    /// Nobody: the program came back from where it went, and will save again.
    Free,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Charset {
    pub(super) left: [u8; 2],
    pub(super) is_shifted: bool,
}

impl Charset {
    pub(super) const PLAIN: Self = Self {
        left: *b"BB",
        is_shifted: false,
    };

    pub(super) fn push_to(self, out: &mut Vec<u8>) {
        let [first, second] = self.left;
        out.extend_from_slice(&[0x1b, b'(', first, 0x1b, b')', second]);
        out.push(if self.is_shifted { 0x0e } else { 0x0f });
    }
}

/// What the filter does with a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    /// `Filter::scratch` takes its place.
    Replace,
}

/// What a call took and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fed {
    /// Bytes of the input that are done with.
    pub(crate) consumed: usize,
    /// The output: so many bytes of the input from its start, or, edited, what `Filter::take_edited` gives.
    pub(crate) passed: Option<usize>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "facts of a terminal, each for itself"
)]
#[derive(Debug)]
pub(crate) struct Filter {
    pub(super) face: Face,
    /// Rows of the program; the overlay is the next one.
    pub(super) rows: u16,
    pub(super) cursor: Cursor,
    pub(super) pen: Pen,
    pub(super) charset: Charset,
    pub(super) place: Place,
    pub(super) held: Vec<u8>,
    pub(super) character: Vec<u8>,
    /// Main and alternate screen.
    pub(super) slots: [Slot; 2],
    pub(super) is_alternate: bool,
    /// Nothing has changed since the program saved or restored its cursor.
    pub(super) is_at_saved: bool,
    /// The program went somewhere since it saved its cursor.
    pub(super) has_gone: bool,
    pub(super) is_updating: bool,
    pub(super) has_update_ended: bool,
    pub(super) has_side_margins: bool,
    pub(super) is_linking: bool,
    pub(super) head: Vec<u8>,
    /// The newest character, for one that is to be repeated.
    pub(super) newest: [u8; 4],
    pub(super) has_drawn_since: bool,
    pub(super) needs_floor: bool,
    pub(super) needs_region: bool,
    pub(super) is_row_lost: bool,
    pub(super) wants_draw: bool,
    pub(super) row: Vec<u8>,
    /// The overlay row of the former size, to be blanked.
    pub(super) stale_row: Option<u16>,
    pub(super) joined: Vec<u8>,
    pub(super) out: Vec<u8>,
    pub(super) scratch: Vec<u8>,
}
