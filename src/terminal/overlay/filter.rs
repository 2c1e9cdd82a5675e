//! The escape filter: the program's output in, what the user's terminal gets out.
//!
//! The program believes in a screen of one row less. Its scroll regions and erasures are rewritten so that they end above
//! the overlay row; all else passes untouched, as slices where nothing was edited. What moves the cursor for harn's own
//! ends saves it with DECSC and so takes the place of a position the program saved; that one is then kept here, and put
//! back in place of the program's DECRC. Where it cannot be known nothing is borrowed, and the row waits.

use unicode_width::UnicodeWidthChar as _;

use super::cursor::Cursor;
use super::pen::Pen;
use super::sequence::{self, Csi, Kind, Scan};

/// Edited output of one call, about; input is left for the next call beyond it.
const OUT_LIMIT: usize = 64 * 1024;
/// Bytes of a command string that are looked at.
const HEAD_LIMIT: usize = 64;

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
enum Place {
    Ground,
    Text(Kind),
    /// In a control sequence too long to be held.
    Overlong,
}

/// What DECSC saves.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Saved {
    position: Option<(u16, u16)>,
    /// At least the row.
    row: Option<u16>,
    is_origin: bool,
    pen: Pen,
    charset: Charset,
}

/// Who has the position that the program's next DECRC goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot {
    /// The terminal, as the program saved it.
    Terminal(Saved),
    /// The filter; the terminal's place is free to use.
    Host(Saved),
    /// Nobody: the program came back from where it went, and will save again.
    Free,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Charset {
    left: [u8; 2],
    is_shifted: bool,
}

impl Charset {
    const PLAIN: Self = Self {
        left: *b"BB",
        is_shifted: false,
    };

    fn push_to(self, out: &mut Vec<u8>) {
        let [first, second] = self.left;
        out.extend_from_slice(&[0x1b, b'(', first, 0x1b, b')', second]);
        out.push(if self.is_shifted { 0x0e } else { 0x0f });
    }
}

/// What the filter does with a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
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
    face: Face,
    /// Rows of the program; the overlay is the next one.
    rows: u16,
    cursor: Cursor,
    pen: Pen,
    charset: Charset,
    place: Place,
    held: Vec<u8>,
    character: Vec<u8>,
    /// Main and alternate screen.
    slots: [Slot; 2],
    is_alternate: bool,
    /// Nothing has changed since the program saved or restored its cursor.
    is_at_saved: bool,
    /// The program went somewhere since it saved its cursor.
    has_gone: bool,
    is_updating: bool,
    has_update_ended: bool,
    has_side_margins: bool,
    is_linking: bool,
    head: Vec<u8>,
    /// The newest character, for one that is to be repeated.
    newest: [u8; 4],
    has_drawn_since: bool,
    needs_floor: bool,
    needs_region: bool,
    is_row_lost: bool,
    wants_draw: bool,
    row: Vec<u8>,
    /// The overlay row of the former size, to be blanked.
    stale_row: Option<u16>,
    joined: Vec<u8>,
    out: Vec<u8>,
    scratch: Vec<u8>,
}

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

    /// The row's content: text and renditions of at most the terminal's width. Drawn by a later `feed`, when it is safe.
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
    fn close(&mut self, bytes: &[u8], done: usize, flushed: usize) -> Option<usize> {
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

    fn flush(&mut self, bytes: &[u8], from: usize, to: usize) {
        self.out
            .extend_from_slice(bytes.get(from..to).unwrap_or_default());
    }

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

    /// Returns how much is done with (`held` keeps the incomplete rest) and from where on it is not yet in `out`.
    fn run(&mut self, bytes: &[u8]) -> (usize, usize) {
        let (mut at, mut flushed) = (0, 0);
        while let Some(rest) = bytes.get(at..)
            && let Some(&first) = rest.first()
        {
            if self.out.len() > OUT_LIMIT {
                break;
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

    /// Where a step down or a wrap would leave the program's screen without the terminal knowing.
    fn is_at_floor(&self) -> bool {
        self.face == Face::Row && self.cursor.is_at_floor()
    }

    fn is_mendable(&self) -> bool {
        self.place == Place::Ground
            && self.character.is_empty()
            && (self.needs_region || !self.is_updating)
    }

    /// Sets the region again and draws the row, as far as that is safe now.
    fn mend(&mut self) {
        if self.needs_region {
            self.push_region();
        }
        if self.is_row_lost || self.wants_draw {
            self.push_row();
        }
    }

    fn take_plain(&mut self, rest: &[u8]) -> (usize, Verdict) {
        let mut count = rest
            .iter()
            .position(|byte| !(0x20..=0x7e).contains(byte))
            .unwrap_or(rest.len());
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
    fn take_floor_character(&mut self, rest: &[u8]) -> Option<Verdict> {
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
    fn take_character(&mut self, rest: &[u8]) -> usize {
        (self.has_drawn_since, self.is_at_saved) = (false, false);
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

    fn take_control(&mut self, byte: u8) -> Verdict {
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
    fn line_feed(&mut self, instead: &[u8]) -> Verdict {
        self.cursor.unsettle();
        if self.is_at_floor() {
            return self.replace(instead);
        }
        self.cursor.line_feeds(1);
        Verdict::Pass
    }

    fn break_character(&mut self) {
        if !self.character.is_empty() {
            self.character.clear();
            self.cursor.forget_shape();
        }
    }

    fn take_text(&mut self, rest: &[u8], kind: Kind) -> Option<usize> {
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

    fn keep_head(&mut self, text: &[u8], kind: Kind) {
        if kind == Kind::Command {
            let room = HEAD_LIMIT.saturating_sub(self.head.len());
            self.head
                .extend_from_slice(text.get(..room).unwrap_or(text));
        }
    }

    fn end_text(&mut self, kind: Kind) {
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

    fn take_overlong(&mut self, rest: &[u8]) -> usize {
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

    /// `None`: the rest is held until there is more.
    fn take_escape(&mut self, rest: &[u8]) -> Option<(usize, Verdict)> {
        self.break_character();
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

    fn take_short(&mut self, sequence: &[u8]) -> Verdict {
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

    fn take_csi(&mut self, csi: &Csi<'_>) -> Verdict {
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

    fn take_plain_csi(&mut self, csi: &Csi<'_>) -> Verdict {
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

    fn take_private_csi(&mut self, csi: &Csi<'_>) -> Verdict {
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

    fn set_mode(&mut self, mode: u16, is_on: bool) -> Verdict {
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

    fn switched(&mut self) {
        self.is_at_saved = false;
        (self.needs_region, self.is_row_lost) = (true, true);
    }

    /// 1049: the main screen's cursor is saved on the way out and restored on the way back.
    fn switch_saving(&mut self, is_on: bool) -> Verdict {
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

    fn restore_private(&mut self) -> Verdict {
        self.restore()
    }

    fn replace(&mut self, with: &[u8]) -> Verdict {
        self.replace_with(|filter| filter.scratch.extend_from_slice(with))
    }

    fn replace_with(&mut self, push: impl FnOnce(&mut Self)) -> Verdict {
        self.scratch.clear();
        push(self);
        Verdict::Replace
    }

    fn down(&mut self, count: u16, last: u8) -> Verdict {
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

    fn go(&mut self, csi: &Csi<'_>) -> Verdict {
        self.has_gone = true;
        let (row, col) = (csi.count(), csi.number(1).unwrap_or(1));
        self.cursor.go(row, col);
        if row <= self.rows {
            return Verdict::Pass;
        }
        let rows = self.rows;
        self.replace_with(|filter| push_numbers(&mut filter.scratch, &[rows, col], b'H'))
    }

    fn go_row(&mut self, row: u16) -> Verdict {
        self.has_gone = true;
        self.cursor.go_row(row);
        if row <= self.rows {
            return Verdict::Pass;
        }
        let rows = self.rows;
        self.replace_with(|filter| push_numbers(&mut filter.scratch, &[rows], b'd'))
    }

    fn set_region(&mut self, csi: &Csi<'_>) -> Verdict {
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

    fn repeat(&mut self, count: u16) -> Verdict {
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
    fn repeat_at_floor(&mut self, char: char, count: u16) -> Verdict {
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
    fn erase(&mut self, csi: &Csi<'_>) -> Verdict {
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

    fn save(&mut self) {
        let saved = Saved {
            position: self.cursor.known(),
            row: self.cursor.row(),
            is_origin: self.cursor.is_origin,
            pen: self.pen.clone(),
            charset: self.charset,
        };
        *self.slot() = Slot::Terminal(saved);
        (self.is_at_saved, self.has_gone) = (!self.cursor.may_wrap(), false);
    }

    fn slot(&mut self) -> &mut Slot {
        let [main, alternate] = &mut self.slots;
        if self.is_alternate { alternate } else { main }
    }

    fn restore(&mut self) -> Verdict {
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
    fn recall(&mut self, saved: &Saved) {
        self.cursor.is_origin = saved.is_origin;
        match saved.position {
            Some((row, col)) => self.cursor.place(row, col),
            None => self.cursor.forget(),
        }
        if let (None, Some(row)) = (saved.position, saved.row) {
            self.cursor.place(row, 0);
            self.cursor.forget_wrap();
        }
        self.pen = saved.pen.clone();
        self.charset = saved.charset;
    }

    /// Does what DECRC would have done.
    fn push_restored(&mut self, saved: &Saved) {
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

    /// RIS.
    fn reset(&mut self) -> Verdict {
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
    fn soft_reset(&mut self) -> Verdict {
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

    /// Whether the terminal's place for a saved cursor may be used now; if so, it is ours from here on.
    fn can_borrow(&mut self) -> bool {
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

    fn push_region(&mut self) {
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

    fn push_row(&mut self) {
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
        out.extend_from_slice(b"\x1b[0m\x1b[2K");
        out.extend_from_slice(&self.row);
        push_return(out, self.cursor.is_origin);
        if !is_plain {
            self.charset.push_to(out);
        }
        (self.is_row_lost, self.wants_draw, self.has_drawn_since) = (false, false, true);
    }

    /// After a change of size the cursor may stand on the overlay row, or a former overlay row in the program's screen.
    fn push_floor(&mut self) {
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

impl Saved {
    /// What a terminal goes back to when nothing was saved.
    fn home() -> Self {
        Self {
            position: Some((0, 0)),
            row: Some(0),
            is_origin: false,
            pen: Pen::default(),
            charset: Charset::PLAIN,
        }
    }
}

fn push_return(out: &mut Vec<u8>, is_origin: bool) {
    out.extend_from_slice(b"\x1b8");
    if is_origin {
        // Not every terminal restores the mode, and setting it moves the cursor.
        out.extend_from_slice(b"\x1b[?6h\x1b8");
    }
}

/// Counted from 0.
fn push_go(out: &mut Vec<u8>, row: u16, col: u16) {
    push_numbers(out, &[row.saturating_add(1), col.saturating_add(1)], b'H');
}

fn push_numbers(out: &mut Vec<u8>, numbers: &[u16], last: u8) {
    out.extend_from_slice(b"\x1b[");
    for (index, number) in numbers.iter().enumerate() {
        if index > 0 {
            out.push(b';');
        }
        out.extend_from_slice(number.to_string().as_bytes());
    }
    out.push(last);
}
