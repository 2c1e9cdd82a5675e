//! Escape sequences and strings: which they are, and who deals with them.

use super::super::sequence::{self, Csi, Kind, Scan};
use super::state::{Face, Filter, HEAD_LIMIT, Place, Slot, Verdict};

impl Filter {
    pub(super) fn take_text(&mut self, rest: &[u8], kind: Kind) -> Option<usize> {
        let Some(end) = rest
            .iter()
            .position(|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b))
        else {
            self.keep_head(rest, kind);
            return Some(rest.len());
        };
        self.keep_head(rest.get(..end).unwrap_or_default(), kind);
        match rest.get(end) {
            Some(0x1b) => match rest.get(end + 1) {
                Some(b'\\') => {
                    self.end_text(kind);
                    Some(end + 2)
                }
                Some(_) => {
                    self.place = Place::Ground;
                    Some(end)
                }
                None if end == 0 => {
                    self.held.extend_from_slice(b"\x1b");
                    None
                }
                None => Some(end),
            },
            Some(0x07) if kind == Kind::Data => Some(end + 1),
            Some(0x07) => {
                self.end_text(kind);
                Some(end + 1)
            }
            _ => {
                self.place = Place::Ground;
                Some(end + 1)
            }
        }
    }

    pub(super) fn keep_head(&mut self, text: &[u8], kind: Kind) {
        if kind == Kind::Command {
            let room = HEAD_LIMIT.saturating_sub(self.head.len());
            self.head
                .extend_from_slice(text.get(..room).unwrap_or(text));
        }
    }

    pub(super) fn end_text(&mut self, kind: Kind) {
        self.place = Place::Ground;
        let is_title = self.head.starts_with(b"0;") || self.head.starts_with(b"2;");
        if self.face == Face::Title && kind == Kind::Command && is_title {
            self.is_row_lost = true;
        }
        if kind == Kind::Command
            && let Some(link) = self.head.strip_prefix(b"8;")
        {
            let target = link.iter().position(|byte| *byte == b';');
            self.is_linking = target.is_none_or(|at| at + 1 < link.len());
        }
    }

    /// `None`: the rest is held until there is more.
    pub(super) fn take_escape(&mut self, rest: &[u8]) -> Option<(usize, Verdict)> {
        self.break_character();
        if let Some(count) = rendition(rest) {
            self.pen.set(rest.get(2..count - 1).unwrap_or_default());
            self.is_at_saved = false;
            return Some((count, Verdict::Pass));
        }
        match sequence::scan(rest) {
            Scan::Incomplete if rest.len() < sequence::LIMIT => {
                self.held.extend_from_slice(rest);
                None
            }
            Scan::Incomplete => {
                self.place = Place::Overlong;
                Some((rest.len(), Verdict::Pass))
            }
            Scan::Broken(count) => {
                // Controls inside a sequence are carried out by some terminals and not by others.
                if count > 1 {
                    self.cursor.forget();
                    self.is_at_saved = false;
                }
                Some((count, Verdict::Pass))
            }
            Scan::Text(count, kind) => {
                self.place = Place::Text(kind);
                self.head.clear();
                Some((count, Verdict::Pass))
            }
            Scan::Complete(count) => {
                let sequence = rest.get(..count).unwrap_or_default();
                let verdict = match Csi::parse(sequence) {
                    Some(csi) => self.take_csi(&csi),
                    None => self.take_short(sequence),
                };
                Some((count, verdict))
            }
        }
    }

    pub(super) fn take_short(&mut self, sequence: &[u8]) -> Verdict {
        let was_at_saved = std::mem::take(&mut self.is_at_saved);
        match sequence {
            b"\x1b7" => self.save(),
            b"\x1b8" => return self.restore(),
            b"\x1bc" => return self.reset(),
            b"\x1bD" => return self.line_feed(b""),
            b"\x1bE" => {
                let verdict = self.line_feed(b"\r");
                self.cursor.set_col(0);
                return verdict;
            }
            b"\x1bM" => self.cursor.reverse_line_feed(),
            b"\x1bH" => self.cursor.change_tabs(),
            b"\x1b#8" => {
                self.cursor.set_region(0, self.rows - 1);
                (self.needs_region, self.is_row_lost) = (true, true);
            }
            [0x1b, b'(', set] => self.charset.left[0] = *set,
            [0x1b, b')', set] => self.charset.left[1] = *set,
            _ => self.is_at_saved = was_at_saved,
        }
        Verdict::Pass
    }

    pub(super) fn take_csi(&mut self, csi: &Csi<'_>) -> Verdict {
        if csi.last == b'm' && csi.mark == 0 && csi.between.is_none() {
            self.pen.set(csi.parameters);
            self.is_at_saved = false;
            return Verdict::Pass;
        }
        match (csi.mark, csi.between) {
            (0, None) => {
                self.is_at_saved = false;
                self.take_plain_csi(csi)
            }
            (b'?', None) => self.take_private_csi(csi),
            (0, Some(b'!')) if csi.last == b'p' => self.soft_reset(),
            _ => Verdict::Pass,
        }
    }

    pub(super) fn take_plain_csi(&mut self, csi: &Csi<'_>) -> Verdict {
        let count = csi.count();
        match csi.last {
            b'A' => self.cursor.up(count),
            b'B' | b'e' => return self.down(count, csi.last),
            b'E' => {
                let verdict = self.down(count, b'E');
                self.cursor.set_col(0);
                return verdict;
            }
            b'F' => {
                self.cursor.up(count);
                self.cursor.set_col(0);
            }
            b'C' | b'a' => self.cursor.right(count),
            b'D' => self.cursor.left(count),
            b'G' | b'`' => self.cursor.set_col(count - 1),
            b'H' | b'f' => return self.go(csi),
            b'd' => return self.go_row(count),
            b'J' => return self.erase(csi),
            b'K' | b'X' | b'@' | b'P' => self.cursor.unsettle(),
            b'L' | b'M' => {
                if self
                    .cursor
                    .row()
                    .is_some_and(|row| row > self.cursor.bottom)
                {
                    // Nothing is to happen there, and not every terminal knows.
                    return self.replace(b"");
                }
                if self.cursor.known().is_none_or(|(_, col)| col != 0) {
                    self.cursor.forget_col();
                }
            }
            b'I' | b'Z' => self.cursor.forget_col(),
            b'W' | b'g' => self.cursor.change_tabs(),
            b'b' => return self.repeat(count),
            b'r' => return self.set_region(csi),
            b's' if csi.parameters.is_empty() && !self.has_side_margins => self.save(),
            b'u' if csi.parameters.is_empty() => return self.restore(),
            _ => {}
        }
        Verdict::Pass
    }

    pub(super) fn take_private_csi(&mut self, csi: &Csi<'_>) -> Verdict {
        match csi.last {
            b'h' | b'l' => {
                let mut verdict = Verdict::Pass;
                for mode in csi.numbers() {
                    if self.set_mode(mode, csi.last == b'h') == Verdict::Replace {
                        verdict = Verdict::Replace;
                    }
                }
                verdict
            }
            b'J' => {
                self.is_row_lost = true;
                Verdict::Pass
            }
            _ => Verdict::Pass,
        }
    }

    pub(super) fn set_mode(&mut self, mode: u16, is_on: bool) -> Verdict {
        match mode {
            6 => {
                self.is_at_saved = false;
                self.has_gone = true;
                self.cursor.is_origin = is_on;
                self.cursor.home();
            }
            7 => {
                self.cursor.does_wrap = is_on;
                self.cursor.unsettle();
            }
            69 => {
                self.has_side_margins = is_on;
                self.cursor.forget();
            }
            1048 if is_on => self.save(),
            1048 => return self.restore_private(),
            47 | 1047 if self.is_alternate != is_on => {
                self.is_alternate = is_on;
                self.cursor.forget();
                self.switched();
            }
            1049 => return self.switch_saving(is_on),
            2026 => {
                self.is_updating = is_on;
                self.has_update_ended = !is_on;
            }
            _ => {}
        }
        Verdict::Pass
    }

    pub(super) fn switched(&mut self) {
        self.is_at_saved = false;
        (self.needs_region, self.is_row_lost) = (true, true);
    }

    /// 1049: the main screen's cursor is saved on the way out and restored on the way back.
    pub(super) fn switch_saving(&mut self, is_on: bool) -> Verdict {
        if is_on {
            self.save();
            if !self.is_alternate {
                let [_, alternate] = &mut self.slots;
                if matches!(alternate, Slot::Terminal(saved) if saved.position.is_none()) {
                    *alternate = Slot::Free;
                }
            }
            self.is_alternate = true;
            // Some terminals go home on the way.
            self.cursor.forget();
            self.switched();
            return Verdict::Pass;
        }
        let was_alternate = std::mem::replace(&mut self.is_alternate, false);
        self.switched();
        let [main, _] = &self.slots;
        let Slot::Terminal(saved) = main.clone() else {
            return self.replace_with(|filter| {
                filter.scratch.extend_from_slice(b"\x1b[?1049l");
                let [main, _] = filter.slots.clone();
                if let Slot::Host(saved) = main {
                    filter.push_restored(&saved);
                } else {
                    filter.cursor.forget();
                }
            });
        };
        self.recall(&saved);
        if !was_alternate {
            return Verdict::Pass;
        }
        // Where both screens share one place for the pen, a draw on the other screen has changed it.
        self.replace_with(|filter| {
            filter.scratch.extend_from_slice(b"\x1b[?1049l");
            saved.pen.push_to(&mut filter.scratch);
        });
        self.is_at_saved = true;
        Verdict::Replace
    }

    pub(super) fn restore_private(&mut self) -> Verdict {
        self.restore()
    }
}

/// The length of a rendition that begins here: by far the most frequent sequence.
pub(super) fn rendition(bytes: &[u8]) -> Option<usize> {
    let parameters = bytes.strip_prefix(b"\x1b[")?;
    let count = parameters
        .iter()
        .take_while(|byte| (b'0'..=b';').contains(*byte))
        .count();
    (parameters.get(count) == Some(&b'm')).then_some(count + 3)
}
