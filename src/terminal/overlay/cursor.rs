//! Where the program's cursor is, as far as its output tells. Pure.
//!
//! The start is unknown and terminals differ in corners, so the row is a range that closes by itself (a line feed at the
//! bottom stays there) and the column may be unknown. What is known is exact.

use unicode_width::UnicodeWidthChar as _;

/// Counted from 0.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts of a terminal, each for itself"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    rows: u16,
    cols: u16,
    /// The row is one of `low..=high`.
    low: u16,
    high: u16,
    /// Equal to `cols` while the next character wraps.
    col: Option<u16>,
    /// The column is unknown and a character was the last thing printed.
    may_wrap: bool,
    pub(super) top: u16,
    pub(super) bottom: u16,
    pub(super) is_origin: bool,
    pub(super) does_wrap: bool,
    /// Tab stops are where they are by default.
    has_plain_tabs: bool,
    /// Lines have left the screen at the top.
    pub(super) has_scrolled: bool,
}

impl Cursor {
    /// Somewhere on a screen of this size.
    pub(super) fn new(rows: u16, cols: u16) -> Self {
        let (rows, cols) = (rows.max(1), cols.max(1));
        Self {
            rows,
            cols,
            low: 0,
            high: rows - 1,
            col: None,
            may_wrap: false,
            top: 0,
            bottom: rows - 1,
            is_origin: false,
            does_wrap: true,
            has_plain_tabs: true,
            has_scrolled: false,
        }
    }

    /// Row and column, where both are known and the next character goes there.
    pub(super) fn known(&self) -> Option<(u16, u16)> {
        let col = self.col.filter(|col| *col < self.cols)?;
        (self.low == self.high).then_some((self.low, col))
    }

    pub(super) fn row(&self) -> Option<u16> {
        (self.low == self.high).then_some(self.low)
    }

    /// Whether the next character may have to wrap first: a state that not every terminal saves.
    pub(super) fn may_wrap(&self) -> bool {
        self.may_wrap || self.col == Some(self.cols)
    }

    /// On the program's last row, with the scroll region above it.
    pub(super) fn is_at_floor(&self) -> bool {
        self.low == self.rows - 1 && self.bottom < self.rows - 1
    }

    /// Whether the scroll region ends with the program's screen, so that no line feed and no wrap leaves it.
    pub(super) fn has_whole_region(&self) -> bool {
        self.bottom >= self.rows - 1
    }

    /// On the last row of the screen, all of which scrolls.
    pub(super) fn is_at_bottom(&self) -> bool {
        self.has_whole_region() && self.low == self.rows - 1
    }

    pub(super) fn place(&mut self, row: u16, col: u16) {
        let row = row.min(self.rows - 1);
        (self.low, self.high) = (row, row);
        self.set_col(col);
    }

    pub(super) fn forget(&mut self) {
        (self.low, self.high) = (0, self.rows - 1);
        self.forget_col();
    }

    pub(super) fn forget_col(&mut self) {
        self.col = None;
        self.may_wrap = false;
    }

    /// Some column, and perhaps a wrap that is due.
    pub(super) fn forget_wrap(&mut self) {
        self.col = None;
        self.may_wrap = self.does_wrap;
    }

    /// Something that terminals do differently while the next character would wrap.
    pub(super) fn unsettle(&mut self) {
        if self.col == Some(self.cols) {
            self.forget_wrap();
        }
    }

    pub(super) fn set_col(&mut self, col: u16) {
        self.col = Some(col.min(self.cols - 1));
        self.may_wrap = false;
    }

    /// CUP: counted from 1, relative to the region in origin mode.
    pub(super) fn go(&mut self, row: u16, col: u16) {
        self.go_row(row);
        self.set_col(col - 1);
    }

    /// VPA.
    pub(super) fn go_row(&mut self, row: u16) {
        let row = if self.is_origin {
            self.top.saturating_add(row - 1).min(self.bottom)
        } else {
            (row - 1).min(self.rows - 1)
        };
        (self.low, self.high) = (row, row);
        self.unsettle();
    }

    pub(super) fn set_region(&mut self, top: u16, bottom: u16) {
        (self.top, self.bottom) = (top, bottom);
        self.home();
    }

    pub(super) fn home(&mut self) {
        let row = if self.is_origin { self.top } else { 0 };
        self.place(row, 0);
    }

    pub(super) fn right(&mut self, count: u16) {
        if let Some(col) = self.col.filter(|col| *col < self.cols) {
            self.set_col(col.saturating_add(count));
        } else {
            self.forget_col();
        }
    }

    pub(super) fn left(&mut self, count: u16) {
        match self.col {
            Some(col) if col < self.cols => self.set_col(col.saturating_sub(count)),
            _ => self.forget_col(),
        }
    }

    pub(super) fn tab(&mut self) {
        match self.col {
            Some(col) if col < self.cols && self.has_plain_tabs => {
                self.set_col((col - col % 8).saturating_add(8));
            }
            _ => self.forget_col(),
        }
    }

    pub(super) fn change_tabs(&mut self) {
        self.has_plain_tabs = false;
    }

    /// Stops at the region's top when it comes from inside or below.
    pub(super) fn up(&mut self, count: u16) {
        let top = self.top;
        let reach = |row: u16| {
            let end = if row >= top { top } else { 0 };
            row.saturating_sub(count).max(end)
        };
        let (low, high) = (reach(self.low), reach(self.high));
        (self.low, self.high) = (low.min(high), low.max(high));
        self.unsettle();
    }

    /// Stops at the region's bottom when it comes from inside or above.
    pub(super) fn down(&mut self, count: u16) {
        let (bottom, last) = (self.bottom, self.rows - 1);
        let reach = |row: u16| {
            let end = if row <= bottom { bottom } else { last };
            row.saturating_add(count).min(end)
        };
        let (low, high) = (reach(self.low), reach(self.high));
        (self.low, self.high) = (low.min(high), low.max(high));
        self.unsettle();
    }

    /// How far down the cursor may go before it would leave the program's screen, when the row is known.
    pub(super) fn room_below(&self) -> Option<u16> {
        Some(self.rows - 1 - self.row()?)
    }

    pub(super) fn line_feeds(&mut self, count: u16) {
        let feed = |row: u16, bottom, last| {
            let end = if row <= bottom { bottom } else { last };
            row.saturating_add(count).min(end)
        };
        if self.low == self.bottom {
            self.has_scrolled = true;
        }
        let low = feed(self.low, self.bottom, self.rows - 1);
        let high = feed(self.high, self.bottom, self.rows - 1);
        (self.low, self.high) = (low.min(high), low.max(high));
    }

    /// RI.
    pub(super) fn reverse_line_feed(&mut self) {
        let back = |row: u16, top| {
            if row == top {
                row
            } else {
                row.saturating_sub(1)
            }
        };
        let (low, high) = (back(self.low, self.top), back(self.high, self.top));
        (self.low, self.high) = (low.min(high), low.max(high));
        if self.low < self.top && self.top <= self.high {
            self.high = self.high.max(self.top);
        }
        self.unsettle();
    }

    /// Printable characters one cell wide.
    pub(super) fn print_narrow(&mut self, count: usize) {
        let Some(col) = self.col else {
            self.print_somewhere();
            return;
        };
        let (cols, total) = (usize::from(self.cols), usize::from(col) + count);
        if total <= cols {
            self.col = Some(u16::try_from(total).unwrap_or(self.cols));
        } else if self.does_wrap {
            let wraps = (total - 1) / cols;
            self.col = Some(u16::try_from(total - wraps * cols).unwrap_or(self.cols));
            self.line_feeds(u16::try_from(wraps).unwrap_or(u16::MAX));
        }
        if !self.does_wrap {
            self.set_col(self.col.unwrap_or(self.cols).min(self.cols - 1));
        }
    }

    /// How many narrow characters fit before the next one would wrap, while that is known.
    pub(super) fn fits(&self) -> Option<usize> {
        (self.does_wrap).then_some(usize::from(self.cols - self.col?))
    }

    pub(super) fn print(&mut self, char: char) {
        if matches!(char, '\u{a1}'..='\u{ff}' | '\u{2500}'..='\u{259f}') && char != '\u{ad}' {
            // Accents and the lines that boxes are drawn with.
            self.print_narrow(1);
            return;
        }
        match char.width() {
            Some(0) => {}
            // A variation selector, a joiner and their like change the width of what stands there already.
            _ if is_shaping(char) => self.forget_shape(),
            Some(1) => self.print_narrow(1),
            Some(2) => self.print_wide(),
            _ => self.forget_shape(),
        }
        if is_shaping(char) {
            self.forget_shape();
        }
    }

    fn print_wide(&mut self) {
        match self.col {
            Some(col) if self.does_wrap && self.cols >= 2 => {
                if col + 2 > self.cols {
                    self.line_feeds(1);
                    self.col = Some(2);
                } else {
                    self.col = Some(col + 2);
                }
            }
            _ => self.print_somewhere(),
        }
    }

    fn print_somewhere(&mut self) {
        self.col = None;
        self.may_wrap = self.does_wrap;
        if self.does_wrap {
            let (low, high) = (self.low, self.high);
            self.line_feeds(u16::MAX);
            self.low = low.min(self.low);
            self.high = high.max(self.high);
        }
    }

    /// Text that terminals measure differently.
    pub(super) fn forget_shape(&mut self) {
        self.print_somewhere();
    }
}

fn is_shaping(char: char) -> bool {
    matches!(char, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{80}'..='\u{9f}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_row_becomes_known_at_the_bottom() {
        let mut cursor = Cursor::new(5, 10);
        cursor.line_feeds(3);
        assert_eq!(cursor.row(), None);
        cursor.line_feeds(1);
        cursor.set_col(0);
        assert_eq!(cursor.known(), Some((4, 0)));
    }

    #[test]
    fn text_wraps_and_waits_in_the_last_column() {
        let mut cursor = Cursor::new(5, 10);
        cursor.go(1, 1);
        cursor.print_narrow(10);
        assert_eq!((cursor.known(), cursor.may_wrap()), (None, true));
        cursor.print_narrow(1);
        assert_eq!(cursor.known(), Some((1, 1)));
        cursor.print_narrow(29);
        assert_eq!((cursor.row(), cursor.may_wrap()), (Some(3), true));
        cursor.print('界');
        assert_eq!(cursor.known(), Some((4, 2)));
    }

    #[test]
    fn region_holds_the_cursor_that_is_inside() {
        let mut cursor = Cursor::new(10, 10);
        cursor.set_region(2, 5);
        cursor.go(4, 1);
        cursor.down(9);
        assert_eq!(cursor.row(), Some(5));
        cursor.up(9);
        assert_eq!(cursor.row(), Some(2));
        cursor.go(8, 1);
        cursor.line_feeds(9);
        assert_eq!((cursor.row(), cursor.is_at_floor()), (Some(9), true));
    }
}
