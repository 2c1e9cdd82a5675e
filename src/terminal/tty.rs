//! The user's terminal: its bytes, its size, and its modes, which it gets back on every way out.
//!
//! The inherited descriptors are shared with the user's shell, so no flag of theirs is ever changed. The terminal is opened
//! again by name, which gives descriptions of our own that can be non-blocking. Where that is refused (another user's
//! terminal after `su`) the inherited ones serve, with writes small enough for what poll promises.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use nix::unistd::ttyname;

use super::size::Size;

/// Largest write to a descriptor that may block: poll calls a terminal writable when this much fits.
const BLOCKING_WRITE_BYTES: usize = 256;

/// Whether there is a user at a terminal: one to read from and one to print to.
pub fn is_present() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

#[derive(Debug)]
pub(super) struct Tty {
    input: File,
    output: File,
    write_limit: usize,
}

impl Tty {
    pub(super) fn open() -> io::Result<Self> {
        let input = match open_again(io::stdin().as_fd(), OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(_) => inherited(io::stdin().as_fd())?,
        };
        let (output, write_limit) =
            match open_again(io::stdout().as_fd(), OpenOptions::new().write(true)) {
                Ok(file) => (file, usize::MAX),
                Err(_) => (inherited(io::stdout().as_fd())?, BLOCKING_WRITE_BYTES),
            };
        Ok(Self {
            input,
            output,
            write_limit,
        })
    }

    pub(super) fn input_fd(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub(super) fn output_fd(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// To be called when poll says so. 0 is a hang-up.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.input).read(buffer)
    }

    /// To be called when poll says so, or at any time on a description of our own.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.output).write(bytes.get(..self.write_limit).unwrap_or(bytes))
    }

    /// Whether a write may be tried without asking poll first.
    pub(super) fn is_nonblocking(&self) -> bool {
        self.write_limit == usize::MAX
    }

    pub(super) fn size(&self) -> io::Result<Size> {
        size_of(&self.output)
    }

    /// The path of the terminal, empty when it has none.
    pub(super) fn name(&self) -> PathBuf {
        ttyname(&self.input).unwrap_or_default()
    }

    /// The modes as they are.
    pub(super) fn modes(&self) -> io::Result<Termios> {
        Ok(tcgetattr(&self.input)?)
    }
}

/// Columns of the terminal on standard output; none where it is another thing, or does not know.
pub fn columns() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = size_of(&stdout).ok()?;
    Some(usize::from(size.cols)).filter(|cols| *cols > 0)
}

#[expect(unsafe_code, reason = "the size in cells and pixels has no safe call")]
fn size_of(terminal: &impl std::os::fd::AsRawFd) -> io::Result<Size> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the request fills a `winsize`.
    let done = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    Errno::result(done)?;
    Ok(Size {
        rows: size.ws_row,
        cols: size.ws_col,
        width_px: size.ws_xpixel,
        height_px: size.ws_ypixel,
    })
}

fn open_again(fd: BorrowedFd<'_>, options: &mut OpenOptions) -> io::Result<File> {
    options
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
        .open(ttyname(fd)?)
}

fn inherited(fd: BorrowedFd<'_>) -> io::Result<File> {
    Ok(fd.try_clone_to_owned()?.into())
}

/// What to give back, reachable from a panic hook.
struct Kept {
    input: File,
    modes: Termios,
    /// What to write before the modes come back, and where.
    farewell: Option<(File, &'static [u8])>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// A terminal that takes nothing for so long gets no farewell.
const FAREWELL_PATIENCE: Duration = Duration::from_millis(500);

/// While this lives the terminal is raw. There is one in a process.
#[derive(Debug)]
pub(super) struct RawMode;

impl RawMode {
    pub(super) fn enter(tty: &Tty) -> io::Result<Self> {
        let modes = tty.modes()?;
        let mut raw = modes.clone();
        cfmakeraw(&mut raw);
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Kept {
            input: tty.input.try_clone()?,
            modes,
            farewell: None,
        });
        let guard = Self;
        set_modes(&tty.input, &raw)?;
        Ok(guard)
    }

    /// Whatever ends the raw mode that was entered, these few bytes are written first.
    pub(super) fn owes(tty: &Tty, farewell: &'static [u8]) -> io::Result<()> {
        let output = tty.output.try_clone()?;
        if let Some(kept) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            kept.farewell = Some((output, farewell));
        }
        Ok(())
    }

    /// Raw again after something else had the terminal (a shell, while we were stopped from outside).
    pub(super) fn renew(tty: &Tty) -> io::Result<()> {
        let mut raw = tty.modes()?;
        cfmakeraw(&mut raw);
        set_modes(&tty.input, &raw)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        give_back();
    }
}

/// Whether a terminal is held in raw mode right now.
pub(super) fn is_held() -> bool {
    KEPT.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .is_some()
}

/// Gives the terminal its screen and its modes back; nothing happens when that was done.
pub(super) fn give_back() {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(kept) = kept else { return };
    if let Some((output, bytes)) = &kept.farewell
        && let Err(error) = write_within(output, bytes, FAREWELL_PATIENCE)
    {
        tracing::debug!(%error, "the screen was not given back");
    }
    if let Err(error) = set_modes(&kept.input, &kept.modes) {
        // The terminal is gone; there is nothing to give back to.
        tracing::debug!(%error, "terminal modes not restored");
    }
}

/// Writes few enough bytes for a descriptor that may block; waits no longer than `patience` for each part.
fn write_within(mut output: &File, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
    while !bytes.is_empty() {
        if !is_writable(output.as_fd(), patience)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match output.write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a failure says only: not now.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Whether a terminal takes bytes within `patience`.
pub(super) fn is_writable(fd: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(fd, PollFlags::POLLOUT)];
    let limit = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    match poll(&mut fds, limit) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Gives a terminal its modes back on behalf of a host that was killed. Only if it is still raw in the host's own way: a
/// shell that took over has set what it wants.
pub(super) fn give_back_for_host(name: &Path, modes: &Termios) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let tty = options
        .read(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
        .open(name)?;
    let mut raw = modes.clone();
    cfmakeraw(&mut raw);
    let now = tcgetattr(&tty)?;
    let is_ours = now.local_flags == raw.local_flags
        && now.input_flags == raw.input_flags
        && now.output_flags == raw.output_flags;
    if is_ours {
        set_modes(&tty, modes)
    } else {
        Ok(())
    }
}

/// At once, not after the output has drained: a stalled terminal would hold us here.
fn set_modes(file: &File, modes: &Termios) -> io::Result<()> {
    loop {
        match tcsetattr(file, SetArg::TCSANOW, modes) {
            Err(Errno::EINTR) => {}
            done => return Ok(done?),
        }
    }
}
