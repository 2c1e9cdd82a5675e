//! The graph of a series in braille characters, for a terminal of any size.

use super::axis::Axis;
use super::row::fit;
use super::series::Series;
use crate::event::Tokens;
use crate::text::short_tokens;

/// Columns left of the graph: the scale.
const SCALE_COLS: usize = 6;
const BRAILLE: u32 = 0x2800;
/// Bits of a braille cell by row and column of its dots.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Where the graph is drawn: characters, without the scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    pub cols: usize,
    pub rows: usize,
}

/// The graph with scale and axis: `rows` lines and one for the marks. Less than a few columns give what has room.
pub fn draw(series: &Series, canvas: Canvas) -> Vec<String> {
    let cols = canvas.cols.saturating_sub(SCALE_COLS + 1);
    let rows = canvas.rows;
    let Some(axis) = Axis::of(series).filter(|_| cols > 0 && rows > 0) else {
        return Vec::new();
    };
    let dots = plot(series, &axis, cols, rows);
    let mut marks = vec![' '; cols];
    for mark in &series.marks {
        let place = axis.place(mark.elapsed_ms);
        if let Some(cell) = marks.get_mut(step(&axis, place, cols)) {
            // Two in one column: the legend tells them apart.
            *cell = if *cell == ' ' { mark.letter() } else { '*' };
        }
    }
    let row_of = |tokens: Tokens| row_of(tokens.0, series.top(), rows);
    let window = series.window.map(row_of);
    let automatic = series
        .automatic
        .map(|(least, most)| row_of(most)..=row_of(least));
    let mut lines = Vec::with_capacity(rows + 1);
    for row in 0..rows {
        let label = label(series, row, rows);
        let mut line = format!("{label:>SCALE_COLS$}┤");
        for column in 0..cols {
            let bits = dots.get(row * cols + column).copied().unwrap_or(0);
            let is_marked = marks.get(column).is_some_and(|mark| *mark != ' ');
            line.push(if bits != 0 {
                char::from_u32(BRAILLE + bits).unwrap_or('?')
            } else if window == Some(row) {
                '─'
            } else if is_marked {
                '┊'
            } else if automatic.as_ref().is_some_and(|range| range.contains(&row)) {
                '░'
            } else {
                ' '
            });
        }
        lines.push(line.trim_end().to_owned());
    }
    for (from, to) in axis.breaks() {
        if let Some(cell) = marks.get_mut(step(&axis, from.midpoint(to), cols))
            && *cell == ' '
        {
            *cell = '≈';
        }
    }
    let marks: String = marks.into_iter().collect();
    let line = format!("{:>SCALE_COLS$}└{marks}", "");
    lines.push(line.trim_end().to_owned());
    lines.iter().map(|line| fit(line, canvas.cols)).collect()
}

/// Of `steps` steps over the whole axis.
fn step(axis: &Axis, place: u64, steps: usize) -> usize {
    let last = steps.saturating_sub(1);
    let done = u128::from(place.min(axis.length)) * last as u128 / u128::from(axis.length);
    usize::try_from(done).unwrap_or(last)
}

/// The row that holds this many tokens; 0 is the top.
fn row_of(tokens: u64, top: u64, rows: usize) -> usize {
    level(tokens, top, rows * 4) / 4
}

/// Of `dots` dots, counted from the top.
fn level(tokens: u64, top: u64, dots: usize) -> usize {
    let last = dots.saturating_sub(1);
    let up = u128::from(tokens.min(top)) * last as u128 / u128::from(top.max(1));
    last - usize::try_from(up).unwrap_or(last).min(last)
}

fn label(series: &Series, row: usize, rows: usize) -> String {
    let top = series.top();
    if series
        .window
        .is_some_and(|window| row_of(window.0, top, rows) == row)
    {
        return series.window.map(short_tokens).unwrap_or_default();
    }
    if row == 0 {
        short_tokens(Tokens(top))
    } else if row + 1 == rows {
        "0".to_owned()
    } else {
        String::new()
    }
}

/// The bits of all cells, row by row. A number holds until the next one; where it is unknown there is no line.
fn plot(series: &Series, axis: &Axis, cols: usize, rows: usize) -> Vec<u32> {
    let mut cells = vec![0; rows * cols];
    let (width, height) = (cols * 2, rows * 4);
    let top = series.top();
    let mut set = |x: usize, y: usize| {
        let bit = DOTS.get(y % 4).and_then(|row| row.get(x % 2));
        if let (Some(cell), Some(bit)) = (cells.get_mut(y / 4 * cols + x / 2), bit) {
            *cell |= bit;
        }
    };
    let mut before: Option<(usize, usize)> = None;
    let ends = series
        .points
        .iter()
        .skip(1)
        .map(|point| axis.place(point.elapsed_ms))
        .chain([axis.length]);
    for (point, end) in series.points.iter().zip(ends) {
        let x = step(axis, axis.place(point.elapsed_ms), width);
        let until = step(axis, end, width);
        let Some(used) = point.used_tokens else {
            before = None;
            continue;
        };
        let y = level(used.0, top, height);
        if let Some((_, last)) = before {
            for between in last.min(y)..=last.max(y) {
                set(x, between);
            }
        }
        for hold in x..=until {
            set(hold, y);
        }
        before = Some((until, y));
    }
    cells
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
