//! What the byte path tells: the user's keys, the program's title and reports, its screen. Queues and notes, never waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::adapter::report::{AgentState, ReportScanner};
use crate::event::Timestamp;
use crate::terminal::{
    Draft, DraftTracker, HostEvent, Screen, ScreenFeed, Size, TitleScanner, screen,
};

/// Both threads' view of the terminal.
#[derive(Debug, Clone, Default)]
pub struct Hearing(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
pub(super) struct Heard {
    draft: DraftTracker,
    pub(super) last_key: Option<Instant>,
    pub(super) title: Option<String>,
    /// The client's newest report of its state, and since when it holds.
    pub(super) state: Option<(AgentState, Timestamp)>,
    pub(super) screen: Option<Screen>,
}

impl Heard {
    pub(super) fn draft(&self) -> Draft {
        self.draft.draft()
    }
}

impl Hearing {
    pub(super) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The byte path's end.
#[derive(Debug)]
pub struct Ear {
    hearing: Hearing,
    titles: TitleScanner,
    reports: Option<ReportScanner>,
    screen: Option<ScreenFeed>,
    now: fn() -> Timestamp,
    instant: fn() -> Instant,
}

impl Ear {
    /// `osc` is the number of the client's state reports, where it makes some.
    pub fn new(
        hearing: Hearing,
        osc: Option<u32>,
        now: fn() -> Timestamp,
        instant: fn() -> Instant,
    ) -> Self {
        Self {
            hearing,
            titles: TitleScanner::default(),
            reports: osc.map(ReportScanner::new),
            screen: None,
            now,
            instant,
        }
    }

    /// Takes what the host tells.
    pub fn hear(&mut self, event: HostEvent<'_>) {
        match event {
            HostEvent::Output(bytes) => self.output(bytes),
            HostEvent::Input(bytes) => {
                let mut heard = self.hearing.heard();
                if heard.draft.observe(bytes) {
                    heard.last_key = Some((self.instant)());
                }
            }
            HostEvent::Resized(size) => self.resized(size),
            HostEvent::Started { .. }
            | HostEvent::Stopped
            | HostEvent::Continued
            | HostEvent::Asked(_)
            | HostEvent::Ended(_) => {}
        }
    }

    fn output(&mut self, bytes: &[u8]) {
        if let Some(screen) = &self.screen {
            screen.push(bytes);
        }
        self.titles.observe(bytes);
        let mut state = None;
        if let Some(reports) = &mut self.reports {
            reports.push(bytes, &mut |told| state = Some(told));
        }
        let mut heard = self.hearing.heard();
        if heard.title.as_deref() != self.titles.title() {
            heard.title = self.titles.title().map(str::to_owned);
        }
        if let Some(state) =
            state.filter(|state| heard.state.is_none_or(|(known, _)| known != *state))
        {
            heard.state = Some((state, (self.now)()));
        }
    }

    fn resized(&mut self, size: Size) {
        match &self.screen {
            Some(feed) => feed.resize(size),
            None => match screen(size) {
                Ok((feed, screen)) => {
                    self.screen = Some(feed);
                    self.hearing.heard().screen = Some(screen);
                }
                Err(error) => tracing::warn!(%error, "no screen model"),
            },
        }
    }
}
