//! The event log of a session: one JSON line an event, each written with one append.
//!
//! Readers take what is whole: a damaged line is skipped and counted, an unfinished last line is left for later, an
//! event of an unknown type belongs to a newer harn and is passed over. Writers hold the session's lock.

use std::io::{Read as _, Seek as _, SeekFrom};

use super::dir::{Dir, DirError};
use super::layout::EVENTS_FILE;
use crate::event::Event;

/// Read from the end to find the newest event; a line of harn's is far shorter.
const TAIL_BYTES: u64 = 16 * 1024;
/// Bytes of a log that are folded at once; more is read in further batches.
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// Where a log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    pub bytes: u64,
    /// Of the last whole event near the end; 0 in an empty log.
    pub last_seq: u64,
    /// The last line has its line feed.
    pub is_whole: bool,
}

/// Events from one stretch of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub events: Vec<Event>,
    /// Lines that are no events.
    pub damaged: u64,
    /// Where the next batch begins.
    pub next_offset: u64,
}

/// Looks at the end of the log.
pub fn tail(dir: &Dir) -> Result<Tail, DirError> {
    let mut file = match dir.open_read(EVENTS_FILE) {
        Ok(file) => file,
        Err(error) if error.is_missing() => {
            return Ok(Tail {
                is_whole: true,
                ..Tail::default()
            });
        }
        Err(error) => return Err(error),
    };
    let fail = |source| DirError::Io {
        what: "read",
        path: dir.path().join(EVENTS_FILE),
        source,
    };
    let bytes = file.seek(SeekFrom::End(0)).map_err(fail)?;
    let start = bytes.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(fail)?;
    let mut text = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut text).map_err(fail)?;
    let last_seq = text
        .split(|byte| *byte == b'\n')
        .rev()
        .find_map(seq_of)
        .unwrap_or(0);
    Ok(Tail {
        bytes,
        last_seq,
        is_whole: text.last().is_none_or(|byte| *byte == b'\n'),
    })
}

/// The number of an event, whatever its type.
fn seq_of(line: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct SeqWire {
        seq: u64,
    }
    serde_json::from_slice::<SeqWire>(line)
        .ok()
        .map(|wire| wire.seq)
}

/// Appends events in one write; gives the log's new length in bytes.
pub fn append(dir: &Dir, tail: Tail, events: &[Event]) -> Result<u64, DirError> {
    let mut bytes = Vec::new();
    if !tail.is_whole {
        // A write that a full disk cut short must not swallow this one.
        bytes.push(b'\n');
    }
    for event in events {
        match serde_json::to_vec(event) {
            Ok(line) => bytes.extend(line),
            Err(error) => tracing::error!(%error, "an event that cannot be written is left out"),
        }
        bytes.push(b'\n');
    }
    dir.append(EVENTS_FILE, &bytes)?;
    Ok(tail.bytes + bytes.len() as u64)
}

/// Reads whole lines from `offset` on.
pub fn read_from(dir: &Dir, offset: u64) -> Result<Batch, DirError> {
    let mut file = match dir.open_read(EVENTS_FILE) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(Batch::default()),
        Err(error) => return Err(error),
    };
    let fail = |source| DirError::Io {
        what: "read",
        path: dir.path().join(EVENTS_FILE),
        source,
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset)).map_err(fail)?;
    file.take(BATCH_BYTES)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    let mut batch = Batch {
        next_offset: offset,
        ..Batch::default()
    };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(text) = line.strip_suffix(b"\n") else {
            break;
        };
        batch.next_offset += line.len() as u64;
        match serde_json::from_slice::<Event>(text) {
            Ok(event) => batch.events.push(event),
            Err(_) if text.is_empty() || seq_of(text).is_some() => {}
            Err(_) => batch.damaged += 1,
        }
    }
    Ok(batch)
}

/// A longer line is none of harn's.
const LINE_BYTES: usize = 1024 * 1024;
const BLOCK_BYTES: usize = 256 * 1024;

/// Which lines of a log are wanted, and from where on.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub offset: u64,
    /// No further block is read beyond so many bytes; far more than a line, so that each stretch goes on.
    pub bytes: u64,
    /// Told from a line's bytes alone.
    pub wants: fn(&[u8]) -> bool,
}

/// Hands on the wanted whole lines of a stretch, in the memory of one line, and gives the place behind the last of them.
pub fn scan(dir: &Dir, stretch: Stretch, take: &mut dyn FnMut(Event)) -> Result<u64, DirError> {
    let Stretch {
        offset,
        bytes,
        wants,
    } = stretch;
    let mut file = match dir.open_read(EVENTS_FILE) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(0),
        Err(error) => return Err(error),
    };
    let fail = |source| DirError::Io {
        what: "read",
        path: dir.path().join(EVENTS_FILE),
        source,
    };
    file.seek(SeekFrom::Start(offset)).map_err(fail)?;
    let mut lines = Lines {
        done: offset,
        begun: Vec::new(),
        is_skipped: false,
    };
    let mut take = |line: &[u8]| {
        if wants(line)
            && let Ok(event) = serde_json::from_slice::<Event>(line)
        {
            take(event);
        }
    };
    let mut block = vec![0; BLOCK_BYTES];
    let mut read = 0;
    while read < bytes {
        let count = file.read(&mut block).map_err(fail)?;
        if count == 0 {
            break;
        }
        read += count as u64;
        lines.split(block.get(..count).unwrap_or_default(), &mut take);
    }
    Ok(lines.done)
}

/// Blocks of a file as lines.
struct Lines {
    /// The place in the file behind the last whole line, or within one that is passed over.
    done: u64,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// The line at hand is too long.
    is_skipped: bool,
}

impl Lines {
    fn split(&mut self, mut block: &[u8], take: &mut dyn FnMut(&[u8])) {
        while let Some(end) = memchr::memchr(b'\n', block) {
            let (part, rest) = block.split_at(end + 1);
            block = rest;
            self.done += (self.begun.len() + part.len()) as u64;
            if self.begun.len() + part.len() > LINE_BYTES {
                self.is_skipped = true;
            }
            if self.is_skipped {
                self.is_skipped = false;
            } else if self.begun.is_empty() {
                take(part);
            } else {
                self.begun.extend_from_slice(part);
                take(&self.begun);
            }
            self.begun.clear();
        }
        self.begun.extend_from_slice(block);
        self.is_skipped |= self.begun.len() > LINE_BYTES;
        if self.is_skipped {
            // What is skipped is passed even where it has no end yet.
            self.done += self.begun.len() as u64;
            self.begun.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventBody, EventSource, HarnessId, SessionId, Timestamp};

    fn event(seq: u64) -> Event {
        Event {
            id: format!("e{seq}"),
            seq,
            at: Timestamp::from_unix_ms(1_000),
            session: SessionId::new("s"),
            run: None,
            adapter: HarnessId::new("demo"),
            source: EventSource::Hook,
            body: EventBody::SessionEnded { reason: None },
        }
    }

    #[test]
    fn damaged_lines_are_counted_and_a_torn_tail_is_left_for_later() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_trusted(temp.path()).unwrap();
        let first = append(&dir, tail(&dir).unwrap(), &[event(1)]).unwrap();
        let odd = b"\0\0\0\n{\"seq\":2,\"type\":\"from.the.future\"}\n\n";
        dir.append(EVENTS_FILE, odd).unwrap();
        dir.append(EVENTS_FILE, b"{\"seq\":3,\"torn").unwrap();
        let batch = read_from(&dir, 0).unwrap();
        let read = first + odd.len() as u64;
        assert_eq!(
            batch,
            Batch {
                events: vec![event(1)],
                damaged: 1,
                next_offset: read
            }
        );
        let end = tail(&dir).unwrap();
        assert_eq!((end.last_seq, end.is_whole), (2, false));
        append(&dir, end, &[event(3)]).unwrap();
        let batch = read_from(&dir, batch.next_offset).unwrap();
        assert_eq!((batch.events, batch.damaged), (vec![event(3)], 1));
        assert_eq!(tail(&dir).unwrap().last_seq, 3);
    }

    #[test]
    fn a_scan_hands_on_wanted_lines_and_passes_a_line_without_end() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_trusted(temp.path()).unwrap();
        append(&dir, tail(&dir).unwrap(), &[event(1)]).unwrap();
        dir.append(EVENTS_FILE, &vec![0; 3 * LINE_BYTES]).unwrap();
        dir.append(EVENTS_FILE, b"\n").unwrap();
        let whole = append(&dir, tail(&dir).unwrap(), &[event(2)]).unwrap();
        dir.append(EVENTS_FILE, b"{\"seq\":3,\"torn").unwrap();
        let mut seen = Vec::new();
        let all = Stretch {
            offset: 0,
            bytes: u64::MAX,
            wants: |_| true,
        };
        let next = scan(&dir, all, &mut |event| seen.push(event.seq)).unwrap();
        assert_eq!((next, seen), (whole, vec![1, 2]));
        let mut none = 0;
        let wants = |_: &[u8]| false;
        scan(&dir, Stretch { wants, ..all }, &mut |_| none += 1).unwrap();
        assert_eq!(none, 0);
    }

    #[test]
    fn stretch_by_stretch_the_same_lines_come() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_trusted(temp.path()).unwrap();
        let events: Vec<Event> = (1..20_000).map(event).collect();
        append(&dir, tail(&dir).unwrap(), &events).unwrap();
        dir.append(EVENTS_FILE, &vec![0; 3 * LINE_BYTES]).unwrap();
        dir.append(EVENTS_FILE, b"\n").unwrap();
        let whole = append(&dir, tail(&dir).unwrap(), &events).unwrap();
        let (mut seen, mut places) = (Vec::new(), vec![0]);
        while places.last() != Some(&whole) {
            let stretch = Stretch {
                offset: places[places.len() - 1],
                bytes: 2 * LINE_BYTES as u64,
                wants: |_| true,
            };
            places.push(scan(&dir, stretch, &mut |event| seen.push(event)).unwrap());
        }
        assert_eq!(seen, [events.clone(), events].concat());
        assert!(
            places.len() > 4 && places.is_sorted_by(|one, next| one < next),
            "{places:?}"
        );
    }
}
