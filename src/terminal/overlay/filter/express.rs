//! Long stretches of plain output at the bottom of the screen, as a flood is: told from their last line.
//!
//! Text, renditions, erasures within a line, returns and line feeds can touch neither the row nor the region there. What
//! they leave behind is the pen as it is since its last reset, and the cursor as the last line leaves it; the rest of the
//! stretch is only searched for its end.

use super::state::{Filter, Place};

/// A shorter stretch is read as it is.
const LEAST_BYTES: usize = 256;

/// Plain output.
struct Stretch {
    length: usize,
    /// Behind the last rendition that takes all others back.
    reset: usize,
}

impl Filter {
    /// How many bytes are done with, and how many need not be looked at for a stretch again.
    pub(super) fn run_express(&mut self, bytes: &[u8]) -> (usize, usize) {
        let is_between = self.place == Place::Ground && self.character.is_empty();
        if bytes.len() < LEAST_BYTES
            || self.is_waiting()
            || !is_between
            || !self.cursor.is_at_bottom()
        {
            return (0, 0);
        }
        let stretch = stretch(bytes);
        let text = bytes.get(..stretch.length).unwrap_or_default();
        let Some(line) = (text.len() >= LEAST_BYTES)
            .then(|| last_line(text))
            .flatten()
        else {
            return (0, stretch.length.max(1));
        };
        let mut from = stretch.reset;
        while let Some(at) = text
            .get(from..line)
            .and_then(|part| memchr::memchr(0x1b, part))
        {
            let start = from + at + 2;
            let parameters = text.get(start..).unwrap_or_default();
            let count = parameter_bytes(parameters);
            if parameters.get(count) == Some(&b'm') {
                self.pen.set(parameters.get(..count).unwrap_or_default());
            }
            from = start + count + 1;
        }
        self.cursor.has_scrolled = true;
        let taken = self.run_freely(text.get(line..).unwrap_or_default());
        (line + taken, stretch.length)
    }
}

/// What comes before anything but text, renditions and erasures within a line.
fn stretch(bytes: &[u8]) -> Stretch {
    let (mut from, mut reset) = (0, 0);
    while let Some(at) = bytes
        .get(from..)
        .and_then(|rest| memchr::memchr3(0x1b, 0x0e, 0x0f, rest))
    {
        let at = from + at;
        let Some([0x1b, b'[', parameters @ ..]) = bytes.get(at..) else {
            return Stretch { length: at, reset };
        };
        let count = parameter_bytes(parameters);
        from = at + count + 3;
        match parameters.get(count) {
            Some(b'm') => {
                if matches!(parameters, [b'm', ..] | [b'0', b'm', ..]) {
                    reset = at;
                }
            }
            // Within the line: nothing of them is left after its return.
            Some(b'K' | b'G' | b'C' | b'D' | b'X' | b'P' | b'@') => {}
            _ => return Stretch { length: at, reset },
        }
    }
    Stretch {
        length: bytes.len(),
        reset,
    }
}

/// The return before the last line that shows something, if a line has been fed before it.
fn last_line(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    loop {
        let at = memchr::memrchr(b'\r', text.get(..end)?)?;
        if has_character(text.get(at..)?) {
            return memchr::memchr(b'\n', text.get(..at)?).map(|_| at);
        }
        end = at;
    }
}

fn has_character(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        let at = memchr::memchr(0x1b, rest).unwrap_or(rest.len());
        let (before, sequence) = rest.split_at_checked(at).unwrap_or_default();
        if before.iter().any(|byte| *byte >= 0x20 && *byte != 0x7f) {
            return true;
        }
        let Some(parameters) = sequence.get(2..) else {
            return false;
        };
        rest = parameters
            .get(parameter_bytes(parameters) + 1..)
            .unwrap_or_default();
    }
}

fn parameter_bytes(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| (b'0'..=b';').contains(*byte))
        .count()
}
