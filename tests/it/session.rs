//! A session as a harness's hooks tell of it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Output, TestEnv};

/// A session `s1` in the environment's project.
pub(crate) struct Session<'a> {
    pub(crate) env: &'a TestEnv,
    id: &'static str,
}

impl<'a> Session<'a> {
    pub(crate) fn new(env: &'a TestEnv) -> Self {
        Self { env, id: "s1" }
    }

    pub(crate) fn named(env: &'a TestEnv, id: &'static str) -> Self {
        Self { env, id }
    }

    pub(crate) fn send(&self, event: &str, fields: &Value) -> Output {
        let mut payload = json!({
            "session_id": self.id,
            "transcript_path": "/t.jsonl",
            "cwd": self.env.project(),
            "hook_event_name": event,
        });
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        self.send_raw(event, payload.to_string().as_bytes())
    }

    pub(crate) fn send_raw(&self, event: &str, payload: &[u8]) -> Output {
        self.env
            .run(self.env.harn(["hook", "claude-code", event]), payload)
    }

    /// Sends what must be answered with nothing.
    pub(crate) fn quiet(&self, event: &str, fields: &Value) {
        assert_silent(&self.send(event, fields));
    }

    /// A turn that edits `README`, then the announcement of a compaction.
    pub(crate) fn work_and_announce(&self) {
        self.quiet("SessionStart", &json!({"source": "startup"}));
        self.quiet(
            "UserPromptSubmit",
            &json!({"prompt": "fix the parser", "prompt_id": "t1"}),
        );
        let path = self.env.write("README", "edited\n");
        let input = json!({"file_path": path});
        self.quiet(
            "PostToolUse",
            &json!({"tool_name": "Edit", "tool_input": input, "prompt_id": "t1"}),
        );
        self.quiet(
            "Stop",
            &json!({"last_assistant_message": "Done.", "prompt_id": "t1"}),
        );
        self.quiet(
            "PreCompact",
            &json!({"trigger": "manual", "prompt_id": "t2"}),
        );
    }

    /// The text for the model that SessionStart(compact) prints.
    pub(crate) fn briefing(&self) -> Option<String> {
        context_of(&self.send(
            "SessionStart",
            &json!({"source": "compact", "prompt_id": "t2"}),
        ))
    }

    pub(crate) fn dir(&self) -> PathBuf {
        let context = self.env.project().join(".harnery/context");
        fs::read_dir(context)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
    }

    /// A checkpoint by its generation.
    pub(crate) fn capsule(&self, generation: u64) -> Value {
        let path = self.dir().join(format!("capsules/{generation:06}.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.dir().join("events.ndjson")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn event_types(&self) -> Vec<String> {
        self.events()
            .iter()
            .map(|event| event["type"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(crate) fn context_of(output: &Output) -> Option<String> {
    assert_eq!((output.code, output.err()), (0, String::new()));
    if output.stdout.is_empty() {
        return None;
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let specific = &document["hookSpecificOutput"];
    assert_eq!(specific["hookEventName"], "SessionStart");
    Some(specific["additionalContext"].as_str().unwrap().to_owned())
}

pub(crate) fn assert_silent(output: &Output) {
    assert_eq!(
        (output.code, output.out(), output.err()),
        (0, String::new(), String::new())
    );
}
