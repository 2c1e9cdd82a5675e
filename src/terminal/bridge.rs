//! The two ends and the bytes between them: the user's terminal, the PTY, and one bounded flow each way.
//!
//! Each end may close on its own. What is read from one end is written to the other before anything else sees it; what
//! cannot be written yet keeps the near end unread.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::clock;
use super::flow::Flow;
use super::host::HostEvent;
use super::keyboard::Desk;
use super::modes::Modes;
use super::outflow::Outflow;
use super::overlay::Pane;
use super::prefix::Action;
use super::pty::Pty;
use super::size::Size;
use super::tty::Tty;
use super::typist::{Typed, Typing, Typist};

/// A read of so many bytes is likely followed by more, which is then tried for without a poll; so often at most, because keys
/// and signals wait meanwhile.
const FLOOD_BYTES: usize = 2048;
const FLOOD_READS: usize = 4;

pub(super) struct Bridge {
    pub(super) tty: Tty,
    pub(super) pty: Pty,
    input: Flow,
    /// Written before `input`: harn's own text, and the keys that it held back.
    typed: Vec<u8>,
    typist: Typist,
    desk: Option<Desk>,
    output: Outflow,
    modes: Modes,
    pane: Option<Pane>,
    actions: Vec<Action>,
    /// False once the user's terminal hung up.
    is_tty_open: bool,
    /// False once nothing holds the program's side any more.
    is_pty_open: bool,
}

/// What a poll found.
#[derive(Debug)]
pub(super) struct Ready {
    others: [PollFlags; 4],
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
    /// `outer` is the size of the user's terminal.
    pub(super) fn new(
        tty: Tty,
        pty: Pty,
        pane: Option<Pane>,
        desk: Option<Desk>,
        outer: Size,
    ) -> Self {
        let filter = pane.as_ref().map(|pane| pane.filter(outer));
        let mut bridge = Self {
            tty,
            pty,
            input: Flow::new(),
            typed: Vec::new(),
            typist: Typist::default(),
            desk,
            output: Outflow::new(filter),
            modes: Modes::new(),
            pane,
            actions: Vec::new(),
            is_tty_open: true,
            is_pty_open: true,
        };
        bridge.draw();
        bridge
    }

    /// What the user asked for with the prefix key.
    pub(super) fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Readable when something was posted; the caller's own where there is no overlay.
    pub(super) fn board_fd<'a>(&'a self, otherwise: BorrowedFd<'a>) -> BorrowedFd<'a> {
        self.pane
            .as_ref()
            .map_or(otherwise, |pane| pane.board().fd())
    }

    /// Readable when something is to be typed; the caller's own where nobody may.
    pub(super) fn desk_fd<'a>(&'a self, otherwise: BorrowedFd<'a>) -> BorrowedFd<'a> {
        self.desk.as_ref().map_or(otherwise, Desk::fd)
    }

    /// Carries out what was ordered to be typed.
    pub(super) fn take_orders(&mut self, is_running: bool) {
        let Self {
            desk,
            typist,
            typed,
            input,
            is_pty_open,
            ..
        } = self;
        let Some(desk) = desk else { return };
        desk.serve(&mut |typing: Typing| {
            if !is_running || !*is_pty_open {
                return Typed::Gone;
            }
            let is_new = matches!(typing, Typing::Write(_) | Typing::Hold { .. });
            if is_new && !(input.is_empty() && typed.is_empty()) {
                return Typed::Busy;
            }
            let (bytes, answer) = typist.take(typing, clock::now());
            typed.extend(bytes);
            answer
        });
    }

    /// When held keys have to be let go.
    pub(super) fn next_release_at(&self) -> Option<Instant> {
        self.typist.next_at()
    }

    /// Lets go of held keys when it is time to.
    pub(super) fn release_due(&mut self, now: Instant) {
        self.typed
            .extend(self.typist.due(now).into_iter().flatten());
    }

    /// Whether nothing waits to be written to the program.
    fn is_input_passed_on(&self) -> bool {
        self.input.is_empty() && self.typed.is_empty()
    }

    /// Takes what was posted.
    pub(super) fn take_posted(&mut self) {
        if let Some(pane) = &mut self.pane {
            pane.take_posted();
        }
    }

    /// When the overlay has to be drawn again.
    pub(super) fn next_draw_at(&self) -> Option<Instant> {
        self.pane.as_ref().and_then(Pane::next_at)
    }

    /// Draws the overlay if it is time to.
    pub(super) fn draw_due(&mut self, now: Instant) {
        if let Some(pane) = &mut self.pane
            && let Some(row) = pane.due(now)
        {
            self.output.show(row);
        }
    }

    fn draw(&mut self) {
        if let Some(pane) = &mut self.pane {
            self.output.show(pane.draw(clock::now()));
        }
    }

    /// The size of the program on a terminal of this size.
    pub(super) fn program_size(&self, outer: Size) -> Size {
        self.pane
            .as_ref()
            .map_or(outer, |pane| pane.program_size(outer))
    }

    /// The terminal, or the part of it that is the program's, has another size.
    pub(super) fn resized(&mut self, outer: Size) {
        if let Some(pane) = &mut self.pane {
            pane.resized(outer);
            let (face, program) = (pane.face(outer), pane.program_size(outer));
            self.output.resize(face, program);
        }
        self.draw();
    }

    /// The terminal goes to the user's shell for a while: nothing of the program's or harn's stays on.
    pub(super) fn leave(&mut self) {
        self.typed
            .extend(self.typist.give_up().into_iter().flatten());
        let mut undo = self.output.finish();
        undo.extend(self.modes.undo());
        self.write_now(&undo);
    }

    /// Back from there: what was on is on again. Whether the program's screen is lost by it.
    pub(super) fn come_back(&mut self) -> bool {
        let redo = self.modes.redo();
        self.write_now(&redo);
        self.output.renew();
        self.draw();
        self.modes.is_alternate()
    }

    fn write_now(&self, bytes: &[u8]) {
        if !bytes.is_empty()
            && self.is_tty_open
            && let Err(error) = self.tty.write(bytes)
        {
            tracing::debug!(%error, "terminal modes not changed");
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

    /// Sleeps until an end or one of the other descriptors has something.
    pub(super) fn poll(
        &self,
        others: [BorrowedFd<'_>; 4],
        timeout: PollTimeout,
    ) -> io::Result<Ready> {
        let [first, second, third, fourth] = others;
        let mut fds = [
            PollFd::new(first, PollFlags::POLLIN),
            PollFd::new(second, PollFlags::POLLIN),
            PollFd::new(third, PollFlags::POLLIN),
            PollFd::new(fourth, PollFlags::POLLIN),
            // A descriptor that has nothing to tell is replaced by one that is polled anyway.
            PollFd::new(first, PollFlags::empty()),
            PollFd::new(first, PollFlags::empty()),
            PollFd::new(first, PollFlags::empty()),
        ];
        let [_, _, _, _, tty_input, tty_output, pty] = &mut fds;
        if self.is_tty_open {
            *tty_input = PollFd::new(
                self.tty.input_fd(),
                when(self.is_input_passed_on(), PollFlags::POLLIN),
            );
            let wanted = when(!self.output.is_empty(), PollFlags::POLLOUT);
            *tty_output = PollFd::new(self.tty.output_fd(), wanted);
        }
        if self.is_pty_open {
            let wanted = when(self.output.is_empty(), PollFlags::POLLIN)
                | when(!self.is_input_passed_on(), PollFlags::POLLOUT);
            *pty = PollFd::new(self.pty.as_fd(), wanted);
        }
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [first, second, third, fourth, tty_input, tty_output, pty] =
            fds.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
        Ok(Ready {
            others: [first, second, third, fourth],
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
        if ready.pty.is_empty() {
            return;
        }
        for _ in 0..FLOOD_READS {
            if !self.output.is_empty() || !self.is_pty_open {
                return;
            }
            let count = self.read_output();
            // One that may block is asked by the next poll.
            if self.tty.is_nonblocking() || !self.is_tty_open {
                self.write_output(tell);
            }
            if count < FLOOD_BYTES {
                return;
            }
        }
    }

    /// One read for one write: gathering more before the write only makes the program and the terminal wait for each other.
    fn read_output(&mut self) -> usize {
        match self.pty.read(self.output.room()) {
            Ok(0) => self.is_pty_open = false,
            Ok(count) => {
                self.output.fill(count);
                return count;
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "reading the PTY");
                self.is_pty_open = false;
            }
        }
        0
    }

    fn write_output(&mut self, tell: &mut dyn FnMut(HostEvent<'_>)) {
        if !self.is_tty_open {
            // The program must not hang on a terminal that is gone.
            self.output.discard();
        }
        while !self.output.is_empty() {
            match self.tty.write(self.output.pending()) {
                Ok(count) => {
                    let pending = self.output.pending();
                    let written = pending.get(..count).unwrap_or(pending);
                    self.modes.observe(written);
                    if !self.output.has_overlay() {
                        tell(HostEvent::Output(written));
                    }
                    self.output.advance(count);
                }
                Err(error) if is_passing(&error) => return,
                Err(_) => {
                    self.is_tty_open = false;
                    self.output.discard();
                }
            }
            if !self.tty.is_nonblocking() {
                break;
            }
        }
        // The listeners know the program's own screen, not what the overlay makes of it.
        if self.output.has_overlay() && self.output.is_empty() {
            let read = self.output.take_read();
            if !read.is_empty() {
                tell(HostEvent::Output(read));
            }
        }
    }

    fn carry_input(&mut self, ready: &Ready, tell: &mut dyn FnMut(HostEvent<'_>)) {
        if ready.pty.intersects(PollFlags::POLLOUT) || !self.typed.is_empty() {
            self.write_input(tell);
        }
        if ready.tty_input.is_empty() || !self.is_tty_open {
            return;
        }
        if !self.is_input_passed_on() {
            // Asked for nothing, so it can only have hung up.
            self.is_tty_open = self.is_tty_open && !has_hung_up(ready.tty_input);
            return;
        }
        match self.tty.read(self.input.room()) {
            Ok(0) => self.is_tty_open = false,
            Ok(count) => {
                self.input.fill(count);
                self.take_keys();
                self.hold_keys(tell);
                self.write_input(tell);
            }
            Err(error) if is_passing(&error) => {}
            Err(_) => self.is_tty_open = false,
        }
    }

    /// With the overlay on, the prefix key and what follows it are harn's.
    fn take_keys(&mut self) {
        let Some(pane) = &mut self.pane else {
            return;
        };
        if let Some(edited) = pane.shorten_reports(self.input.pending()) {
            self.input.replace(&edited);
        }
        let taken = pane.take_input(self.input.pending());
        if let Some(passed) = taken.passed {
            self.input.replace(&passed);
        }
        self.actions.extend(taken.actions);
    }

    /// While harn's text waits to be sent, the user's keys wait behind it.
    fn hold_keys(&mut self, tell: &mut dyn FnMut(HostEvent<'_>)) {
        if self.desk.is_none() || self.input.is_empty() {
            return;
        }
        if let Some(bytes) = self.typist.user(self.input.pending()) {
            tell(HostEvent::Input(self.input.pending()));
            self.input.discard();
            self.typed.extend(bytes);
        }
    }

    fn write_input(&mut self, tell: &mut dyn FnMut(HostEvent<'_>)) {
        while !self.typed.is_empty() {
            match self.pty.write(&self.typed) {
                Ok(count) => drop(self.typed.drain(..count)),
                Err(error) if is_passing(&error) => return,
                Err(_) => self.typed.clear(),
            }
        }
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
        self.leave();
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
