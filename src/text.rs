//! Text that came from outside, made fit for a terminal or a briefing.
//!
//! Pure. Everything harn prints or injects that holds somebody else's words goes through here first.

/// Removes control and bidirectional-override characters; keeps line feeds, turns tabs into blanks.
///
/// An escape sequence loses its ESC and stays visible as harmless text.
pub fn printable(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' => Some('\n'),
            '\t' => Some(' '),
            c if is_unprintable(c) => None,
            c => Some(c),
        })
        .collect()
}

/// `printable`, on one line: line feeds become blanks.
pub fn one_line(text: &str) -> String {
    printable(text).replace('\n', " ")
}

/// The first `limit` characters, with `…` when something was left out; never cuts a character.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string never fails.
            if write!(text, "{byte:02x}").is_err() {
                text.clear();
            }
            text
        })
}

/// A duration for people: `3 s`, `12 min`, `2 h`, `5 d`, `3 y`.
pub fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        172_800..=63_071_999 => format!("{} d", seconds / 86_400),
        _ => format!("{} y", seconds / 31_557_600),
    }
}

/// A number of tokens for people: `812`, `84k`, `1M`; nothing is rounded up to what it is not.
pub fn short_tokens(tokens: crate::event::Tokens) -> String {
    match tokens.0 {
        count @ 0..=999 => count.to_string(),
        count @ 1_000..=999_999 => format!("{}k", count / 1_000),
        count if count % 1_000_000 < 100_000 => format!("{}M", count / 1_000_000),
        count => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Control characters, bidi controls, zero-width marks and tag characters: what can move a cursor, or make a line read as
/// another line.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_bidi_overrides_lose_their_power() {
        assert_eq!(printable("a\x1b[31mb\u{202e}c\r\n\td\u{9b}"), "a[31mbc\n d");
    }

    #[test]
    fn a_duration_is_told_in_the_unit_that_fits() {
        let day = 86_400_000;
        let told = [0, 119_999, 120_000, 3 * day, 729 * day, 730 * day, u64::MAX].map(age);
        let expected = [
            "0 s",
            "119 s",
            "2 min",
            "3 d",
            "729 d",
            "1 y",
            "584542046 y",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_cut_text_says_so_and_counts_characters() {
        assert_eq!(shorten("äöüß", 4), "äöüß");
        assert_eq!(shorten("äöüßx", 4), "äöü…");
    }
}
