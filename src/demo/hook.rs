//! Hooks: what the settings ask for, what goes to a hook, what its output means.
//!
//! Pure. `runner` runs the commands.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The settings this agent knows; the rest is skipped.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    hooks: std::collections::BTreeMap<String, Vec<Group>>,
    #[serde(rename = "statusLine")]
    status_line: Option<Handler>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Group {
    matcher: Option<String>,
    hooks: Vec<Handler>,
}

/// One command.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Handler {
    pub(super) command: String,
    /// Seconds.
    pub(super) timeout: Option<u64>,
}

impl Settings {
    /// How many hook commands there are.
    pub(super) fn count(&self) -> usize {
        let groups = self.hooks.values().flatten();
        groups.map(|group| group.hooks.len()).sum()
    }

    pub(super) fn status_line(&self) -> Option<&Handler> {
        self.status_line.as_ref()
    }

    /// The commands for an event; a tool event's matcher names tools.
    pub(super) fn handlers(&self, event: &str, tool: Option<&str>) -> Vec<Handler> {
        let groups = self.hooks.get(event).into_iter().flatten();
        groups
            .filter(|group| fits(group.matcher.as_deref(), tool))
            .flat_map(|group| group.hooks.iter().cloned())
            .collect()
    }
}

fn fits(matcher: Option<&str>, tool: Option<&str>) -> bool {
    match (matcher, tool) {
        (None | Some("" | "*"), _) | (Some(_), None) => true,
        (Some(matcher), Some(tool)) => matcher.split('|').any(|name| name == tool),
    }
}

/// One event about to be told to its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HookCall {
    pub(super) event: &'static str,
    pub(super) fields: Map<String, Value>,
}

impl HookCall {
    /// `fields` has to be an object.
    pub(super) fn new(event: &'static str, fields: Value) -> Self {
        let fields = match fields {
            Value::Object(fields) => fields,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        Self { event, fields }
    }

    pub(super) fn tool(&self) -> Option<&str> {
        self.fields.get("tool_name")?.as_str()
    }
}

/// What every payload names.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) session: String,
    pub(super) transcript: String,
    pub(super) cwd: String,
}

/// The document for the hook's standard input.
pub(super) fn payload(place: &Place, prompt_id: Option<&str>, call: &HookCall) -> Value {
    let mut document = Map::new();
    document.insert("session_id".into(), place.session.as_str().into());
    document.insert("transcript_path".into(), place.transcript.as_str().into());
    document.insert("cwd".into(), place.cwd.as_str().into());
    if let Some(id) = prompt_id {
        document.insert("prompt_id".into(), id.into());
    }
    if !matches!(
        call.event,
        "SessionStart" | "SessionEnd" | "PreCompact" | "PostCompact"
    ) {
        document.insert("permission_mode".into(), "default".into());
    }
    document.insert("hook_event_name".into(), call.event.into());
    document.extend(call.fields.clone());
    Value::Object(document)
}

/// How one hook command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) command: String,
    /// None: it ran out of time or could not be started.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// What the hooks of one event had to say.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Heard {
    /// For the model.
    pub(super) contexts: Vec<String>,
    /// Command and reason of the first that objected.
    pub(super) block: Option<(String, String)>,
    /// For the user.
    pub(super) messages: Vec<String>,
    pub(super) errors: Vec<String>,
}

/// The limit of the real clients; longer texts are cut there, too.
const CONTEXT_CHARS: usize = 10_000;

pub(super) fn hear(event: &str, runs: &[Ran]) -> Heard {
    let mut heard = Heard::default();
    for ran in runs {
        match ran.code {
            Some(0) => heard.hear_output(event, ran),
            Some(2) => {
                let reason = ran.stderr.trim().to_owned();
                heard.block.get_or_insert((ran.command.clone(), reason));
            }
            Some(code) => {
                let said = ran.stderr.lines().next().unwrap_or("no message");
                heard
                    .errors
                    .push(format!("{event} hook failed (exit {code}): {said}"));
            }
            None => {
                let said = ran.stderr.lines().next().unwrap_or_default();
                heard
                    .errors
                    .push(format!("{event} hook gave no answer {said}"));
            }
        }
    }
    heard
}

impl Heard {
    fn hear_output(&mut self, event: &str, ran: &Ran) {
        let text = ran.stdout.trim();
        if text.is_empty() {
            return;
        }
        if !text.starts_with('{') {
            if takes_plain_text(event) {
                self.add_context(text);
            }
            return;
        }
        match serde_json::from_str::<Value>(text) {
            Ok(document) => self.hear_document(event, ran, &document),
            Err(error) => self.errors.push(format!(
                "{event} hook printed JSON that is not valid: {error}"
            )),
        }
    }

    fn hear_document(&mut self, event: &str, ran: &Ran, document: &Value) {
        if document["decision"] == "block" || document["continue"] == false {
            let reason = document["reason"]
                .as_str()
                .or(document["stopReason"].as_str())
                .unwrap_or_default();
            self.block
                .get_or_insert((ran.command.clone(), reason.to_owned()));
        }
        if let Some(message) = document["systemMessage"].as_str() {
            self.messages.push(format!("{event} hook says: {message}"));
        }
        let Some(specific) = document.get("hookSpecificOutput") else {
            return;
        };
        if specific["hookEventName"] != *event || !takes_context(event) {
            self.errors.push(format!(
                "{event} hook printed what is not valid for this event: hookSpecificOutput"
            ));
            return;
        }
        if specific["permissionDecision"] == "deny" {
            let reason = specific["permissionDecisionReason"]
                .as_str()
                .unwrap_or_default();
            self.block
                .get_or_insert((ran.command.clone(), reason.to_owned()));
        }
        if let Some(context) = specific["additionalContext"].as_str() {
            self.add_context(context);
        }
    }

    fn add_context(&mut self, text: &str) {
        self.contexts
            .push(crate::text::shorten(text, CONTEXT_CHARS));
    }
}

fn takes_plain_text(event: &str) -> bool {
    matches!(event, "SessionStart" | "UserPromptSubmit")
}

fn takes_context(event: &str) -> bool {
    takes_plain_text(event) || matches!(event, "PreToolUse" | "PostToolUse" | "Stop")
}

/// A JSON object for a `HookCall`, short to write.
pub(super) fn prompt_fields(text: &str) -> Value {
    json!({ "prompt": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(code: i32, stdout: &str, stderr: &str) -> Ran {
        Ran {
            command: "hook".into(),
            code: Some(code),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    #[test]
    fn context_is_heard_where_the_event_takes_it_and_is_an_error_elsewhere() {
        let context = |event: &str| {
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "c"}})
                .to_string()
        };
        let start = hear("SessionStart", &[ran(0, &context("SessionStart"), "")]);
        assert_eq!(start.contexts, ["c"]);
        assert_eq!(start.errors, [""; 0]);
        for (event, printed) in [
            ("PreCompact", context("PreCompact")),
            ("PostCompact", context("PostCompact")),
            ("SessionStart", context("Stop")),
            ("Stop", "{oops".to_owned()),
        ] {
            let heard = hear(event, &[ran(0, &printed, "")]);
            assert_eq!(
                (heard.contexts.len(), heard.errors.len()),
                (0, 1),
                "{event}"
            );
        }
    }

    #[test]
    fn exit_2_objects_and_another_code_is_only_told() {
        let heard = hear(
            "PreCompact",
            &[ran(2, "", "not now\n"), ran(1, "", "oh\nmore")],
        );
        assert_eq!(heard.block, Some(("hook".into(), "not now".into())));
        assert_eq!(heard.errors, ["PreCompact hook failed (exit 1): oh"]);
        let said = r#"{"decision":"block","reason":"r","systemMessage":"m"}"#;
        let heard = hear("Stop", &[ran(0, said, "")]);
        assert_eq!(heard.block, Some(("hook".into(), "r".into())));
        assert_eq!(heard.messages, ["Stop hook says: m"]);
    }

    #[test]
    fn settings_name_commands_by_event_and_tool() {
        let settings: Settings = serde_json::from_value(json!({
            "theme": "dark",
            "statusLine": {"type": "command", "command": "line"},
            "hooks": {"PreToolUse": [
                {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "e"}]},
                {"hooks": [{"type": "command", "command": "all", "timeout": 5}]},
            ]},
        }))
        .unwrap();
        let commands = |tool| -> Vec<String> {
            let handlers = settings.handlers("PreToolUse", tool);
            handlers
                .into_iter()
                .map(|handler| handler.command)
                .collect()
        };
        assert_eq!(commands(Some("Edit")), ["e", "all"]);
        assert_eq!(commands(Some("Bash")), ["all"]);
        assert_eq!(settings.handlers("Stop", None), []);
        assert_eq!(settings.status_line().unwrap().command, "line");
    }
}
