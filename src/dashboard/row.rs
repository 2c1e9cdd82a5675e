//! One session as a line of a list, and which line comes first.

use serde::Serialize;

use crate::event::{HarnessId, RunId, SessionId, Timestamp, Tokens};
use crate::text::{age, one_line, short_tokens, shorten};

/// A window this full is about to be compacted, in percent.
const FULL_PERCENT: u64 = 80;
/// A session at this share of what it was compacted at before is about to be, in percent.
const NEAR_PERCENT: u64 = 90;

/// What became of a session. The order is that of the list where nothing else decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A live run hosts it.
    Owned,
    /// Its hooks speak, and no run hosts it.
    Open,
    /// Its run is gone, and nobody said that it ended.
    Crashed,
    /// There is something, and it cannot be read.
    Unreadable,
    /// Another tool's.
    Foreign,
    /// It ended.
    Retired,
}

impl Standing {
    pub fn word(self) -> &'static str {
        match self {
            Self::Owned => "owned",
            Self::Open => "open",
            Self::Crashed => "crashed",
            Self::Unreadable => "unreadable",
            Self::Foreign => "foreign",
            Self::Retired => "retired",
        }
    }
}

/// Tokens in use, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub used: Option<Tokens>,
    pub window: Option<Tokens>,
    /// The least at which this model was compacted by itself here.
    pub automatic: Option<Tokens>,
    /// A compaction ended the number that was known.
    pub is_compacted: bool,
    pub is_stale: bool,
}

impl Usage {
    fn percent(&self) -> Option<u64> {
        let (used, window) = (self.used?, self.window?);
        (window.0 > 0).then(|| used.0.saturating_mul(100) / window.0)
    }

    /// Whether the next compaction is near.
    pub fn is_full(&self) -> bool {
        let is_near = match (self.used, self.automatic) {
            (Some(used), Some(least)) => {
                used.0.saturating_mul(100) >= least.0.saturating_mul(NEAR_PERCENT)
            }
            _ => false,
        };
        is_near
            || self
                .percent()
                .is_some_and(|percent| percent >= FULL_PERCENT)
    }

    /// `84k/200k 42%`.
    pub fn text(&self) -> String {
        let Some(used) = self.used else {
            return if self.is_compacted {
                "compacted".to_owned()
            } else {
                "?".to_owned()
            };
        };
        let mut text = short_tokens(used);
        if let (Some(window), Some(percent)) = (self.window, self.percent()) {
            text = format!("{text}/{} {percent}%", short_tokens(window));
        }
        if self.is_stale {
            text.push('~');
        }
        text
    }
}

/// A compaction under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    pub id: String,
    /// `requested`, `typed`, `submitted`: harn's; `announced`: the harness's own.
    pub stage: &'static str,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// None for a run whose session has not spoken, and for what cannot be read.
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    /// The run's name.
    pub name: Option<String>,
    pub adapter: Option<HarnessId>,
    /// Empty where it is unknown.
    pub project: String,
    pub branch: Option<String>,
    pub standing: Standing,
    pub phase: Option<&'static str>,
    pub usage: Usage,
    pub last_event_at: Option<Timestamp>,
    pub attempt: Option<Attempt>,
    pub warnings: Vec<String>,
    /// Takes requests for a compaction.
    pub takes_requests: bool,
}

impl Row {
    /// A line for what cannot be shown otherwise.
    pub fn unreadable(what: &str, standing: Standing, why: String) -> Self {
        Self {
            session: None,
            run: None,
            name: Some(what.to_owned()),
            adapter: None,
            project: String::new(),
            branch: None,
            standing,
            phase: None,
            usage: Usage::default(),
            last_event_at: None,
            attempt: None,
            warnings: vec![why],
            takes_requests: false,
        }
    }

    /// What the line is known by while others come and go.
    pub fn key(&self) -> (Option<&SessionId>, Option<&RunId>, Option<&str>) {
        (
            self.session.as_ref(),
            self.run.as_ref(),
            self.name.as_deref(),
        )
    }

    /// Its name for people: the run's, else the beginning of an id.
    pub fn title(&self) -> String {
        let id = self.session.as_ref().map(SessionId::as_str);
        let id = id.or(self.run.as_ref().map(RunId::as_str));
        one_line(self.name.as_deref().or(id).unwrap_or("?"))
    }

    /// Smaller is more urgent.
    fn need(&self) -> u8 {
        let is_live = matches!(self.standing, Standing::Owned | Standing::Open);
        let is_degraded = self.phase == Some("degraded");
        match self.standing {
            // It just forgot.
            _ if is_live && is_degraded => 0,
            _ if is_live && self.attempt.is_some() => 1,
            // It is about to.
            _ if is_live && self.usage.is_full() => 2,
            _ if is_live && !self.warnings.is_empty() => 3,
            Standing::Owned => 4,
            Standing::Open => 5,
            Standing::Crashed => 6,
            Standing::Unreadable => 7,
            Standing::Foreign => 8,
            Standing::Retired => 9,
        }
    }

    /// The project's last part.
    pub fn place(&self) -> String {
        let last = self.project.rsplit('/').find(|part| !part.is_empty());
        one_line(last.unwrap_or("-"))
    }

    /// Everything a filter looks at.
    pub fn matches(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        let branch = self.branch.as_deref().unwrap_or_default();
        let adapter = self.adapter.as_ref().map_or("", HarnessId::as_str);
        let id = self.session.as_ref().map_or("", SessionId::as_str);
        [
            &self.title(),
            id,
            adapter,
            &self.project,
            branch,
            self.standing.word(),
            self.phase.unwrap_or_default(),
        ]
        .iter()
        .any(|text| text.to_lowercase().contains(&filter))
    }

    /// The cells of the list.
    pub fn cells(&self, now: Timestamp) -> [String; 9] {
        let dash = || "-".to_owned();
        [
            self.standing.word().to_owned(),
            self.adapter
                .as_ref()
                .map_or_else(dash, |it| one_line(it.as_str())),
            shorten(&self.title(), 14),
            shorten(&self.place(), 20),
            shorten(&self.branch.as_deref().map_or_else(dash, one_line), 18),
            self.phase.map_or_else(dash, str::to_owned),
            self.usage.text(),
            self.last_event_at
                .map_or_else(dash, |at| age(now.ms_since(at))),
            self.note(),
        ]
    }

    /// The attempt and the warnings in one line.
    pub fn note(&self) -> String {
        let attempt = self
            .attempt
            .iter()
            .map(|attempt| format!("compaction {}", attempt.stage));
        let warnings = self.warnings.iter().map(|it| format!("! {}", one_line(it)));
        attempt.chain(warnings).collect::<Vec<_>>().join("; ")
    }
}

/// By need: which is about to forget, and which just did; the fuller first, then the one heard last.
pub fn sort(rows: &mut [Row]) {
    rows.sort_by(|one, other| {
        let rank = |row: &Row| {
            (
                row.need(),
                std::cmp::Reverse(row.usage.percent()),
                std::cmp::Reverse(row.last_event_at),
                row.title(),
            )
        };
        rank(one).cmp(&rank(other))
    });
}

/// The titles of the list.
pub(super) const TITLES: [&str; 9] = [
    "state", "harness", "session", "project", "branch", "phase", "context", "heard", "",
];

/// The list for a terminal of `cols` columns; unlimited where there is none.
pub fn table(rows: &[Row], now: Timestamp, cols: Option<usize>) -> String {
    use unicode_width::UnicodeWidthStr as _;
    let cells: Vec<[String; 9]> = std::iter::once(TITLES.map(str::to_owned))
        .chain(rows.iter().map(|row| row.cells(now)))
        .collect();
    let widths: Vec<usize> = (0..TITLES.len())
        .map(|column| {
            let width = |row: &[String; 9]| row.get(column).map_or(0, |cell| cell.width());
            cells.iter().map(width).max().unwrap_or(0)
        })
        .collect();
    let lines: Vec<String> = cells
        .iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                let pad = width.saturating_sub(cell.width()) + 2;
                line.extend(std::iter::repeat_n(' ', pad));
            }
            let line = line.trim_end();
            cols.map_or_else(|| line.to_owned(), |cols| fit(line, cols))
        })
        .collect();
    lines.join("\n")
}

/// At most so many columns, with `…` where something was left out.
pub(super) fn fit(text: &str, cols: usize) -> String {
    use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
    if text.width() <= cols {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut width = 0;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width + 1 > cols {
            break;
        }
        kept.push(c);
    }
    if cols > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
