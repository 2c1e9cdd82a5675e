//! One line of a record that a client appends to while it may crash: torn, glued, padded with NULs.
//!
//! Pure. Called by the parsers of adapters.

use memchr::memmem;
use serde::de::DeserializeOwned;

/// Places where a whole object may begin behind a torn one; more are not tried.
const TRIES: usize = 4;

/// What a line turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<T> {
    /// Empty, or of no interest and with the shape of an object.
    Skipped,
    Whole(T),
    /// Damaged, but its end is a whole object.
    Mended(T),
    Damaged,
}

/// Reads a line, if it holds one of `needles`; `heads` are the beginnings an object of this record has.
pub fn read<T: DeserializeOwned>(line: &[u8], needles: &[&str], heads: &[&str]) -> Line<T> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let text = line.trim_ascii();
    let is_padded = memchr::memchr(0, text).is_some();
    let text = match memchr::memrchr(0, text) {
        Some(at) => text.get(at + 1..).unwrap_or_default().trim_ascii(),
        None => text,
    };
    if text.is_empty() {
        return if is_padded {
            Line::Damaged
        } else {
            Line::Skipped
        };
    }
    let is_object = text.first() == Some(&b'{') && text.last() == Some(&b'}');
    let is_wanted = needles
        .iter()
        .any(|needle| memmem::find(text, needle.as_bytes()).is_some());
    if !is_wanted {
        return if is_object && !is_padded {
            Line::Skipped
        } else {
            Line::Damaged
        };
    }
    match serde_json::from_slice(text) {
        Ok(content) if is_padded => Line::Mended(content),
        Ok(content) => Line::Whole(content),
        Err(_) => mend(text, heads).map_or(Line::Damaged, Line::Mended),
    }
}

/// The last whole object that ends where the line ends.
fn mend<T: DeserializeOwned>(text: &[u8], heads: &[&str]) -> Option<T> {
    let mut end = text.len();
    for _ in 0..TRIES {
        let before = text.get(..end)?;
        let at = heads
            .iter()
            .filter_map(|head| memmem::rfind(before, head.as_bytes()))
            .max()?;
        if at > 0
            && let Ok(content) = serde_json::from_slice(text.get(at..)?)
        {
            return Some(content);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::number::Count;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Wire {
        #[serde(default)]
        n: Count,
    }

    fn told(line: &[u8]) -> String {
        match read::<Wire>(line, &["\"n\""], &["{\"type\""]) {
            Line::Skipped => "skipped".to_owned(),
            Line::Whole(wire) => format!("whole {:?}", wire.n.0),
            Line::Mended(wire) => format!("mended {:?}", wire.n.0),
            Line::Damaged => "damaged".to_owned(),
        }
    }

    #[test]
    fn damage_costs_its_own_line_and_no_other() {
        let whole = br#"{"type":"a","n":7}"#;
        let join = |before: &[u8], after: &[u8]| [before, whole, after].concat();
        let table: [(Vec<u8>, &str); 12] = [
            (whole.to_vec(), "whole Some(7)"),
            (join(b"\xEF\xBB\xBF", b""), "whole Some(7)"),
            (join(b"", b"\r"), "whole Some(7)"),
            (join(&[0; 300], b""), "mended Some(7)"),
            (join(br#"{"a":1}"#, b""), "mended Some(7)"),
            (join(br#"{"type":"a","text":"to"#, b""), "mended Some(7)"),
            (join(b"", br#"{"type":"torn"#), "damaged"),
            (vec![0; 300], "damaged"),
            (br#"{"type":"a","n":"#.to_vec(), "damaged"),
            (br#"{"other":1}"#.to_vec(), "skipped"),
            (br#"{"other":"#.to_vec(), "damaged"),
            (b"".to_vec(), "skipped"),
        ];
        for (line, expected) in table {
            assert_eq!(told(&line), expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn an_object_within_a_torn_one_is_not_taken_for_a_line() {
        let torn = br#"{"type":"a","content":[{"type":"b","n":1}],"n":"#;
        assert_eq!(told(torn), "damaged");
        let deep = [
            b"{\"n\":".to_vec(),
            vec![b'['; 100_000],
            vec![b']'; 100_000],
            b"}".to_vec(),
        ]
        .concat();
        assert_eq!(told(&deep), "whole None");
    }
}
