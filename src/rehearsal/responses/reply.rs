//! Builds the API's answers: a response as its event stream, errors, the list of models. Pure.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Answer, Chunk};

/// A streamed text is cut into this many pieces when it is to take time.
const SLOW_PIECES: usize = 20;

/// What a response is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// Streamed over this time.
    Text(String, Duration),
    /// An object is a function's arguments, a string a custom tool's input. A function of a namespace is `namespace/name`.
    Call { name: String, input: Value },
    /// What a remote compaction gives back.
    Compaction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

impl Usage {
    fn document(self) -> Value {
        json!({
            "input_tokens": self.input,
            "input_tokens_details": {"cached_tokens": self.cached.min(self.input)},
            "output_tokens": self.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.input + self.output,
        })
    }
}

/// The whole event stream. `id` keeps responses apart, and the calls in them.
pub(super) fn stream(id: &str, items: &[Item], usage: Usage) -> Answer {
    let mut chunks = vec![Chunk::event(
        &json!({"type": "response.created", "response": {"id": format!("resp_{id}")}}),
    )];
    for (index, item) in items.iter().enumerate() {
        chunks.extend(item.events(id, index));
    }
    chunks.push(Chunk::event(&json!({
        "type": "response.completed",
        "response": {"id": format!("resp_{id}"), "usage": usage.document()},
    })));
    Answer::events(chunks)
}

impl Item {
    fn events(&self, id: &str, index: usize) -> Vec<Chunk> {
        let document = self.document(id, index);
        let item_id = document.get("id").cloned().unwrap_or_default();
        let done = json!({
            "type": "response.output_item.done", "output_index": index, "item": document,
        });
        let mut chunks = Vec::new();
        if let Self::Text(text, slow) = self
            && !slow.is_zero()
        {
            let opened =
                json!({"type": "message", "id": item_id, "role": "assistant", "content": []});
            chunks.push(Chunk::event(&json!({
                "type": "response.output_item.added", "output_index": index, "item": opened,
            })));
            let letters: Vec<char> = text.chars().collect();
            let pieces: Vec<&[char]> = letters
                .chunks(letters.len().div_ceil(SLOW_PIECES).max(1))
                .collect();
            let pause = *slow / u32::try_from(pieces.len()).unwrap_or(1).max(1);
            for piece in pieces {
                let delta: String = piece.iter().collect();
                let event = json!({
                    "type": "response.output_text.delta", "item_id": item_id,
                    "output_index": index, "content_index": 0, "delta": delta,
                });
                chunks.push(Chunk::event(&event).after(pause));
            }
        }
        chunks.push(Chunk::event(&done));
        chunks
    }

    fn document(&self, id: &str, index: usize) -> Value {
        let call = format!("call_{id}{index:02}");
        match self {
            Self::Text(text, _) => json!({
                "type": "message", "id": format!("msg_{id}{index:02}"), "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }),
            Self::Call {
                name,
                input: Value::String(input),
            } => json!({
                "type": "custom_tool_call", "id": format!("ctc_{id}{index:02}"), "call_id": call,
                "name": name, "input": input,
            }),
            Self::Call { name, input } => {
                let mut document = json!({
                    "type": "function_call", "id": format!("fc_{id}{index:02}"), "call_id": call,
                    "name": name, "arguments": input.to_string(),
                });
                if let (Some((namespace, name)), Some(fields)) =
                    (name.split_once('/'), document.as_object_mut())
                {
                    fields.insert("namespace".to_owned(), json!(namespace));
                    fields.insert("name".to_owned(), json!(name));
                }
                document
            }
            Self::Compaction => json!({
                "type": "compaction", "id": format!("cmp_{id}{index:02}"), "encrypted_content": "UkVIRUFSU0VE",
            }),
        }
    }
}

pub(super) fn error(status: u16, message: &str) -> Answer {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let error = json!({"message": message, "type": kind, "code": null, "param": null});
    Answer::json(status, &json!({"error": error}))
}

pub(super) fn models() -> Answer {
    Answer::json(200, &json!({"object": "list", "data": [], "models": []}))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        input: 100,
        cached: 700,
        output: 20,
    };

    fn sent(items: &[Item]) -> Vec<Value> {
        let data = |chunk: &Chunk| {
            let text = std::str::from_utf8(&chunk.bytes).unwrap();
            serde_json::from_str(text.split_once("data: ").unwrap().1).unwrap()
        };
        stream("7", items, USAGE).chunks.iter().map(data).collect()
    }

    #[test]
    fn a_stream_is_opened_filled_and_completed_with_its_usage() {
        let items = [
            Item::Text("Hi".to_owned(), Duration::ZERO),
            Item::Call {
                name: "shell/exec_command".to_owned(),
                input: json!({"cmd": "true"}),
            },
            Item::Call {
                name: "apply_patch".to_owned(),
                input: json!("*** Begin Patch"),
            },
        ];
        let done = |index: usize, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
        assert_eq!(
            sent(&items),
            [
                json!({"type": "response.created", "response": {"id": "resp_7"}}),
                done(
                    0,
                    json!({"type": "message", "id": "msg_700", "role": "assistant",
                        "content": [{"type": "output_text", "text": "Hi"}]})
                ),
                done(
                    1,
                    json!({"type": "function_call", "id": "fc_701", "call_id": "call_701",
                        "name": "exec_command", "namespace": "shell", "arguments": "{\"cmd\":\"true\"}"})
                ),
                done(
                    2,
                    json!({"type": "custom_tool_call", "id": "ctc_702", "call_id": "call_702",
                        "name": "apply_patch", "input": "*** Begin Patch"})
                ),
                json!({"type": "response.completed", "response": {"id": "resp_7", "usage": {
                    "input_tokens": 100, "input_tokens_details": {"cached_tokens": 100},
                    "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
                    "total_tokens": 120}}}),
            ]
        );
    }

    #[test]
    fn a_slow_text_is_sent_in_pieces_that_take_its_time() {
        let text = "äöü ".repeat(30);
        let slow = Item::Text(text.clone(), Duration::from_secs(2));
        let answer = stream("7", std::slice::from_ref(&slow), USAGE);
        let total: Duration = answer.chunks.iter().map(|chunk| chunk.after).sum();
        let deltas: Vec<Value> = sent(&[slow])
            .into_iter()
            .filter(|event| event["type"] == "response.output_text.delta")
            .collect();
        let whole: String = deltas
            .iter()
            .map(|it| it["delta"].as_str().unwrap())
            .collect();
        assert_eq!(
            (deltas.len(), total, whole),
            (20, Duration::from_secs(2), text)
        );
    }
}
