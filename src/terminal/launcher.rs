//! The launcher process: leads the PTY's session and is the program's parent.
//!
//! Started by the host itself, the program would be an orphaned group: the kernel drops its Ctrl-Z, and a program that stops
//! itself is never resumed. So harn starts itself once more as this small process. It knows the PTY as its standard
//! output and the host as a socket on its standard input. It outlives the program until the host has read everything, and
//! when the host is gone it takes the program along.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, pthread_sigmask};
use nix::sys::termios::{Termios, tcgetattr};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, setsid, tcsetpgrp};

use super::clock;
use super::ladder::{Ladder, Rung};
use super::link::{Order, Report};
use super::signal::{Inherited, Signals};
use super::tty;

/// The first argument that makes harn a launcher. Dispatched before anything else looks at the command line: what follows
/// is the program's own.
pub const LAUNCH_WORD: &str = "__launch";

/// Runs as the launcher; `args` follow [`LAUNCH_WORD`].
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    // There is nobody to tell but the host, and it sees the socket close.
    match launch(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn launch(mut args: impl Iterator<Item = OsString>) -> io::Result<()> {
    let mut link = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let tty_name = PathBuf::from(args.next().unwrap_or_default());
    let inherited = Inherited::read()?;
    setsid()?;
    take_terminal()?;
    // The PTY starts with the modes of the user's terminal, so these are what that has to get back.
    let modes = tcgetattr(io::stdout())?;
    // Giving the foreground away and taking it back is done from the background.
    block_stops()?;
    let signals = Signals::watch(&[Signal::SIGCHLD])?;
    let report = match start(args, inherited) {
        Ok(pid) => Report::Started(pid.as_raw()),
        Err(error) => Report::Failed(error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw)),
    };
    link.write_all(&report.to_bytes())?;
    let Report::Started(pid) = report else {
        return Ok(());
    };
    link.set_nonblocking(true)?;
    let mut watch = Watch {
        client: Pid::from_raw(pid),
        link: Some(link),
        signals,
        ladder: Ladder::default(),
        is_stopped: false,
        tty_name,
        modes,
    };
    watch.until_end()?;
    watch.until_released()
}

/// Makes standard output the controlling terminal.
#[expect(
    unsafe_code,
    reason = "no safe call makes a terminal the controlling one"
)]
fn take_terminal() -> io::Result<()> {
    // SAFETY: an open descriptor, and a request whose argument is a number.
    let done = unsafe { libc::ioctl(1, libc::c_ulong::from(libc::TIOCSCTTY) as _, 0) };
    Ok(Errno::result(done).map(drop)?)
}

fn block_stops() -> nix::Result<()> {
    let mut stops = SigSet::empty();
    stops.add(Signal::SIGTTOU);
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&stops), None)
}

/// Starts the program in a foreground group of its own, with the signal state harn was given.
#[expect(unsafe_code, reason = "the foreground has to be taken before exec")]
fn start(mut args: impl Iterator<Item = OsString>, inherited: Inherited) -> io::Result<Pid> {
    let mut command = Command::new(args.next().unwrap_or_default());
    command.args(args).process_group(0);
    command.stdin(Stdio::from(io::stdout().as_fd().try_clone_to_owned()?));
    let become_foreground = move || {
        block_stops()?;
        tcsetpgrp(io::stdin(), getpid())?;
        inherited.restore()?;
        Ok(())
    };
    // SAFETY: sigmask, tcsetpgrp and signal calls only; no allocation, no lock.
    unsafe { command.pre_exec(become_foreground) };
    let child = command.spawn()?;
    i32::try_from(child.id())
        .map(Pid::from_raw)
        .map_err(io::Error::other)
}

struct Watch {
    client: Pid,
    /// `None` once the host is gone.
    link: Option<UnixStream>,
    signals: Signals,
    ladder: Ladder,
    is_stopped: bool,
    /// The user's terminal, and the modes it had before harn.
    tty_name: PathBuf,
    modes: Termios,
}

impl Watch {
    fn until_end(&mut self) -> io::Result<()> {
        loop {
            self.wait(clock::poll_timeout(self.ladder.next_at()))?;
            for received in self.signals.take() {
                if received.signal == Signal::SIGCHLD {
                    if self.reap()? {
                        return Ok(());
                    }
                } else if received.signal == Signal::SIGHUP {
                    // The kernel says that the master is closed: the host is gone.
                    self.ladder.start(Signal::SIGHUP, clock::now());
                } else {
                    self.signal(received.signal);
                }
            }
            self.obey()?;
            while let Some(rung) = self.ladder.take_due(clock::now()) {
                if let Rung::Send(signal) = rung {
                    self.signal(signal);
                }
            }
        }
    }

    /// The program has ended; the PTY stays open until the host has read all of it.
    fn until_released(&mut self) -> io::Result<()> {
        while self.link.is_some() {
            self.wait(PollTimeout::NONE)?;
            if self
                .signals
                .take()
                .iter()
                .any(|received| received.signal != Signal::SIGCHLD)
            {
                return Ok(());
            }
            self.obey()?;
        }
        Ok(())
    }

    fn wait(&self, timeout: PollTimeout) -> io::Result<()> {
        let mut fds = vec![PollFd::new(self.signals.fd(), PollFlags::POLLIN)];
        if let Some(link) = &self.link {
            fds.push(PollFd::new(link.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what the kernel says about the program; true when it has ended.
    fn reap(&mut self) -> io::Result<bool> {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
        loop {
            let report = match waitpid(self.client, Some(flags)) {
                Ok(WaitStatus::Exited(_, code)) => Report::Exited(code),
                Ok(WaitStatus::Signaled(_, signal, _)) => Report::Signaled(signal as i32),
                Ok(WaitStatus::Stopped(_, signal)) => Report::Stopped(signal as i32),
                Ok(WaitStatus::Continued(_)) => Report::Continued,
                Err(Errno::EINTR) => continue,
                // A real-time signal has no name; the raw status is gone, the fact is not.
                Err(Errno::EINVAL) => Report::Signaled(libc::SIGKILL),
                Ok(_) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            self.tell(report);
            match report {
                Report::Exited(_) | Report::Signaled(_) => return Ok(true),
                Report::Stopped(_) => self.is_stopped = true,
                Report::Started(_) | Report::Failed(_) | Report::Continued => {
                    self.is_stopped = false;
                }
            }
        }
    }

    fn tell(&mut self, report: Report) {
        if let Some(link) = &mut self.link
            && link.write_all(&report.to_bytes()).is_err()
        {
            self.lose_host();
        }
    }

    /// Nobody orders any more: the program goes too, and the user's terminal gets its modes back if it still waits for them.
    fn lose_host(&mut self) {
        self.link = None;
        self.ladder.start(Signal::SIGHUP, clock::now());
        if let Err(error) = tty::give_back_for_host(&self.tty_name, &self.modes) {
            tracing::debug!(%error, "terminal modes not restored");
        }
    }

    /// Carries out what the host asked for; with the host gone, starts to take the program along.
    fn obey(&mut self) -> io::Result<()> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let mut orders = [0; 64];
        let count = match link.read(&mut orders) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            Err(error) => return Err(error),
        };
        if count == 0 {
            self.lose_host();
        }
        for order in orders
            .iter()
            .take(count)
            .copied()
            .filter_map(Order::from_byte)
        {
            match order {
                Order::Signal(signal) => self.signal(signal),
                Order::Resume => self.resume(),
            }
        }
        Ok(())
    }

    fn resume(&self) {
        // As a shell's `fg` does; a program that is gone takes no harm.
        if let Err(error) = tcsetpgrp(io::stdout(), self.client) {
            tracing::debug!(%error, "foreground not given");
        }
        self.send(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        self.send(signal);
        // A stopped program hears nothing until it runs.
        if self.is_stopped && signal != Signal::SIGKILL {
            self.send(Signal::SIGCONT);
        }
    }

    fn send(&self, signal: Signal) {
        if let Err(error) = killpg(self.client, signal) {
            tracing::debug!(%error, %signal, "signal not sent");
        }
    }
}
