//! The chords that compact and submit, in the user's key bindings: `bindings[].bindings`, a block for each context.

use serde_json::json;

use super::json::{Kind, Node};
use super::place::{Draft, Step, read, shape, spot, take_out};
use super::splice::{apply, place_of};
use super::{Change, Refusal, Spot, Was};
use crate::adapter::submit_keys::{CHORDS, CONTEXT, SubmitKeys, Taken, bound};

const LIST: &str = "bindings";

pub(super) fn merge(text: &str, spots: &[Spot]) -> Result<Change, Refusal> {
    let mut draft = Draft::new(text, spots);
    let root = draft.ensure_root()?;
    let missing = match bound(&plain(text)) {
        SubmitKeys::Bound => return Ok(Draft::new(text, spots).into_change()),
        SubmitKeys::Missing(missing) => missing,
        SubmitKeys::Taken(taken) => return Err(refusal(text, &taken)),
        // What is missing is put there; anything else is refused below.
        SubmitKeys::Unreadable => CHORDS.to_vec(),
    };
    if root.get(LIST).is_none() {
        draft.note(&[LIST], Was::Absent);
        draft.add_member(&[], &root, LIST, &json!([]))?;
    }
    let root = draft.ensure_root()?;
    let list = list(&draft.text, &root)?;
    if block(list).is_none() {
        draft.note(&[LIST, CONTEXT], Was::Absent);
        draft.add_element(&[LIST], list, &json!({"context": CONTEXT, "bindings": {}}))?;
    }
    for chord in missing {
        let root = draft.ensure_root()?;
        let list = self::list(&draft.text, &root)?;
        let Some(bindings) = block(list).and_then(|(_, block)| block.get(LIST)) else {
            return Err(shape(&draft.text, list, LIST, "a list of blocks"));
        };
        if bindings.get(chord.keys).is_some() {
            continue;
        }
        let path = [LIST, CONTEXT, LIST];
        draft.reasons.push(format!("{}: not bound", chord.keys));
        draft.note(&[LIST, CONTEXT, chord.keys], Was::Absent);
        draft.add_member(&path, bindings, chord.keys, &json!(chord.action))?;
    }
    Ok(draft.into_change())
}

pub(super) fn strip(text: &str, spots: &[Spot]) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    for chord in CHORDS.iter().rev() {
        if spot(spots, &[LIST, CONTEXT, chord.keys]).is_none() {
            continue;
        }
        let Some(root) = read(&text)? else {
            continue;
        };
        let Some(list) = root.member(LIST) else {
            continue;
        };
        let Some((number, block)) = block(&list.value) else {
            continue;
        };
        let Some((bindings, member)) = block
            .get(LIST)
            .and_then(|bindings| Some((bindings, bindings.member(chord.keys)?)))
            .filter(|(_, member)| member.value.text() == Some(chord.action))
        else {
            continue;
        };
        let element = list.value.elements().and_then(|it| it.get(number));
        let mut steps = vec![Step {
            parent: bindings,
            child: member.at.clone(),
            path: vec![LIST, CONTEXT, LIST],
        }];
        let is_made = spot(spots, &[LIST, CONTEXT]).is_some();
        let is_last = matches!(&bindings.kind, Kind::Object(members) if members.len() == 1);
        if let Some(element) = element
            && is_made
            && is_last
        {
            steps = vec![
                Step {
                    parent: &list.value,
                    child: element.at.clone(),
                    path: vec![LIST],
                },
                Step {
                    parent: &root,
                    child: list.at.clone(),
                    path: Vec::new(),
                },
            ];
        }
        let splices = take_out(&text, &steps, spots);
        text = apply(&text, splices);
    }
    Ok(text)
}

fn list<'a>(text: &str, root: &'a Node) -> Result<&'a Node, Refusal> {
    match root.get(LIST) {
        Some(list) if list.elements().is_some() => Ok(list),
        Some(other) => Err(shape(text, other, LIST, "a list")),
        None => Err(shape(text, root, LIST, "there")),
    }
}

/// The last block of the prompt's context.
fn block(list: &Node) -> Option<(usize, &Node)> {
    let blocks = list.elements()?.iter().enumerate().rev();
    let mut blocks = blocks
        .filter(|(_, block)| block.value.get("context").and_then(Node::text) == Some(CONTEXT));
    blocks.next().map(|(number, block)| (number, &block.value))
}

/// A file that the client would drop for its comments is judged without them.
fn plain(text: &str) -> String {
    match super::json::parse(text) {
        Ok(Some(root)) => value_of(&root).to_string(),
        Ok(None) | Err(_) => String::new(),
    }
}

fn value_of(node: &Node) -> serde_json::Value {
    match &node.kind {
        Kind::Object(members) => members
            .iter()
            .map(|(name, child)| (name.clone(), value_of(&child.value)))
            .collect(),
        Kind::Array(elements) => elements.iter().map(|it| value_of(&it.value)).collect(),
        Kind::Text(text) => text.as_str().into(),
        Kind::Number(_) => 0.into(),
        Kind::Other => serde_json::Value::Null,
    }
}

fn refusal(text: &str, taken: &Taken) -> Refusal {
    let at = text.find(&taken.keys).unwrap_or(0);
    let (line, column) = place_of(text, at);
    Refusal::KeysTaken {
        line,
        column,
        keys: taken.keys.clone(),
    }
}
