//! The byte path: one thread and one poll loop between the user's terminal and the PTY.
//!
//! Bytes are written on before anything else looks at them. Neither direction waits for the other or grows a buffer. When
//! nothing is pending the loop sleeps without a timer. Whoever wants to know gets a [`HostEvent`] afterwards.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::bridge::{Bridge, Ready};
use super::clock;
use super::fault;
use super::keyboard::Desk;
use super::ladder::{Ladder, Rung};
use super::launch::Launch;
use super::link::{Order, Report};
use super::outcome::{HostError, Outcome};
use super::overlay::{Overlay, Pane};
use super::panic;
use super::prefix::Action;
use super::program::Program;
use super::pty::Pty;
use super::signal::{Received, Signals};
use super::size::{ResizeGate, Size};
use super::tty::{RawMode, Tty};

/// What happened, told after it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEvent<'a> {
    /// The program runs; this is its process and its group.
    Started {
        pid: i32,
    },
    /// These bytes of the program are in the user's terminal.
    Output(&'a [u8]),
    /// These bytes of the user are in the PTY, or held back for less than a second.
    Input(&'a [u8]),
    /// The program has this size now; told at the start too.
    Resized(Size),
    /// The program stopped; harn is about to stop as well.
    Stopped,
    /// The program was told to run on.
    Continued,
    /// The user asked for this with the prefix key.
    Asked(Action),
    Ended(Outcome),
}

/// Listens to the host; see [`super::run`] for what it may do.
pub type Observer<'a> = dyn FnMut(HostEvent<'_>) + 'a;

/// How long the last output may take once the program has ended: the terminal may be stalled, or something in the
/// background may print for ever. Much less when harn itself was told to end.
const LAST_OUTPUT_LIMIT: Duration = Duration::from_secs(5);
const LAST_OUTPUT_HURRY: Duration = Duration::from_millis(200);

pub(super) fn run(
    program: &Program<'_>,
    overlay: Option<Overlay>,
    desk: Option<Desk>,
    observer: &mut Observer<'_>,
) -> Result<Outcome, HostError> {
    let signals = Signals::watch(&[Signal::SIGWINCH, Signal::SIGCONT])
        .map_err(HostError::at("watching signals"))?;
    let tty = Tty::open().map_err(HostError::at("opening the terminal"))?;
    let outer = tty
        .size()
        .map_err(HostError::at("reading the terminal size"))?
        .or_usual();
    let modes = tty
        .modes()
        .map_err(HostError::at("reading the terminal modes"))?;
    let pane = overlay.map(|overlay| Pane::new(overlay, outer));
    let size = pane.as_ref().map_or(outer, |pane| pane.program_size(outer));
    let (pty, slave) = Pty::open(size, &modes).map_err(HostError::at("opening a PTY"))?;
    panic::guard_terminal();
    let raw = RawMode::enter(&tty).map_err(HostError::at("setting the terminal to raw mode"))?;
    let launch = Launch::start(program, slave, &tty.name())
        .map_err(HostError::at("starting the launcher"))?;
    let host = Host {
        bridge: Bridge::new(tty, pty, pane, desk, outer),
        raw: Some(raw),
        launch,
        signals,
        listener: Listener::new(observer),
        outer,
        size,
        gate: ResizeGate::default(),
        ladder: Ladder::default(),
        phase: Phase::Running,
    };
    host.serve(program)
}

/// Where the program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Stopped, in a way that harn could not follow.
    Stopped,
    /// It could not be started.
    Failed(Errno),
    /// Its last output is being passed on.
    Ended {
        outcome: Outcome,
        at: Instant,
    },
    /// Not even KILL ended it.
    Abandoned,
    /// Nobody is left to say how it ended.
    Lost,
}

/// The observer, until it panics.
pub(super) struct Listener<'a, 'o>(Option<&'a mut Observer<'o>>);

impl<'a, 'o> Listener<'a, 'o> {
    pub(super) fn new(observer: &'a mut Observer<'o>) -> Self {
        Self(Some(observer))
    }

    pub(super) fn tell(&mut self, event: HostEvent<'_>) {
        if let Some(observer) = &mut self.0
            && !panic::survives(|| observer(event))
        {
            self.0 = None;
        }
    }
}

struct Host<'a, 'o> {
    bridge: Bridge,
    /// `None` only while stopped.
    raw: Option<RawMode>,
    launch: Launch,
    signals: Signals,
    listener: Listener<'a, 'o>,
    /// The user's terminal.
    outer: Size,
    /// The program's part of it.
    size: Size,
    gate: ResizeGate,
    ladder: Ladder,
    phase: Phase,
}

impl Host<'_, '_> {
    fn serve(mut self, program: &Program<'_>) -> Result<Outcome, HostError> {
        let fault = Fault::planted();
        self.listener.tell(HostEvent::Resized(self.size));
        loop {
            let timeout = clock::poll_timeout(self.next_at());
            let ready = self
                .bridge
                .poll(
                    [
                        self.signals.fd(),
                        self.launch.fd(),
                        self.bridge.board_fd(self.signals.fd()),
                        self.bridge.desk_fd(self.signals.fd()),
                    ],
                    timeout,
                )
                .map_err(HostError::at("waiting for bytes"))?;
            fault.strike(&ready);
            self.bridge
                .carry(&ready, &mut |event| self.listener.tell(event));
            self.take_actions();
            if !self.bridge.is_tty_open() {
                self.ladder.start(Signal::SIGHUP, clock::now());
            }
            if ready.has_other(0) {
                for received in self.signals.take() {
                    self.handle_signal(received);
                }
            }
            if ready.has_other(1) {
                self.take_reports()?;
            }
            if ready.has_other(2) {
                self.bridge.take_posted();
            }
            if ready.has_other(3) {
                self.bridge.take_orders(self.phase == Phase::Running);
            }
            self.take_due();
            if self.is_over(&ready) {
                return self.end(program);
            }
        }
    }

    /// When the loop has to wake up by itself; `None` when nothing is pending.
    fn next_at(&self) -> Option<Instant> {
        let last_output = match self.phase {
            Phase::Ended { at, .. } if self.bridge.is_output_passed_on() => Some(at),
            Phase::Ended { at, .. } => Some(at + self.last_output_limit()),
            Phase::Running | Phase::Stopped | Phase::Failed(_) | Phase::Abandoned | Phase::Lost => {
                None
            }
        };
        let draw = self.bridge.next_draw_at();
        [
            self.ladder.next_at(),
            self.gate.next_at(),
            last_output,
            draw,
            self.bridge.next_release_at(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn last_output_limit(&self) -> Duration {
        if self.ladder.has_started() {
            LAST_OUTPUT_HURRY
        } else {
            LAST_OUTPUT_LIMIT
        }
    }

    /// `ready` was polled before the reports were read, so an end reported just now is looked at in the next turn.
    fn is_over(&self, ready: &Ready) -> bool {
        match self.phase {
            Phase::Running | Phase::Stopped => false,
            Phase::Failed(_) | Phase::Abandoned | Phase::Lost => true,
            Phase::Ended { at, .. } => {
                let is_late = clock::now() >= at + self.last_output_limit();
                is_late || (!ready.has_other(1) && self.bridge.is_drained(ready))
            }
        }
    }

    fn end(mut self, program: &Program<'_>) -> Result<Outcome, HostError> {
        if matches!(
            self.phase,
            Phase::Failed(_)
                | Phase::Ended {
                    outcome: Outcome::Exited(0),
                    ..
                }
        ) {
            self.bridge.keep_modes();
        }
        // First of all: whatever is printed from here on is printed to a sane terminal.
        drop(self.bridge);
        self.raw = None;
        let outcome = match self.phase {
            Phase::Ended { outcome, .. } => outcome,
            Phase::Failed(errno) => {
                self.launch
                    .finish()
                    .map_err(HostError::at("ending the launcher"))?;
                return Err(program.exec_error(errno));
            }
            Phase::Abandoned => {
                self.listener.tell(HostEvent::Ended(KILLED));
                return Ok(KILLED);
            }
            Phase::Lost | Phase::Running | Phase::Stopped => return Err(HostError::LauncherLost),
        };
        self.launch
            .finish()
            .map_err(HostError::at("ending the launcher"))?;
        self.listener.tell(HostEvent::Ended(outcome));
        Ok(outcome)
    }

    fn handle_signal(&mut self, received: Received) {
        let now = clock::now();
        let signal = received.signal;
        if signal == Signal::SIGWINCH {
            self.gate.changed(now);
        } else if signal == Signal::SIGCONT {
            self.renew_raw();
            self.gate.changed(now);
            if self.phase == Phase::Stopped {
                self.resume();
            }
        } else if self.ladder.has_started() {
            self.launch.order(Order::Signal(signal));
        } else {
            self.ladder.start(signal, now);
        }
    }

    fn take_due(&mut self) {
        let now = clock::now();
        if self.gate.take_due(now) {
            self.resize();
        }
        self.bridge.draw_due(now);
        self.bridge.release_due(now);
        while let Some(rung) = self.ladder.take_due(now) {
            match rung {
                Rung::Send(signal) => self.launch.order(Order::Signal(signal)),
                Rung::GiveUp if !matches!(self.phase, Phase::Ended { .. }) => {
                    self.phase = Phase::Abandoned;
                }
                Rung::GiveUp => {}
            }
        }
    }

    /// Tells what the user asked for; whether there is a row at all is the host's own matter.
    fn take_actions(&mut self) {
        for action in self.bridge.take_actions() {
            self.listener.tell(HostEvent::Asked(action));
            if action == Action::Toggle {
                self.bridge.resized(self.outer);
                self.resize_program();
            }
        }
    }

    fn resize(&mut self) {
        match self.bridge.tty.size() {
            Ok(size) if size.or_usual() == self.outer => {}
            Ok(size) => {
                self.outer = size.or_usual();
                self.bridge.resized(self.outer);
                self.resize_program();
            }
            Err(error) => tracing::debug!(%error, "terminal size not read"),
        }
    }

    fn resize_program(&mut self) {
        let size = self.bridge.program_size(self.outer);
        if size == self.size {
            return;
        }
        match self.bridge.pty.resize(size) {
            Ok(()) => {
                self.size = size;
                self.listener.tell(HostEvent::Resized(size));
            }
            Err(error) => tracing::warn!(%error, "PTY not resized"),
        }
    }

    fn take_reports(&mut self) -> Result<(), HostError> {
        let heard = self
            .launch
            .hear()
            .map_err(HostError::at("hearing the launcher"))?;
        for report in heard.reports {
            self.handle_report(report);
        }
        if heard.is_over && matches!(self.phase, Phase::Running | Phase::Stopped) {
            self.phase = Phase::Lost;
        }
        Ok(())
    }

    fn handle_report(&mut self, report: Report) {
        let ended = |outcome| Phase::Ended {
            outcome,
            at: clock::now(),
        };
        match report {
            Report::Started(pid) => self.listener.tell(HostEvent::Started { pid }),
            Report::Failed(errno) => self.phase = Phase::Failed(errno),
            Report::Stopped(signal) => self.stop_too(signal),
            Report::Continued if self.phase == Phase::Stopped => {
                self.phase = Phase::Running;
                self.listener.tell(HostEvent::Continued);
            }
            Report::Continued => {}
            Report::Exited(code) => self.phase = ended(Outcome::Exited(to_code(code))),
            Report::Signaled(signal) => {
                self.phase = ended(Outcome::Signaled(to_signal_code(signal)));
            }
        }
    }

    /// The program has stopped: give the terminal and the prompt back to the user's shell, and go on when it says so.
    fn stop_too(&mut self, signal: i32) {
        if self.ladder.has_started() {
            return;
        }
        self.phase = Phase::Stopped;
        self.listener.tell(HostEvent::Stopped);
        self.bridge.leave();
        self.raw = None;
        // The whole job, as the terminal's own Ctrl-Z would: a script or a package runner above us has to stop as well.
        // This call returns when the job runs on, or at once where nothing could resume it.
        if let Err(error) = kill(Pid::from_raw(0), Signal::SIGTSTP) {
            tracing::warn!(%error, "not stopped");
        }
        match RawMode::enter(&self.bridge.tty) {
            Ok(raw) => self.raw = Some(raw),
            Err(error) => {
                tracing::warn!(%error, "terminal not set to raw mode again");
                self.ladder.start(Signal::SIGHUP, clock::now());
            }
        }
        let is_screen_lost = self.bridge.come_back();
        self.resize();
        let mut was_resumed = false;
        for received in self.signals.take() {
            if received.signal == Signal::SIGCONT {
                was_resumed = true;
            } else {
                self.handle_signal(received);
            }
        }
        // Without a shell above, a key's stop would not have stopped the program either; STOP would.
        if was_resumed || signal != Signal::SIGSTOP as i32 {
            self.resume();
            if is_screen_lost {
                // Its own screen was left and is blank now; this is the one way to ask for painting it again.
                self.launch.order(Order::Signal(Signal::SIGWINCH));
            }
        }
    }

    fn resume(&mut self) {
        self.phase = Phase::Running;
        self.launch.order(Order::Resume);
        self.listener.tell(HostEvent::Continued);
    }

    fn renew_raw(&self) {
        if self.raw.is_some()
            && let Err(error) = RawMode::renew(&self.bridge.tty)
        {
            tracing::debug!(%error, "raw mode not renewed");
        }
    }
}

const KILLED: Outcome = Outcome::Signaled(9);

/// The code as its parent sees it: the low eight bits.
pub(super) fn to_code(code: i32) -> u8 {
    code.to_le_bytes()[0]
}

pub(super) fn to_signal_code(signal: i32) -> u8 {
    u8::try_from(signal).unwrap_or(0)
}

/// `HARN_FAULT=panic` panics at the first key. Looked up once: the loop asks with each turn.
struct Fault {
    is_armed: bool,
}

impl Fault {
    fn planted() -> Self {
        Self {
            is_armed: fault::is_ordered("panic"),
        }
    }

    fn strike(&self, ready: &Ready) {
        assert!(!(self.is_armed && ready.has_input()), "a fault was ordered");
    }
}
