//! The clock: the one place where the logic's time comes from.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::event::Timestamp;

pub(super) fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is where the clock is read")]
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_unix_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// For spans of time: never goes back.
pub(super) fn instant() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "this is where the clock is read")]
    Instant::now()
}
