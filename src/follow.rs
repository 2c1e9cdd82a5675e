//! Follows a file that another program appends to: by device, inode and offset, tail first.
//!
//! The one reader of transcripts. Memory is bounded by the longest line that is taken; a longer one is skipped and
//! counted. A last line without its line feed is left for later. Called by hooks (a position is kept between two
//! processes) and by whoever watches a session.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

/// Bytes read at once.
const BLOCK_BYTES: usize = 128 * 1024;
/// Bytes before the offset by which a file is known again.
const MARK_BYTES: usize = 32;

/// How far a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    device: u64,
    inode: u64,
    /// Everything before this has been delivered or skipped.
    offset: u64,
    /// A checksum of the bytes just before the offset: a file that was rewritten in place has others there.
    mark: u64,
    /// The offset is within a line that is too long.
    skipping: bool,
}

/// Bounds of one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A longer line is skipped.
    pub line_bytes: usize,
    /// How far back the first look goes.
    pub back_bytes: u64,
    /// With more than this appended, only the tail is looked at.
    pub forward_bytes: u64,
}

impl Limits {
    /// For a process that must be gone in a few milliseconds.
    pub const BRIEF: Self = Self {
        line_bytes: 2 * 1024 * 1024,
        back_bytes: 4 * 1024 * 1024,
        forward_bytes: 4 * 1024 * 1024,
    };
    /// For one that has time.
    pub const PATIENT: Self = Self {
        line_bytes: 4 * 1024 * 1024,
        back_bytes: 256 * 1024 * 1024,
        forward_bytes: u64::MAX,
    };
}

/// In which order lines come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the end of the file backwards, until the reader has enough.
    NewestFirst,
    /// Appended lines.
    OldestFirst,
}

/// Why the file was read from its tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    First,
    /// Another file has taken the path.
    Replaced,
    Truncated,
    Rewritten,
    /// Too much was appended.
    Behind,
}

/// What one look brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Set when the tail was read instead of what is new.
    pub start: Option<Start>,
    pub lines: u64,
    /// Lines too long to take.
    pub oversized: u64,
}

/// Why a file cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    #[error("{} is not there", path.display())]
    Missing { path: PathBuf },
    #[error("{} is no regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Lines and their order in; `Break` when no further line is wanted in this look.
pub type Take<'a> = &'a mut dyn FnMut(&[u8], Order) -> ControlFlow<()>;

/// A file that is being followed.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    limits: Limits,
    position: Option<Position>,
    /// The unfinished line behind the position.
    carry: Vec<u8>,
}

impl Follower {
    /// Nothing is opened yet; `position` is where an earlier process stopped.
    pub fn new(path: impl Into<PathBuf>, limits: Limits, position: Option<Position>) -> Self {
        Self {
            path: path.into(),
            limits,
            position,
            carry: Vec::new(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// The file's first line; `None` while it is unfinished, and where it is too long. Changes no position.
    pub fn first_line(&self) -> Result<Option<Vec<u8>>, FollowError> {
        let (file, _) = self.open_file()?;
        let mut line = Vec::new();
        let mut block = vec![0; BLOCK_BYTES];
        while line.len() <= self.limits.line_bytes {
            let count = read_at(&file, &mut block, line.len() as u64)
                .map_err(|source| self.failed(source))?;
            let piece = block.get(..count).unwrap_or_default();
            if let Some(end) = memchr::memchr(b'\n', piece) {
                line.extend_from_slice(piece.get(..end).unwrap_or_default());
                return Ok((line.len() <= self.limits.line_bytes).then_some(line));
            }
            if count == 0 {
                break;
            }
            line.extend_from_slice(piece);
        }
        Ok(None)
    }

    /// Looks at what is new.
    pub fn poll(&mut self, take: Take<'_>) -> Result<Progress, FollowError> {
        let (file, meta) = self.open_file()?;
        let done = match self.start(&file, &meta) {
            Ok(Ok(position)) => self.forward(&file, position, take),
            Ok(Err(start)) => self.tail(&file, &meta, start, take),
            Err(error) => Err(error),
        };
        done.map_err(|source| self.failed(source))
    }

    fn open_file(&self) -> Result<(File, Metadata), FollowError> {
        let file = self.open()?;
        let meta = file.metadata().map_err(|source| self.failed(source))?;
        if !meta.is_file() {
            let path = self.path.clone();
            return Err(FollowError::NotAFile { path });
        }
        Ok((file, meta))
    }

    fn open(&self) -> Result<File, FollowError> {
        // A FIFO in the file's place must not hold its reader up.
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits())
            .open(&self.path)
            .map_err(|source| {
                if source.kind() == io::ErrorKind::NotFound {
                    let path = self.path.clone();
                    FollowError::Missing { path }
                } else {
                    self.failed(source)
                }
            })
    }

    fn failed(&self, source: io::Error) -> FollowError {
        FollowError::Io {
            path: self.path.clone(),
            source,
        }
    }

    /// Where to go on, or why to begin again.
    fn start(&self, file: &File, meta: &Metadata) -> io::Result<Result<Position, Start>> {
        let Some(position) = self.position else {
            return Ok(Err(Start::First));
        };
        if (position.device, position.inode) != (meta.dev(), meta.ino()) {
            return Ok(Err(Start::Replaced));
        }
        if meta.len() < position.offset {
            return Ok(Err(Start::Truncated));
        }
        if mark(file, position.offset)? != position.mark {
            return Ok(Err(Start::Rewritten));
        }
        if meta.len() - position.offset > self.limits.forward_bytes {
            return Ok(Err(Start::Behind));
        }
        Ok(Ok(position))
    }

    fn forward(
        &mut self,
        file: &File,
        mut position: Position,
        take: Take<'_>,
    ) -> io::Result<Progress> {
        let mut progress = Progress::default();
        let before = position.offset;
        let mut block = vec![0; BLOCK_BYTES];
        let mut at = position.offset + self.carry.len() as u64;
        'file: loop {
            let count = read_at(file, &mut block, at)?;
            if count == 0 {
                break;
            }
            at += count as u64;
            let mut rest = block.get(..count).unwrap_or_default();
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let (piece, after) = rest.split_at(end);
                rest = after.get(1..).unwrap_or_default();
                position.offset = at - rest.len() as u64;
                let flow = self.finish(piece, &mut position, &mut progress, take);
                self.carry.clear();
                if flow.is_break() {
                    break 'file;
                }
            }
            self.keep(rest, at, &mut position, &mut progress);
        }
        if position.offset != before {
            position.mark = mark(file, position.offset)?;
        }
        self.position = Some(position);
        Ok(progress)
    }

    /// Delivers the line that `piece` ends.
    fn finish(
        &mut self,
        piece: &[u8],
        position: &mut Position,
        progress: &mut Progress,
        take: Take<'_>,
    ) -> ControlFlow<()> {
        if position.skipping {
            position.skipping = false;
            return ControlFlow::Continue(());
        }
        if self.carry.len() + piece.len() > self.limits.line_bytes {
            progress.oversized += 1;
            return ControlFlow::Continue(());
        }
        progress.lines += 1;
        if self.carry.is_empty() {
            return take(piece, Order::OldestFirst);
        }
        self.carry.extend_from_slice(piece);
        take(&self.carry, Order::OldestFirst)
    }

    /// Keeps the beginning of an unfinished line, or lets it go when it is too long.
    fn keep(&mut self, rest: &[u8], at: u64, position: &mut Position, progress: &mut Progress) {
        if position.skipping {
            position.offset = at;
        } else if self.carry.len() + rest.len() > self.limits.line_bytes {
            progress.oversized += 1;
            position.skipping = true;
            position.offset = at;
            self.carry = Vec::new();
        } else {
            self.carry.extend_from_slice(rest);
        }
    }

    fn tail(
        &mut self,
        file: &File,
        meta: &Metadata,
        start: Start,
        take: Take<'_>,
    ) -> io::Result<Progress> {
        self.carry = Vec::new();
        let mut back = Back::new(file, meta.len(), self.limits);
        let mut progress = back.run(take)?;
        progress.start = Some(start);
        let offset = back.whole_until.unwrap_or(meta.len());
        self.position = Some(Position {
            device: meta.dev(),
            inode: meta.ino(),
            offset,
            mark: mark(file, offset)?,
            skipping: back.whole_until.is_none() && meta.len() > 0,
        });
        Ok(progress)
    }
}

/// A walk from the end of a file to its beginning.
struct Back<'a> {
    file: &'a File,
    limits: Limits,
    at: u64,
    /// Behind the last line feed; what follows is unfinished.
    whole_until: Option<u64>,
    /// The later parts of the line at hand, last one first.
    parts: Vec<Vec<u8>>,
    length: usize,
    too_long: bool,
}

impl<'a> Back<'a> {
    fn new(file: &'a File, size: u64, limits: Limits) -> Self {
        Self {
            file,
            limits,
            at: size,
            whole_until: None,
            parts: Vec::new(),
            length: 0,
            too_long: false,
        }
    }

    fn run(&mut self, take: Take<'_>) -> io::Result<Progress> {
        let mut progress = Progress::default();
        let floor = self.at.saturating_sub(self.limits.back_bytes);
        while self.at > floor {
            let size = (self.at - floor).min(BLOCK_BYTES as u64);
            let start = self.at - size;
            let mut block = vec![0; usize::try_from(size).unwrap_or(BLOCK_BYTES)];
            self.file.read_exact_at(&mut block, start)?;
            self.at = start;
            let mut rest = block.as_slice();
            while let Some(end) = memchr::memrchr(b'\n', rest) {
                let (before, line) = rest.split_at(end);
                rest = before;
                if self.whole_until.is_none() {
                    // What follows the last line feed is unfinished.
                    self.whole_until = Some(start + end as u64 + 1);
                    self.forget();
                } else if self.finish(line.get(1..).unwrap_or_default(), &mut progress, take) {
                    return Ok(progress);
                }
            }
            self.hold(rest);
        }
        if self.at == 0 && self.whole_until.is_some() {
            self.finish(b"", &mut progress, take);
        } else if self.whole_until.is_none() && self.at == 0 && !self.too_long {
            // The only line is unfinished: all of it is still to come.
            self.whole_until = Some(0);
        }
        Ok(progress)
    }

    fn forget(&mut self) {
        self.parts.clear();
        self.length = 0;
        self.too_long = false;
    }

    fn hold(&mut self, part: &[u8]) {
        self.length += part.len();
        if self.length > self.limits.line_bytes {
            self.too_long = true;
            self.parts.clear();
        } else if !self.too_long {
            self.parts.push(part.to_vec());
        }
    }

    /// Delivers the line at hand, of which `head` is the first part; whether the reader has enough.
    fn finish(&mut self, head: &[u8], progress: &mut Progress, take: Take<'_>) -> bool {
        self.length += head.len();
        let flow = if self.too_long || self.length > self.limits.line_bytes {
            progress.oversized += 1;
            ControlFlow::Continue(())
        } else if self.parts.is_empty() {
            progress.lines += 1;
            take(head, Order::NewestFirst)
        } else {
            progress.lines += 1;
            let mut line = head.to_vec();
            for part in self.parts.iter().rev() {
                line.extend_from_slice(part);
            }
            take(&line, Order::NewestFirst)
        };
        self.forget();
        flow.is_break()
    }
}

fn read_at(file: &File, block: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(block, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn mark(file: &File, offset: u64) -> io::Result<u64> {
    let size = offset.min(MARK_BYTES as u64);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, offset - size) {
        Ok(()) => {}
        // Cut while being looked at: whatever this gives, it is not the mark that was kept.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
        Err(error) => return Err(error),
    }
    // FNV-1a: all that is asked of it is to tell other bytes apart.
    Ok(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
