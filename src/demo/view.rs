//! What the agent looks like: the history's paragraphs, and the live part below them.
//!
//! Pure. The live part is never higher than the terminal: what matters least goes first.

use super::agent::{Agent, Status};
use super::dialog::{Dialog, DialogKind};
use super::entry::Entry;
use super::input::View;
use super::line::{Line, Tone, cells_of, width, wrap};
use super::options::Like;

/// Lines of a tool's result that are shown.
const RESULT_ROWS: usize = 12;
const MENU_ROWS: usize = 5;
const GAUGE_CELLS: u64 = 10;

/// The live part, and where the cursor stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) lines: Vec<Line>,
    /// Row and column.
    pub(super) cursor: Option<(usize, usize)>,
}

/// One paragraph, with the blank line above it.
pub(super) fn paragraph(entry: &Entry, cols: usize) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    match entry {
        Entry::Title(text) => lines.extend(marked("✻ ", Tone::Accent, Tone::Bold, text, cols)),
        Entry::User(text) => lines.extend(marked("> ", Tone::Dim, Tone::Dim, text, cols)),
        Entry::Assistant(text) => lines.extend(marked("● ", Tone::Plain, Tone::Plain, text, cols)),
        Entry::Tool { name, result } => {
            if !name.is_empty() {
                lines.extend(marked("● ", Tone::Good, Tone::Bold, name, cols));
            }
            lines.extend(result_lines(result, cols));
        }
        Entry::Note(text) => lines.extend(marked("┃ ", Tone::Accent, Tone::Accent, text, cols)),
        Entry::Fact(text) => lines.extend(marked("✔ ", Tone::Good, Tone::Good, text, cols)),
        Entry::Info(text) => lines.extend(marked("  ", Tone::Dim, Tone::Dim, text, cols)),
        Entry::Error(text) => lines.extend(marked("✘ ", Tone::Bad, Tone::Bad, text, cols)),
    }
    lines
}

fn marked(mark: &str, mark_tone: Tone, tone: Tone, text: &str, cols: usize) -> Vec<Line> {
    // A bar runs along all rows; any other mark stands at the first.
    let rest = if mark == "┃ " { mark } else { "  " };
    let rows = wrap(text, cols.saturating_sub(2));
    rows.iter()
        .enumerate()
        .map(|(at, row)| {
            Line::of(mark_tone, if at == 0 { mark } else { rest })
                .with(tone, row)
                .cut(cols)
        })
        .collect()
}

fn result_lines(result: &[String], cols: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (at, text) in result.iter().enumerate().take(RESULT_ROWS) {
        let mark = if at == 0 { "  ⎿ " } else { "    " };
        let mut line = Line::of(Tone::Dim, mark).with(Tone::Dim, text);
        if line.width() > cols {
            line = line.cut(cols.saturating_sub(1)).with(Tone::Dim, "…");
        }
        lines.push(line.cut(cols));
    }
    if let Some(hidden) = result
        .len()
        .checked_sub(RESULT_ROWS)
        .filter(|more| *more > 0)
    {
        lines.push(Line::of(Tone::Dim, &format!("    … {hidden} more lines")).cut(cols));
    }
    lines
}

/// A part of the live area, and how early it goes when there is no room (0 stays).
struct Part {
    rank: u8,
    lines: Vec<Line>,
}

pub(super) fn live(agent: &Agent, cols: usize, rows: usize) -> Picture {
    let (mut parts, cursor) = match (agent.dialog(), agent.view) {
        (Some(dialog), _) => (dialog_parts(dialog, cols), None),
        (None, View::Transcript) => (transcript_parts(cols), None),
        (None, View::Chat) => {
            let (input, at) = composer_lines(agent, cols, rows);
            (chat_parts(agent, input, cols), Some(at))
        }
    };
    let mut height: usize = parts.iter().map(|part| part.lines.len()).sum();
    for rank in (1..=9).rev() {
        for part in &mut parts {
            if height > rows && part.rank == rank {
                height -= part.lines.len();
                part.lines.clear();
            }
        }
    }
    let above: usize = parts
        .iter()
        .take_while(|part| part.rank != 0)
        .map(|part| part.lines.len())
        .sum();
    let mut lines: Vec<Line> = parts.into_iter().flat_map(|part| part.lines).collect();
    lines.truncate(rows.max(1));
    Picture {
        lines,
        cursor: cursor.map(|(row, col)| (above + row, col)),
    }
}

fn chat_parts(agent: &Agent, input: Vec<Line>, cols: usize) -> Vec<Part> {
    let part = |rank, lines| Part { rank, lines };
    // One family draws a box with its menu below, the other a line with its menu above.
    let is_boxed = agent.setup.like == Like::Claude;
    let rule = || {
        vec![if is_boxed {
            Line::of(Tone::Dim, &"─".repeat(cols))
        } else {
            Line::default()
        }]
    };
    let menu = menu_lines(agent, cols);
    let (above, below) = match (agent.menu.is_open(), is_boxed) {
        (true, true) => (Vec::new(), menu),
        (true, false) => (menu, status_lines(agent, cols)),
        (false, _) => (Vec::new(), status_lines(agent, cols)),
    };
    vec![
        part(9, vec![Line::default()]),
        part(4, busy_lines(agent, cols)),
        part(6, queue_lines(agent, cols)),
        part(3, rule()),
        part(5, above),
        part(0, input),
        part(2, rule()),
        part(5, below),
    ]
}

fn busy_lines(agent: &Agent, cols: usize) -> Vec<Line> {
    if !agent.is_busy() || agent.spinner.is_empty() {
        return Vec::new();
    }
    let frame = ["·", "✢", "✳", "✻", "✽", "✻", "✳", "✢"];
    let at = usize::try_from(agent.now / 120).unwrap_or(0) % frame.len();
    let mark = frame.get(at).copied().unwrap_or("·");
    let line = Line::of(Tone::Accent, &format!("{mark} {}…", agent.spinner));
    vec![
        line.with(Tone::Dim, " (esc to interrupt)").cut(cols),
        Line::default(),
    ]
}

fn queue_lines(agent: &Agent, cols: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = agent
        .queue
        .iter()
        .map(|(draft, _)| Line::of(Tone::Dim, &format!("  queued: {draft}")).cut(cols))
        .collect();
    if !lines.is_empty() {
        lines.push(Line::of(Tone::Dim, "  Press up to edit queued messages").cut(cols));
    }
    lines
}

fn composer_lines(agent: &Agent, cols: usize, rows: usize) -> (Vec<Line>, (usize, usize)) {
    let composer = &agent.composer;
    let (mark, tone) = match (composer.is_bash(), agent.setup.like) {
        (true, _) => ("! ", Tone::Warn),
        (false, Like::Claude) => ("❯ ", Tone::Bold),
        (false, Like::Codex) => ("› ", Tone::Bold),
    };
    let room = cols.saturating_sub(3).max(1);
    let mut lines = vec![String::new()];
    let mut cursor = (0, 0);
    let text = composer.text();
    for (at, c) in text.chars().enumerate() {
        let row = lines.len() - 1;
        let used = lines.last().map_or(0, |line| width(line));
        if at == composer.cursor() {
            cursor = (row, used);
        }
        if c == '\n' {
            lines.push(String::new());
        } else if used + cells_of(c) > room {
            lines.push(c.to_string());
        } else if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
    if composer.cursor() >= text.chars().count() {
        cursor = (lines.len() - 1, lines.last().map_or(0, |line| width(line)));
    }
    // A long draft shows the rows round its cursor.
    let shown = rows.saturating_sub(4).clamp(1, 10);
    let first = (cursor.0 + 1).saturating_sub(shown);
    let lines = lines
        .iter()
        .enumerate()
        .skip(first)
        .take(shown)
        .map(|(at, line)| {
            Line::of(tone, if at == 0 { mark } else { "  " })
                .with(Tone::Plain, line)
                .cut(cols)
        })
        .collect();
    let col = (cursor.1 + 2).min(cols.saturating_sub(1));
    (lines, (cursor.0 - first, col))
}

fn menu_lines(agent: &Agent, cols: usize) -> Vec<Line> {
    let menu = &agent.menu;
    let first = (menu.selected + 1).saturating_sub(MENU_ROWS);
    let rows = menu.rows.iter().enumerate().skip(first).take(MENU_ROWS);
    rows.map(|(at, row)| {
        let tone = if at == menu.selected {
            Tone::Accent
        } else {
            Tone::Dim
        };
        Line::of(tone, &format!("  /{:<16}{}", row.name, row.about)).cut(cols)
    })
    .collect()
}

fn status_lines(agent: &Agent, cols: usize) -> Vec<Line> {
    if let Some(key) = agent.keyboard.quit_key() {
        let text = format!("  Press Ctrl-{} again to exit", key.to_ascii_uppercase());
        return vec![Line::of(Tone::Dim, &text).cut(cols)];
    }
    let mut lines: Vec<Line> = agent
        .status_line
        .iter()
        .map(|text| Line::of(Tone::Dim, &format!("  {text}")).cut(cols))
        .collect();
    lines.push(context_line(agent).cut(cols));
    lines
}

fn context_line(agent: &Agent) -> Line {
    let mut line = match agent.percent() {
        Some(percent) => {
            let full = percent * GAUGE_CELLS / 100;
            let gauge = |count: u64, mark: &str| mark.repeat(usize::try_from(count).unwrap_or(0));
            let tone = match percent {
                0..=59 => Tone::Good,
                60..=84 => Tone::Warn,
                _ => Tone::Bad,
            };
            Line::of(Tone::Dim, "  context ")
                .with(tone, &gauge(full, "█"))
                .with(Tone::Dim, &gauge(GAUGE_CELLS - full, "░"))
                .with(Tone::Dim, &format!(" {percent}%"))
        }
        None if agent.status() == Status::Busy => Line::of(Tone::Dim, "  context …"),
        None => Line::of(Tone::Dim, "  context unknown until the next answer"),
    };
    if agent.composer.is_bash() {
        line = line.with(Tone::Warn, "  ! for bash mode");
    }
    if agent.composer.is_stashed() {
        line = line.with(Tone::Accent, "  › stashed (ctrl+s)");
    }
    if agent.status() == Status::Shell {
        line = line.with(Tone::Dim, "  1 background task");
    }
    line
}

fn dialog_parts(dialog: &Dialog, cols: usize) -> Vec<Part> {
    let rule = vec![Line::of(Tone::Accent, &"─".repeat(cols))];
    let detail = match dialog.kind {
        DialogKind::Permission => vec![
            Line::of(Tone::Bold, " Bash command").cut(cols),
            Line::of(Tone::Plain, &format!("   {}", dialog.detail)).cut(cols),
        ],
        DialogKind::Question | DialogKind::Picker => Vec::new(),
    };
    let options = dialog.options.iter().enumerate().map(|(at, option)| {
        let (mark, tone) = if at == dialog.selected {
            ("❯", Tone::Accent)
        } else {
            (" ", Tone::Plain)
        };
        Line::of(tone, &format!(" {mark} {}. {option}", at + 1)).cut(cols)
    });
    let hint = match dialog.kind {
        DialogKind::Permission => " Esc to cancel",
        DialogKind::Question => " Enter to select · Esc to cancel",
        DialogKind::Picker => " Enter to confirm · Esc to cancel",
    };
    vec![
        Part {
            rank: 9,
            lines: vec![Line::default()],
        },
        Part {
            rank: 8,
            lines: rule,
        },
        Part {
            rank: 4,
            lines: detail,
        },
        Part {
            rank: 3,
            lines: vec![Line::of(Tone::Plain, &format!(" {}", dialog.title)).cut(cols)],
        },
        Part {
            rank: 0,
            lines: options.collect(),
        },
        Part {
            rank: 5,
            lines: vec![Line::default()],
        },
        Part {
            rank: 6,
            lines: vec![Line::of(Tone::Dim, hint).cut(cols)],
        },
    ]
}

fn transcript_parts(cols: usize) -> Vec<Part> {
    let text = " Showing detailed transcript · ctrl+o to toggle";
    vec![
        Part {
            rank: 9,
            lines: vec![Line::default()],
        },
        Part {
            rank: 8,
            lines: vec![Line::of(Tone::Dim, &"─".repeat(cols))],
        },
        Part {
            rank: 0,
            lines: vec![Line::of(Tone::Dim, text).cut(cols)],
        },
    ]
}
