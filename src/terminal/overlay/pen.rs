//! The graphic rendition in force, so that it can be set again. Pure.
//!
//! Kept as the sequences that were printed since the last reset and folded into one value only when they become many: a
//! program resets often, and a flood should pay for nothing but a copy.

use std::fmt::Write as _;

/// Bytes of unfolded parameters kept.
const LOG_LIMIT: usize = 512;
/// Longest parameters of one sequence that are understood.
const PARAMETERS_LIMIT: usize = 128;

/// Attributes that are set by one number and taken back by another: set, reset.
const SWITCHES: [(u16, u16); 8] = [
    (1, 22),
    (2, 22),
    (3, 23),
    (5, 25),
    (7, 27),
    (8, 28),
    (9, 29),
    (53, 55),
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pen {
    /// Parameters of the sequences since the last fold, each ended by `m`.
    log: Vec<u8>,
    folded: Folded,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Folded {
    /// One bit for each of `SWITCHES`.
    switches: u8,
    underline: Option<String>,
    foreground: Option<String>,
    background: Option<String>,
    underline_color: Option<String>,
}

impl Pen {
    /// Takes the parameters of one SGR sequence.
    pub(super) fn set(&mut self, parameters: &[u8]) {
        if parameters.is_empty() || parameters == b"0" {
            self.log.clear();
            self.folded = Folded::default();
            return;
        }
        if self.log.len() + parameters.len() > LOG_LIMIT {
            self.fold();
        }
        if parameters.len() <= PARAMETERS_LIMIT {
            self.log.extend_from_slice(parameters);
            self.log.push(b'm');
        }
    }

    /// The sequences that set this pen, beginning with a reset.
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[0m");
        let mut copy = self.clone();
        copy.fold();
        let folded = copy.folded;
        let mut text = String::new();
        for (bit, (set, _)) in SWITCHES.iter().enumerate() {
            if folded.switches & (1 << bit) != 0 {
                write!(text, ";{set}").unwrap_or_default();
            }
        }
        let rest = [
            folded.underline,
            folded.foreground,
            folded.background,
            folded.underline_color,
        ];
        for part in rest.iter().flatten() {
            text.push(';');
            text.push_str(part);
        }
        if let Some(parameters) = text.strip_prefix(';') {
            out.extend_from_slice(b"\x1b[");
            out.extend_from_slice(parameters.as_bytes());
            out.push(b'm');
        }
    }

    fn fold(&mut self) {
        let log = std::mem::take(&mut self.log);
        for parameters in log.split(|byte| *byte == b'm') {
            if let Ok(text) = std::str::from_utf8(parameters)
                && !text.is_empty()
            {
                self.folded.take(text);
            }
        }
        self.log = log;
        self.log.clear();
    }
}

impl Folded {
    fn take(&mut self, parameters: &str) {
        let mut parts = parameters.split(';');
        while let Some(part) = parts.next() {
            let (head, sub) = part
                .split_once(':')
                .map_or((part, None), |(head, sub)| (head, Some(sub)));
            let number = if head.is_empty() {
                0
            } else {
                head.parse().unwrap_or(u16::MAX)
            };
            match number {
                0 => *self = Self::default(),
                4 if sub == Some("0") => self.underline = None,
                4 | 21 => self.underline = Some(part.to_owned()),
                24 => self.underline = None,
                30..=37 | 90..=97 => self.foreground = Some(part.to_owned()),
                39 => self.foreground = None,
                40..=47 | 100..=107 => self.background = Some(part.to_owned()),
                49 => self.background = None,
                59 => self.underline_color = None,
                38 | 48 | 58 => {
                    let color = color(part, sub.is_some(), &mut parts);
                    match number {
                        38 => self.foreground = color,
                        48 => self.background = color,
                        _ => self.underline_color = color,
                    }
                }
                _ => self.switch(number),
            }
        }
    }

    fn switch(&mut self, number: u16) {
        for (bit, (set, reset)) in SWITCHES.iter().enumerate() {
            if number == *set {
                self.switches |= 1 << bit;
            } else if number == *reset {
                self.switches &= !(1 << bit);
            }
        }
    }
}

/// A colour of several numbers, as it was written; none when it is cut short.
fn color<'a>(
    part: &str,
    has_sub: bool,
    parts: &mut impl Iterator<Item = &'a str>,
) -> Option<String> {
    if has_sub {
        return Some(part.to_owned());
    }
    let kind = parts.next()?;
    let count = match kind {
        "2" => 3,
        "5" => 1,
        _ => return None,
    };
    let mut text = format!("{part};{kind}");
    for _ in 0..count {
        text.push(';');
        text.push_str(parts.next()?);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sequences: &[&str]) -> String {
        let mut pen = Pen::default();
        for parameters in sequences {
            pen.set(parameters.as_bytes());
        }
        let mut out = Vec::new();
        pen.push_to(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_is_in_force_is_set_again() {
        assert_eq!(after(&["1;31", "0"]), "\x1b[0m");
        assert_eq!(after(&["1;31", "22", "39"]), "\x1b[0m");
        assert_eq!(
            after(&["1;4:3;38;2;1;2;3", "48;5;17", "58:2::9:9:9", "2;22;3"]),
            "\x1b[0m\x1b[3;4:3;38;2;1;2;3;48;5;17;58:2::9:9:9m"
        );
        assert_eq!(after(&["31", ";32"]), "\x1b[0m\x1b[32m");
    }

    #[test]
    fn pen_of_a_program_that_never_resets_stays_known() {
        let mut sequences = vec!["1", "31"];
        sequences.extend(std::iter::repeat_n("38;2;10;20;30", 500));
        assert_eq!(after(&sequences), "\x1b[0m\x1b[1;38;2;10;20;30m");
    }
}
