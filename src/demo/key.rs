//! Bytes from the keyboard, turned into keys.
//!
//! Pure. A sequence may be split anywhere between two reads; what is not complete waits for the rest. A lone ESC is the
//! Esc key once nothing has followed it (`flush`). What is not known (focus reports, mouse, answers of the terminal) is
//! `Other` and means nothing.

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    /// A new line in the draft, never a submit: line feed, or Alt-Enter.
    NewLine,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    Esc,
    F6,
    Ctrl(char),
    /// What came between the brackets of a bracketed paste.
    Paste(String),
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
}

/// One key and the number of bytes it took.
type Found = Option<(Key, usize)>;

impl Decoder {
    /// The keys that are complete with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = first(&self.pending) {
            self.pending.drain(..length);
            keys.push(key);
        }
        keys
    }

    /// Whether something waits for its rest.
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty() && !self.pending.starts_with(PASTE_BEGIN)
    }

    /// Nothing has followed: the ESC was a key, the rest means nothing.
    pub(super) fn flush(&mut self) -> Vec<Key> {
        if !self.is_waiting() {
            return Vec::new();
        }
        let pending = std::mem::take(&mut self.pending);
        match pending.split_first() {
            Some((0x1b, [])) => vec![Key::Esc],
            Some((0x1b, rest)) => {
                let mut keys = vec![Key::Esc];
                keys.extend(self.push(rest));
                keys
            }
            Some(_) | None => vec![Key::Other],
        }
    }
}

fn first(bytes: &[u8]) -> Found {
    let (head, rest) = bytes.split_first()?;
    match head {
        0x1b => escape(bytes, rest),
        b'\r' => Some((Key::Enter, 1)),
        b'\n' => Some((Key::NewLine, 1)),
        b'\t' => Some((Key::Tab, 1)),
        0x7f | 0x08 => Some((Key::Backspace, 1)),
        0x01..=0x1a => Some((Key::Ctrl(char::from(head | 0x60)), 1)),
        0x00 | 0x1c..=0x1f => Some((Key::Other, 1)),
        0x20..=0x7e => Some((Key::Char(char::from(*head)), 1)),
        0x80..=0xff => character(bytes),
    }
}

fn escape(bytes: &[u8], rest: &[u8]) -> Found {
    match rest.first()? {
        b'\r' => Some((Key::NewLine, 2)),
        b'[' if bytes.starts_with(PASTE_BEGIN) => paste(bytes),
        b'[' => sequence(bytes),
        b'O' => {
            let key = match rest.get(1)? {
                b'A' => Key::Up,
                b'B' => Key::Down,
                b'C' => Key::Right,
                b'D' => Key::Left,
                b'H' => Key::Home,
                b'F' => Key::End,
                _ => Key::Other,
            };
            Some((key, 3))
        }
        // An ESC, and after it something of its own.
        0x1b => Some((Key::Esc, 1)),
        b']' | b'P' => string(bytes),
        // Alt and a key.
        _ => first(rest).map(|(_, length)| (Key::Other, 1 + length)),
    }
}

/// `ESC [ parameters final`.
fn sequence(bytes: &[u8]) -> Found {
    let body = bytes.get(2..)?;
    let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
    let (parameters, last) = (body.get(..end)?, body.get(end)?);
    let key = match (parameters, last) {
        (b"", b'A') => Key::Up,
        (b"", b'B') => Key::Down,
        (b"", b'C') => Key::Right,
        (b"", b'D') => Key::Left,
        (b"" | b"1", b'H' | b'~') => Key::Home,
        (b"", b'F') | (b"4", b'~') => Key::End,
        (b"3", b'~') => Key::Delete,
        (b"17", b'~') => Key::F6,
        _ => Key::Other,
    };
    Some((key, 2 + end + 1))
}

fn paste(bytes: &[u8]) -> Found {
    let body = bytes.get(PASTE_BEGIN.len()..)?;
    let end = body
        .windows(PASTE_END.len())
        .position(|window| window == PASTE_END)?;
    let text = String::from_utf8_lossy(body.get(..end)?)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    Some((Key::Paste(text), PASTE_BEGIN.len() + end + PASTE_END.len()))
}

/// A string the terminal sends (an answer to a query), up to BEL or ST.
fn string(bytes: &[u8]) -> Found {
    let bell = bytes.iter().position(|byte| *byte == 0x07).map(|at| at + 1);
    let st = bytes
        .windows(2)
        .skip(1)
        .position(|pair| pair == b"\x1b\\")
        .map(|at| at + 3);
    let length = match (bell, st) {
        (Some(bell), Some(st)) => bell.min(st),
        (found, None) | (None, found) => found?,
    };
    Some((Key::Other, length))
}

fn character(bytes: &[u8]) -> Found {
    let head = *bytes.first()?;
    let length = match head {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((Key::Other, 1)),
    };
    let bytes = bytes.get(..length)?;
    let key = match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().next().map_or(Key::Other, Key::Char),
        Err(_) => return Some((Key::Other, 1)),
    };
    Some((key, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_split_of_the_bytes_gives_the_same_keys() {
        let bytes = "a\u{e9}\u{1f600}\r\x1b[A\x1b[3~\x1b[200~x\r\ny\x1b[201~\x1b[17~\x1b\r\n\x13\x1b[I\x1b]11;rgb:0/0/0\x1b\\z".as_bytes();
        let whole = Decoder::default().push(bytes);
        assert_eq!(
            whole,
            [
                Key::Char('a'),
                Key::Char('é'),
                Key::Char('😀'),
                Key::Enter,
                Key::Up,
                Key::Delete,
                Key::Paste("x\ny".into()),
                Key::F6,
                Key::NewLine,
                Key::NewLine,
                Key::Ctrl('s'),
                Key::Other,
                Key::Other,
                Key::Char('z'),
            ]
        );
        for at in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let (left, right) = bytes.split_at(at);
            let mut keys = decoder.push(left);
            keys.extend(decoder.push(right));
            assert_eq!(keys, whole, "split at {at}");
        }
    }

    #[test]
    fn an_escape_alone_is_a_key_only_when_nothing_follows() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert!(decoder.is_waiting());
        assert_eq!(decoder.flush(), [Key::Esc]);
        assert_eq!(decoder.flush(), []);
        assert_eq!(decoder.push(b"\x1b[200~half"), []);
        assert_eq!(decoder.flush(), [], "a paste may take its time");
        assert_eq!(decoder.push(b"\x1b[201~"), [Key::Paste("half".into())]);
    }
}
