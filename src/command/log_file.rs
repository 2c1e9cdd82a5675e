//! harn's own log: a file in the state directory, never the terminal.
//!
//! Opened at the first record only, so that a hook with nothing to report touches no file.

use std::io;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::store::Layout;
use crate::store::dir::{DirError, Durability};
use crate::store::home;

const FILE: &str = "harn.log";
const OLD_FILE: &str = "harn.log.1";
/// A log larger than this is put aside, and the one put aside before is dropped.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// Sends records of `filter` (the syntax of `HARN_LOG`: `debug`, `harn::store=trace,warn`) to the log file.
pub(super) fn begin(layout: &Layout, filter: Option<&str>) {
    let filter: Targets = filter
        .unwrap_or("warn")
        .parse()
        .unwrap_or_else(|_| Targets::new());
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(LogFile {
            layout: layout.clone(),
        })
        .with_filter(filter);
    // A second subscriber in one process (tests) changes nothing.
    if tracing_subscriber::registry()
        .with(layer)
        .try_init()
        .is_err()
    {
        tracing::debug!("the log is open already");
    }
}

struct LogFile {
    layout: Layout,
}

/// One record on its way.
struct Record<'a> {
    layout: &'a Layout,
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Record<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Record {
            layout: &self.layout,
        }
    }
}

impl io::Write for Record<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        append(self.layout, bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn append(layout: &Layout, bytes: &[u8]) -> Result<(), DirError> {
    let dir = home::ensure_room(layout, home::LOG)?;
    if let Err(DirError::TooLarge { .. }) = dir.read(FILE, LIMIT_BYTES) {
        dir.rename(FILE, OLD_FILE)?;
        dir.replace(FILE, b"", Durability::Atomic)?;
    }
    dir.append(FILE, bytes)
}
