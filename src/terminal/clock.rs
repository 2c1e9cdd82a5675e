//! The one place where the host reads a clock; everything that decides takes the time as an argument.

use std::time::{Duration, Instant};

use nix::poll::PollTimeout;

#[expect(clippy::disallowed_methods, reason = "the edge of the poll loops")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// How long a poll may sleep: until the next thing is due, or for ever when nothing is. Never a moment too short.
pub(super) fn poll_timeout(due_at: Option<Instant>) -> PollTimeout {
    let Some(at) = due_at else {
        return PollTimeout::NONE;
    };
    let left = at.saturating_duration_since(now()) + Duration::from_micros(999);
    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
}
