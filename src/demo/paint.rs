//! Lines to bytes: draws the live part at the bottom of the main screen, and lets the history scroll up above it.
//!
//! Pure. Erases line by line, never the rest of the screen: what somebody else has put below stays there.

use super::line::{Line, Span, Tone};
use super::view::Picture;

/// What the terminal gets at the start and, the other way round, at the end.
pub(super) const ENTER: &str = "\x1b[?2004h";
pub(super) const LEAVE: &str = "\x1b[?2004l\x1b[?25h\x1b[0m";

#[derive(Debug)]
pub(super) struct Painter {
    has_colour: bool,
    shown: Option<Picture>,
}

impl Painter {
    pub(super) fn new(has_colour: bool) -> Self {
        Self {
            has_colour,
            shown: None,
        }
    }

    /// Prints what is new in the history and the live part below it; nothing when nothing has changed.
    pub(super) fn paint(&mut self, history: &[Line], picture: Picture) -> String {
        if history.is_empty() && self.shown.as_ref() == Some(&picture) {
            return String::new();
        }
        let mut out = String::from("\x1b[?25l");
        let old_rows = self.to_top(&mut out);
        for line in history {
            self.put(&mut out, line);
            out.push_str("\r\n");
        }
        for (at, line) in picture.lines.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            self.put(&mut out, line);
        }
        let new_rows = history.len() + picture.lines.len();
        let below = old_rows.saturating_sub(new_rows);
        for _ in 0..below {
            out.push_str("\r\n\x1b[2K");
        }
        up(&mut out, below);
        if let Some((row, col)) = picture.cursor {
            up(&mut out, picture.lines.len().saturating_sub(row + 1));
            right(&mut out, col);
            out.push_str("\x1b[?25h");
        } else {
            out.push('\r');
        }
        self.shown = Some(picture);
        out
    }

    /// Erases the live part; the cursor stands where it began.
    pub(super) fn erase(&mut self) -> String {
        let mut out = String::new();
        let rows = self.to_top(&mut out);
        for at in 0..rows {
            out.push_str(if at > 0 { "\r\n\x1b[2K" } else { "\x1b[2K" });
        }
        up(&mut out, rows.saturating_sub(1));
        out.push('\r');
        self.shown = None;
        out
    }

    /// The screen is not what it was (a resize): every row is erased, the cursor stands at the top.
    pub(super) fn wipe(&mut self, rows: usize) -> String {
        self.shown = None;
        let mut out = String::from("\x1b[?25l\x1b[H");
        for _ in 0..rows {
            out.push_str("\x1b[2K\x1b[1B");
        }
        out.push_str("\x1b[H");
        out
    }

    /// Moves to the first row of the live part; returns how many it has.
    fn to_top(&self, out: &mut String) -> usize {
        let Some(shown) = &self.shown else { return 0 };
        let row = match shown.cursor {
            Some((row, _)) => row,
            None => shown.lines.len().saturating_sub(1),
        };
        out.push('\r');
        up(out, row);
        shown.lines.len()
    }

    fn put(&self, out: &mut String, line: &Line) {
        out.push_str("\r\x1b[2K");
        for Span { tone, text } in &line.0 {
            let code = self.code(*tone);
            if code.is_empty() || text.is_empty() {
                out.push_str(text);
            } else {
                out.extend([code, text, "\x1b[0m"]);
            }
        }
    }

    /// The terminal's own palette; without colours bold and dim are left.
    fn code(&self, tone: Tone) -> &'static str {
        match (tone, self.has_colour) {
            (Tone::Dim, _) => "\x1b[2m",
            (Tone::Bold, _) => "\x1b[1m",
            (Tone::Plain, _) | (Tone::Accent | Tone::Good | Tone::Warn | Tone::Bad, false) => "",
            (Tone::Accent, true) => "\x1b[36m",
            (Tone::Good, true) => "\x1b[32m",
            (Tone::Warn, true) => "\x1b[33m",
            (Tone::Bad, true) => "\x1b[31m",
        }
    }
}

fn up(out: &mut String, rows: usize) {
    if rows > 0 {
        out.extend(["\x1b[", &rows.to_string(), "A"]);
    }
}

fn right(out: &mut String, cells: usize) {
    out.push('\r');
    if cells > 0 {
        out.extend(["\x1b[", &cells.to_string(), "C"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(lines: &[&str], cursor: Option<(usize, usize)>) -> Picture {
        Picture {
            lines: lines
                .iter()
                .map(|text| Line::of(Tone::Accent, text))
                .collect(),
            cursor,
        }
    }

    fn screen(chunks: &[String]) -> (String, (u16, u16)) {
        let rows = std::num::NonZeroU16::new(6).unwrap();
        let cols = std::num::NonZeroU16::new(10).unwrap();
        let mut parser = vt100::Parser::new(rows, cols, 0);
        for chunk in chunks {
            parser.process(chunk.as_bytes());
        }
        (
            parser.screen().contents(),
            parser.screen().cursor_position(),
        )
    }

    #[test]
    fn history_moves_up_and_a_shorter_live_part_leaves_nothing_behind() {
        let mut painter = Painter::new(true);
        let say = |text| Line::of(Tone::Plain, text);
        let chunks = [
            painter.paint(
                &[say("one")],
                picture(&["----------", "> a", "x", "y"], Some((1, 3))),
            ),
            painter.paint(&[say("two")], picture(&["----------", "> b"], Some((1, 3)))),
        ];
        assert_eq!(
            screen(&chunks),
            ("one\ntwo\n----------\n> b".into(), (3, 3))
        );
        assert_eq!(
            painter.paint(&[], picture(&["----------", "> b"], Some((1, 3)))),
            ""
        );
        let erased = [chunks.concat(), painter.erase()];
        assert_eq!(screen(&erased), ("one\ntwo".into(), (2, 0)));
    }

    #[test]
    fn without_colours_there_is_no_colour() {
        let mut painter = Painter::new(false);
        let out = painter.paint(&[], picture(&["x"], None));
        assert!(!out.contains("\x1b[3"), "{out:?}");
    }
}
