//! Typing `/compact` into Claude Code: its prompt box, its status file, its answers. Measured on 2.1.197.
//!
//! The prompt is the text between the last two rules on the screen, marked with `❯`. The status file says `idle` in search,
//! transcript and rewind views and with a draft, too; titles say `✳` over a dialog. So all have to agree.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::keys::{self, SubmitKeys};
use crate::adapter::recipe::{self, Around, Editing, Recipe, Status, StatusSource, StatusWord};
use crate::compaction::{Composer, Keys, Manner, Record, Reply, Sight};
use crate::event::{CompactionTrigger, SessionId, Timestamp, Tokens};
use crate::telemetry::line::{self, Line};
use crate::telemetry::number::{Count, Flag, Part, Words};
use crate::terminal::{Cell, Model};

pub(in crate::adapter) const RECIPE: Recipe = Recipe {
    manner: Manner {
        command: "/compact",
        takes_focus: true,
        least_turns: 2,
        pastes: false,
        menu_head: "/compact ",
        needs_menu: true,
        settle_ms: 0,
        key_keeps_draft: true,
    },
    status: StatusSource::File {
        path: status_path,
        parse: status,
    },
    sight,
    record,
    is_busy_title: Some(is_busy_title),
    keys: bound,
    editing,
    fresh: "claude",
};

const RULE: &str = "─";
/// A rule of the prompt box has at least so many in a row; one may carry the session's name.
const RULE_CELLS: usize = 8;
const MARK: &str = "❯";
const SHELL_MARK: &str = "!";
const HINT: &str = "<optional custom summarization instructions>";
/// Below the box: what keys go to when it is not the prompt.
const ELSEWHERE: [&str; 4] = [
    "search prompts:",
    "Esc to cancel",
    "Enter to confirm",
    "Enter to continue",
];
const INSERTING: &str = "-- INSERT --";

fn sight(model: &Model, editing: Editing) -> Sight {
    read_sight(model, editing).unwrap_or(Sight::UNKNOWN)
}

/// None where a row that matters is not known.
fn read_sight(model: &Model, editing: Editing) -> Option<Sight> {
    let (rows, _) = model.size();
    let texts = recipe::texts(model)?;
    let mut rules = (0..rows).rev().filter(|row| {
        let text = texts.get(usize::from(*row)).map_or("", String::as_str);
        is_rule(text)
    });
    let (Some(below), Some(above)) = (rules.next(), rules.next()) else {
        return Some(Sight::HIDDEN);
    };
    let footer = texts.get(usize::from(below) + 1..).unwrap_or_default();
    let is_elsewhere = footer
        .iter()
        .any(|text| ELSEWHERE.iter().any(|word| text.contains(word)));
    if is_elsewhere || above + 1 == below {
        return Some(Sight::HIDDEN);
    }
    let mut lines = Vec::new();
    for row in above + 1..below {
        lines.push(model.row(row)?);
    }
    let composer = composer(&lines);
    let is_commands =
        editing == Editing::Modal && !footer.iter().any(|row| row.contains(INSERTING));
    let menu = footer
        .iter()
        .map(|text| text.trim_start())
        .find(|text| !text.is_empty())
        .filter(|text| text.starts_with('/'))
        .map(str::to_owned);
    Some(Sight {
        composer: match composer {
            Composer::Empty | Composer::Holds(_) if is_commands => Composer::Commands,
            seen @ (Composer::Empty
            | Composer::Holds(_)
            | Composer::Shell
            | Composer::Commands
            | Composer::Hidden
            | Composer::Unknown) => seen,
        },
        menu,
    })
}

fn is_rule(text: &str) -> bool {
    let marks = text.chars().filter(|c| RULE.starts_with(*c)).count();
    text.starts_with(&RULE.repeat(RULE_CELLS)) && marks * 2 > text.chars().count()
}

/// What stands in the box; what only suggests is faint.
fn composer(lines: &[Vec<Cell>]) -> Composer {
    let Some(first) = lines.first() else {
        return Composer::Hidden;
    };
    match first.first().map(|cell| cell.text.as_str()) {
        Some(MARK) => {}
        Some(SHELL_MARK) => return Composer::Shell,
        Some(_) | None => return Composer::Hidden,
    }
    let text: Vec<String> = lines.iter().map(|line| recipe::typed(line)).collect();
    let text = text.join("\n");
    // What the client suggests behind its command is grey, not faint.
    let text = text.strip_suffix(HINT).unwrap_or(&text);
    if text.trim().is_empty() {
        Composer::Empty
    } else {
        Composer::Holds(text.trim_end().to_owned())
    }
}

/// Working titles begin with a turning mark of dots.
fn is_busy_title(title: &str) -> bool {
    title
        .chars()
        .next()
        .is_some_and(|first| ('\u{2800}'..='\u{28ff}').contains(&first))
}

/// `<config>/projects/<project>/<session>.jsonl` -> `<config>/sessions/<pid>.json`.
fn status_path(record: &Path, pid: u32) -> Option<PathBuf> {
    Some(config(record)?.join("sessions").join(format!("{pid}.json")))
}

fn config(record: &Path) -> Option<&Path> {
    record.parent()?.parent()?.parent()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StatusWire {
    session_id: Words,
    status: Words,
    status_updated_at: Option<i64>,
}

fn status(text: &[u8]) -> Option<Status> {
    let wire: StatusWire = serde_json::from_slice(text).ok()?;
    Some(Status {
        session: SessionId::new(wire.session_id.0?),
        word: match wire.status.0?.as_str() {
            "idle" => StatusWord::Idle,
            "shell" => StatusWord::Background,
            "busy" => StatusWord::Busy,
            "waiting" => StatusWord::Waiting,
            _ => return None,
        },
        since: wire.status_updated_at.map(Timestamp::from_unix_ms),
    })
}

const NEEDLES: [&str; 4] = [
    "compact_boundary",
    "local_command",
    "Unknown command: /compact",
    "\"type\":\"user\"",
];
const HEADS: [&str; 2] = ["{\"parentUuid\"", "{\"type\""];

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LineWire {
    r#type: Words,
    subtype: Words,
    uuid: Words,
    is_sidechain: Flag,
    is_meta: Flag,
    is_compact_summary: Flag,
    session_id: Words,
    content: Words,
    message: Part<MessageWire>,
    compact_metadata: Part<BoundaryWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageWire {
    /// A prompt's text; tool results are lists.
    content: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BoundaryWire {
    trigger: Words,
    pre_tokens: Count,
}

fn record(line: &[u8], session: &SessionId) -> Option<Record> {
    let (Line::Whole(wire) | Line::Mended(wire)) = line::read::<LineWire>(line, &NEEDLES, &HEADS)
    else {
        return None;
    };
    let is_foreign = wire.session_id.0.is_some_and(|id| id != session.as_str());
    if is_foreign || wire.is_sidechain.0 {
        return None;
    }
    match (wire.r#type.0.as_deref(), wire.subtype.0.as_deref()) {
        (Some("system"), Some("compact_boundary")) => {
            let meta = wire.compact_metadata.0.unwrap_or_default();
            Some(Record::Boundary {
                trigger: match meta.trigger.0.as_deref() {
                    Some("manual") => CompactionTrigger::Manual,
                    Some("auto") => CompactionTrigger::Auto,
                    Some(_) | None => CompactionTrigger::Unknown,
                },
                id: wire.uuid.0,
                before: meta.pre_tokens.0.filter(|tokens| *tokens > 0).map(Tokens),
            })
        }
        (Some("system"), Some("informational")) => {
            let text = wire.content.0?;
            let is_ours = text.starts_with("Unknown command: /compact");
            is_ours.then_some(Record::Reply(Reply::NoCommand(text)))
        }
        (Some("system"), Some("local_command")) => reply(&wire.content.0?).map(Record::Reply),
        (Some("user"), _) if !wire.is_meta.0 && !wire.is_compact_summary.0 => {
            let text = wire.message.0?.content.0?;
            if let Some(reply) = reply(&text) {
                return Some(Record::Reply(reply));
            }
            (!text.trim_start().starts_with('<')).then_some(Record::Prompt(text))
        }
        _ => None,
    }
}

/// The client's answer to its own command.
fn reply(content: &str) -> Option<Reply> {
    let text = ["stdout", "stderr"].iter().find_map(|stream| {
        let open = format!("<local-command-{stream}>");
        let close = format!("</local-command-{stream}>");
        content.trim().strip_prefix(&open)?.strip_suffix(&close)
    })?;
    let text = text.trim().to_owned();
    let is = |head: &str| text.starts_with(head);
    Some(if is("Not enough messages to compact") {
        Reply::TooShort(text)
    } else if is("Compaction canceled") {
        Reply::Cancelled(text)
    } else if is("Error during compaction")
        || is("Compaction blocked by")
        || is("Conversation too long")
    {
        Reply::Failed(text)
    } else {
        return None;
    })
}

fn bound(around: &Around<'_>) -> Keys {
    let file = config(around.record).map(|config| config.join("keybindings.json"));
    let text = file.and_then(|file| (around.read)(&file));
    let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
    match keys::bound(&text.unwrap_or_default()) {
        SubmitKeys::Bound => Keys {
            compact: Some(keys::COMPACT.bytes),
            submit: Some(keys::SUBMIT.bytes),
        },
        SubmitKeys::Missing(_) | SubmitKeys::Taken(_) | SubmitKeys::Unreadable => Keys::default(),
    }
}

/// The editor's mode is in the client's own state file or in its settings.
fn editing(around: &Around<'_>) -> Editing {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct StateWire {
        editor_mode: Words,
    }
    let Some(config) = config(around.record) else {
        return Editing::Modal;
    };
    let files = [
        Some(config.join(".claude.json")),
        config.parent().map(|home| home.join(".claude.json")),
        Some(config.join("settings.json")),
    ];
    let is_modal = files.into_iter().flatten().any(|file| {
        let text = (around.read)(&file).unwrap_or_default();
        let state: StateWire = serde_json::from_slice(&text).unwrap_or_default();
        state.editor_mode.0.as_deref() == Some("vim")
    });
    if is_modal {
        Editing::Modal
    } else {
        Editing::Plain
    }
}

#[cfg(test)]
#[path = "recipe_tests.rs"]
mod tests;
