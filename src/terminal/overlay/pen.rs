//! The graphic rendition in force, so that it can be set again. Pure.
//!
//! Every rendition a program prints passes here, so nothing is allocated: colours are kept as they were written.

/// Longest colour that is kept, as text.
const COLOR_BYTES: usize = 24;

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

/// A piece of parameters, or nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Words {
    bytes: [u8; COLOR_BYTES],
    length: u8,
}

impl Words {
    fn of(text: &[u8]) -> Self {
        let mut words = Self::default();
        if let Some(room) = words.bytes.get_mut(..text.len()) {
            room.copy_from_slice(text);
            words.length = u8::try_from(text.len()).unwrap_or(0);
        }
        words
    }

    fn text(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pen {
    /// One bit for each of `SWITCHES`.
    switches: u8,
    underline: Words,
    foreground: Words,
    background: Words,
    underline_color: Words,
}

impl Pen {
    /// Takes the parameters of one SGR sequence.
    pub(super) fn set(&mut self, parameters: &[u8]) {
        match *parameters {
            [] | [b'0'] => *self = Self::default(),
            // What programs print most: one colour of three numbers, and one number of two digits.
            [b'3', b'8', b';', b'2', b';', ref numbers @ ..] if is_three(numbers) => {
                self.foreground = Words::of(parameters);
            }
            [b'4', b'8', b';', b'2', b';', ref numbers @ ..] if is_three(numbers) => {
                self.background = Words::of(parameters);
            }
            [b'3', b'9'] => self.foreground = Words::default(),
            [b'4', b'9'] => self.background = Words::default(),
            _ => self.set_each(parameters),
        }
    }

    fn set_each(&mut self, parameters: &[u8]) {
        let mut rest = parameters;
        loop {
            let (number, length) = leading(rest);
            let part = part(rest);
            let mut taken = part.len();
            match number {
                0 if length == part.len() => *self = Self::default(),
                4 if part == b"4:0" => self.underline = Words::default(),
                4 | 21 => self.underline = Words::of(part),
                24 => self.underline = Words::default(),
                30..=37 | 90..=97 => self.foreground = Words::of(part),
                39 => self.foreground = Words::default(),
                40..=47 | 100..=107 => self.background = Words::of(part),
                49 => self.background = Words::default(),
                59 => self.underline_color = Words::default(),
                38 | 48 | 58 => {
                    taken = color(rest, part.len(), length);
                    let words = Words::of(rest.get(..taken).unwrap_or_default());
                    match number {
                        38 => self.foreground = words,
                        48 => self.background = words,
                        _ => self.underline_color = words,
                    }
                }
                _ => self.switch(number),
            }
            match rest.get(taken + 1..) {
                Some(after) => rest = after,
                None => return,
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

    /// The sequences that set this pen, beginning with a reset.
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[0m");
        let start = out.len();
        for (bit, (set, _)) in SWITCHES.iter().enumerate() {
            if self.switches & (1 << bit) != 0 {
                out.push(b';');
                out.extend_from_slice(set.to_string().as_bytes());
            }
        }
        let colors = [
            self.underline,
            self.foreground,
            self.background,
            self.underline_color,
        ];
        for words in colors.iter().filter(|words| words.length > 0) {
            out.push(b';');
            out.extend_from_slice(words.text());
        }
        if out.len() > start {
            out.splice(start..=start, *b"\x1b[");
            out.push(b'm');
        }
    }
}

/// Whether these are three numbers and no more.
fn is_three(bytes: &[u8]) -> bool {
    let separators = memchr::memchr_iter(b';', bytes).count();
    separators == 2 && !bytes.contains(&b':')
}

/// Up to the next separator.
fn part(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().take_while(|byte| **byte != b';').count();
    bytes.get(..length).unwrap_or_default()
}

/// The number in front and its digits.
fn leading(bytes: &[u8]) -> (u16, usize) {
    let mut number = 0_u16;
    let mut length = 0;
    for byte in bytes.iter().take_while(|byte| byte.is_ascii_digit()) {
        number = number
            .saturating_mul(10)
            .saturating_add(u16::from(byte - b'0'));
        length += 1;
    }
    (number, length)
}

/// How many bytes a colour takes that begins here with a part of this length. One that is cut short takes what is there.
fn color(bytes: &[u8], part_length: usize, digits: usize) -> usize {
    if digits < part_length {
        return part_length;
    }
    let mut taken = part_length;
    let mut wanted = 1;
    let mut index = 0;
    while index < wanted {
        let Some(rest) = bytes.get(taken + 1..) else {
            return bytes.len();
        };
        let next = part(rest);
        if index == 0 {
            wanted = match next {
                b"2" => 4,
                b"5" => 2,
                _ => 1,
            };
        }
        taken += 1 + next.len();
        index += 1;
    }
    taken
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
