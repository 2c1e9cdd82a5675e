//! Paths as git has them: bytes, not text. Lossless in JSON, harmless on a terminal.
//!
//! A path that is valid UTF-8, holds no unprintable character and does not begin with a double
//! quote is stored as it is. Every other path is stored in quotes: `"` + the path + `"`, where `\`
//! and `"` are escaped by a backslash and each byte of anything unprintable becomes `\xNN`. The
//! leading quote tells the two apart, so no two paths share a stored form.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::is_unprintable;

/// A path relative to a worktree root, `/` between its parts, or a reference name.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BytePath(Vec<u8>);

impl BytePath {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path for the file system of the machine it was read on.
    pub fn to_path_buf(&self) -> PathBuf {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(std::ffi::OsStr::from_bytes(&self.0))
    }

    /// For people: no control, bidi or invisible character, not necessarily unique.
    pub fn display(&self) -> String {
        printable(&self.0)
    }

    /// The stored form, see the module's text.
    pub fn encode(&self) -> String {
        if let Ok(text) = std::str::from_utf8(&self.0)
            && !text.starts_with('"')
            && !text.chars().any(is_unprintable)
        {
            return text.to_owned();
        }
        let mut out = String::with_capacity(self.0.len() + 8);
        out.push('"');
        for chunk in self.0.utf8_chunks() {
            for ch in chunk.valid().chars() {
                match ch {
                    '"' | '\\' => out.extend(['\\', ch]),
                    _ if is_unprintable(ch) => {
                        push_hex(&mut out, ch.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    _ => out.push(ch),
                }
            }
            push_hex(&mut out, chunk.invalid());
        }
        out.push('"');
        out
    }

    /// Reads the stored form. Text that no writer of this form makes is taken as it stands.
    pub fn decode(text: &str) -> Self {
        Self(unquote(text).unwrap_or_else(|| text.as_bytes().to_vec()))
    }
}

impl From<&Path> for BytePath {
    fn from(path: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl fmt::Debug for BytePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BytePath({})", self.encode())
    }
}

impl Serialize for BytePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de> Deserialize<'de> for BytePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::decode(&text))
    }
}

/// Bytes as text that is safe to print: whatever could move where text lands, turn the reading direction,
/// hide itself or is not UTF-8 appears as `\xNN` or `\u{NNNN}`.
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for ch in chunk.valid().chars() {
            if ch.is_ascii() && is_unprintable(ch) {
                push_hex(&mut out, &[u8::try_from(ch).unwrap_or(b'?')]);
            } else if is_unprintable(ch) {
                out.extend(ch.escape_unicode());
            } else {
                out.push(ch);
            }
        }
        push_hex(&mut out, chunk.invalid());
    }
    out
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    for byte in bytes {
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('?');
        out.extend(['\\', 'x', digit(byte >> 4), digit(byte & 0xf)]);
    }
}

fn unquote(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next()? {
            escaped @ (b'"' | b'\\') => bytes.push(escaped),
            b'x' => bytes.push(hex_value(rest.next()?)? << 4 | hex_value(rest.next()?)?),
            _ => return None,
        }
    }
    Some(bytes)
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_names_are_stored_as_they_are() {
        for name in [
            "a b.txt",
            "ä.txt",
            "x -> y.txt",
            "back\\slash",
            "mid\"quote",
        ] {
            assert_eq!(BytePath::new(name).encode(), name);
        }
    }

    #[test]
    fn odd_names_are_stored_in_quotes() {
        let stored = |bytes: &[u8]| BytePath::new(bytes).encode();
        assert_eq!(stored(b"bad\xff.txt"), r#""bad\xff.txt""#);
        assert_eq!(stored(b"nl\nname.txt"), r#""nl\x0aname.txt""#);
        assert_eq!(stored(b"\"q\".txt"), r#""\"q\".txt""#);
        assert_eq!(stored("\u{202e}x".as_bytes()), r#""\xe2\x80\xaex""#);
    }

    #[test]
    fn a_printed_name_holds_neither_control_nor_bidi_characters() {
        let name = BytePath::new("a\u{1b}[31m\u{202e}\u{85}\n".as_bytes());
        assert_eq!(name.display(), r"a\x1b[31m\u{202e}\u{85}\x0a");
    }

    #[test]
    fn a_damaged_stored_form_is_taken_as_it_stands() {
        for text in ["\"open", "\"bad \\q\"", "\""] {
            assert_eq!(BytePath::decode(text).as_bytes(), text.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn every_path_survives_json(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let path = BytePath::new(bytes);
            let json = serde_json::to_string(&path).unwrap();
            prop_assert_eq!(serde_json::from_str::<BytePath>(&json).unwrap(), path);
        }

        #[test]
        fn no_two_paths_share_a_stored_form(
            a in prop::collection::vec(prop::sample::select(&b"\"\\x0a\n\xff"[..]), 0..6),
            b in prop::collection::vec(prop::sample::select(&b"\"\\x0a\n\xff"[..]), 0..6),
        ) {
            let (a, b) = (BytePath::new(a), BytePath::new(b));
            prop_assert_eq!(a == b, a.encode() == b.encode());
        }
    }
}
