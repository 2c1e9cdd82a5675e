//! What the overlay shows now, and when it may be drawn again. Pure; time is an argument.

use std::time::{Duration, Instant};

use super::board::{Board, Poster};
use super::filter::{Face, Filter};
use super::line::{Line, Part, Tone};
use super::report;
use crate::terminal::prefix::{Action, Prefix, PrefixKeys, Taken};
use crate::terminal::size::Size;

/// Fewer rows than this are all the program's.
const LEAST_ROWS: u16 = 8;
/// Four draws a second.
const APART: Duration = Duration::from_millis(250);

/// Where the overlay is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    Row,
    Title,
}

/// What the caller of the host decides about the overlay.
#[derive(Debug)]
pub struct Overlay {
    pub show: Show,
    /// Only heeded with the row.
    pub prefix: Option<Prefix>,
    pub has_color: bool,
    pub board: Board,
    /// One end has to stay open, whatever becomes of the others.
    pub poster: Poster,
    /// What is shown until something is posted.
    pub first: Line,
}

/// The overlay while it is shown.
#[derive(Debug)]
pub(crate) struct Pane {
    overlay: Overlay,
    keys: Option<PrefixKeys>,
    is_hidden: bool,
    status: Line,
    message: Option<Line>,
    drawn: Vec<u8>,
    /// What is to be drawn next; looked at in each turn of the byte path, made only when something has changed.
    waiting: Option<Vec<u8>>,
    drawn_at: Option<Instant>,
    outer: Size,
}

impl Pane {
    pub(crate) fn new(overlay: Overlay, outer: Size) -> Self {
        let prefix = overlay.prefix.filter(|_| overlay.show == Show::Row);
        Self {
            keys: prefix.map(PrefixKeys::new),
            is_hidden: false,
            status: overlay.first.clone(),
            message: None,
            drawn: Vec::new(),
            waiting: None,
            drawn_at: None,
            outer,
            overlay,
        }
    }

    pub(crate) fn board(&self) -> &Board {
        &self.overlay.board
    }

    pub(crate) fn filter(&self, outer: Size) -> Filter {
        let program = self.program_size(outer);
        Filter::new(self.face(outer), program.rows, program.cols)
    }

    pub(crate) fn face(&self, outer: Size) -> Face {
        match self.overlay.show {
            Show::Title => Face::Title,
            Show::Row if self.is_hidden || outer.rows < LEAST_ROWS => Face::Hidden,
            Show::Row => Face::Row,
        }
    }

    /// The size that the program gets to see.
    pub(crate) fn program_size(&self, outer: Size) -> Size {
        if self.face(outer) != Face::Row {
            return outer;
        }
        let rows = outer.rows - 1;
        let height = u32::from(outer.height_px) * u32::from(rows) / u32::from(outer.rows);
        Size {
            rows,
            height_px: u16::try_from(height).unwrap_or(outer.height_px),
            ..outer
        }
    }

    pub(crate) fn resized(&mut self, outer: Size) {
        self.outer = outer;
        self.changed();
    }

    fn changed(&mut self) {
        let row = self.render();
        self.waiting = (row != self.drawn).then_some(row);
    }

    /// Takes what was posted.
    pub(crate) fn take_posted(&mut self) {
        let (status, message) = self.overlay.board.take();
        if let Some(status) = status {
            self.status = status;
        }
        if message.is_some() {
            self.message = message;
        }
        self.changed();
    }

    /// The terminal's own reports in the input, as the program is to read them.
    pub(crate) fn shorten_reports(&self, input: &[u8]) -> Option<Vec<u8>> {
        if self.face(self.outer) != Face::Row {
            return None;
        }
        report::without_row(input, self.outer.rows)
    }

    /// Takes what the user typed. The last key's message has been read.
    pub(crate) fn take_input(&mut self, input: &[u8]) -> Taken {
        let had_message = self.message.take().is_some();
        let Some(keys) = self.keys.as_mut() else {
            if had_message {
                self.changed();
            }
            return Taken {
                passed: None,
                actions: Vec::new(),
            };
        };
        let taken = keys.take(input);
        if keys.is_armed() {
            self.message = Some(menu(keys.prefix()));
        }
        for action in &taken.actions {
            match action {
                Action::Toggle => self.is_hidden = !self.is_hidden,
                Action::Help => self.message = Some(help(keys.prefix())),
                Action::Compact | Action::Checkpoint | Action::Note => {}
            }
        }
        if had_message || self.message.is_some() {
            self.changed();
        }
        taken
    }

    /// The row to draw now, if it has changed and the last draw is long enough ago.
    pub(crate) fn due(&mut self, now: Instant) -> Option<&[u8]> {
        if self.next_at().is_none_or(|at| at > now) {
            return None;
        }
        self.drawn = self.waiting.take()?;
        self.drawn_at = Some(now);
        Some(&self.drawn)
    }

    /// When `due` has something; `None` while nothing has changed.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        if self.is_hidden || self.waiting.is_none() {
            return None;
        }
        Some(self.drawn_at? + APART)
    }

    /// The first draw, and every one after a change of size.
    pub(crate) fn draw(&mut self, now: Instant) -> &[u8] {
        self.drawn = self.render();
        self.waiting = None;
        self.drawn_at = Some(now);
        &self.drawn
    }

    fn render(&self) -> Vec<u8> {
        let line = self.message.as_ref().unwrap_or(&self.status);
        match self.overlay.show {
            Show::Row => line.row(self.outer.cols, self.overlay.has_color),
            Show::Title => line.title(),
        }
    }
}

fn menu(prefix: Prefix) -> Line {
    Line(vec![
        Part::new("harn:", Tone::Strong, 0),
        Part::new("k checkpoint", Tone::Plain, 0),
        Part::new("o hide/show", Tone::Plain, 0),
        Part::new("n note", Tone::Plain, 2),
        Part::new("c compact", Tone::Plain, 3),
        Part::new("? help", Tone::Plain, 1),
        Part::new(format!("{prefix} again: to the program"), Tone::Quiet, 4),
    ])
}

fn help(prefix: Prefix) -> Line {
    Line(vec![
        Part::new(format!("{prefix}, then one key"), Tone::Strong, 0),
        Part::new("k saves a checkpoint", Tone::Plain, 0),
        Part::new("o hides or shows this row", Tone::Plain, 2),
        Part::new("n how to add a note", Tone::Plain, 3),
        Part::new("off: --overlay off", Tone::Quiet, 1),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::board::{Notice, board};
    use super::*;
    use crate::terminal::clock;

    fn pane(show: Show) -> Pane {
        let (poster, board) = board().unwrap();
        let overlay = Overlay {
            show,
            prefix: "ctrl+^".parse().ok(),
            has_color: false,
            board,
            poster,
            first: Line(vec![Part::new("first", Tone::Plain, 0)]),
        };
        Pane::new(overlay, SIZE)
    }

    const SIZE: Size = Size {
        rows: 24,
        cols: 80,
        width_px: 800,
        height_px: 480,
    };

    #[test]
    fn program_has_a_row_less_with_the_row_and_only_then() {
        let row = pane(Show::Row);
        let less = Size {
            rows: 23,
            height_px: 460,
            ..SIZE
        };
        let low = Size { rows: 7, ..SIZE };
        assert_eq!(row.program_size(SIZE), less);
        assert_eq!(row.program_size(low), low);
        assert_eq!(pane(Show::Title).program_size(SIZE), SIZE);
    }

    #[test]
    fn only_a_change_is_drawn_and_four_times_a_second_at_most() {
        let mut pane = pane(Show::Row);
        let begin = clock::now();
        let at = |ms| begin + Duration::from_millis(ms);
        assert_eq!(pane.draw(begin), b"first");
        assert_eq!((pane.next_at(), pane.due(at(1000))), (None, None));
        let mut drawn = 0;
        for ms in 0..1000 {
            let line = Line(vec![Part::new(format!("{ms}"), Tone::Plain, 0)]);
            pane.overlay.poster.post(Notice::Status(line));
            pane.take_posted();
            drawn += u32::from(pane.due(at(ms)).is_some());
        }
        assert_eq!(drawn, 3);
        assert_eq!(pane.next_at(), Some(at(1000)));
        assert_eq!(pane.due(at(1000)), Some(&b"999"[..]));
    }

    #[test]
    fn prefix_opens_a_menu_that_the_next_key_closes() {
        let mut pane = pane(Show::Row);
        pane.take_input(b"\x1e");
        assert!(
            String::from_utf8(pane.render())
                .unwrap()
                .starts_with("harn: | k checkpoint")
        );
        let taken = pane.take_input(b"o");
        assert_eq!(taken.actions, [Action::Toggle]);
        assert_eq!(pane.face(SIZE), Face::Hidden);
        assert_eq!(pane.render(), b"first");
    }
}
