//! Signals as values on a descriptor that a poll loop can wait for, and the signal state harn was started with.
//!
//! The one user of signal-hook. Whatever the caller of harn had ignored (`nohup`, `trap '' INT`, a background job of a script)
//! stays ignored: by harn, and so by everything it starts.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, kill, pthread_sigmask, raise,
    sigaction,
};
use nix::unistd::Pid;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) signal: Signal,
    /// Sent by another process, not by the kernel (a key, a hang-up).
    pub(crate) is_sent: bool,
}

/// Signals that end a program unless it objects.
pub(super) const ENDING: [Signal; 4] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
];

#[derive(Debug)]
pub(crate) struct Signals {
    ending: Vec<Signal>,
    delivery: SignalDelivery<UnixStream, WithRawSiginfo>,
}

impl Signals {
    /// Watches the ending signals that were not ignored, and all of `others`.
    pub(crate) fn watch(others: &[Signal]) -> io::Result<Self> {
        let ending: Vec<Signal> = ENDING
            .into_iter()
            .filter(|signal| !is_ignored(*signal as i32))
            .collect();
        let numbers: Vec<i32> = ending
            .iter()
            .copied()
            .chain(others.iter().copied())
            .map(|signal| signal as i32)
            .collect();
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        let delivery = SignalDelivery::with_pipe(read, write, WithRawSiginfo, numbers)?;
        Ok(Self { ending, delivery })
    }

    /// Readable when `take` has something.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// What arrived since the last call; never waits.
    pub(crate) fn take(&mut self) -> Vec<Received> {
        let received: Vec<Received> = self
            .delivery
            .pending()
            .filter_map(|info| {
                let signal = Signal::try_from(info.si_signo).ok()?;
                Some(Received {
                    signal,
                    is_sent: is_sent(&info),
                })
            })
            .collect();
        if received.iter().any(|one| one.signal == Signal::SIGHUP) {
            self.ending.retain(|signal| *signal != Signal::SIGHUP);
        }
        received
    }
}

/// Nobody reads the pipe any more, so what ends a program ends harn again. Not so a second hang-up: the kernel, the shell and
/// harn each tell of the same closed terminal, and what is done after the first has to come to its end. Watched once in a process.
impl Drop for Signals {
    #[expect(unsafe_code, reason = "dispositions are process-wide")]
    fn drop(&mut self) {
        self.take();
        for signal in &self.ending {
            // SAFETY: the default action runs no code of ours.
            if unsafe { libc::signal(*signal as i32, libc::SIG_DFL) } == libc::SIG_ERR {
                tracing::debug!(%signal, "default action not restored");
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn is_sent(info: &libc::siginfo_t) -> bool {
    info.si_code <= 0
}

#[cfg(not(target_os = "linux"))]
fn is_sent(info: &libc::siginfo_t) -> bool {
    // Elsewhere the code of a key's signal is not told apart; the kernel's have no sender.
    info.si_pid != 0
}

/// Whether this process ignores a signal.
#[expect(
    unsafe_code,
    reason = "nix can only read a disposition by replacing it"
)]
pub(super) fn is_ignored(number: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing changes; the old one is written to memory of its type.
    let read = unsafe { libc::sigaction(number, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroed memory is a valid `sigaction`, filled or not.
    read == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Who stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The whole job, as the terminal's own key would stop it.
    Job,
    /// This process, which alone was told.
    Alone,
}

/// Stops as one who watches no stops. Returns when the process goes on, or at once where nothing could resume it. Stops
/// that the caller of harn ignores are ignored.
#[expect(unsafe_code, reason = "dispositions are process-wide")]
pub(super) fn stop(stop: Stop) -> io::Result<()> {
    if is_ignored(Signal::SIGTSTP as i32) {
        return Ok(());
    }
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action runs no code of ours.
    let watched = unsafe { sigaction(Signal::SIGTSTP, &default) }?;
    let stopped = match stop {
        Stop::Job => kill(Pid::from_raw(0), Signal::SIGTSTP),
        Stop::Alone => raise(Signal::SIGTSTP),
    };
    // SAFETY: the action that stood there before.
    unsafe { sigaction(Signal::SIGTSTP, &watched) }?;
    Ok(stopped?)
}

/// Starts a thread that no signal reaches, so that a stop stops the host's thread and not another one.
pub fn spawn_deaf(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<std::thread::JoinHandle<()>> {
    deafly(|| {
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
    })?
}

/// Does what may start threads, which begin with their maker's mask: no signal reaches them.
pub fn deafly<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let done = work();
    mask.thread_set_mask()?;
    Ok(done)
}

/// The blocked and ignored signals that a program has to start with. A mask is passed on through exec; what harn and the
/// launcher change of it for themselves has to be taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inherited {
    mask: SigSet,
    /// Bit n-1 stands for signal n.
    ignored: u32,
}

/// The signals whose dispositions are carried.
const CARRIED: std::ops::RangeInclusive<i32> = 1..=31;

impl Inherited {
    /// To be called before anything is watched or blocked.
    pub(super) fn read() -> io::Result<Self> {
        let mask = SigSet::thread_get_mask()?;
        // Rust's start-up code ignores SIGPIPE for harn itself; a program starts with the default.
        let ignored = CARRIED
            .filter(|number| *number != libc::SIGPIPE && is_ignored(*number))
            .fold(0, |bits, number| bits | 1 << (number - 1));
        Ok(Self { mask, ignored })
    }

    /// Sets the state for the program that this process is about to become. Called between fork and exec: no allocation.
    #[expect(unsafe_code, reason = "dispositions are process-wide")]
    pub(super) fn restore(self) -> nix::Result<()> {
        for number in CARRIED.filter(|number| self.ignored & (1 << (number - 1)) != 0) {
            // SAFETY: ignoring runs no code of ours.
            if unsafe { libc::signal(number, libc::SIG_IGN) } == libc::SIG_ERR {
                return Err(Errno::last());
            }
        }
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    /// The process of the tests ends if it does not hold.
    #[test]
    fn a_second_hang_up_ends_nothing() {
        for is_taken in [true, false] {
            let mut signals = Signals::watch(&[]).unwrap();
            raise(Signal::SIGHUP).unwrap();
            let mut fds = [PollFd::new(signals.fd(), PollFlags::POLLIN)];
            assert_eq!(poll(&mut fds, PollTimeout::from(10_000_u16)), Ok(1));
            if is_taken {
                let hang_up = Received {
                    signal: Signal::SIGHUP,
                    is_sent: true,
                };
                assert_eq!(signals.take(), [hang_up]);
            }
            drop(signals);
            raise(Signal::SIGHUP).unwrap();
        }
    }
}
