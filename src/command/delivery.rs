//! Reads what a harness wrote since a briefing was printed, to see whether it was taken.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::adapter::delivery::examine;
use crate::continuity::State;
use crate::continuity::signal::Delivery;
use crate::continuity::state::RecoveryState;

/// Looked at most, from the place of the print on: the tag stands near its beginning.
const LIMIT_BYTES: u64 = 4 * 1024 * 1024;

/// The proof for the newest briefing, if there is one to be had now.
pub(super) fn proof(state: &State) -> Option<Delivery> {
    let recovery = state
        .recovery
        .as_ref()
        .filter(|it| it.state == RecoveryState::Injected)?;
    let offset = recovery.transcript_offset?;
    let path = state.session.transcript.as_ref()?;
    match read_from(path, offset) {
        Ok(since) => examine(&since, &recovery.tag),
        Err(error) => {
            tracing::debug!(%error, "the transcript cannot be read");
            None
        }
    }
}

/// How long the transcript is now.
pub(super) fn length(state: &State) -> Option<u64> {
    let path = state.session.transcript.as_ref()?;
    let meta = std::fs::metadata(path).ok()?;
    meta.is_file().then_some(meta.len())
}

fn read_from(path: &str, offset: u64) -> io::Result<Vec<u8>> {
    // A FIFO in its place must not make the hook wait for a writer.
    let nonblocking = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() < offset {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut since = Vec::new();
    file.take(LIMIT_BYTES).read_to_end(&mut since)?;
    Ok(since)
}
