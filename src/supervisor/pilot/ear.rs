//! What the byte path tells: the user's keys, the program's title and reports, its screen. Queues and notes, never waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::adapter::recipe::{Recipe, StatusSource};
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
    /// Only where titles say something of the client's state.
    titles: Option<TitleScanner>,
    reports: Option<ReportScanner>,
    screen: Option<ScreenFeed>,
    now: fn() -> Timestamp,
    instant: fn() -> Instant,
}

impl Ear {
    /// Listens for what the recipe looks at, and nothing else.
    pub fn new(
        hearing: Hearing,
        recipe: &Recipe,
        now: fn() -> Timestamp,
        instant: fn() -> Instant,
    ) -> Self {
        Self {
            hearing,
            titles: recipe.is_busy_title.map(|_| TitleScanner::default()),
            reports: match recipe.status {
                StatusSource::Reports { osc } => Some(ReportScanner::new(osc)),
                StatusSource::File { .. } => None,
            },
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
        if let Some(titles) = &mut self.titles {
            titles.observe(bytes);
        }
        let mut state = None;
        if let Some(reports) = &mut self.reports {
            reports.push(bytes, &mut |told| state = Some(told));
        }
        let mut heard = self.hearing.heard();
        let title = self.titles.as_ref().and_then(TitleScanner::title);
        if heard.title.as_deref() != title {
            heard.title = title.map(str::to_owned);
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
