//! The graph of a series as an SVG document, for reports. Colours that read on white and on black paper.

use std::fmt::Write as _;

use super::series::{MarkKind, Series};
use crate::compaction::Outcome;
use crate::event::{Timestamp, Tokens};
use crate::text::short_tokens;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 880.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 300.0;
const LINE: f64 = 18.0;

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
    let height = BOTTOM + 52.0 + LINE * f64::from(u16::try_from(series.marks.len()).unwrap_or(0));
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="ui-monospace, monospace" font-size="12">
<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>
<text x="{LEFT}" y="24" font-size="14" fill="#222222">{}</text>"##,
        escaped(title)
    )?;
    let Some((from, to)) = series.span() else {
        writeln!(
            out,
            r##"<text x="{LEFT}" y="{TOP}" fill="#666666">nothing was measured yet</text>"##
        )?;
        return writeln!(out, "</svg>");
    };
    let scale = Scale {
        from,
        span: float(to.ms_since(from)).max(1.0),
        top: float(series.top()),
    };
    write_ranges(out, series, &scale)?;
    write_line(out, series, &scale, to)?;
    write_marks(out, series, &scale)?;
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
    from: Timestamp,
    span: f64,
    top: f64,
}

impl Scale {
    fn x(&self, at: Timestamp) -> f64 {
        tenth(LEFT + (RIGHT - LEFT) * float(at.ms_since(self.from)) / self.span)
    }

    fn y(&self, tokens: Tokens) -> f64 {
        tenth(BOTTOM - (BOTTOM - TOP) * float(tokens.0) / self.top)
    }
}

fn write_ranges(out: &mut String, series: &Series, scale: &Scale) -> std::fmt::Result {
    if let Some((least, most)) = series.automatic {
        let (y, bottom) = (scale.y(most), scale.y(least));
        let height = tenth((bottom - y).max(2.0));
        writeln!(
            out,
            r##"<rect x="{LEFT}" y="{y}" width="{}" height="{height}" fill="#f2c14e" fill-opacity="0.35"/>
<text x="{}" y="{}" fill="#8a6d1a" text-anchor="end">compacted by itself here before</text>"##,
            RIGHT - LEFT,
            RIGHT - 4.0,
            y + height + 13.0
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
    }
    writeln!(
        out,
        r##"<text x="{}" y="{BOTTOM}" fill="#666666" text-anchor="end">0</text>"##,
        LEFT - 6.0
    )
}

fn write_line(out: &mut String, series: &Series, scale: &Scale, to: Timestamp) -> std::fmt::Result {
    let mut path = String::new();
    let mut is_down = false;
    let ends = series.points.iter().skip(1).map(|it| it.at).chain([to]);
    for (point, end) in series.points.iter().zip(ends) {
        let Some(used) = point.used_tokens else {
            is_down = false;
            continue;
        };
        let (x, y) = (scale.x(point.at), scale.y(used));
        let pen = if is_down { 'L' } else { 'M' };
        write!(path, "{pen}{x} {y}H{}", scale.x(end))?;
        is_down = true;
    }
    writeln!(
        out,
        r##"<path d="{path}" fill="none" stroke="#2563a8" stroke-width="2"/>"##
    )
}

fn write_marks(out: &mut String, series: &Series, scale: &Scale) -> std::fmt::Result {
    let mut y = BOTTOM + 52.0;
    for mark in &series.marks {
        let x = scale.x(mark.at);
        let colour = match &mark.kind {
            MarkKind::Harness { .. } => "#666666",
            MarkKind::Managed {
                outcome: Some(Outcome::Confirmed),
                ..
            } => "#2e7d4f",
            MarkKind::Managed { .. } => "#b3661e",
        };
        let letter = mark.letter();
        writeln!(
            out,
            r#"<line x1="{x}" y1="{TOP}" x2="{x}" y2="{BOTTOM}" stroke="{colour}" stroke-dasharray="2 3"/>
<text x="{x}" y="{}" fill="{colour}" text-anchor="middle">{letter}</text>
<text x="{LEFT}" y="{y}" fill="{colour}">{letter}  {}  {}</text>"#,
            BOTTOM + 14.0,
            mark.at,
            escaped(&mark.text())
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
