//! The user's terminal held by a full-screen program of harn's own: raw, on the other screen, given back when dropped, at a
//! panic of the thread that took it, and while the program is stopped.
//!
//! Draws what differs from the last picture; a terminal that takes nothing for a while loses a picture, not the program.

use std::io;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

use super::panic;
use super::signal::{self, Signals, Stop};
use super::size::Size;
use super::tty::{RawMode, Tty, is_passing, is_writable};

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
    /// Gives the screen and the modes back. `None` only while stopped.
    raw: Option<RawMode>,
    shown: Buffer,
    has_color: bool,
}

impl Stage {
    /// Takes the terminal. From now on a panic of this thread gives it back before it is told.
    pub fn open(has_color: bool) -> io::Result<Self> {
        let tty = Tty::open()?;
        panic::guard_terminal();
        let mut stage = Self {
            tty,
            raw: None,
            shown: Buffer::empty(Rect::ZERO),
            has_color,
        };
        stage.take()?;
        Ok(stage)
    }

    fn take(&mut self) -> io::Result<()> {
        let raw = RawMode::enter(&self.tty)?;
        RawMode::owes(&self.tty, LEAVE)?;
        self.raw = Some(raw);
        self.forget();
        self.write(ENTER)
    }

    /// Gives the terminal back, stops, and takes it again when the program goes on; where nobody could let it go on, at once.
    pub fn stop(&mut self, stop: Stop) -> io::Result<()> {
        self.raw = None;
        signal::stop(stop)?;
        self.take()
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
            if !is_writable(self.tty.output_fd(), PATIENCE)? {
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
    /// It was told to stop.
    Stopping,
    /// It was stopped, and goes on.
    Continued,
    /// It has to end, by this signal. A terminal that is gone hangs up, whether or not the signal comes.
    Ending(i32),
}

/// Waits for keys and signals.
#[derive(Debug)]
pub struct Listener {
    tty: Tty,
    signals: Signals,
}

impl Listener {
    pub fn open() -> io::Result<Self> {
        let mut signals = vec![Signal::SIGWINCH, Signal::SIGCONT];
        // Where the caller wants no stops there are none.
        if !signal::is_ignored(Signal::SIGTSTP as i32) {
            signals.push(Signal::SIGTSTP);
        }
        Ok(Self {
            tty: Tty::open()?,
            signals: Signals::watch(&signals)?,
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
                } else if received.signal == Signal::SIGTSTP {
                    Heard::Stopping
                } else {
                    Heard::Ending(received.signal as i32)
                }
            })
            .collect();
        if keys {
            let mut block = [0; 1024];
            match self.tty.read(&mut block) {
                Ok(0) => heard.push(Heard::Ending(Signal::SIGHUP as i32)),
                Ok(count) => {
                    let bytes = block.get(..count).unwrap_or_default();
                    heard.push(Heard::Keys(bytes.to_vec()));
                }
                Err(error) if is_passing(&error) => {}
                Err(_gone) => heard.push(Heard::Ending(Signal::SIGHUP as i32)),
            }
        }
        Ok(heard)
    }
}
