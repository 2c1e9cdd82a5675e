//! What the user's terminal sends, one key or report at a time. Pure.
//!
//! Understands the legacy bytes, the kitty protocol (CSI u) and modifyOtherKeys. Only the prefix key and the draft tracker look
//! here; the bytes themselves have gone to the program unchanged.

/// Modifier bits, as terminals count them.
pub(crate) const SHIFT: u8 = 1;
pub(crate) const ALT: u8 = 2;
pub(crate) const CTRL: u8 = 4;
/// Locks are no part of what was meant.
const LOCKS: u8 = 0xc0;

/// Longest report that is waited for.
const REPORT_LIMIT: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Escape,
    /// Shift, Ctrl and their like by themselves.
    Modifier,
    /// Arrows, Home, F-keys and whatever else makes no text.
    Other,
}

/// A key that went down (or, with `is_release`, up).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) code: Code,
    pub(crate) modifiers: u8,
    pub(crate) is_release: bool,
}

impl Key {
    pub(crate) fn new(code: Code, modifiers: u8) -> Self {
        Self {
            code,
            modifiers,
            is_release: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Key(Key),
    PasteStart,
    PasteEnd,
    /// The terminal speaks, not the user: an answer, a focus change, the mouse.
    Report,
}

/// The first token and its length; `None` when it is not complete.
pub(crate) fn token(bytes: &[u8]) -> Option<(usize, Token)> {
    let (&first, rest) = bytes.split_first()?;
    match first {
        0x1b => escape(bytes),
        b'\r' => Some((1, key(Code::Enter, 0))),
        b'\t' => Some((1, key(Code::Tab, 0))),
        0x7f => Some((1, key(Code::Backspace, 0))),
        0x08 => Some((1, key(Code::Backspace, CTRL))),
        0..0x20 => Some((1, key(Code::Char(control_char(first)), CTRL))),
        0x20..0x7f => Some((1, key(Code::Char(char::from(first)), 0))),
        _ => {
            let count = 1 + rest
                .iter()
                .take(3)
                .take_while(|byte| (0x80..0xc0).contains(*byte))
                .count();
            let text = bytes.get(..count).unwrap_or_default();
            match std::str::from_utf8(text) {
                Ok(text) => Some((
                    count,
                    key(text.chars().next().map_or(Code::Other, Code::Char), 0),
                )),
                Err(error) if error.error_len().is_none() && count == bytes.len() => None,
                Err(_) => Some((1, key(Code::Other, 0))),
            }
        }
    }
}

fn key(code: Code, modifiers: u8) -> Token {
    Token::Key(Key::new(code, modifiers))
}

/// The key that is held with Ctrl to make this byte.
fn control_char(byte: u8) -> char {
    match byte {
        0 => ' ',
        1..=26 => char::from(byte + 0x60),
        _ => char::from(byte + 0x40),
    }
}

fn escape(bytes: &[u8]) -> Option<(usize, Token)> {
    match bytes.get(1) {
        // Sent alone it is the key: terminals write a sequence in one go.
        None | Some(0x1b) => Some((1, key(Code::Escape, 0))),
        Some(b'[') => control_sequence(bytes),
        Some(b'O') if bytes.len() == 2 => None,
        Some(b'O') => Some((3, key(Code::Other, 0))),
        Some(b']' | b'P' | b'_' | b'^' | b'X') => string(bytes),
        Some(_) => {
            let (count, token) = token(bytes.get(1..)?)?;
            let Token::Key(key) = token else {
                return Some((count + 1, token));
            };
            let modifiers = key.modifiers | ALT;
            Some((count + 1, Token::Key(Key { modifiers, ..key })))
        }
    }
}

fn string(bytes: &[u8]) -> Option<(usize, Token)> {
    let end = bytes
        .iter()
        .skip(2)
        .position(|byte| matches!(byte, 0x07 | 0x1b));
    match end {
        Some(at) if bytes.get(at + 2) == Some(&0x07) => Some((at + 3, Token::Report)),
        Some(at) if bytes.get(at + 3) == Some(&b'\\') => Some((at + 4, Token::Report)),
        Some(at) if at + 3 == bytes.len() => None,
        Some(at) => Some((at + 2, Token::Report)),
        None if bytes.len() > REPORT_LIMIT => Some((bytes.len(), Token::Report)),
        None => None,
    }
}

fn control_sequence(bytes: &[u8]) -> Option<(usize, Token)> {
    let body = bytes.get(2..)?;
    let count = body
        .iter()
        .take_while(|byte| (0x20..0x40).contains(*byte))
        .count();
    let Some(&last) = body.get(count) else {
        // Nothing real is this long.
        return (body.len() > REPORT_LIMIT).then_some((bytes.len(), Token::Report));
    };
    let parameters = body.get(..count).unwrap_or_default();
    let length = count + 3;
    if !(0x40..0x7f).contains(&last) {
        return Some((length - 1, Token::Report));
    }
    if last == b'M' && parameters.is_empty() {
        // The oldest mouse report: three bytes follow.
        return (bytes.len() >= length + 3).then_some((length + 3, Token::Report));
    }
    let is_marked = matches!(parameters.first(), Some(0x3c..=0x3f));
    let token = match last {
        _ if is_marked => Token::Report,
        b'u' => unicode_key(parameters),
        b'~' => tilde_key(parameters),
        b'A'..=b'H' | b'P' | b'Q' | b'S' | b'Z' => Token::Key(Key {
            code: if last == b'Z' { Code::Tab } else { Code::Other },
            modifiers: if last == b'Z' {
                SHIFT
            } else {
                modifiers(parameters)
            },
            is_release: is_release(parameters),
        }),
        _ => Token::Report,
    };
    Some((length, token))
}

/// CSI code:shifted:base ; modifiers:event ; text u
fn unicode_key(parameters: &[u8]) -> Token {
    let code = number(parameters, 0, 0).unwrap_or(0);
    Token::Key(Key {
        code: to_code(code),
        modifiers: modifiers(parameters),
        is_release: is_release(parameters),
    })
}

fn tilde_key(parameters: &[u8]) -> Token {
    match number(parameters, 0, 0) {
        Some(200) => Token::PasteStart,
        Some(201) => Token::PasteEnd,
        Some(27) => Token::Key(Key::new(
            to_code(number(parameters, 2, 0).unwrap_or(0)),
            modifiers(parameters),
        )),
        _ => Token::Key(Key {
            code: Code::Other,
            modifiers: modifiers(parameters),
            is_release: is_release(parameters),
        }),
    }
}

fn to_code(code: u32) -> Code {
    match code {
        13 | 57414 => Code::Enter,
        9 => Code::Tab,
        127 => Code::Backspace,
        27 => Code::Escape,
        // The protocol's own keys lie in a private area.
        57441..=57454 => Code::Modifier,
        0..32 | 57344..=63743 => Code::Other,
        _ => char::from_u32(code).map_or(Code::Other, Code::Char),
    }
}

fn modifiers(parameters: &[u8]) -> u8 {
    let bits = number(parameters, 1, 0).unwrap_or(1).saturating_sub(1);
    u8::try_from(bits).unwrap_or(0) & !LOCKS
}

fn is_release(parameters: &[u8]) -> bool {
    number(parameters, 1, 1) == Some(3)
}

fn number(parameters: &[u8], index: usize, sub: usize) -> Option<u32> {
    let part = parameters.split(|byte| *byte == b';').nth(index)?;
    let digits = part.split(|byte| *byte == b':').nth(sub)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn only(bytes: &[u8]) -> Token {
        let (count, token) = token(bytes).unwrap();
        assert_eq!(count, bytes.len(), "{bytes:?}");
        token
    }

    #[test]
    fn the_same_key_is_known_in_each_encoding() {
        let expected = key(Code::Char('a'), CTRL);
        for bytes in [
            &b"\x01"[..],
            b"\x1b[97;5u",
            b"\x1b[27;5;97~",
            b"\x1b[97;69u",
            b"\x1b[97::97;5:1u",
        ] {
            assert_eq!(only(bytes), expected, "{bytes:?}");
        }
        assert_eq!(only(b"\x1b[13;2u"), key(Code::Enter, SHIFT));
        assert_eq!(only(b"\x1b\r"), key(Code::Enter, ALT));
        assert_eq!(only("\u{e9}".as_bytes()), key(Code::Char('\u{e9}'), 0));
        assert_eq!(only(b"\x1b[Z"), key(Code::Tab, SHIFT));
        assert_eq!(only(b"\x1bOA"), key(Code::Other, 0));
    }

    #[test]
    fn what_the_terminal_answers_is_not_typed() {
        for bytes in [
            &b"\x1b[?62;1c"[..],
            b"\x1b[24;80R",
            b"\x1b[?2026;2$y",
            b"\x1b]11;rgb:0/0/0\x07",
            b"\x1b]11;rgb:0/0/0\x1b\\",
            b"\x1bP>|term 1\x1b\\",
            b"\x1b[I",
            b"\x1b[O",
            b"\x1b[<0;3;4M",
            b"\x1b[M !!",
            b"\x1b[?1u",
            b"\x1b[8;24;80t",
            b"\x1b[48;24;80;480;800t",
            b"\x1b[?997;1n",
        ] {
            assert_eq!(only(bytes), Token::Report, "{bytes:?}");
        }
    }

    #[test]
    fn release_of_a_key_is_no_key_going_down() {
        let Token::Key(key) = only(b"\x1b[97;5:3u") else {
            panic!()
        };
        assert!(key.is_release);
    }

    proptest! {
        #[test]
        fn any_bytes_end_and_none_is_read_twice(bytes in proptest::collection::vec(any::<u8>(), 1..64)) {
            let mut rest = &bytes[..];
            while let Some((count, _)) = token(rest) {
                prop_assert!(count > 0 && count <= rest.len());
                rest = &rest[count..];
            }
        }
    }
}
