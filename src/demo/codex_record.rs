//! The transcript as a Codex rollout: numbered lines of time, type and payload. Pure.

use serde_json::{Value, json};

use super::record::{At, Boundary, Ids, Record};

#[derive(Debug)]
pub(super) struct Writer {
    ids: Ids,
    ordinal: u64,
    window: u64,
    total: u64,
}

impl Writer {
    pub(super) fn new(ids: Ids, window: u64) -> Self {
        Self {
            ids,
            ordinal: 0,
            window,
            total: 0,
        }
    }

    pub(super) fn lines(&mut self, record: &Record, at: &At) -> Vec<Value> {
        let mut lines = Vec::new();
        if self.ordinal == 0 {
            let meta = json!({"session_id": at.session, "id": at.session, "cwd": at.cwd,
                "originator": "codex-tui", "cli_version": env!("CARGO_PKG_VERSION"), "source": "cli"});
            lines.push(self.line(at, "session_meta", &meta));
        }
        match record {
            Record::User { text } => lines.push(self.message(at, "user", text)),
            Record::Context { text, .. } => lines.push(self.message(at, "developer", text)),
            Record::Assistant { text, used } => {
                lines.push(self.message(at, "assistant", text));
                lines.push(self.token_count(at, *used, *used));
            }
            Record::Tool { name, input } => {
                let call = json!({"type": "function_call", "name": name, "call_id": self.ids.next(),
                    "arguments": input.to_string()});
                lines.push(self.line(at, "response_item", &call));
            }
            Record::Notice { .. } => {}
            Record::Local { text } => {
                let complete = json!({"type": "task_complete", "turn_id": at.prompt_id,
                        "error": {"message": text, "codex_error_info": "other"}});
                lines.push(self.line(at, "event_msg", &complete));
            }
            Record::Interrupted => {
                let aborted = json!({"type": "turn_aborted", "turn_id": at.prompt_id, "reason": "interrupted"});
                lines.push(self.line(at, "event_msg", &aborted));
            }
            Record::Boundary(boundary) => lines.extend(self.compacted(boundary, at)),
        }
        lines
    }

    fn compacted(&mut self, boundary: &Boundary, at: &At) -> Vec<Value> {
        let compacted = json!({"message": boundary.summary, "replacement_history": [],
            "window_number": boundary.number, "window_id": self.ids.next()});
        let item = json!({"type": "item_completed", "turn_id": at.prompt_id,
            "item": {"type": "ContextCompaction", "id": self.ids.next()}});
        vec![
            self.line(at, "compacted", &compacted),
            // An estimate of the client's: everything 0 but the total.
            self.token_count(at, 0, 7_277),
            self.line(at, "event_msg", &item),
        ]
    }

    fn token_count(&mut self, at: &At, input: u64, total: u64) -> Value {
        self.total += input;
        let usage = |input: u64, total: u64| {
            json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": 0,
                "reasoning_output_tokens": 0, "total_tokens": total})
        };
        let count = json!({"type": "token_count", "info": {
            "total_token_usage": usage(self.total, self.total),
            "last_token_usage": usage(input, total),
            "model_context_window": self.window}});
        self.line(at, "event_msg", &count)
    }

    fn message(&mut self, at: &At, role: &str, text: &str) -> Value {
        let kind = if role == "assistant" {
            "output_text"
        } else {
            "input_text"
        };
        let message = json!({"type": "message", "id": self.ids.next(), "role": role,
            "content": [{"type": kind, "text": text}]});
        self.line(at, "response_item", &message)
    }

    fn line(&mut self, at: &At, kind: &str, payload: &Value) -> Value {
        let line = json!({"timestamp": at.time, "ordinal": self.ordinal, "type": kind, "payload": payload});
        self.ordinal += 1;
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_rise_and_a_compaction_names_its_window() {
        let at = At {
            session: "s".into(),
            prompt_id: None,
            cwd: "/w".into(),
            time: "t".into(),
        };
        let mut writer = Writer::new(Ids::new(0), 95_000);
        let mut lines = writer.lines(
            &Record::Assistant {
                text: "a".into(),
                used: 50,
            },
            &at,
        );
        let boundary = Boundary {
            trigger: "manual",
            focus: String::new(),
            before: 50,
            summary: "S".into(),
            number: 1,
        };
        lines.extend(writer.lines(&Record::Boundary(boundary), &at));
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line["ordinal"].clone(), line["type"].clone()))
            .collect();
        let expected = [
            "session_meta",
            "response_item",
            "event_msg",
            "compacted",
            "event_msg",
            "event_msg",
        ];
        let expected: Vec<_> = (0..)
            .map(|n| json!(n))
            .zip(expected.map(|kind| json!(kind)))
            .collect();
        assert_eq!(told, expected);
        assert_eq!(lines[3]["payload"]["window_number"], 1);
        assert_eq!(
            lines[4]["payload"]["info"]["last_token_usage"]["input_tokens"],
            0
        );
    }
}
