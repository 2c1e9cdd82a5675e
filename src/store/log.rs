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

/// Hands on the wanted whole lines from `offset` on, in the memory of one line, and gives the place behind the last of them.
pub fn scan(
    dir: &Dir,
    offset: u64,
    wants: fn(&[u8]) -> bool,
    take: &mut dyn FnMut(Event),
) -> Result<u64, DirError> {
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
    let (mut done, mut line, mut is_skipped) = (offset, Vec::new(), false);
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let count = file.read(&mut block).map_err(fail)?;
        if count == 0 {
            return Ok(done);
        }
        let bytes = block.get(..count).unwrap_or_default();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            is_skipped |= line.len() + part.len() > LINE_BYTES;
            if is_skipped {
                done += line.len() as u64;
                line.clear();
            } else {
                line.extend_from_slice(part);
            }
            if part.last() != Some(&b'\n') {
                // What is skipped is passed even where it has no end yet.
                done += if is_skipped { part.len() as u64 } else { 0 };
                continue;
            }
            done += if is_skipped { part.len() } else { line.len() } as u64;
            if !is_skipped
                && wants(&line)
                && let Ok(event) = serde_json::from_slice::<Event>(&line)
            {
                take(event);
            }
            line.clear();
            is_skipped = false;
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
        let next = scan(&dir, 0, |_| true, &mut |event| seen.push(event.seq)).unwrap();
        assert_eq!((next, seen), (whole, vec![1, 2]));
        let mut none = 0;
        scan(&dir, 0, |_| false, &mut |_| none += 1).unwrap();
        assert_eq!(none, 0);
    }
}
