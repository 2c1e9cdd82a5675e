//! How long one reading may take, and whether it was called off.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::error::RepoError;

/// A moment after which work stops by itself, or earlier when the caller says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget<'a> {
    interrupt: &'a AtomicBool,
    started: Instant,
    allowed: Duration,
}

impl<'a> Budget<'a> {
    pub(super) fn new(allowed: Duration, interrupt: &'a AtomicBool) -> Self {
        Self {
            interrupt,
            started: now(),
            allowed,
        }
    }

    /// A part of the same reading that must end at `share` percent of the whole.
    pub(super) fn share(self, share: u32) -> Self {
        Self {
            allowed: self.allowed / 100 * share.min(100),
            ..self
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || now().duration_since(self.started) >= self.allowed
    }

    pub(super) fn check(&self) -> Result<(), RepoError> {
        if self.is_over() {
            Err(RepoError::TimedOut)
        } else {
            Ok(())
        }
    }

    pub(super) fn interrupt(&self) -> &'a AtomicBool {
        self.interrupt
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a deadline on outside IO needs the real clock"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}
