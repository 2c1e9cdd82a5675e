//! The demo's clocks: milliseconds since the start, and the time of day for the transcript.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::event::Timestamp;

#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    begin: Instant,
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the demo reads its clocks"
)]
impl Clock {
    pub(super) fn start() -> Self {
        Self {
            begin: Instant::now(),
        }
    }

    pub(super) fn ms(self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn time_of_day() -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_unix_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
