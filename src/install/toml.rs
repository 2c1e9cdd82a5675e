//! harn's hooks in TOML settings: `[[hooks.<Event>]]`, each with its own list of commands.
//!
//! New ones go to the end of the text, where a table of their own can stand whatever came before; or into the list, where the
//! event has one in brackets. The parser gives the places.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use super::splice::{Splice, apply, place_of};
use super::{Change, Found, Hook, Refusal, Spot};
use crate::adapter::own::hook_event;

const HOOKS: &str = "hooks";

/// One handler of harn's.
struct Handler {
    event: String,
    reports: String,
    command: String,
    command_at: Range<usize>,
    timeout: Option<(u64, Range<usize>)>,
    /// What is to be cut to take it out.
    extent: Extent,
}

enum Extent {
    /// A table under a header of its own, from the header on.
    Table(Range<usize>),
    /// An element of a list, and the end of the one before it.
    Element(Range<usize>, Option<usize>),
}

pub(super) fn merge(
    text: &str,
    adapter: &str,
    wanted: &[Hook],
    spots: &[Spot],
) -> Result<Change, Refusal> {
    let mut text = text.to_owned();
    let mut reasons = Vec::new();
    while let Some((reason, splices)) = correction(&text, adapter, wanted)? {
        reasons.push(reason);
        text = apply(&text, splices);
    }
    for hook in wanted {
        let found = handlers(&text, adapter)?;
        if found.iter().any(|it| it.event == hook.event) {
            continue;
        }
        reasons.push(format!("{}: not wired", hook.event));
        text = add(&text, hook)?;
    }
    // What cannot be read again is not written.
    handlers(&text, adapter)?;
    Ok(Change {
        text,
        reasons,
        spots: spots.to_vec(),
    })
}

/// The first thing that is not as it should be, and what puts it right.
fn correction(
    text: &str,
    adapter: &str,
    wanted: &[Hook],
) -> Result<Option<(String, Vec<Splice>)>, Refusal> {
    let mut seen: Vec<String> = Vec::new();
    for handler in handlers(text, adapter)? {
        let event = handler.event.clone();
        let hook = wanted
            .iter()
            .find(|hook| hook.event == event && hook.event == handler.reports);
        let Some(hook) = hook else {
            return Ok(Some((format!("{event}: not wanted"), cut(text, &handler))));
        };
        if seen.contains(&event) {
            return Ok(Some((format!("{event}: wired twice"), cut(text, &handler))));
        }
        if handler.command != hook.command {
            let splice = Splice {
                at: handler.command_at,
                put: quoted(&hook.command),
            };
            return Ok(Some((format!("{event}: another command"), vec![splice])));
        }
        if let Some((timeout, at)) = handler.timeout
            && timeout != hook.timeout_s
        {
            let put = hook.timeout_s.to_string();
            let splice = Splice { at, put };
            return Ok(Some((format!("{event}: another time limit"), vec![splice])));
        }
        seen.push(event);
    }
    Ok(None)
}

fn add(text: &str, hook: &Hook) -> Result<String, Refusal> {
    let document = parse(text)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let handlers = format!(
        "[{{ type = \"command\", command = {}, timeout = {} }}]",
        quoted(&hook.command),
        hook.timeout_s
    );
    let hooks = document.get(HOOKS);
    if let Some(hooks) = hooks
        && !matches!(hooks, Item::Table(_))
    {
        return Err(shape(text, hooks, HOOKS, "a table with a header"));
    }
    let list = hooks.and_then(|hooks| hooks.get(&hook.event));
    match list {
        Some(Item::Value(Value::Array(array))) => {
            let last = array.iter().filter_map(Value::span).last();
            let group = format!("{{ hooks = {handlers} }}");
            let splice = match (last, array.span()) {
                (Some(last), _) => Splice::put(last.end, format!(", {group}")),
                (None, Some(whole)) => Splice::put(whole.start + 1, group),
                (None, None) => return Err(shape(text, &Item::None, &hook.event, "a list")),
            };
            Ok(apply(text, vec![splice]))
        }
        None | Some(Item::ArrayOfTables(_) | Item::None) => {
            let mut put = String::new();
            let is_closed = text.is_empty() || text.ends_with('\n');
            if !is_closed {
                put.push_str(newline);
            }
            if !text.is_empty() {
                put.push_str(newline);
            }
            let header = format!("[[{HOOKS}.{}]]", hook.event);
            put.extend([header.as_str(), newline, "hooks = ", handlers.as_str()]);
            if is_closed {
                put.push_str(newline);
            }
            Ok(format!("{text}{put}"))
        }
        Some(other) => Err(shape(text, other, &hook.event, "a list")),
    }
}

pub(super) fn strip(text: &str, adapter: &str) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    loop {
        let handlers = handlers(&text, adapter)?;
        match handlers.last() {
            Some(handler) => text = apply(&text, cut(&text, handler)),
            None => return Ok(text),
        }
    }
}

fn cut(text: &str, handler: &Handler) -> Vec<Splice> {
    let at = match &handler.extent {
        Extent::Table(at) => {
            let line_end = |at: usize| text.get(at..).and_then(|rest| rest.find('\n'));
            let before = |at: usize| {
                let rest = text.get(..at).unwrap_or_default();
                let cut = rest.strip_suffix('\n')?;
                Some(cut.strip_suffix('\r').unwrap_or(cut).len())
            };
            let mut start = at.start;
            let end = line_end(at.end).map(|length| at.end + length + 1);
            // The blank line above it goes with it; at the end of a text without a last line end, that one too.
            if let Some(line) = before(start)
                && (line == 0
                    || end.is_none()
                    || text.get(..line).is_some_and(|it| it.ends_with('\n')))
            {
                start = line;
                if end.is_none() {
                    start = before(start).unwrap_or(start);
                }
            }
            let mut end = end.unwrap_or(text.len());
            if start == 0 {
                let rest = text.get(end..).unwrap_or_default();
                let blank = ["\r\n", "\n"].into_iter().find(|it| rest.starts_with(it));
                end += blank.map_or(0, str::len);
            }
            start..end
        }
        Extent::Element(at, Some(previous)) => *previous..at.end,
        Extent::Element(at, None) => {
            let rest = text.get(at.end..).unwrap_or_default();
            let blank = rest.len() - rest.trim_start().len();
            let has_comma = rest.trim_start().starts_with(',');
            at.start..at.end + if has_comma { blank + 1 } else { 0 }
        }
    };
    vec![Splice::cut(at)]
}

pub(super) fn find(text: &str, adapter: &str) -> Result<Vec<Found>, Refusal> {
    let found = handlers(text, adapter)?.into_iter().map(|it| Found {
        event: it.event,
        reports: it.reports,
        command: it.command,
        timeout_s: it.timeout.map(|(timeout, _)| timeout),
    });
    Ok(found.collect())
}

pub(super) fn has_hooks(text: &str) -> bool {
    let Ok(document) = parse(text) else {
        return false;
    };
    let Some(hooks) = document.get(HOOKS).and_then(Item::as_table_like) else {
        return false;
    };
    hooks
        .iter()
        .any(|(event, _)| event.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn handlers(text: &str, adapter: &str) -> Result<Vec<Handler>, Refusal> {
    let document = parse(text)?;
    let Some(hooks) = document.get(HOOKS).and_then(Item::as_table_like) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (event, list) in hooks.iter() {
        for (group, extent) in elements(list) {
            let Some(inner) = group.get(HOOKS) else {
                continue;
            };
            let handlers = elements(inner);
            let is_alone = handlers.len() == 1;
            let mut extent = Some(extent);
            for (handler, its_extent) in handlers {
                let command = handler
                    .get("command")
                    .and_then(|it| Some((it.as_str()?, it.span()?)));
                let Some((command, command_at)) = command else {
                    continue;
                };
                let Some(reports) = hook_event(command, adapter) else {
                    continue;
                };
                let timeout = handler.get("timeout").and_then(|it| {
                    let seconds = u64::try_from(it.as_integer()?).ok()?;
                    Some((seconds, it.span()?))
                });
                found.push(Handler {
                    event: event.to_owned(),
                    reports,
                    command: command.to_owned(),
                    command_at,
                    timeout,
                    extent: extent.take().filter(|_| is_alone).unwrap_or(its_extent),
                });
            }
        }
    }
    Ok(found)
}

/// The tables of a list, however it is written, and what would have to be cut of each.
fn elements(list: &Item) -> Vec<(&dyn TableLike, Extent)> {
    match list {
        Item::ArrayOfTables(tables) => tables
            .iter()
            .filter_map(|table| {
                let start = table.span()?.start;
                let end = end_of(table).max(table.span()?.end);
                let table: &dyn TableLike = table;
                Some((table, Extent::Table(start..end)))
            })
            .collect(),
        Item::Value(Value::Array(array)) => {
            let mut previous = None;
            let mut found = Vec::new();
            for value in array {
                let Some(span) = value.span() else {
                    continue;
                };
                let before = previous.replace(span.end);
                if let Value::InlineTable(table) = value {
                    let table: &dyn TableLike = table;
                    found.push((table, Extent::Element(span, before)));
                }
            }
            found
        }
        Item::None | Item::Value(_) | Item::Table(_) => Vec::new(),
    }
}

/// Where the last value below a table ends.
fn end_of(table: &dyn TableLike) -> usize {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        Item::Table(table) => end_of(table).max(table.span().map_or(0, |span| span.end)),
        Item::ArrayOfTables(tables) => tables
            .iter()
            .map(|table| end_of(table).max(table.span().map_or(0, |span| span.end)))
            .max()
            .unwrap_or(0),
        Item::None => 0,
    });
    ends.max().unwrap_or(0)
}

fn parse(text: &str) -> Result<Document<&str>, Refusal> {
    Document::parse(text).map_err(|error| {
        let (line, column) = place_of(text, error.span().map_or(0, |span| span.start));
        Refusal::Syntax {
            line,
            column,
            what: error
                .message()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        }
    })
}

fn shape(text: &str, item: &Item, name: &str, expected: &'static str) -> Refusal {
    let (line, column) = place_of(text, item.span().map_or(0, |span| span.start));
    Refusal::Shape {
        line,
        column,
        name: name.to_owned(),
        expected,
    }
}

/// What JSON writes of a string, TOML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
