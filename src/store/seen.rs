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

/// What is remembered.
#[derive(Debug, Default)]
pub struct Calls(String);

impl Calls {
    pub fn read(dir: &Dir) -> Result<Self, DirError> {
        let limit = (MOST + 2) * LINE_BYTES;
        let bytes = dir.read(SEEN_FILE, limit as u64)?;
        let text = bytes.map(|it| String::from_utf8_lossy(&it).into_owned());
        Ok(Self(text.unwrap_or_default()))
    }

    /// Looks for a call, as far back as is remembered.
    pub fn find(&self, key: &str) -> Option<Seen> {
        let mut newest_first = self.0.lines().rev().enumerate();
        newest_first.find_map(|(number, line)| {
            let at = line.strip_prefix(key)?.strip_prefix(' ')?;
            Some(Seen {
                at: Timestamp::from_unix_ms(at.parse().ok()?),
                is_newest: number == 0,
            })
        })
    }

    /// Remembers a call, on the disk.
    pub fn note(&self, dir: &Dir, key: &str, at: Timestamp) -> Result<(), DirError> {
        let line = format!("{key} {:0width$}\n", at.as_unix_ms(), width = TIME_CHARS);
        let count = self.0.len() / LINE_BYTES;
        if count < MOST {
            return dir.append(SEEN_FILE, line.as_bytes());
        }
        let kept = self.0.lines().skip(count.saturating_sub(KEPT));
        let mut text: String = kept.flat_map(|line| [line, "\n"]).collect();
        text.push_str(&line);
        dir.replace(SEEN_FILE, text.as_bytes(), Durability::Atomic)
    }
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
            let at = Timestamp::from_unix_ms(number);
            Calls::read(&dir)
                .unwrap()
                .note(&dir, &key(number), at)
                .unwrap();
        }
        let calls = Calls::read(&dir).unwrap();
        assert_eq!(calls.find(&key(0)), None);
        let last = calls.find(&key(999));
        let at = Timestamp::from_unix_ms(999);
        let is_newest = true;
        assert_eq!(last, Some(Seen { at, is_newest }));
        let size = std::fs::metadata(temp.path().join(SEEN_FILE))
            .unwrap()
            .len();
        assert!(size <= (MOST * LINE_BYTES) as u64, "{size}");
    }
}
