//! Lines of styled text, and how many cells they take.
//!
//! Pure. A line never holds a control character: whatever came from outside goes through `text::one_line` on its way in.

use crate::text::one_line;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Dim,
    Bold,
    Accent,
    Good,
    Warn,
    Bad,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) tone: Tone,
    pub(super) text: String,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Line(pub(super) Vec<Span>);

impl Line {
    pub(super) fn of(tone: Tone, text: &str) -> Self {
        Self::default().with(tone, text)
    }

    pub(super) fn with(mut self, tone: Tone, text: &str) -> Self {
        self.0.push(Span {
            tone,
            text: one_line(text),
        });
        self
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|span| width(&span.text)).sum()
    }

    /// At most so many cells.
    pub(super) fn cut(mut self, cells: usize) -> Self {
        let mut left = cells;
        for span in &mut self.0 {
            span.text = clip(&span.text, left);
            left -= width(&span.text);
        }
        self
    }

    pub(super) fn plain(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }
}

/// The beginning of a text that fits into so many cells.
pub(super) fn clip(text: &str, cells: usize) -> String {
    let mut left = cells;
    text.chars()
        .take_while(|c| {
            let needs = cells_of(*c);
            let fits = needs <= left;
            left = left.saturating_sub(needs);
            fits
        })
        .collect()
}

pub(super) fn width(text: &str) -> usize {
    text.chars().map(cells_of).sum()
}

/// Cells of a character: close enough for what people type into a demo.
pub(super) fn cells_of(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0x1f300..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Breaks text into rows of at most `cells` cells, at blanks where there are any.
pub(super) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let cells = cells.max(1);
    text.split('\n')
        .flat_map(|line| wrap_line(&one_line(line), cells))
        .collect()
}

fn wrap_line(line: &str, cells: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    for word in line.split_inclusive(' ') {
        if width(&row) + width(word.trim_end()) > cells && !row.is_empty() {
            rows.push(std::mem::take(&mut row).trim_end().to_owned());
        }
        let mut rest = word;
        while width(rest.trim_end()) > cells {
            let mut part = clip(rest, cells);
            if part.is_empty() {
                // A wide character where there is one cell.
                part.extend(rest.chars().next());
            }
            rest = rest.get(part.len()..).unwrap_or_default();
            rows.push(part);
        }
        row.push_str(rest);
    }
    if !row.is_empty() || rows.is_empty() {
        rows.push(row.trim_end().to_owned());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_break_at_blanks_and_long_words_where_they_must() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap("漢", 1), ["漢"]);
    }

    #[test]
    fn a_cut_line_keeps_its_tones_and_whole_characters() {
        let line = Line::of(Tone::Bold, "漢字").with(Tone::Dim, "abc").cut(5);
        assert_eq!((line.plain(), line.width()), ("漢字a".into(), 5));
        assert_eq!(Line::of(Tone::Plain, "a\x1b[2Jb").plain(), "a[2Jb");
    }
}
