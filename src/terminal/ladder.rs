//! How a program that has to go is asked to: first politely, at last without asking. Pure; time is an argument.
//!
//! Used by the host (a signal to harn, a closed terminal) and by the launcher (harn itself is gone).

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

/// After the first signal the second is sent, then KILL, then nobody waits any longer. A closed terminal has to have its
/// program gone within two seconds.
const SECOND_AFTER: Duration = Duration::from_millis(700);
const KILL_AFTER: Duration = Duration::from_millis(1500);
const GIVE_UP_AFTER: Duration = Duration::from_millis(2500);

/// What is due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Send(Signal),
    GiveUp,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Ladder {
    #[default]
    Ground,
    Climbing {
        started: Instant,
        first: Signal,
        taken: usize,
    },
}

impl Ladder {
    /// Begins with `first`; once begun it goes on as it began.
    pub(super) fn start(&mut self, first: Signal, now: Instant) {
        if *self == Self::Ground {
            *self = Self::Climbing {
                started: now,
                first,
                taken: 0,
            };
        }
    }

    pub(super) fn has_started(&self) -> bool {
        *self != Self::Ground
    }

    /// When `take_due` has to be called next; `None` when nothing is pending.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.next().map(|(at, _)| at)
    }

    /// Takes one rung whose time has come.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Rung> {
        let (at, rung) = self.next()?;
        if now < at {
            return None;
        }
        if let Self::Climbing { taken, .. } = self {
            *taken += 1;
        }
        Some(rung)
    }

    fn next(&self) -> Option<(Instant, Rung)> {
        let Self::Climbing {
            started,
            first,
            taken,
        } = *self
        else {
            return None;
        };
        let second = if first == Signal::SIGTERM {
            Signal::SIGHUP
        } else {
            Signal::SIGTERM
        };
        let (after, rung) = match taken {
            0 => (Duration::ZERO, Rung::Send(first)),
            1 => (SECOND_AFTER, Rung::Send(second)),
            2 => (KILL_AFTER, Rung::Send(Signal::SIGKILL)),
            3 => (GIVE_UP_AFTER, Rung::GiveUp),
            _ => return None,
        };
        Some((started + after, rung))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::clock;

    fn climb(first: Signal) -> Vec<(u128, Rung)> {
        let begin = clock::now();
        let mut ladder = Ladder::default();
        ladder.start(first, begin);
        let mut taken = Vec::new();
        while let Some(at) = ladder.next_at() {
            let early = at.checked_sub(Duration::from_millis(1)).unwrap();
            assert_eq!(ladder.take_due(early), None);
            taken.push(((at - begin).as_millis(), ladder.take_due(at).unwrap()));
        }
        taken
    }

    #[test]
    fn hang_up_is_followed_by_term_and_kill_within_two_seconds() {
        let expected = [
            (0, Rung::Send(Signal::SIGHUP)),
            (700, Rung::Send(Signal::SIGTERM)),
            (1500, Rung::Send(Signal::SIGKILL)),
            (2500, Rung::GiveUp),
        ];
        assert_eq!(climb(Signal::SIGHUP), expected);
    }

    #[test]
    fn second_signal_differs_from_the_first() {
        let second = |first| climb(first)[1].1;
        assert_eq!(second(Signal::SIGTERM), Rung::Send(Signal::SIGHUP));
        assert_eq!(second(Signal::SIGINT), Rung::Send(Signal::SIGTERM));
    }

    #[test]
    fn a_later_start_does_not_begin_again() {
        let begin = clock::now();
        let mut ladder = Ladder::default();
        assert_eq!((ladder.has_started(), ladder.next_at()), (false, None));
        ladder.start(Signal::SIGTERM, begin);
        ladder.take_due(begin);
        ladder.start(Signal::SIGHUP, begin + SECOND_AFTER);
        assert_eq!(ladder.next_at(), Some(begin + SECOND_AFTER));
        assert!(ladder.has_started());
    }
}
