//! Sequences that would reach the overlay's row: moves, scroll regions, erasures, resets.

use unicode_width::UnicodeWidthChar as _;

use super::super::pen::Pen;
use super::super::sequence::Csi;
use super::draw::{push_go, push_numbers, push_return};
use super::state::{Charset, Filter, Saved, Slot, Verdict};

impl Filter {
    pub(super) fn down(&mut self, count: u16, last: u8) -> Verdict {
        if self.cursor.bottom < self.rows - 1
            && let Some(room) = self.cursor.room_below()
            && count > room
        {
            self.cursor.down(count);
            return self.replace_with(|filter| {
                if room > 0 {
                    push_numbers(&mut filter.scratch, &[room], last);
                } else if last == b'E' {
                    filter.scratch.push(b'\r');
                }
            });
        }
        self.cursor.down(count);
        Verdict::Pass
    }

    pub(super) fn go(&mut self, csi: &Csi<'_>) -> Verdict {
        self.has_gone = true;
        let (row, col) = (csi.count(), csi.number(1).unwrap_or(1));
        self.cursor.go(row, col);
        if row <= self.rows {
            return Verdict::Pass;
        }
        let rows = self.rows;
        self.replace_with(|filter| push_numbers(&mut filter.scratch, &[rows, col], b'H'))
    }

    pub(super) fn go_row(&mut self, row: u16) -> Verdict {
        self.has_gone = true;
        self.cursor.go_row(row);
        if row <= self.rows {
            return Verdict::Pass;
        }
        let rows = self.rows;
        self.replace_with(|filter| push_numbers(&mut filter.scratch, &[rows], b'd'))
    }

    pub(super) fn set_region(&mut self, csi: &Csi<'_>) -> Verdict {
        let top = csi.count();
        let bottom = csi.number(1).unwrap_or(self.rows).min(self.rows);
        if top >= bottom {
            // Terminals that do not ignore it would free the whole screen.
            return self.replace(b"");
        }
        self.has_gone = true;
        self.cursor.set_region(top - 1, bottom - 1);
        self.replace_with(|filter| push_numbers(&mut filter.scratch, &[top, bottom], b'r'))
    }

    pub(super) fn repeat(&mut self, count: u16) -> Verdict {
        let end = self.newest.iter().position(|byte| *byte == 0).unwrap_or(4);
        let newest = self.newest.get(..end).unwrap_or_default().to_vec();
        let text = std::str::from_utf8(&newest).unwrap_or_default();
        let Some(char) = text.chars().next() else {
            self.cursor.forget_shape();
            return Verdict::Pass;
        };
        if self.is_at_floor() {
            return self.repeat_at_floor(char, count);
        }
        for _ in 0..count {
            self.cursor.print(char);
        }
        if !std::mem::take(&mut self.has_drawn_since) {
            return Verdict::Pass;
        }
        self.replace_with(|filter| {
            filter.scratch.extend_from_slice(&newest);
            if count > 1 {
                push_numbers(&mut filter.scratch, &[count - 1], b'b');
            }
        })
    }

    /// One by one, back to the row's start where the next would wrap.
    pub(super) fn repeat_at_floor(&mut self, char: char, count: u16) -> Verdict {
        let width = char.width().unwrap_or(1);
        self.has_drawn_since = false;
        self.replace_with(|filter| {
            let mut encoded = [0; 4];
            for _ in 0..count {
                if filter.cursor.fits().is_some_and(|fits| fits < width) {
                    filter.scratch.push(b'\r');
                    filter.cursor.set_col(0);
                }
                filter.cursor.print(char);
                let text = char.encode_utf8(&mut encoded);
                filter.scratch.extend_from_slice(text.as_bytes());
            }
        })
    }

    /// ED: whatever reaches the overlay row is done row by row, or followed by drawing it again.
    pub(super) fn erase(&mut self, csi: &Csi<'_>) -> Verdict {
        let from = match csi.number(0) {
            None => self.cursor.row(),
            Some(2) => Some(0),
            Some(1 | 3) => {
                self.cursor.unsettle();
                return Verdict::Pass;
            }
            Some(_) => None,
        };
        let is_below = csi.number(0).is_none();
        let home = self.cursor.known().filter(|_| !self.cursor.is_origin);
        let Some(from) = from else {
            self.is_row_lost = true;
            return Verdict::Pass;
        };
        let can_borrow = self.can_borrow();
        if !can_borrow && home.is_none() {
            self.is_row_lost = true;
            self.cursor.unsettle();
            return Verdict::Pass;
        }
        let is_origin = self.cursor.is_origin;
        self.replace_with(|filter| {
            let rows = filter.rows;
            let out = &mut filter.scratch;
            let first = if is_below {
                out.extend_from_slice(b"\x1b[K");
                from + 1
            } else {
                from
            };
            if first >= rows {
                return;
            }
            if can_borrow {
                out.extend_from_slice(b"\x1b7");
                if is_origin {
                    out.extend_from_slice(b"\x1b[?6l");
                }
            }
            for row in first..rows {
                push_go(out, row, 0);
                out.extend_from_slice(b"\x1b[2K");
            }
            match home {
                Some((row, col)) if !can_borrow => push_go(out, row, col),
                _ => push_return(out, is_origin),
            }
        })
    }

    /// RIS.
    pub(super) fn reset(&mut self) -> Verdict {
        let rows = self.rows;
        let has_scrolled = self.cursor.has_scrolled;
        self.cursor.does_wrap = true;
        self.cursor.is_origin = false;
        self.cursor.set_region(0, rows - 1);
        self.cursor.has_scrolled = has_scrolled;
        self.pen = Pen::default();
        self.charset = Charset::PLAIN;
        self.slots = [Slot::Host(Saved::home()), Slot::Host(Saved::home())];
        (self.is_alternate, self.is_updating) = (false, false);
        (self.has_side_margins, self.is_linking) = (false, false);
        self.is_row_lost = true;
        self.replace_with(|filter| {
            filter.scratch.extend_from_slice(b"\x1bc");
            push_numbers(&mut filter.scratch, &[1, rows], b'r');
        })
    }

    /// DECSTR: the region goes to the whole screen, the cursor stays.
    pub(super) fn soft_reset(&mut self) -> Verdict {
        let rows = self.rows;
        self.cursor.is_origin = false;
        (self.cursor.top, self.cursor.bottom) = (0, rows - 1);
        self.pen = Pen::default();
        self.charset = Charset::PLAIN;
        *self.slot() = Slot::Host(Saved::home());
        self.is_at_saved = false;
        if self.cursor.may_wrap() {
            // To be set as soon as nothing is lost by it.
            self.needs_region = true;
            return Verdict::Pass;
        }
        self.replace_with(|filter| {
            filter.scratch.extend_from_slice(b"\x1b[!p\x1b7");
            push_numbers(&mut filter.scratch, &[1, rows], b'r');
            filter.scratch.extend_from_slice(b"\x1b8");
        })
    }
}
