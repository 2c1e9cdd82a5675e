//! Typing `/compact` into Codex: its composer, its state reports, its rollout. Measured on 0.171.0.
//!
//! Pickers and the transcript view still report `idle`, so the composer has to be seen, too: the last line that begins with `›`,
//! with nothing but faint text behind it. A focus would make a prompt of the command, so none is ever typed. The key that only the
//! composer knows is given to the run by a session flag.

use serde::Deserialize;

use crate::adapter::recipe::{self, Around, Editing, Recipe, StatusSource};
use crate::compaction::{Composer, Keys, Manner, Record, Reply, Sight};
use crate::event::{CompactionTrigger, SessionId};
use crate::telemetry::line::{self, Line};
use crate::telemetry::number::{Count, Part, Words};
use crate::terminal::Model;

pub(in crate::adapter) const RECIPE: Recipe = Recipe {
    manner: Manner {
        command: "/compact",
        takes_focus: false,
        least_turns: 1,
        pastes: true,
        menu_head: "/compact ",
        needs_menu: true,
        settle_ms: 150,
        key_keeps_draft: false,
    },
    status: StatusSource::Reports { osc: 7501 },
    sight,
    record,
    is_busy_title: None,
    keys,
    editing: |_| Editing::Plain,
    fresh: "codex",
};

/// F6, which `wiring` binds.
pub(in crate::adapter) const SUBMIT_BYTES: &[u8] = b"\x1b[17~";

const MARK: &str = "›";
const SHELL_MARK: &str = "!";
/// Rows below the composer at most.
const FOOTER_ROWS: u16 = 4;
/// Below the composer: what keys go to when it is not the prompt.
const ELSEWHERE: [&str; 3] = [
    "Browsing transcript",
    "esc to cancel",
    "Press enter to confirm",
];

fn keys(around: &Around<'_>) -> Keys {
    Keys {
        compact: None,
        submit: around.has_launch_key.then_some(SUBMIT_BYTES),
    }
}

fn sight(model: &Model, _editing: Editing) -> Sight {
    read_sight(model).unwrap_or(Sight::UNKNOWN)
}

/// None where a row that matters is not known.
fn read_sight(model: &Model) -> Option<Sight> {
    let (rows, _) = model.size();
    let texts = recipe::texts(model)?;
    let is_marked = |row: &u16| {
        let text = texts.get(usize::from(*row)).map_or("", String::as_str);
        text.starts_with(MARK) || text.starts_with(SHELL_MARK)
    };
    let filled = (0..rows).rev().find(|row| {
        texts
            .get(usize::from(*row))
            .is_some_and(|text| !text.is_empty())
    });
    let (Some(last), Some(row)) = (filled, (0..rows).rev().find(is_marked)) else {
        return Some(Sight::HIDDEN);
    };
    let footer = texts
        .get(usize::from(row) + 1..=usize::from(last))
        .unwrap_or_default();
    let is_elsewhere = footer
        .iter()
        .any(|text| ELSEWHERE.iter().any(|word| text.contains(word)));
    if is_elsewhere || last - row > FOOTER_ROWS {
        return Some(Sight::HIDDEN);
    }
    if texts
        .get(usize::from(row))
        .is_some_and(|text| text.starts_with(SHELL_MARK))
    {
        return Some(Sight {
            composer: Composer::Shell,
            menu: None,
        });
    }
    let text = recipe::typed(&model.row(row)?);
    // A draft of several lines goes on below its mark.
    let is_longer = footer.first().is_some_and(|text| !text.is_empty());
    let menu = row.checked_sub(1).and_then(|above| menu(&texts, above));
    Some(Sight {
        composer: match (text.is_empty(), is_longer) {
            (true, false) => Composer::Empty,
            (false, false) => Composer::Holds(text),
            (_, true) => Composer::Holds(format!("{text}\n")),
        },
        menu,
    })
}

/// The popup's chosen row, just above the composer.
fn menu(texts: &[String], above: u16) -> Option<String> {
    let rows = texts.get(..=usize::from(above))?;
    let popup = rows.iter().rev().find(|text| !text.trim().is_empty())?;
    let row = popup.trim_start();
    let row = row.strip_prefix(MARK).unwrap_or(row).trim_start();
    row.starts_with('/').then(|| row.to_owned())
}

const NEEDLES: [&str; 4] = ["compacted", "task_complete", "turn_aborted", "UserMessage"];
const HEADS: [&str; 1] = ["{\"timestamp\""];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LineWire {
    r#type: Words,
    payload: Part<PayloadWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PayloadWire {
    r#type: Words,
    window_number: Count,
    window_id: Words,
    error: Part<ErrorWire>,
    item: Part<ItemWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorWire {
    message: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ItemWire {
    r#type: Words,
    content: Option<Vec<TextWire>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TextWire {
    text: Words,
}

fn record(line: &[u8], _session: &SessionId) -> Option<Record> {
    let (Line::Whole(wire) | Line::Mended(wire)) = line::read::<LineWire>(line, &NEEDLES, &HEADS)
    else {
        return None;
    };
    let payload = wire.payload.0.unwrap_or_default();
    match (wire.r#type.0.as_deref(), payload.r#type.0.as_deref()) {
        // The message may be empty; the number tells that it is one.
        (Some("compacted"), _) => {
            payload.window_number.0?;
            Some(Record::Boundary {
                trigger: CompactionTrigger::Unknown,
                id: payload.window_id.0,
                before: None,
            })
        }
        (Some("event_msg"), Some("task_complete")) => {
            let error = payload.error.0?;
            let text = error.message.0.unwrap_or_else(|| "the turn failed".into());
            Some(Record::Reply(Reply::Failed(text)))
        }
        (Some("event_msg"), Some("turn_aborted")) => Some(Record::Reply(Reply::Cancelled(
            "the compaction was interrupted".into(),
        ))),
        (Some("event_msg"), Some("item_completed")) => {
            let item = payload.item.0?;
            if item.r#type.0.as_deref() != Some("UserMessage") {
                return None;
            }
            let texts = item.content.unwrap_or_default();
            let text = texts.into_iter().find_map(|part| part.text.0)?;
            Some(Record::Prompt(text))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "recipe_tests.rs"]
mod tests;
