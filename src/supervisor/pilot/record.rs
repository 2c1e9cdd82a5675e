//! The harness's own record of a session, from a mark on: whole lines, each with the place where it begins.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

/// Bytes read at once.
const BLOCK_BYTES: usize = 256 * 1024;
/// A longer line is passed over.
const LINE_BYTES: usize = 32 * 1024 * 1024;

/// Reads behind a mark.
#[derive(Debug)]
pub(super) struct RecordReader {
    path: PathBuf,
    /// Another file that takes the path is not this record any more.
    inode: u64,
    /// Where the unfinished line begins.
    line_at: u64,
    carry: Vec<u8>,
    is_skipping: bool,
}

/// The record's length in bytes; none where it cannot be read or is no file.
pub(super) fn length(path: &Path) -> Option<u64> {
    let meta = open(path).and_then(|file| file.metadata()).ok()?;
    meta.is_file().then_some(meta.len())
}

fn open(path: &Path) -> io::Result<File> {
    // A FIFO in the file's place must not hold its reader up.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
}

impl RecordReader {
    pub(super) fn new(path: &Path, offset: u64) -> io::Result<Self> {
        let meta = open(path)?.metadata()?;
        Ok(Self {
            path: path.to_owned(),
            inode: meta.ino(),
            line_at: offset,
            carry: Vec::new(),
            is_skipping: false,
        })
    }

    /// Tells each line that is whole by now. A mark within a line makes the rest of that line the first one.
    pub(super) fn poll(&mut self, tell: &mut dyn FnMut(&[u8], u64)) -> io::Result<()> {
        let file = open(&self.path)?;
        let meta = file.metadata()?;
        if meta.ino() != self.inode || !meta.is_file() {
            return Err(io::Error::other("the record was replaced"));
        }
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let at = self.line_at + self.carry.len() as u64;
            let count = file.read_at(&mut block, at)?;
            let Some(read) = block.get(..count).filter(|read| !read.is_empty()) else {
                return Ok(());
            };
            self.carry.extend_from_slice(read);
            self.take_lines(tell);
        }
    }

    fn take_lines(&mut self, tell: &mut dyn FnMut(&[u8], u64)) {
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', self.carry.get(start..).unwrap_or_default()) {
            let line = self.carry.get(start..start + end).unwrap_or_default();
            if !std::mem::take(&mut self.is_skipping) {
                tell(line, self.line_at);
            }
            start += end + 1;
            self.line_at += end as u64 + 1;
        }
        self.carry.drain(..start);
        if self.carry.len() > LINE_BYTES {
            self.line_at += self.carry.len() as u64;
            self.carry.clear();
            self.is_skipping = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(reader: &mut RecordReader) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        reader
            .poll(&mut |line, at| found.push((String::from_utf8_lossy(line).into_owned(), at)))
            .unwrap();
        found
    }

    #[test]
    fn only_whole_lines_behind_the_mark_are_told_with_their_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"old\n").unwrap();
        let mut reader = RecordReader::new(&path, 4).unwrap();
        assert_eq!(lines(&mut reader), []);
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(lines(&mut reader), [("one".into(), 4)]);
        file.write_all(b"o\n\n").unwrap();
        assert_eq!(lines(&mut reader), [("two".into(), 8), (String::new(), 12)]);
        assert_eq!(length(&path), Some(13));
    }

    #[test]
    fn another_file_in_its_place_tells_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        File::create(&path).unwrap();
        let mut reader = RecordReader::new(&path, 0).unwrap();
        File::create(dir.path().join("n"))
            .unwrap()
            .write_all(b"boundary\n")
            .unwrap();
        std::fs::rename(dir.path().join("n"), &path).unwrap();
        assert!(reader.poll(&mut |_, _| ()).is_err());
        assert_eq!(length(dir.path()), None);
    }
}
