//! What the filter itself prints: the row, the region, and what takes both back.

use super::state::{Charset, Face, Filter, Place};

impl Filter {
    /// What gives the terminal back without the row: the whole screen scrolls again, the row is blank.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.face != Face::Row {
            return out;
        }
        if self.place != Place::Ground {
            out.push(0x18);
        }
        out.extend_from_slice(b"\x1b7\x1b[?6l\x1b[r");
        push_go(&mut out, self.rows, 0);
        out.extend_from_slice(b"\x1b[0m\x1b[2K\x1b8");
        out
    }

    pub(super) fn is_mendable(&self) -> bool {
        self.place == Place::Ground
            && self.character.is_empty()
            && (self.needs_region || !self.is_updating)
    }

    /// Sets the region again and draws the row, as far as that is safe now.
    pub(super) fn mend(&mut self) {
        if self.needs_region {
            self.push_region();
        }
        if self.is_row_lost || self.wants_draw {
            self.push_row();
        }
    }

    pub(super) fn push_region(&mut self) {
        if self.face == Face::Title {
            self.needs_region = false;
            return;
        }
        if !self.can_borrow() {
            return;
        }
        let (top, bottom) = (self.cursor.top + 1, self.cursor.bottom + 1);
        self.out.extend_from_slice(b"\x1b7");
        push_numbers(&mut self.out, &[top, bottom], b'r');
        push_return(&mut self.out, self.cursor.is_origin);
        self.needs_region = false;
    }

    pub(super) fn push_row(&mut self) {
        let is_unsafe = self.place != Place::Ground
            || !self.character.is_empty()
            || self.is_updating
            || self.has_side_margins
            || self.is_linking;
        if is_unsafe {
            return;
        }
        if self.face == Face::Title {
            self.out.extend_from_slice(b"\x1b]0;");
            self.out.extend_from_slice(&self.row);
            self.out.push(0x07);
            (self.is_row_lost, self.wants_draw) = (false, false);
            return;
        }
        if self.face == Face::Hidden || !self.can_borrow() {
            return;
        }
        let is_plain = self.charset == Charset::PLAIN;
        let out = &mut self.out;
        out.extend_from_slice(b"\x1b7");
        if self.cursor.is_origin {
            out.extend_from_slice(b"\x1b[?6l");
        }
        if !is_plain {
            Charset::PLAIN.push_to(out);
        }
        push_go(out, self.rows, 0);
        // Never blank, not even for a moment: between any two reads the terminal shows the old row or the new one.
        out.extend_from_slice(b"\x1b[0m");
        out.extend_from_slice(&self.row);
        out.extend_from_slice(b"\x1b[K");
        push_return(out, self.cursor.is_origin);
        if !is_plain {
            self.charset.push_to(out);
        }
        (self.is_row_lost, self.wants_draw, self.has_drawn_since) = (false, false, true);
    }

    /// After a change of size the cursor may stand on the overlay row, or a former overlay row in the program's screen.
    pub(super) fn push_floor(&mut self) {
        if self.needs_floor {
            self.out.extend_from_slice(b"\x1b7\x1b[?6l\x1b[r");
            if let Some(row) = self.stale_row.take() {
                push_go(&mut self.out, row, 0);
                self.out.extend_from_slice(b"\x1b[0m\x1b[2K");
            }
            if self.face == Face::Row {
                push_go(&mut self.out, self.rows, 0);
                self.out.extend_from_slice(b"\x1b[0m\x1b[2K\x1b8\n\x1b[A");
            } else {
                push_go(&mut self.out, self.rows - 1, 0);
                self.out.extend_from_slice(b"\x1b[0m\x1b[2K\x1b8");
            }
            if self.cursor.is_origin {
                // Position and mode cannot both be had; the program paints anew after a change of size.
                self.out.extend_from_slice(b"\x1b[?6h");
            }
            self.cursor.forget();
        }
        self.needs_floor = false;
    }
}

pub(super) fn push_return(out: &mut Vec<u8>, is_origin: bool) {
    out.extend_from_slice(b"\x1b8");
    if is_origin {
        // Not every terminal restores the mode, and setting it moves the cursor.
        out.extend_from_slice(b"\x1b[?6h\x1b8");
    }
}

/// Counted from 0.
pub(super) fn push_go(out: &mut Vec<u8>, row: u16, col: u16) {
    push_numbers(out, &[row.saturating_add(1), col.saturating_add(1)], b'H');
}

pub(super) fn push_numbers(out: &mut Vec<u8>, numbers: &[u16], last: u8) {
    out.extend_from_slice(b"\x1b[");
    for (index, number) in numbers.iter().enumerate() {
        if index > 0 {
            out.push(b';');
        }
        out.extend_from_slice(number.to_string().as_bytes());
    }
    out.push(last);
}
