//! harn's hooks in JSON settings: `hooks.<Event>[].hooks[]`, a command each.

use serde_json::{Value, json};

use super::json::{Child, Kind, Node, compact};
use super::place::{Draft, Step, read, shape, take_out};
use super::splice::{Splice, apply};
use super::{Change, Found, Hook, Refusal, Spot, Was};
use crate::adapter::own::hook_event;

const HOOKS: &str = "hooks";

/// One handler of harn's in the tree.
struct Handler<'a> {
    event: &'a str,
    /// The event's member of `hooks`.
    list: &'a Child,
    group: &'a Child,
    /// The group's own list.
    handlers: &'a Node,
    entry: &'a Child,
    reports: String,
}

pub(super) fn merge(
    text: &str,
    adapter: &str,
    wanted: &[Hook],
    spots: &[Spot],
) -> Result<Change, Refusal> {
    let mut draft = Draft::new(text, spots);
    bring_up_to_date(&mut draft, adapter, wanted)?;
    for hook in wanted {
        let root = draft.ensure_root()?;
        let handlers = handlers(&draft.text, &root, adapter)?;
        if handlers.iter().any(|it| it.event == hook.event) {
            continue;
        }
        draft.reasons.push(format!("{}: not wired", hook.event));
        add(&mut draft, hook)?;
    }
    Ok(draft.into_change())
}

/// Corrects what stands there; takes out what nobody wants, and the second of two.
fn bring_up_to_date(draft: &mut Draft, adapter: &str, wanted: &[Hook]) -> Result<(), Refusal> {
    loop {
        let Some(root) = draft.root()? else {
            return Ok(());
        };
        let handlers = handlers(&draft.text, &root, adapter)?;
        let mut seen: Vec<&str> = Vec::new();
        let mut change = None;
        for handler in &handlers {
            let hook = wanted
                .iter()
                .find(|hook| hook.event == handler.event && hook.event == handler.reports);
            match hook {
                Some(hook) if !seen.contains(&handler.event) => {
                    seen.push(handler.event);
                    if let Some((what, splices)) = corrections(handler, hook) {
                        change = Some((format!("{}: {what}", handler.event), splices));
                    }
                }
                Some(_) => {
                    let splices = removal(&draft.text, &root, handler, &draft.spots);
                    change = Some((format!("{}: wired twice", handler.event), splices));
                }
                None => {
                    let splices = removal(&draft.text, &root, handler, &draft.spots);
                    change = Some((format!("{}: not wanted", handler.event), splices));
                }
            }
            if change.is_some() {
                break;
            }
        }
        let Some((reason, splices)) = change else {
            return Ok(());
        };
        draft.reasons.push(reason);
        draft.apply(splices);
    }
}

fn corrections(handler: &Handler<'_>, hook: &Hook) -> Option<(String, Vec<Splice>)> {
    let value = &handler.entry.value;
    let mut what = Vec::new();
    let mut splices = Vec::new();
    if let Some(command) = value.get("command")
        && command.text() != Some(&hook.command)
    {
        what.push("another command");
        splices.push(Splice {
            at: command.at.clone(),
            put: compact(&Value::from(hook.command.as_str())),
        });
    }
    if let Some(timeout) = value.get("timeout")
        && !matches!(&timeout.kind, Kind::Number(it) if *it == hook.timeout_s.to_string())
    {
        what.push("another time limit");
        splices.push(Splice {
            at: timeout.at.clone(),
            put: hook.timeout_s.to_string(),
        });
    }
    (!what.is_empty()).then(|| (what.join(", "), splices))
}

fn add(draft: &mut Draft, hook: &Hook) -> Result<(), Refusal> {
    let root = draft.ensure_root()?;
    let event = hook.event.as_str();
    let group = json!({"hooks": [
        {"type": "command", "command": hook.command, "timeout": hook.timeout_s},
    ]});
    let Some(hooks) = root.get(HOOKS) else {
        draft.note(&[HOOKS], Was::Absent);
        draft.note(&[HOOKS, event], Was::Absent);
        return draft.add_member(&[], &root, HOOKS, &json!({event: [group]}));
    };
    if let Some(list) = hooks.get(event) {
        return draft.add_element(&[HOOKS, event], list, &group);
    }
    draft.note(&[HOOKS, event], Was::Absent);
    draft.add_member(&[HOOKS], hooks, event, &json!([group]))
}

pub(super) fn strip(text: &str, adapter: &str, spots: &[Spot]) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    loop {
        let Some(root) = read(&text)? else {
            return Ok(text);
        };
        let splices = match handlers(&text, &root, adapter)?.last() {
            Some(handler) => removal(&text, &root, handler, spots),
            None => return Ok(text),
        };
        text = apply(&text, splices);
    }
}

fn removal(text: &str, root: &Node, handler: &Handler<'_>, spots: &[Spot]) -> Vec<Splice> {
    let is_alone = handler.handlers.elements().is_some_and(|it| it.len() == 1);
    if !is_alone {
        let step = Step {
            parent: handler.handlers,
            child: handler.entry.at.clone(),
            path: Vec::new(),
        };
        return super::json::remove(text, step.parent, &step.child);
    }
    let mut steps = vec![Step {
        parent: &handler.list.value,
        child: handler.group.at.clone(),
        path: vec![HOOKS, handler.event],
    }];
    if let Some(hooks) = root.member(HOOKS) {
        steps.push(Step {
            parent: &hooks.value,
            child: handler.list.at.clone(),
            path: vec![HOOKS],
        });
        steps.push(Step {
            parent: root,
            child: hooks.at.clone(),
            path: Vec::new(),
        });
    }
    take_out(text, &steps, spots)
}

pub(super) fn find(text: &str, adapter: &str) -> Result<Vec<Found>, Refusal> {
    let Some(root) = read(text)? else {
        return Ok(Vec::new());
    };
    let found = handlers(text, &root, adapter)?;
    Ok(found.iter().map(Handler::found).collect())
}

impl Handler<'_> {
    fn found(&self) -> Found {
        let value = &self.entry.value;
        let timeout = value.get("timeout").and_then(|it| match &it.kind {
            Kind::Number(number) => number.parse().ok(),
            Kind::Object(_) | Kind::Array(_) | Kind::Text(_) | Kind::Other => None,
        });
        Found {
            event: self.event.to_owned(),
            reports: self.reports.clone(),
            command: value
                .get("command")
                .and_then(Node::text)
                .unwrap_or_default()
                .to_owned(),
            timeout_s: timeout,
        }
    }
}

/// harn's handlers, in order. What is not as harnesses have it is refused: they would not read it either.
fn handlers<'a>(text: &str, root: &'a Node, adapter: &str) -> Result<Vec<Handler<'a>>, Refusal> {
    let Some(hooks) = root.get(HOOKS) else {
        return Ok(Vec::new());
    };
    let Kind::Object(events) = &hooks.kind else {
        return Err(shape(text, hooks, HOOKS, "an object"));
    };
    let mut found = Vec::new();
    for (event, _) in events {
        // Of several lists of one name the last counts.
        let Some(list) = hooks.member(event) else {
            continue;
        };
        let Some(groups) = list.value.elements() else {
            return Err(shape(text, &list.value, event, "a list"));
        };
        for group in groups {
            let Some(handlers) = group.value.get(HOOKS) else {
                continue;
            };
            for handler in handlers.elements().unwrap_or_default() {
                let command = handler.value.get("command").and_then(Node::text);
                if let Some(reports) = command.and_then(|it| hook_event(it, adapter)) {
                    found.push(Handler {
                        event,
                        list,
                        group,
                        handlers,
                        entry: handler,
                        reports,
                    });
                }
            }
        }
    }
    // A name that stands twice was looked at twice.
    let mut places = Vec::new();
    found.retain(|it: &Handler<'_>| {
        let is_new = !places.contains(&it.entry.at.start);
        places.push(it.entry.at.start);
        is_new
    });
    Ok(found)
}
