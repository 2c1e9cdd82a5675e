//! Draws the dashboard into cells, whatever their number. Meaning never rests on colour alone.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr as _;

use super::axis::notes;
use super::graph::{Canvas, draw};
use super::model::{Model, Page};
use super::row::{Row, Standing, TITLES, ago, fit, shown};
use crate::event::Timestamp;
use crate::text::one_line;

/// Least and most columns of each cell of the list, in the order of `TITLES`; the last takes the rest.
const COLS: [usize; 8] = [10, 12, 12, 16, 14, 12, 15, 7];
/// The beginning of a warning, `!…`.
const SIGN_COLS: usize = 2;
const KEYS: &str = "q quit  ↑↓ select  c compact  s checkpoint  b briefing  / filter";
/// Compactions named below the graph, the newest last.
const MARKS: usize = 2;
/// Rows below which there is only the list.
const DETAIL_ROWS: u16 = 14;

/// Draws all of it.
pub fn paint(model: &Model, now: Timestamp, area: Rect, cells: &mut Buffer) {
    let area = area.intersection(cells.area);
    if area.is_empty() {
        return;
    }
    if let Some(page) = &model.page {
        return paint_page(page, area, cells);
    }
    let height = usize::from(area.height);
    let has_detail = area.height >= DETAIL_ROWS && model.current().is_some();
    // Title, heading and foot are taken off.
    let room = height.saturating_sub(3);
    let list = if has_detail {
        model.visible.len().clamp(1, room / 2)
    } else {
        room
    };
    let mut at = Cursor { area, row: 0 };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    at.line(cells, &title(model), bold);
    // Room for a sign that there is more to say; the selected line's words stand below.
    let is_noted = |place: &usize| {
        model
            .rows
            .get(*place)
            .is_some_and(|it| !it.note().is_empty())
    };
    let sign = if model.visible.iter().any(is_noted) {
        SIGN_COLS
    } else {
        0
    };
    let room = usize::from(area.width).saturating_sub(sign);
    let shown = shown(&COLS, 1, Some(room));
    let titles = cells_line(&TITLES.map(str::to_owned), &shown);
    at.line(
        cells,
        &titles,
        Style::new().add_modifier(Modifier::UNDERLINED),
    );
    // The selected line is always among those that are shown.
    let first = model.selected.saturating_sub(list.saturating_sub(1));
    let places = model.visible.iter().enumerate().skip(first).take(list);
    for (number, place) in places {
        let Some(row) = model.rows.get(*place) else {
            continue;
        };
        let is_selected = number == model.selected;
        let mut line = cells_line(&row.cells(now), &shown);
        let pad = usize::from(area.width).saturating_sub(line.width());
        line.extend(std::iter::repeat_n(' ', pad));
        at.line(cells, &line, style_of(row, is_selected));
    }
    if has_detail {
        paint_detail(model, now, &mut at, cells);
    }
    at.row = area.height.saturating_sub(1);
    if area.height > 1 {
        let foot = foot(model);
        at.line(cells, &foot, Style::new().add_modifier(Modifier::DIM));
    }
}

struct Cursor {
    area: Rect,
    row: u16,
}

impl Cursor {
    fn left(&self) -> usize {
        // The foot's row is kept.
        usize::from(self.area.height.saturating_sub(1).saturating_sub(self.row))
    }

    fn line(&mut self, cells: &mut Buffer, text: &str, style: Style) {
        if self.row < self.area.height {
            let text = fit(&one_line(text), usize::from(self.area.width));
            cells.set_stringn(
                self.area.x,
                self.area.y + self.row,
                text,
                usize::from(self.area.width),
                style,
            );
            self.row += 1;
        }
    }
}

fn title(model: &Model) -> String {
    if !model.is_read {
        return "harn watch: reading".to_owned();
    }
    let count = model.rows.len();
    let word = if count == 1 { "session" } else { "sessions" };
    let owned = model
        .rows
        .iter()
        .filter(|row| row.standing == Standing::Owned)
        .count();
    let mut title = format!("harn watch: {count} {word}, {owned} owned");
    if !model.filter.is_empty() {
        title.push_str(&format_filter(&model.filter, model.visible.len()));
    }
    title
}

fn format_filter(filter: &str, count: usize) -> String {
    format!(", {count} match {filter:?}")
}

fn foot(model: &Model) -> String {
    if model.is_filtering {
        return format!("filter: {}_", model.filter);
    }
    model.message.clone().unwrap_or_else(|| KEYS.to_owned())
}

fn cells_line(cells: &[String; 9], shown: &[usize]) -> String {
    let mut line = String::new();
    for column in shown {
        let width = COLS.get(*column).copied().unwrap_or(0);
        let cell = fit(cells.get(*column).map_or("", String::as_str), width);
        let pad = (width + 1).saturating_sub(cell.width());
        line.push_str(&cell);
        line.extend(std::iter::repeat_n(' ', pad));
    }
    line.push_str(cells.last().map_or("", String::as_str));
    line
}

fn style_of(row: &Row, is_selected: bool) -> Style {
    let is_live = matches!(row.standing, Standing::Owned | Standing::Open);
    let style = if is_live && row.phase == Some("degraded") {
        Style::new().fg(Color::Red)
    } else if is_live && (row.usage.is_full() || row.attempt.is_some()) {
        Style::new().fg(Color::Yellow)
    } else if row.standing == Standing::Owned {
        Style::new().fg(Color::Green)
    } else if is_live {
        Style::new()
    } else {
        Style::new().add_modifier(Modifier::DIM)
    };
    if is_selected {
        style.add_modifier(Modifier::REVERSED)
    } else {
        style
    }
}

fn paint_detail(model: &Model, now: Timestamp, at: &mut Cursor, cells: &mut Buffer) {
    let Some(row) = model.current() else { return };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let heard = row
        .last_event_at
        .map_or_else(String::new, |at| format!(", heard {}", ago(at, now)));
    let name = row
        .session
        .as_ref()
        .map_or_else(|| row.title(), ToString::to_string);
    at.line(cells, &format!("─ {}{heard}", one_line(&name)), bold);
    let detail = &model.detail;
    let plain = Style::new();
    if let Some(attempt) = &row.attempt {
        at.line(cells, &format!("compaction {}", attempt.stage), bold);
    }
    for warning in row.warnings.iter().take(2) {
        at.line(
            cells,
            &format!("! {}", one_line(warning)),
            Style::new().fg(Color::Yellow),
        );
    }
    if let Some(percent) = detail.behind_percent {
        at.line(cells, &format!("{percent}% of the log is read"), plain);
    }
    let graph_rows = (at.left() / 3).min(8);
    if !detail.series.points.is_empty() && graph_rows >= 2 {
        let canvas = Canvas {
            cols: usize::from(at.area.width),
            rows: graph_rows,
        };
        for line in draw(&detail.series, canvas) {
            at.line(cells, &line, Style::new().fg(Color::Cyan));
        }
        for note in notes(&detail.series) {
            at.line(cells, &note, plain);
        }
        let older = detail.series.marks.len().saturating_sub(MARKS);
        for mark in detail.series.marks.iter().skip(older) {
            let ago = ago(mark.at, now);
            at.line(
                cells,
                &format!("{} {ago}: {}", mark.letter(), mark.text()),
                plain,
            );
        }
    }
    // The tail of events takes what the others leave, and at least three rows.
    let parts: [(&str, &Vec<String>); 3] = [
        ("checkpoint", &detail.capsule),
        ("drift", &detail.drift),
        ("notes", &detail.notes),
    ];
    for (title, lines) in parts {
        for (number, line) in lines.iter().take(3).enumerate() {
            if at.left() <= 3 {
                break;
            }
            let title = if number == 0 { title } else { "" };
            at.line(cells, &format!("{title:<11}{line}"), plain);
        }
    }
    let left = at.left();
    let skipped = detail.events.len().saturating_sub(left);
    for line in detail.events.iter().skip(skipped) {
        at.line(cells, line, Style::new().add_modifier(Modifier::DIM));
    }
}

fn paint_page(page: &Page, area: Rect, cells: &mut Buffer) {
    let mut at = Cursor { area, row: 0 };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    at.line(cells, &page.title, bold);
    let room = at.left();
    for line in page.lines.iter().skip(page.top).take(room) {
        at.line(cells, line, Style::new());
    }
    at.row = area.height.saturating_sub(1);
    if area.height > 1 {
        let foot = "↑↓ scroll  any other key: back";
        at.line(cells, foot, Style::new().add_modifier(Modifier::DIM));
    }
}
