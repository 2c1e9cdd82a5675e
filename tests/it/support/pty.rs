//! The outer terminal of a test: what the user's terminal emulator would be.
//!
//! A program runs as session leader on a fresh PTY; a thread reads what it prints into a vt100 screen and keeps the raw
//! bytes. Tests wait for named things with a limit and never sleep.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::{Pid, setsid};
use portable_pty::{MasterPty, PtySize, native_pty_system};

use super::env::shell_code;

/// How long `wait_text` and the like wait: far beyond any sound run, so that only a fault reaches it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Cells and pixels of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) rows: u16,
    pub(crate) cols: u16,
    pub(crate) width: u16,
    pub(crate) height: u16,
}

impl Size {
    /// 10 x 20 pixels a cell.
    pub(crate) fn cells(rows: u16, cols: u16) -> Self {
        Self {
            rows,
            cols,
            width: cols.wrapping_mul(10),
            height: rows.wrapping_mul(20),
        }
    }

    fn pty(self) -> PtySize {
        PtySize {
            rows: self.rows,
            cols: self.cols,
            pixel_width: self.width,
            pixel_height: self.height,
        }
    }
}

struct Shown {
    parser: vt100::Parser,
    raw: Vec<u8>,
    ended: bool,
}

struct Shared {
    shown: Mutex<Shown>,
    changed: Condvar,
}

impl Shared {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A terminal with a program in it. Dropped, it hangs up and kills the program.
pub(crate) struct Pty {
    child: Child,
    master: Option<Box<dyn MasterPty + Send>>,
    input: Option<File>,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
    stop: Option<UnixStream>,
    pause: Option<Pause>,
}

/// While held, the reader thread reads nothing: a stalled terminal.
type Pause = Arc<(Mutex<bool>, Condvar)>;

impl Pty {
    /// Starts `command` on a terminal of this many rows and columns (10 x 20 pixels each).
    pub(crate) fn spawn(command: Command, rows: u16, cols: u16) -> Self {
        Self::spawn_sized(command, Size::cells(rows, cols))
    }

    pub(crate) fn spawn_sized(mut command: Command, size: Size) -> Self {
        let pair = native_pty_system().openpty(size.pty()).unwrap();
        let name = pair.master.tty_name().unwrap();
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY)
            .open(name)
            .unwrap();
        drop(pair.slave);
        command.stdin(slave.try_clone().unwrap());
        command.stdout(slave.try_clone().unwrap());
        command.stderr(slave);
        lead_session(&mut command);
        let child = command.spawn().unwrap();
        // The command holds the slave's descriptors; with them open the reader would never see the end.
        drop(command);

        let input = own_handle(pair.master.as_ref());
        let shared = Arc::new(Shared {
            shown: Mutex::new(Shown {
                parser: parser(size.rows, size.cols),
                raw: Vec::new(),
                ended: false,
            }),
            changed: Condvar::new(),
        });
        let (stop, stopped) = UnixStream::pair().unwrap();
        let pause = Arc::new((Mutex::new(false), Condvar::new()));
        let reader = thread::spawn({
            let (shared, pause) = (Arc::clone(&shared), Arc::clone(&pause));
            let output = input.try_clone().unwrap();
            move || read_all(output, &stopped, &shared, &pause)
        });
        Self {
            child,
            master: Some(pair.master),
            input: Some(input),
            shared,
            reader: Some(reader),
            stop: Some(stop),
            pause: Some(pause),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    /// Sends the program a signal; one that is gone already is no failure.
    pub(crate) fn signal(&self, signal: Signal) {
        match kill(self.pid(), signal) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("kill: {error}"),
        }
    }

    /// Types these bytes.
    pub(crate) fn send(&self, bytes: &[u8]) {
        self.input.as_ref().unwrap().write_all(bytes).unwrap();
    }

    /// Stops reading what the program prints, as a terminal with a held scroll bar does.
    pub(crate) fn stall(&self) {
        *self.pause.as_ref().unwrap().0.lock().unwrap() = true;
    }

    /// Reads again after [`Pty::stall`].
    pub(crate) fn unstall(&self) {
        let pause = self.pause.as_ref().unwrap();
        *pause.0.lock().unwrap() = false;
        pause.1.notify_all();
    }

    pub(crate) fn resize(&self, rows: u16, cols: u16) {
        self.resize_sized(Size::cells(rows, cols));
    }

    pub(crate) fn resize_sized(&self, size: Size) {
        self.shared
            .shown()
            .parser
            .set_size(cells(size.rows), cells(size.cols));
        self.master.as_ref().unwrap().resize(size.pty()).unwrap();
    }

    /// The terminal's modes as they are now.
    pub(crate) fn termios(&self) -> Termios {
        tcgetattr(self.input.as_ref().unwrap()).unwrap()
    }

    /// The visible text, rows joined by newlines.
    pub(crate) fn screen(&self) -> String {
        self.shared.shown().parser.screen().contents()
    }

    /// Every byte printed so far.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.shared.shown().raw.clone()
    }

    /// Waits until `seen` holds of the screen's text; panics with `what` and the screen after `limit`.
    pub(crate) fn wait_for(&self, what: &str, limit: Duration, seen: impl Fn(&str) -> bool) {
        self.wait_shown(what, limit, |shown| seen(&shown.parser.screen().contents()));
    }

    /// Waits until `seen` holds of the bytes printed so far.
    pub(crate) fn wait_raw(&self, what: &str, limit: Duration, seen: impl Fn(&[u8]) -> bool) {
        self.wait_shown(what, limit, |shown| seen(&shown.raw));
    }

    /// Waits until the screen holds this text.
    pub(crate) fn wait_text(&self, text: &str) {
        self.wait_for(&format!("text {text:?}"), PATIENCE, |screen| {
            screen.contains(text)
        });
    }

    fn wait_shown(&self, what: &str, limit: Duration, seen: impl Fn(&Shown) -> bool) {
        let end = now() + limit;
        let mut shown = self.shared.shown();
        while !seen(&shown) {
            let left = end.saturating_duration_since(now());
            if left.is_zero() || shown.ended {
                let why = if shown.ended {
                    "the program ended"
                } else {
                    "the limit passed"
                };
                let screen = shown.parser.screen().contents();
                let bytes = shown.raw.len();
                drop(shown);
                panic!("waited for {what}, {why}; {bytes} bytes seen, the screen:\n{screen}\n---");
            }
            shown = self
                .shared
                .changed
                .wait_timeout(shown, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }

    /// Waits for the program's end and the last of its output, and returns the status as a shell shows it.
    pub(crate) fn wait_exit(&mut self, limit: Duration) -> i32 {
        let end = now() + limit;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                now() < end,
                "the program did not end in {limit:?}; the screen:\n{}\n---",
                self.screen()
            );
            // Looking again is the portable way to wait for a child with a limit.
            thread::park_timeout(Duration::from_millis(2));
        };
        let mut shown = self.shared.shown();
        // Something else may hold the terminal open, so its end is waited for but not required.
        let grace = now() + Duration::from_secs(1);
        while !shown.ended && now() < grace {
            let left = grace.saturating_duration_since(now());
            shown = self
                .shared
                .changed
                .wait_timeout(shown, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
        shell_code(status)
    }

    /// The terminal window is closed: both sides of the user's end go away. The program goes on being a child.
    pub(crate) fn hang_up(&mut self) {
        self.unstall();
        if let Some(mut stop) = self.stop.take() {
            // The reader may have left already.
            stop.write_all(b"x").unwrap_or_default();
        }
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap_or_default();
        }
        self.input = None;
        self.master = None;
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.hang_up();
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the limits of a test are real time"
)]
fn now() -> Instant {
    Instant::now()
}

fn cells(count: u16) -> NonZeroU16 {
    // vt100 is unsound below two cells a side.
    NonZeroU16::new(count.max(2)).unwrap()
}

fn parser(rows: u16, cols: u16) -> vt100::Parser {
    vt100::Parser::new(cells(rows), cells(cols), 0)
}

#[expect(
    unsafe_code,
    reason = "a session of its own takes calls between fork and exec"
)]
fn lead_session(command: &mut Command) {
    let lead = || {
        setsid()?;
        // SAFETY: descriptor 0 is the slave, put there by `Command` before this runs; the request takes an int.
        let done = unsafe { libc::ioctl(0, libc::c_ulong::from(libc::TIOCSCTTY) as _, 0) };
        Errno::result(done).map(drop).map_err(Into::into)
    };
    // SAFETY: only setsid and ioctl, both async-signal-safe.
    unsafe { command.pre_exec(lead) };
}

/// A handle of our own: portable-pty's writer sends an end-of-file to the program when it is dropped.
#[expect(unsafe_code, reason = "portable-pty only lends the raw descriptor")]
fn own_handle(master: &dyn MasterPty) -> File {
    // SAFETY: the master outlives this borrow.
    let borrowed = unsafe { BorrowedFd::borrow_raw(master.as_raw_fd().unwrap()) };
    borrowed.try_clone_to_owned().unwrap().into()
}

fn read_all(mut output: File, stopped: &UnixStream, shared: &Shared, pause: &Pause) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mut stalled = pause.0.lock().unwrap();
        while *stalled {
            stalled = pause.1.wait(stalled).unwrap();
        }
        drop(stalled);
        let mut fds = [
            PollFd::new(output.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("poll: {error}"),
        }
        if fds[1].any() == Some(true) {
            break;
        }
        if *pause.0.lock().unwrap() {
            continue;
        }
        let count = match output.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            // EIO: every descriptor of the slave is closed.
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let mut shown = shared.shown();
        shown.raw.extend_from_slice(&buffer[..count]);
        shown.parser.process(&buffer[..count]);
        drop(shown);
        shared.changed.notify_all();
    }
    shared.shown().ended = true;
    shared.changed.notify_all();
}
