//! The parsers of foreign bytes with all they promise checked: what the fuzz targets and the properties call.
//!
//! The first byte of the input says where to cut the rest. A broken promise is a panic.

use super::draft::DraftTracker;
use super::overlay::{Face, Filter};
use super::prefix::{DEFAULT_PREFIX, PrefixKeys};

/// Edited output of one call at most, and the input that it may leave unedited.
const MOST_BYTES: usize = 128 * 1024;

fn chunks(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (cut, rest) = bytes.split_first().unwrap_or((&1, &[]));
    rest.chunks(usize::from(cut % 16) + 1)
}

/// The escape filter goes on, and its output is bounded.
pub fn filter(bytes: &[u8]) {
    let mut filter = Filter::new(Face::Row, 9, 20);
    let mut edited = Vec::new();
    for (turn, chunk) in chunks(bytes).enumerate() {
        filter.set_row(turn.to_string().as_bytes());
        let mut rest = chunk;
        let mut calls = 0;
        while !rest.is_empty() {
            let fed = filter.feed(rest);
            filter.take_edited(&mut edited);
            assert!(edited.len() < MOST_BYTES, "output grows");
            assert!(fed.passed.is_none_or(|passed| passed <= rest.len()));
            rest = rest.get(fed.consumed..).unwrap_or_default();
            calls += 1;
            assert!(calls < 1024, "no progress");
        }
    }
}

/// No byte is passed that was not typed, and none twice.
pub fn prefix(bytes: &[u8]) {
    let Ok(prefix) = DEFAULT_PREFIX.parse() else {
        return;
    };
    let mut keys = PrefixKeys::new(prefix);
    for chunk in chunks(bytes) {
        if let Some(passed) = keys.take(chunk).passed {
            assert!(passed.len() < chunk.len(), "more passed than typed");
        }
    }
}

/// Whatever came before, a sent line leaves nothing.
pub fn draft(bytes: &[u8]) {
    let mut tracker = DraftTracker::new();
    for chunk in chunks(bytes) {
        tracker.observe(chunk);
        tracker.draft();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn promises_are_kept_on_any_bytes(
            pieces in proptest::collection::vec(
                prop_oneof![
                    proptest::collection::vec(any::<u8>(), 1..8),
                    proptest::sample::select(vec![
                        b"\x1b[".to_vec(), b"\x1b]8;;x".to_vec(), b"\x1bc".to_vec(), b"99999;9H".to_vec(), b"\x1e".to_vec(),
                        b"65535b".to_vec(), b"\x1b[200~".to_vec(), b"\x1b[97;5:3u".to_vec(), b"\x1bP".to_vec(), b"\x1b7".to_vec(),
                        b"\x1b8".to_vec(), b"\x1b[2J".to_vec(), b"\xe2\x94".to_vec(), b"\x1b[?6h".to_vec(), b"\x1b[2;3r".to_vec(),
                    ]),
                ],
                0..40,
            ),
        ) {
            let bytes = pieces.concat();
            super::filter(&bytes);
            super::prefix(&bytes);
            super::draft(&bytes);
        }
    }
}
