//! The transcript as Claude Code writes it: one JSON object a line, linked by ids. Pure.

use serde_json::{Value, json};

use super::record::{At, Boundary, Ids, Record};

#[derive(Debug)]
pub(super) struct Writer {
    ids: Ids,
    parent: Option<String>,
}

impl Writer {
    pub(super) fn new(ids: Ids) -> Self {
        Self { ids, parent: None }
    }

    pub(super) fn lines(&mut self, record: &Record, at: &At) -> Vec<Value> {
        match record {
            Record::User { text } => vec![self.user(at, &json!(text), json!({}))],
            Record::Context { event, text } => vec![self.linked(
                at,
                json!({"attachment": {"type": "hook_additional_context", "content": [text],
                    "hookName": event, "hookEvent": event}, "type": "attachment"}),
            )],
            Record::Assistant { text, used } => {
                vec![self.assistant(at, &json!([{"type": "text", "text": text}]), *used)]
            }
            Record::Tool { name, input } => {
                let id = self.ids.next();
                let call = json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
                let result =
                    json!([{"type": "tool_result", "tool_use_id": id, "content": "done"}]);
                // Streamed parts of one answer carry no usage of their own here.
                vec![self.assistant(at, &call, 0), self.user(at, &result, json!({}))]
            }
            Record::Notice { text } => vec![self.linked(
                at,
                json!({"type": "system", "subtype": "informational", "isMeta": false, "level": "warning",
                    "content": text}),
            )],
            Record::Local { text } => vec![self.linked(
                at,
                json!({"type": "system", "subtype": "local_command", "isMeta": false, "level": "info",
                    "content": format!("<local-command-stdout>{text}</local-command-stdout>")}),
            )],
            Record::Interrupted => {
                vec![self.user(at, &json!("[Request interrupted by user]"), json!({}))]
            }
            Record::Boundary(boundary) => self.boundary(boundary, at),
        }
    }

    fn boundary(&mut self, boundary: &Boundary, at: &At) -> Vec<Value> {
        let logical = self.parent.take();
        let mark = self.linked(
            at,
            json!({"logicalParentUuid": logical, "type": "system", "subtype": "compact_boundary",
                "content": "Conversation compacted", "isMeta": false, "level": "info",
                "compactMetadata": {"trigger": boundary.trigger, "preTokens": boundary.before,
                    "postTokens": 800, "durationMs": 1000}}),
        );
        let summary = format!(
            "This session is being continued from a previous conversation. {}",
            boundary.summary
        );
        let summary = self.user(
            at,
            &json!(summary),
            json!({"isVisibleInTranscriptOnly": true, "isCompactSummary": true}),
        );
        let mut lines = vec![mark, summary];
        if boundary.trigger == "manual" {
            let command = format!(
                "<command-name>/compact</command-name>\n<command-args>{}</command-args>",
                boundary.focus
            );
            lines.push(self.user(at, &json!(command), json!({})));
            let done = "<local-command-stdout>Compacted</local-command-stdout>";
            lines.push(self.user(at, &json!(done), json!({})));
        }
        lines
    }

    fn user(&mut self, at: &At, content: &Value, more: Value) -> Value {
        let mut line = json!({"promptId": at.prompt_id, "type": "user", "message": {"role": "user", "content": content}});
        merge(&mut line, more);
        self.linked(at, line)
    }

    fn assistant(&mut self, at: &At, content: &Value, used: u64) -> Value {
        let id = self.ids.next();
        let usage = json!({"input_tokens": used.min(200), "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": used.saturating_sub(200), "output_tokens": used.min(20)});
        self.linked(
            at,
            json!({"type": "assistant", "requestId": id, "message": {"id": id, "type": "message",
                "role": "assistant", "model": "demo-large", "content": content,
                "stop_reason": "end_turn", "usage": usage}}),
        )
    }

    fn linked(&mut self, at: &At, body: Value) -> Value {
        let id = self.ids.next();
        let parent = self.parent.replace(id.clone());
        let mut line = json!({"parentUuid": parent, "isSidechain": false});
        merge(&mut line, body);
        merge(
            &mut line,
            json!({"uuid": id, "timestamp": at.time, "userType": "external", "entrypoint": "cli",
                "cwd": at.cwd, "sessionId": at.session, "version": env!("CARGO_PKG_VERSION")}),
        );
        line
    }
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_begins_a_new_chain_and_its_summary_hangs_below_it() {
        let at = At {
            session: "s".into(),
            prompt_id: Some("p".into()),
            cwd: "/w".into(),
            time: "t".into(),
        };
        let mut writer = Writer::new(Ids::new(0));
        let first = writer.lines(&Record::User { text: "hi".into() }, &at);
        let boundary = Boundary {
            trigger: "manual",
            focus: "notes".into(),
            before: 9,
            summary: "S".into(),
            number: 1,
        };
        let lines = writer.lines(&Record::Boundary(boundary), &at);
        let (mark, summary) = (&lines[0], &lines[1]);
        assert_eq!(mark["parentUuid"], Value::Null);
        assert_eq!(mark["logicalParentUuid"], first[0]["uuid"]);
        assert_eq!(mark["compactMetadata"]["preTokens"], 9);
        assert_eq!(summary["parentUuid"], mark["uuid"]);
        assert_eq!(summary["isCompactSummary"], true);
        assert_eq!(lines.len(), 4);
    }
}
