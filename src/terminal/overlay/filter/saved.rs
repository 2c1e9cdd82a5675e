//! The program's saved cursor, and when its place in the terminal may be borrowed.

use super::super::pen::Pen;
use super::draw::push_go;
use super::state::{Charset, Filter, Saved, Slot, Verdict};

impl Filter {
    pub(super) fn save(&mut self) {
        let saved = Saved {
            position: self.cursor.known(),
            row: self.cursor.row(),
            is_origin: self.cursor.is_origin,
            pen: self.pen,
            charset: self.charset,
        };
        *self.slot() = Slot::Terminal(saved);
        (self.is_at_saved, self.has_gone) = (!self.cursor.may_wrap(), false);
    }

    pub(super) fn slot(&mut self) -> &mut Slot {
        let [main, alternate] = &mut self.slots;
        if self.is_alternate { alternate } else { main }
    }

    pub(super) fn restore(&mut self) -> Verdict {
        match self.slot().clone() {
            Slot::Terminal(saved) => {
                self.recall(&saved);
                self.is_at_saved = true;
                if saved.row.is_none() && self.has_gone {
                    *self.slot() = Slot::Free;
                }
                Verdict::Pass
            }
            Slot::Host(saved) => self.replace_with(|filter| filter.push_restored(&saved)),
            Slot::Free => {
                self.cursor.forget();
                Verdict::Pass
            }
        }
    }

    /// The terminal has gone back to what was saved.
    pub(super) fn recall(&mut self, saved: &Saved) {
        self.cursor.is_origin = saved.is_origin;
        match saved.position {
            Some((row, col)) => self.cursor.place(row, col),
            None => self.cursor.forget(),
        }
        if let (None, Some(row)) = (saved.position, saved.row) {
            self.cursor.place(row, 0);
            self.cursor.forget_wrap();
        }
        self.pen = saved.pen;
        self.charset = saved.charset;
    }

    /// Does what DECRC would have done.
    pub(super) fn push_restored(&mut self, saved: &Saved) {
        let (top, bottom) = (self.cursor.top, self.cursor.bottom);
        let (row, col) = saved.position.unwrap_or_default();
        let out = &mut self.scratch;
        if saved.is_origin {
            out.extend_from_slice(b"\x1b[?6h");
            push_go(out, row.clamp(top, bottom) - top, col);
        } else {
            out.extend_from_slice(b"\x1b[?6l");
            push_go(out, row, col);
        }
        saved.pen.push_to(out);
        if saved.charset != self.charset {
            saved.charset.push_to(out);
        }
        self.recall(saved);
    }

    /// Whether the terminal's place for a saved cursor may be used now; if so, it is ours from here on.
    pub(super) fn can_borrow(&mut self) -> bool {
        if self.cursor.may_wrap() {
            return false;
        }
        let is_at_saved = self.is_at_saved;
        let slot = self.slot();
        match slot {
            Slot::Host(_) | Slot::Free => true,
            Slot::Terminal(_) if is_at_saved => true,
            // In origin mode not every position can be gone to.
            Slot::Terminal(saved) if saved.position.is_some() && !saved.is_origin => {
                *slot = Slot::Host(saved.clone());
                true
            }
            Slot::Terminal(_) => false,
        }
    }
}

impl Saved {
    /// What a terminal goes back to when nothing was saved.
    pub(super) fn home() -> Self {
        Self {
            position: Some((0, 0)),
            row: Some(0),
            is_origin: false,
            pen: Pen::default(),
            charset: Charset::PLAIN,
        }
    }
}
