//! The user's terminal held by a full-screen program of harn's own: raw, on the other screen, given back when dropped.
//!
//! Draws what differs from the last picture; a terminal that takes nothing for a while loses a picture, not the program.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

use super::signal::Signals;
use super::size::Size;
use super::tty::{RawMode, Tty};

const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J";
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";
/// A terminal that takes nothing for so long misses the picture.
const PATIENCE: Duration = Duration::from_millis(500);
/// A terminal tells sizes that are no screen's.
const MOST: u16 = 1_000;

/// A held terminal.
#[derive(Debug)]
pub struct Stage {
    tty: Tty,
    /// Dropped last: its modes come back after the screen.
    raw: RawMode,
    shown: Buffer,
    has_color: bool,
}

impl Stage {
    /// Takes the terminal.
    pub fn open(has_color: bool) -> io::Result<Self> {
        let tty = Tty::open()?;
        let raw = RawMode::enter(&tty)?;
        let mut stage = Self {
            tty,
            raw,
            shown: Buffer::empty(Rect::ZERO),
            has_color,
        };
        stage.write(ENTER)?;
        Ok(stage)
    }

    /// The terminal as it is now.
    pub fn area(&self) -> Rect {
        let size = self.tty.size().unwrap_or(Size {
            rows: 0,
            cols: 0,
            width_px: 0,
            height_px: 0,
        });
        let size = size.or_usual();
        Rect::new(0, 0, size.cols.min(MOST), size.rows.min(MOST))
    }

    /// Takes the terminal again after something else had it; all is drawn anew.
    pub fn renew(&mut self) -> io::Result<()> {
        RawMode::renew(&self.tty)?;
        self.forget();
        self.write(ENTER)
    }

    /// What is on the screen is not known any more: a terminal that changed its size keeps what it likes.
    pub fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
    }

    /// Shows a picture.
    pub fn show(&mut self, next: Buffer) -> io::Result<()> {
        let mut bytes = Vec::new();
        if self.shown.area != next.area {
            bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
            self.shown = Buffer::empty(next.area);
        }
        let mut pen = Pen::default();
        for (x, y, cell) in self.shown.diff(&next) {
            pen.put(&mut bytes, (x, y), cell, self.has_color);
        }
        self.shown = next;
        let done = self.write(&bytes);
        if done.is_err() {
            // Nobody knows what arrived of it.
            self.forget();
        }
        done
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if !is_ready(self.tty.output_fd(), PollFlags::POLLOUT)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match self.tty.write(bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = self.write(LEAVE) {
            tracing::debug!(%error, raw = ?self.raw, "the screen was not given back");
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn is_ready(fd: BorrowedFd<'_>, flags: PollFlags) -> io::Result<bool> {
    let mut fds = [PollFd::new(fd, flags)];
    let limit = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
    match poll(&mut fds, limit) {
        Ok(count) => Ok(count > 0),
        Err(nix::errno::Errno::EINTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Where the cursor stands and what colour it has.
#[derive(Debug, Default)]
struct Pen {
    at: Option<(u16, u16)>,
    look: Option<(Color, Modifier)>,
}

impl Pen {
    fn put(&mut self, bytes: &mut Vec<u8>, (x, y): (u16, u16), cell: &Cell, has_color: bool) {
        if self.at != Some((x, y)) {
            let (row, column) = (u32::from(y) + 1, u32::from(x) + 1);
            bytes.extend_from_slice(format!("\x1b[{row};{column}H").as_bytes());
        }
        let look = (cell.fg, cell.modifier);
        if self.look != Some(look) {
            bytes.extend_from_slice(b"\x1b[0");
            for (modifier, code) in [
                (Modifier::BOLD, ";1"),
                (Modifier::DIM, ";2"),
                (Modifier::UNDERLINED, ";4"),
                (Modifier::REVERSED, ";7"),
            ] {
                if cell.modifier.contains(modifier) {
                    bytes.extend_from_slice(code.as_bytes());
                }
            }
            if has_color && let Some(code) = code_of(cell.fg) {
                bytes.extend_from_slice(format!(";{code}").as_bytes());
            }
            bytes.push(b'm');
            self.look = Some(look);
        }
        bytes.extend_from_slice(cell.symbol().as_bytes());
        // After a wide or the last character terminals differ; the place is told anew.
        self.at = (cell.symbol().len() == 1).then_some((x.saturating_add(1), y));
    }
}

/// The colours that the dashboard uses, as the user's terminal has them.
fn code_of(color: Color) -> Option<u8> {
    [
        (Color::Red, 31),
        (Color::Green, 32),
        (Color::Yellow, 33),
        (Color::Blue, 34),
        (Color::Cyan, 36),
    ]
    .into_iter()
    .find_map(|(known, code)| (known == color).then_some(code))
}

/// What comes from the user and the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Keys(Vec<u8>),
    Resized,
    /// It was stopped, and goes on.
    Continued,
    /// It has to end, by this signal; none: the terminal is gone.
    Ending(Option<i32>),
}

/// Waits for keys and signals.
#[derive(Debug)]
pub struct Listener {
    tty: Tty,
    signals: Signals,
}

impl Listener {
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            tty: Tty::open()?,
            signals: Signals::watch(&[Signal::SIGWINCH, Signal::SIGCONT])?,
        })
    }

    /// Waits for the next.
    pub fn hear(&mut self) -> io::Result<Vec<Heard>> {
        let mut fds = [
            PollFd::new(self.tty.input_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [keys, _] = fds.map(|fd| fd.any().unwrap_or(false));
        let mut heard: Vec<Heard> = self
            .signals
            .take()
            .into_iter()
            .map(|received| {
                if received.signal == Signal::SIGWINCH {
                    Heard::Resized
                } else if received.signal == Signal::SIGCONT {
                    Heard::Continued
                } else {
                    Heard::Ending(Some(received.signal as i32))
                }
            })
            .collect();
        if keys {
            let mut block = [0; 1024];
            match self.tty.read(&mut block) {
                Ok(0) => heard.push(Heard::Ending(None)),
                Ok(count) => {
                    let bytes = block.get(..count).unwrap_or_default();
                    heard.push(Heard::Keys(bytes.to_vec()));
                }
                Err(error) if is_passing(&error) => {}
                Err(_gone) => heard.push(Heard::Ending(None)),
            }
        }
        Ok(heard)
    }
}
