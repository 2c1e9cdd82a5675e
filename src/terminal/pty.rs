//! The PTY between harn and the program. The one user of portable-pty, for opening, sizing and closing.
//!
//! Its writer is never taken, because that sends an end-of-file when dropped; its spawn is not used, because that closes
//! descriptors the user passed and loses exec errors and signal numbers.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sys::termios::{SetArg, Termios, tcsetattr};
use portable_pty::{MasterPty, PtySize, native_pty_system};

use super::size::Size;

pub(super) struct Pty {
    master: Box<dyn MasterPty + Send>,
    bytes: File,
}

impl Pty {
    /// Opens a pair of this size, the program's side with the modes of the user's terminal. Returns the program's side too.
    pub(super) fn open(size: Size, modes: &Termios) -> io::Result<(Self, OwnedFd)> {
        let pair = native_pty_system()
            .openpty(to_pty(size))
            .map_err(io::Error::other)?;
        let name = pair
            .master
            .tty_name()
            .ok_or_else(|| io::Error::other("the PTY has no name"))?;
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY)
            .open(name)?;
        tcsetattr(&slave, SetArg::TCSANOW, modes)?;
        let bytes = own_handle(pair.master.as_ref())?;
        // This end is ours alone, so nobody else sees the flag.
        let flags = OFlag::from_bits_retain(fcntl(&bytes, FcntlArg::F_GETFL)?);
        fcntl(&bytes, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        Ok((
            Self {
                master: pair.master,
                bytes,
            },
            slave.into(),
        ))
    }

    pub(super) fn resize(&self, size: Size) -> io::Result<()> {
        self.master.resize(to_pty(size)).map_err(io::Error::other)
    }

    /// Never waits. 0 is the end: no process has the program's side open any more.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match (&self.bytes).read(buffer) {
            Err(error) if error.raw_os_error() == Some(Errno::EIO as i32) => Ok(0),
            done => done,
        }
    }

    /// Never waits.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.bytes).write(bytes)
    }
}

impl AsFd for Pty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bytes.as_fd()
    }
}

fn to_pty(size: Size) -> PtySize {
    PtySize {
        rows: size.rows,
        cols: size.cols,
        pixel_width: size.width_px,
        pixel_height: size.height_px,
    }
}

#[expect(unsafe_code, reason = "portable-pty only lends the raw descriptor")]
fn own_handle(master: &dyn MasterPty) -> io::Result<File> {
    let raw = master
        .as_raw_fd()
        .ok_or_else(|| io::Error::other("the PTY has no descriptor"))?;
    // SAFETY: the master owns the descriptor and outlives this borrow.
    let borrowed = unsafe { BorrowedFd::borrow_raw(raw) };
    Ok(borrowed.try_clone_to_owned()?.into())
}
