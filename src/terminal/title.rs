//! The window's title, as the program sets it: `OSC 0 ; text ST` and `OSC 2 ; text ST`. Pure.
//!
//! Looked at behind the byte path, in whatever pieces the bytes come.

/// Bytes of a title that are kept.
const LIMIT_BYTES: usize = 256;
const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
/// CAN and SUB abort a sequence.
const ABORTS: [u8; 2] = [0x18, 0x1a];

/// Keeps the newest title of a stream.
#[derive(Debug, Default)]
pub struct TitleScanner {
    place: Place,
    text: Vec<u8>,
    title: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Ground,
    Escape,
    Command,
    CommandEscape,
}

impl TitleScanner {
    /// None until the program has set one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub fn observe(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match self.place {
                Place::Ground if byte == ESC => self.place = Place::Escape,
                Place::Ground => {
                    let next = memchr::memchr(ESC, rest).unwrap_or(rest.len());
                    rest = rest.get(next..).unwrap_or_default();
                }
                Place::Command if byte == BEL => self.end(),
                Place::Command if byte == ESC => self.place = Place::CommandEscape,
                Place::Command if ABORTS.contains(&byte) => self.place = Place::Ground,
                Place::Command if self.text.len() < LIMIT_BYTES => self.text.push(byte),
                Place::Command => {}
                Place::CommandEscape if byte == b'\\' => self.end(),
                Place::Escape | Place::CommandEscape => {
                    self.text.clear();
                    self.place = match byte {
                        b']' => Place::Command,
                        ESC => Place::Escape,
                        _ => Place::Ground,
                    };
                }
            }
        }
    }

    fn end(&mut self) {
        self.place = Place::Ground;
        let heads: [&[u8]; 2] = [b"0;", b"2;"];
        if let Some(title) = heads.iter().find_map(|head| self.text.strip_prefix(*head)) {
            self.title = Some(String::from_utf8_lossy(title).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_title_counts_however_its_bytes_come() {
        let bytes = "a\x1b]0;\u{2733} one\x07b\x1b]7501;state=idle\x1b\\\x1b]2;\u{2810} two\x1b\\\x1b]1;icon\x07\x1b]0;torn\x18".as_bytes();
        for cut in 1..bytes.len() {
            let mut scanner = TitleScanner::default();
            bytes.chunks(cut).for_each(|chunk| scanner.observe(chunk));
            assert_eq!(scanner.title(), Some("\u{2810} two"), "{cut}");
        }
        let mut scanner = TitleScanner::default();
        scanner.observe(b"\x1b]0;\x07");
        assert_eq!(scanner.title(), Some(""));
        scanner.observe(&[b"\x1b]0;".as_slice(), &[b'x'; 9000], b"\x07"].concat());
        assert_eq!(scanner.title().map(str::len), Some(LIMIT_BYTES - 2));
    }
}
