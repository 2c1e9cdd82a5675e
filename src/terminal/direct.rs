//! Hosting without a terminal: the program gets harn's own descriptors, and harn passes signals on and waits.
//!
//! Process groups stay as they are, so a key typed at a pipeline reaches the program once, from the terminal.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};

use super::host::{HostEvent, Listener, Observer, to_code, to_signal_code};
use super::outcome::{HostError, Outcome};
use super::program::Program;
use super::signal::{Inherited, Received, Signals};

pub(super) fn run(
    program: &Program<'_>,
    observer: &mut Observer<'_>,
) -> Result<Outcome, HostError> {
    let inherited = Inherited::read().map_err(HostError::at("reading the signal state"))?;
    let mut signals = Signals::watch(&[Signal::SIGCHLD, Signal::SIGCONT])
        .map_err(HostError::at("watching signals"))?;
    let client = spawn(program, inherited)?;
    let mut listener = Listener::new(observer);
    listener.tell(HostEvent::Started {
        pid: client.as_raw(),
    });
    let outcome = loop {
        wait(&signals).map_err(HostError::at("waiting for the program"))?;
        let mut ended = None;
        for received in signals.take() {
            if received.signal == Signal::SIGCHLD {
                ended = reap(client).map_err(HostError::at("waiting for the program"))?;
            } else {
                pass_on(client, received);
            }
        }
        if let Some(outcome) = ended {
            break outcome;
        }
    };
    listener.tell(HostEvent::Ended(outcome));
    Ok(outcome)
}

#[expect(unsafe_code, reason = "the signal state has to be set before exec")]
fn spawn(program: &Program<'_>, inherited: Inherited) -> Result<Pid, HostError> {
    let mut command = Command::new(program.path);
    command.args(program.args);
    program.apply_env(&mut command);
    // SAFETY: sigmask and signal calls only; no allocation, no lock.
    unsafe { command.pre_exec(move || Ok(inherited.restore()?)) };
    let child = command
        .spawn()
        .map_err(|error| match error.raw_os_error() {
            Some(number) => program.exec_error(Errno::from_raw(number)),
            None => HostError::Io {
                step: "starting the program",
                source: error,
            },
        })?;
    i32::try_from(child.id())
        .map(Pid::from_raw)
        .map_err(io::Error::other)
        .map_err(HostError::at("starting the program"))
}

fn wait(signals: &Signals) -> io::Result<()> {
    let mut fds = [PollFd::new(signals.fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn pass_on(client: Pid, received: Received) {
    // A key's signal went to the whole foreground group, the program included.
    let is_key = matches!(received.signal, Signal::SIGINT | Signal::SIGQUIT) && !received.is_sent;
    if !is_key && let Err(error) = kill(client, received.signal) {
        tracing::debug!(%error, signal = %received.signal, "signal not passed on");
    }
}

/// How the program ended, if it did. When it stopped, harn stops too: its shell should get the prompt back.
fn reap(client: Pid) -> io::Result<Option<Outcome>> {
    loop {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        match waitpid(client, Some(flags)) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(Some(Outcome::Exited(to_code(code)))),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                return Ok(Some(Outcome::Signaled(to_signal_code(signal as i32))));
            }
            Ok(WaitStatus::Stopped(_, _)) => kill(getpid(), Signal::SIGTSTP)?,
            Err(Errno::EINTR) => {}
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}
