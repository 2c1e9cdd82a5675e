//! `harn context graph`: used tokens over time, in the terminal or as SVG.

use serde::Serialize;

use super::dispatch::{complain, say, say_json};
use super::session::Session;
use crate::cli::GraphArgs;
use crate::dashboard::{self, Canvas, Mark, Point, Series};
use crate::event::{HarnessId, SCHEMA, SessionId, Tokens};
use crate::exit::Exit;
use crate::store::dir::{Dir, DirError, Durability};
use crate::store::log;
use crate::terminal;
use crate::text::{one_line, short_tokens};

/// Where the output is no terminal.
const USUAL_COLS: usize = 80;
const ROWS: usize = 14;

#[derive(Serialize)]
struct GraphWire<'a> {
    schema: u32,
    session: &'a SessionId,
    adapter: &'a HarnessId,
    window_tokens: Option<Tokens>,
    automatic: Option<AutomaticWire>,
    points: &'a [Point],
    compactions: &'a [Mark],
    /// Older ones that are not listed.
    compactions_left_out: u64,
}

#[derive(Serialize)]
struct AutomaticWire {
    least_tokens: Tokens,
    most_tokens: Tokens,
}

pub(super) fn run(session: &Session, args: &GraphArgs) -> anyhow::Result<Exit> {
    let mut series = Series::default();
    let whole = log::Stretch {
        offset: 0,
        bytes: u64::MAX,
        wants: Series::wants,
    };
    log::scan(session.store.dir(), whole, &mut |event| {
        series.push(&event);
    })?;
    learn(&mut series, session);
    let title = format!("{} {}", session.adapter, one_line(session.id.as_str()));
    if let Some(path) = &args.svg {
        write(path, &dashboard::svg(&series, &title))?;
    }
    if args.session.json {
        return say_json(&GraphWire {
            schema: SCHEMA,
            session: &session.id,
            adapter: &session.adapter,
            window_tokens: series.window,
            automatic: series
                .automatic
                .map(|(least_tokens, most_tokens)| AutomaticWire {
                    least_tokens,
                    most_tokens,
                }),
            points: &series.points,
            compactions: &series.marks,
            compactions_left_out: series.dropped_marks,
        });
    }
    if let Some(path) = &args.svg {
        return say(&format!(
            "written: {}",
            one_line(&path.display().to_string())
        ));
    }
    if series.span().is_none() {
        complain(
            &"nothing was measured yet",
            Some("the context is known from the first turn of a session with hooks on"),
        );
        return Ok(Exit::NotDone);
    }
    say(&text(&series, &title))
}

/// The range that the meter knows for the model in use takes the place of what the log alone tells.
pub(super) fn learn(series: &mut Series, session: &Session) {
    let meter = &session.state.context;
    let sample = meter.current.as_ref().or(meter.last.as_ref());
    let model = sample.and_then(|sample| sample.model.as_deref());
    series.automatic = meter
        .automatic_range(model)
        .map(|(least, most, _)| (least, most));
}

/// Never a half-written file in the place of a whole one.
fn write(path: &std::path::Path, text: &str) -> Result<(), DirError> {
    let missing = || DirError::Io {
        what: "write",
        path: path.to_owned(),
        source: std::io::Error::from(std::io::ErrorKind::InvalidInput),
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(missing)?;
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    let dir = Dir::open_trusted(parent.unwrap_or(std::path::Path::new(".")))?;
    dir.replace(name, text.as_bytes(), Durability::Atomic)
}

fn text(series: &Series, title: &str) -> String {
    let cols = terminal::columns().unwrap_or(USUAL_COLS);
    let mut lines = vec![title.to_owned()];
    lines.extend(dashboard::draw(series, Canvas { cols, rows: ROWS }));
    if let Some((from, to)) = series.span() {
        lines.push(format!("       {from} to {to}"));
    }
    lines.extend(dashboard::notes(series));
    if let Some(window) = series.window {
        lines.push(format!("─  window {}", short_tokens(window)));
    }
    if let Some((least, most)) = series.automatic {
        let range = if least == most {
            short_tokens(least)
        } else {
            format!("{} to {}", short_tokens(least), short_tokens(most))
        };
        lines.push(format!("░  compacted by itself at {range} before"));
    }
    lines.extend(
        series
            .marks
            .iter()
            .map(|mark| format!("{}  {}  {}", mark.letter(), mark.at, mark.text())),
    );
    if series.dropped_marks > 0 {
        lines.push(format!(
            "{} older compactions are not listed",
            series.dropped_marks
        ));
    }
    lines.join("\n")
}
