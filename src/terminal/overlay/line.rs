//! The overlay's content, and how it becomes one row or a title. Pure.
//!
//! The terminal's own palette, ASCII marks only (others have no width that all terminals agree on), no colour where the user
//! wants none. What does not fit is left out by rank, the highest number first.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::text::one_line;

/// How a part looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Strong,
    Quiet,
    Good,
    Warning,
}

/// A piece of the overlay that stands or falls as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    pub tone: Tone,
    /// 0 is never left out.
    pub rank: u8,
}

impl Part {
    pub fn new(text: impl Into<String>, tone: Tone, rank: u8) -> Self {
        Self {
            text: text.into(),
            tone,
            rank,
        }
    }
}

/// What the overlay says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Part>);

const SEPARATOR: &str = " | ";

impl Line {
    /// The parts that fit into so many columns.
    fn fitting(&self, cols: usize) -> Vec<&Part> {
        let mut chosen: Vec<(usize, &Part)> = Vec::new();
        let mut by_rank: Vec<(usize, &Part)> = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, part)| !part.text.is_empty())
            .collect();
        by_rank.sort_by_key(|(_, part)| part.rank);
        for candidate in by_rank {
            chosen.push(candidate);
            if width(&chosen) > cols && candidate.1.rank > 0 {
                chosen.pop();
            }
        }
        chosen.sort_by_key(|(index, _)| *index);
        chosen.into_iter().map(|(_, part)| part).collect()
    }

    /// Text and renditions for a row of `cols` columns. The last one stays free: behind a full row the cursor would stand on
    /// its last character, and what erases the rest would erase that.
    pub(crate) fn row(&self, cols: u16, has_color: bool) -> Vec<u8> {
        let mut room = usize::from(cols).saturating_sub(1);
        let mut row = String::new();
        for (index, part) in self.fitting(room).into_iter().enumerate() {
            if index > 0 {
                push(&mut row, SEPARATOR, Tone::Quiet, has_color, &mut room);
            }
            push(
                &mut row,
                &one_line(&part.text),
                part.tone,
                has_color,
                &mut room,
            );
        }
        row.into_bytes()
    }

    /// The same words without any control.
    pub(crate) fn title(&self) -> Vec<u8> {
        let words: Vec<String> = self
            .fitting(usize::from(u16::MAX))
            .into_iter()
            .map(|part| one_line(&part.text))
            .collect();
        words.join(SEPARATOR).into_bytes()
    }
}

fn width(parts: &[(usize, &Part)]) -> usize {
    let texts: usize = parts
        .iter()
        .map(|(_, part)| one_line(&part.text).width())
        .sum();
    texts + SEPARATOR.len() * parts.len().saturating_sub(1)
}

fn push(row: &mut String, text: &str, tone: Tone, has_color: bool, room: &mut usize) {
    let set = match tone {
        Tone::Strong if has_color => "\x1b[1m",
        Tone::Quiet if has_color => "\x1b[2m",
        Tone::Good if has_color => "\x1b[32m",
        Tone::Warning if has_color => "\x1b[33m",
        Tone::Plain | Tone::Strong | Tone::Quiet | Tone::Good | Tone::Warning => "",
    };
    row.push_str(set);
    for char in text.chars() {
        let width = char.width().unwrap_or(0);
        if width > *room {
            break;
        }
        *room -= width;
        row.push(char);
    }
    if !set.is_empty() {
        row.push_str("\x1b[0m");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line(vec![
            Part::new("claude-code observing", Tone::Strong, 0),
            Part::new("15.0k/200k (statusline)", Tone::Plain, 1),
            Part::new("[#---------]", Tone::Quiet, 4),
            Part::new("hooks not seen", Tone::Warning, 0),
            Part::new("main", Tone::Quiet, 3),
        ])
    }

    fn plain(cols: u16) -> String {
        String::from_utf8(line().row(cols, false)).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_left_out_by_rank() {
        assert_eq!(
            plain(88),
            "claude-code observing | 15.0k/200k (statusline) | [#---------] | hooks not seen | main"
        );
        assert_eq!(
            plain(73),
            "claude-code observing | 15.0k/200k (statusline) | hooks not seen | main"
        );
        assert_eq!(
            plain(61),
            "claude-code observing | [#---------] | hooks not seen | main"
        );
        assert_eq!(plain(11), "claude-cod");
    }

    #[test]
    fn colour_is_the_palette_s_and_nothing_where_it_is_not_wanted() {
        let part = |tone| Line(vec![Part::new("a\x1b[2Jb", tone, 0)]);
        assert_eq!(part(Tone::Warning).row(20, true), b"\x1b[33ma[2Jb\x1b[0m");
        assert_eq!(part(Tone::Warning).row(20, false), b"a[2Jb");
        assert_eq!(part(Tone::Warning).title(), b"a[2Jb");
    }
}
