//! What the dashboard shows and how each key and each piece of news changes it. Time and facts are arguments.

use std::collections::VecDeque;

use super::key::Key;
use super::row::{Row, sort};
use super::series::Series;
use crate::compaction::Outcome;
use crate::event::{RunId, SessionId};
use crate::text::one_line;

/// Rows that a page key moves.
const PAGE: usize = 10;
/// Characters of a filter.
const FILTER_CHARS: usize = 60;

/// Everything that is known of the selected session beyond its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    pub session: Option<SessionId>,
    pub series: Series,
    /// How much of a long log the series tells of, while it is being read.
    pub behind_percent: Option<u64>,
    pub capsule: Vec<String>,
    pub drift: Vec<String>,
    pub notes: Vec<String>,
    /// The newest last.
    pub events: VecDeque<String>,
}

/// What a key asks the rest of harn to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    Quit,
    /// Back to the shell for a while.
    Stop,
    /// The selection has moved.
    Look,
    Compact(RunId),
    Checkpoint(SessionId),
    Briefing(SessionId),
}

/// Text over the whole screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub title: String,
    pub lines: Vec<String>,
    pub top: usize,
}

/// The dashboard.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub rows: Vec<Row>,
    /// The rows that the filter leaves, by place in `rows`.
    pub visible: Vec<usize>,
    /// A place in `visible`.
    pub selected: usize,
    pub filter: String,
    pub is_filtering: bool,
    pub detail: Detail,
    pub page: Option<Page>,
    /// The last line of the screen, where it is not the keys.
    pub message: Option<String>,
    /// The list was read at least once.
    pub is_read: bool,
}

impl Model {
    pub fn current(&self) -> Option<&Row> {
        self.rows.get(*self.visible.get(self.selected)?)
    }

    /// A new list; the selection stays with its session.
    pub fn take_rows(&mut self, mut rows: Vec<Row>) -> Option<Ask> {
        sort(&mut rows);
        let kept = self.current().cloned();
        self.is_read = true;
        self.rows = rows;
        self.refilter(kept.as_ref())
    }

    fn refilter(&mut self, kept: Option<&Row>) -> Option<Ask> {
        let filter = &self.filter;
        let visible = self.rows.iter().enumerate();
        self.visible = visible
            .filter(|(_, row)| filter.is_empty() || row.matches(filter))
            .map(|(place, _)| place)
            .collect();
        let place = kept.and_then(|kept| {
            self.visible.iter().position(|place| {
                self.rows
                    .get(*place)
                    .is_some_and(|row| row.key() == kept.key())
            })
        });
        let last = self.visible.len().saturating_sub(1);
        self.selected = place.unwrap_or(self.selected).min(last);
        self.moved(kept)
    }

    fn moved(&mut self, before: Option<&Row>) -> Option<Ask> {
        let is_same = self.current().map(Row::key) == before.map(Row::key);
        (!is_same).then(|| {
            self.detail = Detail::default();
            Ask::Look
        })
    }

    /// Facts of a session; those of one that is not selected any more are passed over.
    pub fn take_detail(&mut self, detail: Detail) {
        let current = self.current().and_then(|row| row.session.as_ref());
        if current == detail.session.as_ref() {
            // Looked at by somebody slower.
            let drift = if self.detail.session == detail.session {
                std::mem::take(&mut self.detail.drift)
            } else {
                Vec::new()
            };
            self.detail = Detail { drift, ..detail };
        }
    }

    pub fn take_drift(&mut self, session: &SessionId, drift: Vec<String>) {
        if self.detail.session.as_ref() == Some(session) {
            self.detail.drift = drift;
        }
    }

    /// How a compaction goes on; never a word on its outcome.
    pub fn progress(&mut self, name: &str, text: &str) {
        self.message = Some(format!("{}: {}", one_line(name), one_line(text)));
    }

    /// How it ended. Only what is confirmed is called compacted.
    pub fn settled(&mut self, name: &str, outcome: Outcome, reason: Option<&str>) {
        let word = match outcome {
            Outcome::Confirmed => "compacted: confirmed by the agent's own record",
            Outcome::Skipped
            | Outcome::Refused
            | Outcome::Failed
            | Outcome::Cancelled
            | Outcome::Misfired
            | Outcome::Unconfirmed
            | Outcome::Pending => outcome.word(),
        };
        let reason = reason.map_or_else(String::new, |it| format!(": {}", one_line(it)));
        self.message = Some(format!("{}: {word}{reason}", one_line(name)));
    }

    /// A key.
    pub fn press(&mut self, key: Key) -> Option<Ask> {
        if key == Key::Interrupt {
            return Some(Ask::Quit);
        }
        if key == Key::Suspend {
            return Some(Ask::Stop);
        }
        if self.page.is_some() {
            self.turn(key);
            return None;
        }
        if self.is_filtering {
            return self.type_filter(key);
        }
        self.message = None;
        match key {
            Key::Char('q') => Some(Ask::Quit),
            Key::Up | Key::Char('k') => self.go(self.selected.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.go(self.selected.saturating_add(1)),
            Key::PageUp => self.go(self.selected.saturating_sub(PAGE)),
            Key::PageDown => self.go(self.selected.saturating_add(PAGE)),
            Key::Home | Key::Char('g') => self.go(0),
            Key::End | Key::Char('G') => self.go(usize::MAX),
            Key::Char('/') => {
                self.is_filtering = true;
                None
            }
            Key::Escape if !self.filter.is_empty() => {
                let kept = self.current().cloned();
                self.filter.clear();
                self.refilter(kept.as_ref())
            }
            Key::Char('c') => self.compact(),
            Key::Char('s') => self.checkpoint(),
            Key::Char('b') | Key::Enter => {
                let session = self.current().and_then(|row| row.session.clone());
                session.map(Ask::Briefing)
            }
            Key::Char(_) | Key::Escape | Key::Backspace | Key::Interrupt | Key::Suspend => None,
        }
    }

    fn go(&mut self, place: usize) -> Option<Ask> {
        let before = self.current().cloned();
        self.selected = place.min(self.visible.len().saturating_sub(1));
        self.moved(before.as_ref())
    }

    fn type_filter(&mut self, key: Key) -> Option<Ask> {
        let kept = self.current().cloned();
        match key {
            Key::Char(c) if self.filter.chars().count() < FILTER_CHARS => self.filter.push(c),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Escape => {
                self.filter.clear();
                self.is_filtering = false;
            }
            Key::Enter => self.is_filtering = false,
            Key::Char(_)
            | Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown
            | Key::Home
            | Key::End
            | Key::Interrupt
            | Key::Suspend => return None,
        }
        self.refilter(kept.as_ref())
    }

    fn compact(&mut self) -> Option<Ask> {
        let row = self.current()?;
        if let Some(run) = row.run.clone().filter(|_| row.takes_requests) {
            self.message = Some("compaction asked for".to_owned());
            return Some(Ask::Compact(run));
        }
        let why = "not hosted by harn: only a person at its keyboard can compact it";
        self.message = Some(why.to_owned());
        None
    }

    fn checkpoint(&mut self) -> Option<Ask> {
        let session = self.current()?.session.clone()?;
        self.message = Some("saving a checkpoint".to_owned());
        Some(Ask::Checkpoint(session))
    }

    fn turn(&mut self, key: Key) {
        let Some(page) = &mut self.page else { return };
        let last = page.lines.len().saturating_sub(1);
        page.top = match key {
            Key::Up | Key::Char('k') => page.top.saturating_sub(1),
            Key::Down | Key::Char('j') => page.top.saturating_add(1).min(last),
            Key::PageUp => page.top.saturating_sub(PAGE),
            Key::PageDown | Key::Char(' ') => page.top.saturating_add(PAGE).min(last),
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => last,
            Key::Char(_)
            | Key::Enter
            | Key::Escape
            | Key::Backspace
            | Key::Interrupt
            | Key::Suspend => {
                self.page = None;
                return;
            }
        };
    }

    /// The selected line's name.
    pub fn name(&self) -> String {
        self.current().map_or_else(String::new, Row::title)
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
