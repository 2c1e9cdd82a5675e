//! The two ends and the bytes between them: the user's terminal, the PTY, and one bounded flow each way.
//!
//! Each end may close on its own. What is read from one end is written to the other before anything else sees it; what
//! cannot be written yet keeps the near end unread.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::flow::Flow;
use super::host::HostEvent;
use super::modes::Modes;
use super::pty::Pty;
use super::tty::Tty;

pub(super) struct Bridge {
    pub(super) tty: Tty,
    pub(super) pty: Pty,
    input: Flow,
    output: Flow,
    modes: Modes,
    /// False once the user's terminal hung up.
    is_tty_open: bool,
    /// False once nothing holds the program's side any more.
    is_pty_open: bool,
}

/// What a poll found.
#[derive(Debug)]
pub(super) struct Ready {
    others: [PollFlags; 2],
    tty_input: PollFlags,
    tty_output: PollFlags,
    pty: PollFlags,
    /// Whether the PTY was asked for output at all.
    was_output_asked: bool,
}

impl Ready {
    /// Whether the n-th other descriptor has something.
    pub(super) fn has_other(&self, index: usize) -> bool {
        self.others
            .get(index)
            .is_some_and(|flags| !flags.is_empty())
    }

    pub(super) fn has_input(&self) -> bool {
        self.tty_input.contains(PollFlags::POLLIN)
    }
}

impl Bridge {
    pub(super) fn new(tty: Tty, pty: Pty) -> Self {
        Self {
            tty,
            pty,
            input: Flow::new(),
            output: Flow::new(),
            modes: Modes::new(),
            is_tty_open: true,
            is_pty_open: true,
        }
    }

    pub(super) fn is_tty_open(&self) -> bool {
        self.is_tty_open
    }

    /// Whether all output was passed on that the program had written before this poll.
    pub(super) fn is_drained(&self, ready: &Ready) -> bool {
        let has_none = ready.was_output_asked && ready.pty.is_empty();
        self.output.is_empty() && (!self.is_pty_open || has_none)
    }

    /// Whether the last output only has to be looked for, not waited for.
    pub(super) fn is_output_passed_on(&self) -> bool {
        self.output.is_empty()
    }

    /// Sleeps until an end or one of the two other descriptors has something.
    pub(super) fn poll(
        &self,
        others: [BorrowedFd<'_>; 2],
        timeout: PollTimeout,
    ) -> io::Result<Ready> {
        let [first, second] = others;
        let mut fds = [
            PollFd::new(first, PollFlags::POLLIN),
            PollFd::new(second, PollFlags::POLLIN),
            // A descriptor that has nothing to tell is replaced by one that is polled anyway.
            PollFd::new(first, PollFlags::empty()),
            PollFd::new(first, PollFlags::empty()),
            PollFd::new(first, PollFlags::empty()),
        ];
        let [_, _, tty_input, tty_output, pty] = &mut fds;
        if self.is_tty_open {
            *tty_input = PollFd::new(
                self.tty.input_fd(),
                when(self.input.is_empty(), PollFlags::POLLIN),
            );
            let wanted = when(!self.output.is_empty(), PollFlags::POLLOUT);
            *tty_output = PollFd::new(self.tty.output_fd(), wanted);
        }
        if self.is_pty_open {
            let wanted = when(self.output.is_empty(), PollFlags::POLLIN)
                | when(!self.input.is_empty(), PollFlags::POLLOUT);
            *pty = PollFd::new(self.pty.as_fd(), wanted);
        }
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [first, second, tty_input, tty_output, pty] =
            fds.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
        Ok(Ready {
            others: [first, second],
            tty_input: when(self.is_tty_open, tty_input),
            tty_output: when(self.is_tty_open, tty_output),
            pty: when(self.is_pty_open, pty),
            was_output_asked: self.output.is_empty(),
        })
    }

    /// The program ended as it meant to: what it left on is as it wants it.
    pub(super) fn keep_modes(&mut self) {
        self.modes = Modes::new();
    }

    /// Moves what can be moved, and tells what was moved.
    pub(super) fn carry(&mut self, ready: &Ready, tell: &mut dyn FnMut(HostEvent<'_>)) {
        self.carry_input(ready, tell);
        self.carry_output(ready, tell);
    }

    fn carry_output(&mut self, ready: &Ready, tell: &mut dyn FnMut(HostEvent<'_>)) {
        if !ready.tty_output.is_empty() {
            self.write_output(tell);
        }
        if self.output.is_empty() && self.is_pty_open && !ready.pty.is_empty() {
            self.read_output();
            // One that may block is asked by the next poll.
            if self.tty.is_nonblocking() || !self.is_tty_open {
                self.write_output(tell);
            }
        }
    }

    /// One read a turn: gathering more before the write only makes the program and the terminal wait for each other.
    fn read_output(&mut self) {
        match self.pty.read(self.output.room()) {
            Ok(0) => self.is_pty_open = false,
            Ok(count) => self.output.fill(count),
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "reading the PTY");
                self.is_pty_open = false;
            }
        }
    }

    fn write_output(&mut self, tell: &mut dyn FnMut(HostEvent<'_>)) {
        if !self.is_tty_open {
            // The program must not hang on a terminal that is gone.
            self.output.discard();
        }
        while !self.output.is_empty() {
            match self.tty.write(self.output.pending()) {
                Ok(count) => {
                    let written = self.output.consume(count);
                    self.modes.observe(written);
                    tell(HostEvent::Output(written));
                }
                Err(error) if is_passing(&error) => return,
                Err(_) => {
                    self.is_tty_open = false;
                    self.output.discard();
                }
            }
            if !self.tty.is_nonblocking() {
                return;
            }
        }
    }

    fn carry_input(&mut self, ready: &Ready, tell: &mut dyn FnMut(HostEvent<'_>)) {
        if ready.pty.intersects(PollFlags::POLLOUT) {
            self.write_input(tell);
        }
        if ready.tty_input.is_empty() || !self.is_tty_open {
            return;
        }
        if !self.input.is_empty() {
            // Asked for nothing, so it can only have hung up.
            self.is_tty_open = self.is_tty_open && !has_hung_up(ready.tty_input);
            return;
        }
        match self.tty.read(self.input.room()) {
            Ok(0) => self.is_tty_open = false,
            Ok(count) => {
                self.input.fill(count);
                self.write_input(tell);
            }
            Err(error) if is_passing(&error) => {}
            Err(_) => self.is_tty_open = false,
        }
    }

    fn write_input(&mut self, tell: &mut dyn FnMut(HostEvent<'_>)) {
        while !self.input.is_empty() {
            match self.pty.write(self.input.pending()) {
                Ok(count) => tell(HostEvent::Input(self.input.consume(count))),
                Err(error) if is_passing(&error) => return,
                // Nobody is left to read it.
                Err(_) => self.input.discard(),
            }
        }
    }
}

/// However hosting ends, a panic included: what a dead program left on would leave the user with a broken terminal.
impl Drop for Bridge {
    fn drop(&mut self) {
        let undo = self.modes.undo();
        if !undo.is_empty()
            && self.is_tty_open
            && let Err(error) = self.tty.write(&undo)
        {
            tracing::debug!(%error, "terminal modes not undone");
        }
    }
}

fn when(holds: bool, flags: PollFlags) -> PollFlags {
    if holds { flags } else { PollFlags::empty() }
}

fn has_hung_up(flags: PollFlags) -> bool {
    flags.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL)
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
