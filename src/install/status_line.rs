//! harn's bridge in the place of the status line: `statusLine.command`, in front of the user's own.

use serde_json::{Value, json};

use super::json::{Child, Node, compact, parse};
use super::place::{Draft, Step, read, shape, spot, take_out};
use super::splice::{Splice, apply};
use super::{Change, Refusal, Spot, Was};
use crate::adapter::own::{self, Bridge};

const LINE: &str = "statusLine";
const COMMAND: &str = "command";

pub(super) fn merge(
    text: &str,
    adapter: &str,
    harn: &str,
    spots: &[Spot],
) -> Result<Change, Refusal> {
    let mut draft = Draft::new(text, spots);
    let root = draft.ensure_root()?;
    let Some(line) = root.get(LINE) else {
        let bridge = own::bridge_line(harn, adapter, None);
        draft.reasons.push("status line: not wired".to_owned());
        draft.add_member(
            &[],
            &root,
            LINE,
            &json!({"type": "command", "command": bridge}),
        )?;
        return Ok(draft.into_change());
    };
    let command = line.get(COMMAND);
    let is_command = line
        .get("type")
        .is_none_or(|it| it.text() == Some("command"));
    let Some((command, its)) = command
        .and_then(|it| Some((it, it.text()?)))
        .filter(|_| is_command)
    else {
        return Err(shape(&draft.text, line, LINE, "a command"));
    };
    let (then, reason) = match own::bridge(its, adapter) {
        Some(Bridge { then }) => (then, "status line: another command"),
        None => (Some(its.trim().to_owned()), "status line: not wired"),
    };
    let wanted = own::bridge_line(harn, adapter, then.as_deref().filter(|it| !it.is_empty()));
    if wanted != its {
        if own::bridge(its, adapter).is_none() {
            let written = draft.text.get(command.at.clone()).unwrap_or_default();
            let was = Was::Value(written.to_owned());
            draft.note(&[LINE, COMMAND], was);
        }
        draft.reasons.push(reason.to_owned());
        draft.apply(vec![Splice {
            at: command.at.clone(),
            put: compact(&Value::from(wanted)),
        }]);
    }
    Ok(draft.into_change())
}

pub(super) fn strip(text: &str, adapter: &str, spots: &[Spot]) -> Result<String, Refusal> {
    let Some(root) = read(text)? else {
        return Ok(text.to_owned());
    };
    let Some((line, command, bridge)) = ours(&root, adapter) else {
        return Ok(text.to_owned());
    };
    let splices = if let Some(then) = bridge.then {
        let kept = match spot(spots, &[LINE, COMMAND]) {
            Some(Was::Value(written)) if means(written, &then) => Some(written.clone()),
            _ => None,
        };
        vec![Splice {
            at: command.at.clone(),
            put: kept.unwrap_or_else(|| compact(&Value::from(then))),
        }]
    } else {
        let step = Step {
            parent: &root,
            child: line.at.clone(),
            path: Vec::new(),
        };
        take_out(text, &[step], spots)
    };
    Ok(apply(text, splices))
}

/// Whether a written string is this text, blanks around it apart.
fn means(written: &str, text: &str) -> bool {
    let node = parse(written).ok().flatten();
    node.is_some_and(|node| node.text().map(str::trim) == Some(text))
}

pub(super) fn is_ours(text: &str, adapter: &str) -> Result<bool, Refusal> {
    Ok(read(text)?.is_some_and(|root| ours(&root, adapter).is_some()))
}

/// The command of harn's bridge in a text, and what stands behind it.
pub(super) fn find(text: &str, adapter: &str) -> Result<Option<(String, Bridge)>, Refusal> {
    let Some(root) = read(text)? else {
        return Ok(None);
    };
    Ok(ours(&root, adapter).map(|(_, command, bridge)| {
        let command = command.text().unwrap_or_default().to_owned();
        (command, bridge)
    }))
}

fn ours<'a>(root: &'a Node, adapter: &str) -> Option<(&'a Child, &'a Node, Bridge)> {
    let line = root.member(LINE)?;
    let command = line.value.get(COMMAND)?;
    let bridge = own::bridge(command.text()?, adapter)?;
    Some((line, command, bridge))
}
