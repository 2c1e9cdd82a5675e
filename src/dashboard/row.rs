//! One session as a line of a list, and which line comes first.

use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

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
            self.last_event_at.map_or_else(dash, |at| distance(at, now)),
            self.note(),
        ]
    }

    /// The attempt and the warnings in one line.
    pub fn note(&self) -> String {
        self.notes().join("; ")
    }

    fn notes(&self) -> Vec<String> {
        let attempt = self
            .attempt
            .iter()
            .map(|attempt| format!("compaction {}", attempt.stage));
        let warnings = self.warnings.iter().map(|it| format!("! {}", one_line(it)));
        attempt.chain(warnings).collect()
    }
}

/// Events may be a little younger than the moment at which a list was begun.
const AHEAD_MS: u64 = 2_000;

/// Whether a clock dated an event after now.
pub fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at.ms_since(now) > AHEAD_MS
}

/// How far a moment is from now: `12 s`, and `in 73 y` for one that was dated ahead.
pub(super) fn distance(at: Timestamp, now: Timestamp) -> String {
    if is_ahead(at, now) {
        format!("in {}", age(at.ms_since(now)))
    } else {
        age(now.ms_since(at))
    }
}

/// The same within a sentence: `12 s ago`, `in 73 y`.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    let distance = distance(at, now);
    if is_ahead(at, now) {
        distance
    } else {
        format!("{distance} ago")
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

/// The columns that stay where there is little room, the most telling first.
pub(super) const ORDER: [usize; 8] = [0, 3, 6, 7, 2, 5, 4, 1];
/// Between two columns of the table.
const GAP: usize = 2;
/// A terminal narrower than this has no room to indent.
const INDENTED_COLS: usize = 20;

/// The list for a terminal of `cols` columns; unlimited where there is none. What has no room beside its line stands below
/// it, whole.
pub fn table(rows: &[Row], now: Timestamp, cols: Option<usize>) -> String {
    let cells: Vec<[String; 9]> = std::iter::once(TITLES.map(str::to_owned))
        .chain(rows.iter().map(|row| row.cells(now)))
        .collect();
    let widths: [usize; 8] = std::array::from_fn(|column| {
        let width = |row: &[String; 9]| row.get(column).map_or(0, |cell| cell.width());
        cells.iter().map(width).max().unwrap_or(0)
    });
    let shown = shown(&widths, GAP, cols.map(|cols| cols + GAP));
    let notes = std::iter::once(Vec::new()).chain(rows.iter().map(Row::notes));
    let lines = cells
        .iter()
        .zip(notes)
        .flat_map(|(cells, notes)| table_lines(cells, &notes, (&widths, &shown), cols));
    lines.collect::<Vec<_>>().join("\n")
}

/// The columns that have room, in their order.
pub(super) fn shown(widths: &[usize; 8], gap: usize, room: Option<usize>) -> Vec<usize> {
    let mut left = room.unwrap_or(usize::MAX);
    let mut shown = Vec::new();
    for column in ORDER {
        let needs = widths.get(column).copied().unwrap_or(0) + gap;
        if needs > left && !shown.is_empty() {
            break;
        }
        left = left.saturating_sub(needs);
        shown.push(column);
    }
    shown.sort_unstable();
    shown
}

fn table_lines(
    cells: &[String; 9],
    notes: &[String],
    (widths, shown): (&[usize; 8], &[usize]),
    cols: Option<usize>,
) -> Vec<String> {
    let mut line = String::new();
    for column in shown {
        let cell = cells.get(*column).map_or("", String::as_str);
        let width = widths.get(*column).copied().unwrap_or(0) + GAP;
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
    }
    let note = cells.last().map_or("", String::as_str);
    let Some(cols) = cols else {
        line.push_str(note);
        return vec![line.trim_end().to_owned()];
    };
    if line.width() + note.width() <= cols {
        line.push_str(note);
        return vec![fit(line.trim_end(), cols)];
    }
    let indent = if cols < INDENTED_COLS { "" } else { "  " };
    let below = notes
        .iter()
        .flat_map(|note| wrapped(note, cols - indent.len()))
        .map(|part| fit(&format!("{indent}{}", part.trim_end()), cols));
    std::iter::once(fit(line.trim_end(), cols))
        .chain(below)
        .collect()
}

/// Lines of at most `cols` columns, broken at blanks, and within a word that is longer.
fn wrapped(text: &str, cols: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        // A word that no line holds begins where there is room.
        let is_for_the_next = line.width() + 1 + word.width() > cols && word.width() <= cols;
        if !line.is_empty() && is_for_the_next {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() && line.width() < cols {
            line.push(' ');
        }
        for c in word.chars() {
            if !line.is_empty() && line.width() + c.width().unwrap_or(0) > cols {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

/// At most so many columns, with `…` where something was left out.
pub(super) fn fit(text: &str, cols: usize) -> String {
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
