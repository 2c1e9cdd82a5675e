//! `harn events`: the canonical events of a session, once or as they come.

use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::Context as _;

use super::choose::choose_or_complain;
use super::place;
use super::session::Session;
use crate::cli::EventsArgs;
use crate::event::Event;
use crate::exit::Exit;
use crate::store::log;
use crate::text::one_line;

/// Between two looks at a log that is followed. A look is one `stat` of an open directory's file.
const LOOK: Duration = Duration::from_millis(200);

pub(super) fn run(args: &EventsArgs) -> anyhow::Result<Exit> {
    let layout = place::layout()?;
    let cwd = std::env::current_dir().context("cannot tell the current directory")?;
    let entry = match choose_or_complain(&layout, args.session.session.as_deref(), &cwd)? {
        Ok(entry) => entry,
        Err(exit) => return Ok(exit),
    };
    let session = Session::view(&layout, &entry)?;
    let mut offset = 0;
    loop {
        let batch = log::read_from(session.store.dir(), offset)?;
        if let Err(error) = print(&batch.events, args.session.json) {
            // Whoever read it has seen enough.
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Ok(Exit::Ok);
            }
            return Err(error).context("cannot print");
        }
        if batch.next_offset > offset {
            offset = batch.next_offset;
        } else if args.follow {
            // A log that became shorter was replaced: what is in it now is new.
            if log::tail(session.store.dir())?.bytes < offset {
                offset = 0;
            }
            std::thread::sleep(LOOK);
        } else {
            return Ok(Exit::Ok);
        }
    }
}

fn print(events: &[Event], as_json: bool) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    for event in events {
        let line = if as_json {
            serde_json::to_string(event)?
        } else {
            text(event).map_err(io::Error::from)?
        };
        writeln!(stdout, "{line}")?;
    }
    stdout.flush()
}

/// `time  number  type  facts`, without those that are null.
pub(super) fn text(event: &Event) -> Result<String, serde_json::Error> {
    let body = serde_json::to_value(&event.body)?;
    let kind = body
        .get("type")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let mut line = format!("{}  {:>4}  {kind}", event.at, event.seq);
    let facts = body.get("data").and_then(serde_json::Value::as_object);
    for (name, value) in facts.into_iter().flatten() {
        let value = match value {
            serde_json::Value::Null => continue,
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(list) if list.is_empty() => continue,
            serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => value.to_string(),
        };
        line.push_str(&format_fact(name, &value));
    }
    Ok(line)
}

fn format_fact(name: &str, value: &str) -> String {
    format!("  {name}={}", one_line(value))
}
