//! Reads a hook's payload: the first JSON object on stdin, and not a byte's wait longer.

use std::io;

use crate::adapter::document::{DocumentEnd, Progress};

/// A payload larger than this is not harn's to read.
const LIMIT_BYTES: usize = 64 * 1024 * 1024;
const CHUNK_BYTES: usize = 64 * 1024;

/// Why there is no payload.
#[derive(Debug, thiserror::Error)]
pub(super) enum PayloadError {
    #[error("cannot read standard input: {0}")]
    Read(#[from] io::Error),
    #[error("standard input is empty")]
    Empty,
    #[error("standard input ends within a JSON object")]
    Truncated,
    #[error("standard input does not begin with a JSON object")]
    NotAnObject,
    #[error("standard input holds more than {LIMIT_BYTES} bytes")]
    TooLarge,
}

/// The bytes of the first object. Blocks until it is complete; the caller has the deadline.
pub(super) fn read_payload(input: &mut impl io::Read) -> Result<Vec<u8>, PayloadError> {
    let mut bytes = Vec::new();
    let mut end = DocumentEnd::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match input.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        let new = chunk.get(..count).unwrap_or_default();
        bytes.extend_from_slice(new);
        match end.push(new) {
            Progress::Complete(length) => {
                bytes.truncate(length);
                return Ok(bytes);
            }
            Progress::NotAnObject => return Err(PayloadError::NotAnObject),
            Progress::Incomplete if count == 0 && bytes.is_empty() => {
                return Err(PayloadError::Empty);
            }
            Progress::Incomplete if count == 0 => return Err(PayloadError::Truncated),
            Progress::Incomplete if bytes.len() > LIMIT_BYTES => {
                return Err(PayloadError::TooLarge);
            }
            Progress::Incomplete => {}
        }
    }
}
