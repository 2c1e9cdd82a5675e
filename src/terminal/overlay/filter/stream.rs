//! Bytes in, bytes out: text, controls and what is held until it is whole.

use unicode_width::UnicodeWidthChar as _;

use super::super::cursor::Cursor;
use super::super::pen::Pen;
use super::escape::rendition;
use super::state::{Charset, Face, Fed, Filter, OUT_LIMIT, Place, Saved, Slot, Verdict};

impl Filter {
    /// For a program that is about to start on a screen of so many rows, the overlay's row not counted.
    pub(crate) fn new(face: Face, rows: u16, cols: u16) -> Self {
        let rows = rows.max(1);
        let has_row = face == Face::Row;
        Self {
            face,
            rows,
            cursor: Cursor::new(rows, cols),
            pen: Pen::default(),
            charset: Charset::PLAIN,
            place: Place::Ground,
            held: Vec::new(),
            character: Vec::new(),
            slots: [Slot::Host(Saved::home()), Slot::Host(Saved::home())],
            is_alternate: false,
            is_at_saved: false,
            has_gone: false,
            is_updating: false,
            has_update_ended: false,
            has_side_margins: false,
            is_linking: false,
            head: Vec::new(),
            newest: [0; 4],
            has_drawn_since: false,
            needs_floor: has_row,
            needs_region: has_row,
            is_row_lost: face != Face::Hidden,
            wants_draw: false,
            row: Vec::new(),
            stale_row: None,
            joined: Vec::new(),
            out: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The row's content: text and renditions that leave at least one column. Drawn by a later `feed`, when it is safe.
    pub(crate) fn set_row(&mut self, row: &[u8]) {
        if self.row != row {
            self.row.clear();
            self.row.extend_from_slice(row);
            self.wants_draw = true;
        }
    }

    /// Whether the row differs from what the terminal shows.
    pub(crate) fn wants_draw(&self) -> bool {
        self.face != Face::Hidden && (self.wants_draw || self.is_row_lost)
    }

    /// The program gets a new size, or the row comes or goes. The title stays a title.
    pub(crate) fn resize(&mut self, face: Face, rows: u16, cols: u16) {
        let rows = rows.max(1);
        if self.face == Face::Title {
            self.rows = rows;
            self.cursor = Cursor::new(rows, cols);
            return;
        }
        let is_moved = self.cursor.has_scrolled && !self.is_alternate;
        let had_row = std::mem::replace(&mut self.face, face) == Face::Row;
        self.stale_row = (had_row && rows > self.rows && !is_moved).then_some(self.rows);
        let mut cursor = Cursor::new(rows, cols);
        cursor.is_origin = self.cursor.is_origin;
        cursor.does_wrap = self.cursor.does_wrap;
        cursor.has_scrolled = self.cursor.has_scrolled;
        self.cursor = cursor;
        self.rows = rows;
        self.is_at_saved = false;
        self.slots = [Slot::Free, Slot::Free];
        self.needs_floor = had_row || face == Face::Row;
        self.needs_region = self.needs_floor;
        self.is_row_lost = face == Face::Row;
    }

    /// Something else had the terminal: nothing on it is as it was.
    pub(crate) fn renew(&mut self) {
        self.cursor.forget();
        self.slots = [Slot::Free, Slot::Free];
        self.is_at_saved = false;
        self.needs_floor = self.face == Face::Row;
        self.needs_region = self.needs_floor;
        self.is_row_lost = self.face != Face::Hidden;
    }

    /// Swaps the edited output out.
    pub(crate) fn take_edited(&mut self, into: &mut Vec<u8>) {
        into.clear();
        std::mem::swap(&mut self.out, into);
    }

    /// Filters the next bytes, and draws what has to be drawn as soon as it is safe. Empty input is fine.
    pub(crate) fn feed(&mut self, input: &[u8]) -> Fed {
        self.out.clear();
        if self.place == Place::Ground && self.character.is_empty() && self.needs_floor {
            self.push_floor();
        }
        if self.held.is_empty() {
            let (done, flushed) = self.run(input);
            let consumed = done + self.held.len();
            let passed = self.close(input, done, flushed);
            return Fed { consumed, passed };
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        let before = self.held.len();
        joined.append(&mut self.held);
        joined.extend_from_slice(input);
        let (done, flushed) = self.run(&joined);
        let consumed = (done + self.held.len()).saturating_sub(before);
        if let Some(passed) = self.close(&joined, done, flushed) {
            self.out
                .extend_from_slice(joined.get(..passed).unwrap_or_default());
        }
        self.joined = joined;
        Fed {
            consumed,
            passed: None,
        }
    }

    /// Ends a call: draws what is due, and tells how much of the input may pass as it is if nothing was edited.
    pub(super) fn close(&mut self, bytes: &[u8], done: usize, flushed: usize) -> Option<usize> {
        let is_due = self.needs_region || self.wants_draw();
        let before = self.out.len();
        if is_due && self.is_mendable() {
            self.flush(bytes, flushed, done);
            let flushed_to = self.out.len();
            self.mend();
            if self.out.len() > flushed_to {
                return None;
            }
            self.out.truncate(before);
        }
        if before == 0 && flushed == 0 {
            return Some(done);
        }
        self.flush(bytes, flushed, done);
        None
    }

    pub(super) fn flush(&mut self, bytes: &[u8], from: usize, to: usize) {
        self.out
            .extend_from_slice(bytes.get(from..to).unwrap_or_default());
    }

    /// Returns how much is done with (`held` keeps the incomplete rest) and from where on it is not yet in `out`.
    pub(super) fn run(&mut self, bytes: &[u8]) -> (usize, usize) {
        let (mut at, mut flushed, mut express_at) = (0, 0, 0);
        while let Some(rest) = bytes.get(at..)
            && let Some(&first) = rest.first()
        {
            if self.out.len() > OUT_LIMIT {
                break;
            }
            let mut count = 0;
            if at >= express_at {
                let seen;
                (count, seen) = self.run_express(rest);
                express_at = at + seen;
            }
            if count == 0 {
                count = self.run_freely(rest);
            }
            if count > 0 {
                at += count;
                continue;
            }
            let (count, verdict) = match self.place {
                Place::Text(kind) => match self.take_text(rest, kind) {
                    Some(count) => (count, Verdict::Pass),
                    None => break,
                },
                Place::Overlong => (self.take_overlong(rest), Verdict::Pass),
                Place::Ground => match first {
                    0x20..=0x7e => self.take_plain(rest),
                    0x1b => match self.take_escape(rest) {
                        Some(taken) => taken,
                        None => break,
                    },
                    0x80.. => match self.take_floor_character(rest) {
                        Some(verdict) => (0, verdict),
                        None if !self.held.is_empty() => break,
                        None => (self.take_character(rest), Verdict::Pass),
                    },
                    _ => (1, self.take_control(first)),
                },
            };
            if verdict == Verdict::Replace && self.face != Face::Title {
                self.out
                    .extend_from_slice(bytes.get(flushed..at).unwrap_or_default());
                self.out.append(&mut self.scratch);
                flushed = at + count;
            }
            at += count;
            let has_chance = std::mem::take(&mut self.has_update_ended);
            let is_due = self.needs_region
                || (self.face != Face::Hidden
                    && (self.is_row_lost || (self.wants_draw && has_chance)));
            if is_due && self.is_mendable() {
                self.flush(bytes, flushed, at);
                flushed = at;
                self.mend();
            }
        }
        (at, flushed)
    }

    /// Whether something is to be mended as soon as it is safe.
    pub(super) fn is_waiting(&self) -> bool {
        self.needs_region
            || (self.is_row_lost && self.face != Face::Hidden)
            || self.has_update_ended
    }

    /// Most of what there is, in a tight loop: text, renditions, returns and line feeds where they cannot reach the row and
    /// nothing waits for a chance. How many bytes are done with.
    pub(super) fn run_freely(&mut self, bytes: &[u8]) -> usize {
        let is_between = self.place == Place::Ground && self.character.is_empty();
        if self.is_waiting() || !is_between || !self.cursor.has_whole_region() {
            return 0;
        }
        let mut at = 0;
        while let Some(rest) = bytes.get(at..)
            && let Some(first) = rest.first()
        {
            match first {
                0x20..=0x7e => {
                    let count = plain_run(rest);
                    if let Some(last) = count.checked_sub(1).and_then(|last| rest.get(last)) {
                        self.newest = [*last, 0, 0, 0];
                    }
                    self.cursor.print_narrow(count);
                    self.has_drawn_since = false;
                    at += count;
                }
                b'\r' => {
                    self.cursor.set_col(0);
                    at += 1;
                }
                b'\n' => {
                    self.cursor.unsettle();
                    self.cursor.line_feeds(1);
                    at += 1;
                }
                0x1b => match rendition(rest) {
                    Some(count) => {
                        self.pen.set(rest.get(2..count - 1).unwrap_or_default());
                        at += count;
                    }
                    None if rest.starts_with(b"\x1b[K") => {
                        self.cursor.unsettle();
                        at += 3;
                    }
                    None => break,
                },
                0x80.. if self.character.is_empty() => at += self.take_character(rest),
                _ => break,
            }
        }
        if at > 0 {
            self.is_at_saved = false;
        }
        at
    }

    /// Where a step down or a wrap would leave the program's screen without the terminal knowing.
    pub(super) fn is_at_floor(&self) -> bool {
        self.face == Face::Row && self.cursor.is_at_floor()
    }

    pub(super) fn take_plain(&mut self, rest: &[u8]) -> (usize, Verdict) {
        let mut count = plain_run(rest);
        if self.is_at_floor()
            && let Some(fits) = self.cursor.fits()
        {
            if fits == 0 {
                // The next character would go on below the program's screen.
                self.scratch.clear();
                self.scratch.push(b'\r');
                self.cursor.set_col(0);
                return (0, Verdict::Replace);
            }
            count = count.min(fits);
        } else if self.is_at_floor() {
            // It may wrap onto the row, and nobody can tell.
            self.is_row_lost = true;
        }
        if let Some(last) = count.checked_sub(1).and_then(|last| rest.get(last)) {
            self.newest = [*last, 0, 0, 0];
        }
        self.cursor.print_narrow(count);
        (self.has_drawn_since, self.is_at_saved) = (false, false);
        (count, Verdict::Pass)
    }

    /// At the program's last row, below its region, a character that would wrap goes to the row's start instead. One that is
    /// cut is held.
    pub(super) fn take_floor_character(&mut self, rest: &[u8]) -> Option<Verdict> {
        let fits = self.cursor.fits().filter(|fits| *fits < 2)?;
        if !self.is_at_floor() || !self.character.is_empty() {
            return None;
        }
        let head = rest.get(..4).unwrap_or(rest);
        let valid = match std::str::from_utf8(head) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() && error.valid_up_to() == 0 => {
                self.held.extend_from_slice(rest);
                return None;
            }
            Err(error) => std::str::from_utf8(head.get(..error.valid_up_to())?).unwrap_or_default(),
        };
        let width = valid.chars().next()?.width()?;
        if width <= fits {
            return None;
        }
        self.cursor.set_col(0);
        Some(self.replace(b"\r"))
    }

    /// One character of several bytes; a part of one waits for the rest, and has been passed on.
    pub(super) fn take_character(&mut self, rest: &[u8]) -> usize {
        (self.has_drawn_since, self.is_at_saved) = (false, false);
        if !self.character.is_empty() {
            return self.take_cut_character(rest);
        }
        let lines = rest
            .chunks_exact(3)
            .take_while(|char| matches!(char, [0xe2, 0x94 | 0x95, 0x80..=0xbf]))
            .count();
        if let Some(last) = lines
            .checked_sub(1)
            .and_then(|at| rest.get(at * 3..at * 3 + 3))
            && !self.is_at_floor()
        {
            self.newest = [0; 4];
            self.newest
                .iter_mut()
                .zip(last)
                .for_each(|(to, from)| *to = *from);
            self.cursor.print_narrow(lines);
            return lines * 3;
        }
        if let Some((char, length)) = whole_character(rest) {
            self.cursor.print(char);
            self.newest = [0; 4];
            char.encode_utf8(&mut self.newest);
            return length;
        }
        self.take_cut_character(rest)
    }

    pub(super) fn take_cut_character(&mut self, rest: &[u8]) -> usize {
        let mut count = 0;
        while let Some(byte) = rest.get(count)
            && (self.character.is_empty() || (*byte & 0xc0) == 0x80)
        {
            self.character.push(*byte);
            count += 1;
            match std::str::from_utf8(&self.character) {
                Ok(text) => {
                    if let Some(char) = text.chars().next() {
                        self.cursor.print(char);
                    }
                    self.newest = [0; 4];
                    self.newest
                        .iter_mut()
                        .zip(&self.character)
                        .for_each(|(to, from)| *to = *from);
                    self.character.clear();
                    return count;
                }
                Err(error) if error.error_len().is_some() => {
                    self.character.clear();
                    self.cursor.forget_shape();
                    return count;
                }
                Err(_) => {}
            }
        }
        if count < rest.len() {
            // Cut short by something else.
            self.character.clear();
            self.cursor.forget_shape();
        }
        count
    }

    pub(super) fn take_control(&mut self, byte: u8) -> Verdict {
        self.break_character();
        self.is_at_saved = false;
        match byte {
            b'\r' => self.cursor.set_col(0),
            b'\n' | 0x0b | 0x0c => return self.line_feed(b""),
            0x08 => self.cursor.left(1),
            b'\t' => self.cursor.tab(),
            0x0e => self.charset.is_shifted = true,
            0x0f => self.charset.is_shifted = false,
            _ => {}
        }
        Verdict::Pass
    }

    /// A line feed; below the region the screen's end is one row too low. `instead` is what is left of it there.
    pub(super) fn line_feed(&mut self, instead: &[u8]) -> Verdict {
        self.cursor.unsettle();
        if self.is_at_floor() {
            return self.replace(instead);
        }
        self.cursor.line_feeds(1);
        Verdict::Pass
    }

    pub(super) fn break_character(&mut self) {
        if !self.character.is_empty() {
            self.character.clear();
            self.cursor.forget_shape();
        }
    }

    pub(super) fn take_overlong(&mut self, rest: &[u8]) -> usize {
        let end = rest.iter().position(|byte| !(0x20..=0x3f).contains(byte));
        let Some(at) = end else {
            return rest.len();
        };
        self.place = Place::Ground;
        self.cursor.forget();
        match rest.get(at) {
            Some(0x40..=0x7e) => at + 1,
            _ => at,
        }
    }

    pub(super) fn replace(&mut self, with: &[u8]) -> Verdict {
        self.replace_with(|filter| filter.scratch.extend_from_slice(with))
    }

    pub(super) fn replace_with(&mut self, push: impl FnOnce(&mut Self)) -> Verdict {
        self.scratch.clear();
        push(self);
        Verdict::Replace
    }
}

/// How many printable ASCII characters come first; eight at a time where there are so many.
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, _) = bytes.as_chunks::<8>();
    let whole = words
        .iter()
        .take_while(|word| {
            let word = u64::from_ne_bytes(**word);
            let is_low = word.wrapping_sub(ONES * 0x20);
            let is_delete = (word ^ (ONES * 0x7f)).wrapping_sub(ONES);
            (word | is_low | is_delete) & HIGH == 0
        })
        .count()
        * 8;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole
        + rest
            .iter()
            .take_while(|byte| (0x20..=0x7e).contains(*byte))
            .count()
}

/// The character of several bytes that these begin with, if it is all there.
fn whole_character(bytes: &[u8]) -> Option<(char, usize)> {
    let length = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
    Some((text.chars().next()?, length))
}
