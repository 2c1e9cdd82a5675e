//! The graph of a series as an SVG document, for reports. Colours that read on white and on black paper.

use std::fmt::Write as _;

use super::axis::Axis;
use super::series::{Mark, MarkKind, Series};
use crate::compaction::Outcome;
use crate::event::Tokens;
use crate::text::{short_tokens, shorten};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 880.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 300.0;
const LINE: f64 = 18.0;
/// Between the middles of two letters below the axis.
const LETTER: f64 = 10.0;
/// Characters that a line across the picture holds; wider ones would be cut by its edge.
const LINE_CHARS: usize = 110;
const TITLE_CHARS: usize = 94;

/// The document; `title` is printable text.
pub fn svg(series: &Series, title: &str) -> String {
    let mut text = String::new();
    // Writing to a string never fails.
    if write_svg(&mut text, series, title).is_err() {
        text.clear();
    }
    text
}

fn write_svg(out: &mut String, series: &Series, title: &str) -> std::fmt::Result {
    let axis = Axis::of(series);
    let notes = axis.as_ref().map_or_else(Vec::new, |it| it.notes(series));
    let lines = u16::try_from(series.marks.len() + notes.len()).unwrap_or(0);
    let height = BOTTOM + 52.0 + LINE * f64::from(lines);
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="ui-monospace, monospace" font-size="12">
<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>
<text x="{LEFT}" y="24" font-size="14" fill="#222222">{}</text>"##,
        escaped(&shorten(title, TITLE_CHARS))
    )?;
    let Some(axis) = axis else {
        writeln!(
            out,
            r##"<text x="{LEFT}" y="{TOP}" fill="#666666">nothing was measured yet</text>"##
        )?;
        return writeln!(out, "</svg>");
    };
    let (from, to) = (axis.from, axis.to);
    let scale = Scale {
        axis,
        top: float(series.top()),
    };
    write_ranges(out, series, &scale)?;
    write_line(out, series, &scale)?;
    write_marks(out, series, &scale)?;
    write_legend(out, series, &notes)?;
    writeln!(
        out,
        r##"<line x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}" stroke="#888888"/>
<text x="{LEFT}" y="{}" fill="#666666">{from}</text>
<text x="{RIGHT}" y="{}" fill="#666666" text-anchor="end">{to}</text>
</svg>"##,
        BOTTOM + 30.0,
        BOTTOM + 30.0
    )
}

struct Scale {
    axis: Axis,
    top: f64,
}

impl Scale {
    /// Of a place on the axis.
    fn x(&self, place: u64) -> f64 {
        tenth(LEFT + (RIGHT - LEFT) * float(place) / float(self.axis.length))
    }

    fn elapsed(&self, elapsed: u64) -> f64 {
        self.x(self.axis.place(elapsed))
    }

    fn y(&self, tokens: Tokens) -> f64 {
        tenth(BOTTOM - (BOTTOM - TOP) * float(tokens.0) / self.top)
    }
}

fn write_ranges(out: &mut String, series: &Series, scale: &Scale) -> std::fmt::Result {
    for (from, to) in scale.axis.breaks() {
        let (x, width) = (scale.x(from), tenth(scale.x(to) - scale.x(from)));
        let height = BOTTOM - TOP;
        writeln!(
            out,
            r##"<rect x="{x}" y="{TOP}" width="{width}" height="{height}" fill="#000000" fill-opacity="0.06"/>"##
        )?;
    }
    if let Some((least, most)) = series.automatic {
        let (y, bottom) = (scale.y(most), scale.y(least));
        let height = tenth((bottom - y).max(2.0));
        // Below the range, or above one that lies on the axis.
        let below = y + height + 13.0;
        let words = tenth(if below < BOTTOM - 4.0 { below } else { y - 4.0 });
        writeln!(
            out,
            r##"<rect x="{LEFT}" y="{y}" width="{}" height="{height}" fill="#f2c14e" fill-opacity="0.35"/>
<text x="{}" y="{}" fill="#8a6d1a" text-anchor="end">compacted by itself here before</text>"##,
            RIGHT - LEFT,
            RIGHT - 4.0,
            words
        )?;
    }
    if let Some(window) = series.window {
        let y = scale.y(window);
        writeln!(
            out,
            r##"<line x1="{LEFT}" y1="{y}" x2="{RIGHT}" y2="{y}" stroke="#b33a3a" stroke-dasharray="6 4"/>
<text x="{}" y="{}" fill="#b33a3a" text-anchor="end">{}</text>"##,
            LEFT - 6.0,
            y + 4.0,
            short_tokens(window)
        )?;
        if BOTTOM - y < LINE {
            // One number beside the other's place.
            return Ok(());
        }
    }
    writeln!(
        out,
        r##"<text x="{}" y="{BOTTOM}" fill="#666666" text-anchor="end">0</text>"##,
        LEFT - 6.0
    )
}

fn write_line(out: &mut String, series: &Series, scale: &Scale) -> std::fmt::Result {
    let mut path = String::new();
    let mut is_down = false;
    let ends = series
        .points
        .iter()
        .skip(1)
        .map(|it| scale.elapsed(it.elapsed_ms))
        .chain([scale.x(scale.axis.length)]);
    for (point, end) in series.points.iter().zip(ends) {
        let Some(used) = point.used_tokens else {
            is_down = false;
            continue;
        };
        let (x, y) = (scale.elapsed(point.elapsed_ms), scale.y(used));
        let pen = if is_down { 'L' } else { 'M' };
        write!(path, "{pen}{x} {y}H{end}")?;
        is_down = true;
    }
    writeln!(
        out,
        r##"<path d="{path}" fill="none" stroke="#2563a8" stroke-width="2"/>"##
    )
}

fn colour_of(mark: &Mark) -> &'static str {
    match &mark.kind {
        MarkKind::Harness { .. } => "#666666",
        MarkKind::Managed {
            outcome: Some(Outcome::Confirmed),
            ..
        } => "#2e7d4f",
        MarkKind::Managed { .. } => "#b3661e",
    }
}

/// A line up through the picture for each compaction, and its letter below: beside its neighbours, and led to its line.
fn write_marks(out: &mut String, series: &Series, scale: &Scale) -> std::fmt::Result {
    let mut marks: Vec<(f64, char, &str)> = series
        .marks
        .iter()
        .map(|mark| {
            let x = scale.elapsed(mark.elapsed_ms);
            (x, mark.letter(), colour_of(mark))
        })
        .collect();
    marks.extend(scale.axis.breaks().map(|(from, to)| {
        let middle = tenth(f64::midpoint(scale.x(from), scale.x(to)));
        (middle, '≈', "#444444")
    }));
    marks.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let xs: Vec<f64> = marks.iter().map(|(x, ..)| *x).collect();
    for ((x, letter, colour), label) in marks.iter().zip(spread(&xs)) {
        if *letter != '≈' {
            writeln!(
                out,
                r#"<polyline points="{x},{TOP} {x},{BOTTOM} {label},{}" fill="none" stroke="{colour}" stroke-dasharray="2 3"/>"#,
                BOTTOM + 5.0
            )?;
        }
        writeln!(
            out,
            r#"<text x="{label}" y="{}" fill="{colour}" text-anchor="middle">{letter}</text>"#,
            BOTTOM + 15.0
        )?;
    }
    Ok(())
}

/// Places from left to right, so far apart that letters do not touch, none beyond the right end.
fn spread(xs: &[f64]) -> Vec<f64> {
    let mut least = f64::MIN;
    let mut places: Vec<f64> = xs
        .iter()
        .map(|x| {
            let place = x.max(least);
            least = place + LETTER;
            place
        })
        .collect();
    let mut most = RIGHT;
    for place in places.iter_mut().rev() {
        *place = tenth(place.min(most));
        most = *place - LETTER;
    }
    places
}

fn write_legend(out: &mut String, series: &Series, notes: &[String]) -> std::fmt::Result {
    let marks = series.marks.iter().map(|mark| {
        let text = format!("{}  {}  {}", mark.letter(), mark.at, mark.text());
        (colour_of(mark), text)
    });
    let notes = notes.iter().map(|note| ("#444444", note.clone()));
    let mut y = BOTTOM + 52.0;
    for (colour, text) in notes.chain(marks) {
        let text = escaped(&shorten(&text, LINE_CHARS));
        writeln!(
            out,
            r#"<text x="{LEFT}" y="{y}" fill="{colour}">{text}</text>"#
        )?;
        y += LINE;
    }
    Ok(())
}

/// What XML lets stand in text.
fn escaped(text: &str) -> String {
    text.chars()
        .filter(|c| !crate::text::is_unprintable(*c) && !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .fold(String::new(), |mut kept, c| {
            match c {
                '&' => kept.push_str("&amp;"),
                '<' => kept.push_str("&lt;"),
                '>' => kept.push_str("&gt;"),
                c => kept.push(c),
            }
            kept
        })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a picture is far coarser than that"
)]
fn float(count: u64) -> f64 {
    count as f64
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
