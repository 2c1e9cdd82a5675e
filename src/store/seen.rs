//! The newest hook calls of a session, by which one that is delivered twice is known.
//!
//! A line each, of one length; kept short. For the holder of the session's lock. Losing the file loses nothing else.

use super::dir::{Dir, DirError, Durability};
use super::layout::SEEN_FILE;
use crate::event::Timestamp;

/// Lines kept when the file is cut, and lines at which it is.
const KEPT: usize = 32;
const MOST: usize = 128;
/// Key, blank, time, line feed.
const LINE_BYTES: usize = KEY_CHARS + 1 + TIME_CHARS + 1;
pub const KEY_CHARS: usize = 16;
const TIME_CHARS: usize = 14;

/// A call that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub at: Timestamp,
    /// No other call has come since.
    pub is_newest: bool,
}

/// Looks for a call, as far back as is remembered.
pub fn find(dir: &Dir, key: &str) -> Result<Option<Seen>, DirError> {
    let lines = read(dir)?;
    let mut newest_first = lines.lines().rev().enumerate();
    Ok(newest_first.find_map(|(number, line)| {
        let at = line.strip_prefix(key)?.strip_prefix(' ')?;
        Some(Seen {
            at: Timestamp::from_unix_ms(at.parse().ok()?),
            is_newest: number == 0,
        })
    }))
}

/// Remembers a call.
pub fn note(dir: &Dir, key: &str, at: Timestamp) -> Result<(), DirError> {
    let line = format!("{key} {:0width$}\n", at.as_unix_ms(), width = TIME_CHARS);
    let lines = read(dir)?;
    let count = lines.len() / LINE_BYTES;
    if count < MOST {
        return dir.append(SEEN_FILE, line.as_bytes());
    }
    let kept = lines.lines().skip(count.saturating_sub(KEPT));
    let mut text: String = kept.flat_map(|line| [line, "\n"]).collect();
    text.push_str(&line);
    dir.replace(SEEN_FILE, text.as_bytes(), Durability::Atomic)
}

fn read(dir: &Dir) -> Result<String, DirError> {
    let limit = (MOST + 2) * LINE_BYTES;
    let bytes = dir.read(SEEN_FILE, limit as u64)?;
    Ok(bytes.map_or_else(String::new, |it| String::from_utf8_lossy(&it).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_calls_are_remembered_and_old_ones_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_trusted(temp.path()).unwrap();
        let key = |number: i64| format!("{number:016x}");
        for number in 0..1_000 {
            note(&dir, &key(number), Timestamp::from_unix_ms(number)).unwrap();
        }
        assert_eq!(find(&dir, &key(0)).unwrap(), None);
        let last = find(&dir, &key(999)).unwrap();
        let at = Timestamp::from_unix_ms(999);
        let is_newest = true;
        assert_eq!(last, Some(Seen { at, is_newest }));
        let size = std::fs::metadata(temp.path().join(SEEN_FILE))
            .unwrap()
            .len();
        assert!(size <= (MOST * LINE_BYTES) as u64, "{size}");
    }
}
