//! The demo's terminal: raw while the demo has it, as it was on every way out.

use std::io::{self, IsTerminal as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _};

use nix::libc;
use nix::sys::signal::{Signal, raise};
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

use super::paint::{ENTER, LEAVE};

/// Whether there is a user at a terminal that understands more than plain lines.
pub(super) fn is_capable() -> bool {
    is_present() && std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

pub(super) fn is_present() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// A held terminal; given back when dropped.
#[derive(Debug)]
pub(super) struct Tty {
    before: Termios,
}

impl Tty {
    pub(super) fn hold() -> io::Result<Self> {
        let before = tcgetattr(io::stdin().as_fd())?;
        let tty = Self { before };
        tty.enter()?;
        Ok(tty)
    }

    fn enter(&self) -> io::Result<()> {
        let mut raw = self.before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(io::stdin().as_fd(), SetArg::TCSADRAIN, &raw)?;
        write(ENTER)
    }

    fn leave(&self) -> io::Result<()> {
        // A terminal that reads no more must not keep its modes.
        let written = write(LEAVE);
        tcsetattr(io::stdin().as_fd(), SetArg::TCSANOW, &self.before)?;
        written
    }

    /// Ctrl-Z: gives the terminal back, stops, and takes it again when the user comes back.
    pub(super) fn suspend(&self) -> io::Result<()> {
        self.leave()?;
        raise(Signal::SIGTSTP)?;
        self.enter()
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            tracing::debug!(%error, "the terminal is gone");
        }
    }
}

/// All or an error; a closed terminal is one.
pub(super) fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// What the keyboard has; none at the end of input. Unbuffered: what poll tells is what is there.
pub(super) fn read() -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; 4096];
    let count = match nix::unistd::read(io::stdin().as_fd(), &mut bytes) {
        Ok(count) => count,
        Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => return Ok(Some(Vec::new())),
        Err(nix::errno::Errno::EIO | nix::errno::Errno::EBADF) => 0,
        Err(errno) => return Err(errno.into()),
    };
    bytes.truncate(count);
    Ok((count > 0).then_some(bytes))
}

/// Columns and rows.
#[expect(unsafe_code, reason = "the size has no safe call")]
pub(super) fn size() -> (usize, usize) {
    let mut size = MaybeUninit::<libc::winsize>::zeroed();
    // SAFETY: the request writes one `winsize` to memory of its type.
    let asked = unsafe {
        libc::ioctl(
            io::stdout().as_raw_fd(),
            libc::TIOCGWINSZ,
            size.as_mut_ptr(),
        )
    };
    // SAFETY: zeroed memory is a valid `winsize`, filled or not.
    let size = unsafe { size.assume_init() };
    if asked == 0 && size.ws_col > 0 && size.ws_row > 0 {
        (size.ws_col.into(), size.ws_row.into())
    } else {
        (80, 24)
    }
}
