//! One escape sequence: where it ends, and what its parameters are. Pure.

/// Longest sequence that is looked at; a longer one passes as it is.
pub(super) const LIMIT: usize = 256;

/// What begins with this ESC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scan {
    /// Goes on after these bytes.
    Incomplete,
    /// Ends with the byte before this index.
    Complete(usize),
    /// The introducer of a string, this long.
    Text(usize, Kind),
    /// No sequence: the first so many bytes are to be passed on, and reading begins afresh.
    Broken(usize),
}

/// How a string ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// By BEL too.
    Command,
    /// By ST only.
    Data,
}

/// Looks at bytes that begin with ESC.
pub(super) fn scan(bytes: &[u8]) -> Scan {
    match bytes.get(1) {
        None => Scan::Incomplete,
        Some(b'[') => scan_csi(bytes),
        Some(b']') => Scan::Text(2, Kind::Command),
        Some(b'P' | b'_' | b'^' | b'X') => Scan::Text(2, Kind::Data),
        Some(0x20..=0x2f) => match bytes
            .iter()
            .skip(2)
            .position(|byte| !(0x20..=0x2f).contains(byte))
        {
            None => Scan::Incomplete,
            Some(at) => end(bytes, at + 2, 0x30),
        },
        Some(_) => end(bytes, 1, 0x30),
    }
}

fn scan_csi(bytes: &[u8]) -> Scan {
    match bytes
        .iter()
        .skip(2)
        .position(|byte| !(0x20..=0x3f).contains(byte))
    {
        None => Scan::Incomplete,
        Some(at) => end(bytes, at + 2, 0x40),
    }
}

/// The byte at `at` ends the sequence if it is a final one; anything else breaks it off.
fn end(bytes: &[u8], at: usize, lowest: u8) -> Scan {
    match bytes.get(at) {
        Some(byte) if (lowest..=0x7e).contains(byte) => Scan::Complete(at + 1),
        _ => Scan::Broken(at),
    }
}

/// A control sequence taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Csi<'a> {
    /// `?`, `>`, `<`, `=` or 0.
    pub(super) mark: u8,
    /// Numbers and their separators.
    pub(super) parameters: &'a [u8],
    /// Whether bytes stand between the parameters and the last byte; that one, when it is single.
    pub(super) between: Option<u8>,
    pub(super) last: u8,
}

impl<'a> Csi<'a> {
    /// Takes a complete sequence apart, `ESC [` and its last byte included.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let [0x1b, b'[', middle @ .., last] = bytes else {
            return None;
        };
        let (mark, rest) = match middle.split_first() {
            Some((mark @ 0x3c..=0x3f, rest)) => (*mark, rest),
            _ => (0, middle),
        };
        let count = rest.iter().take_while(|byte| **byte >= 0x30).count();
        let (parameters, between) = rest.split_at_checked(count)?;
        Some(Self {
            mark,
            parameters,
            between: between.last().copied(),
            last: *last,
        })
    }

    /// The n-th number; missing, empty and zero are `None`.
    pub(super) fn number(&self, index: usize) -> Option<u16> {
        let part = self.parameters.split(|byte| *byte == b';').nth(index)?;
        number(part).filter(|number| *number > 0)
    }

    /// The first number, which is at least 1.
    pub(super) fn count(&self) -> u16 {
        self.number(0).unwrap_or(1)
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u16> + use<'a> {
        self.parameters
            .split(|byte| *byte == b';')
            .filter_map(number)
    }
}

fn number(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u16, |sum, byte| {
        byte.is_ascii_digit().then(|| {
            sum.saturating_mul(10)
                .saturating_add(u16::from(byte - b'0'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_end_where_they_end() {
        assert_eq!(scan(b"\x1b"), Scan::Incomplete);
        assert_eq!(scan(b"\x1b[12;"), Scan::Incomplete);
        assert_eq!(scan(b"\x1b[1;2Hrest"), Scan::Complete(6));
        assert_eq!(scan(b"\x1b(0x"), Scan::Complete(3));
        assert_eq!(scan(b"\x1bc"), Scan::Complete(2));
        assert_eq!(scan(b"\x1b]0;t"), Scan::Text(2, Kind::Command));
        assert_eq!(scan(b"\x1b_G"), Scan::Text(2, Kind::Data));
        assert_eq!(scan(b"\x1b[1\x1b[2K"), Scan::Broken(3));
        assert_eq!(scan(b"\x1b\x18"), Scan::Broken(1));
        assert_eq!(scan(b"\x1b\x1b[K"), Scan::Broken(1));
    }

    #[test]
    fn control_sequence_is_taken_apart() {
        let csi = Csi::parse(b"\x1b[?25;2026$p").unwrap();
        assert_eq!((csi.mark, csi.between, csi.last), (b'?', Some(b'$'), b'p'));
        assert_eq!(csi.numbers().collect::<Vec<_>>(), [25, 2026]);
        let csi = Csi::parse(b"\x1b[;70000H").unwrap();
        assert_eq!(
            (csi.number(0), csi.number(1), csi.number(2)),
            (None, Some(u16::MAX), None)
        );
        assert_eq!(Csi::parse(b"\x1b[r").unwrap().count(), 1);
    }
}
