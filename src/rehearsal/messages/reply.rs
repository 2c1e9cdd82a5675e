//! Builds the API's answers: a message as one document or as its event stream, errors, the list of models. Pure.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Answer, Chunk};

/// A streamed text is cut into this many pieces when it is to take time.
const SLOW_PIECES: u32 = 20;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Text(String),
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub input: u64,
    pub cache_read: u64,
    pub cache_creation: u64,
    pub output: u64,
}

/// One assistant message, not yet in the form that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub id: String,
    pub model: Value,
    pub blocks: Vec<Block>,
    pub usage: Usage,
    /// The time over which each text is streamed.
    pub slow: Duration,
}

impl Usage {
    /// Splits a total into what was cached and what was not.
    pub(super) fn of_total(total: u64, cached: (u64, u64), output: u64) -> Self {
        let cache_read = cached.0.min(total);
        let cache_creation = cached.1.min(total - cache_read);
        Self {
            input: total - cache_read - cache_creation,
            cache_read,
            cache_creation,
            output,
        }
    }

    fn document(self, output: u64) -> Value {
        json!({
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.cache_creation,
            "cache_read_input_tokens": self.cache_read,
            "output_tokens": output,
            "service_tier": "standard",
        })
    }
}

impl Message {
    pub(super) fn document(&self) -> Answer {
        let content: Vec<Value> = self
            .blocks
            .iter()
            .map(|block| block.document(true))
            .collect();
        Answer::json(
            200,
            &self.head(&content, Some(self.stop_reason()), self.usage.output),
        )
    }

    pub(super) fn stream(&self) -> Answer {
        let head = self.head(&[], None, 1);
        let mut chunks = vec![Chunk::event(
            &json!({"type": "message_start", "message": head}),
        )];
        for (index, block) in self.blocks.iter().enumerate() {
            chunks.push(Chunk::event(&json!({
                "type": "content_block_start", "index": index, "content_block": block.document(false)
            })));
            chunks.extend(block.deltas(self.slow).into_iter().map(|(after, delta)| {
                let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
                Chunk::event(&event).after(after)
            }));
            chunks.push(Chunk::event(
                &json!({"type": "content_block_stop", "index": index}),
            ));
        }
        chunks.push(Chunk::event(&json!({
            "type": "message_delta",
            "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null},
            "usage": self.usage.document(self.usage.output),
        })));
        chunks.push(Chunk::event(&json!({"type": "message_stop"})));
        Answer::events(chunks)
    }

    fn head(&self, content: &[Value], stop_reason: Option<&str>, output: u64) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model,
            "content": content, "stop_reason": stop_reason, "stop_sequence": null,
            "usage": self.usage.document(output),
        })
    }

    fn stop_reason(&self) -> &'static str {
        let calls = self
            .blocks
            .iter()
            .any(|block| matches!(block, Block::ToolUse { .. }));
        if calls { "tool_use" } else { "end_turn" }
    }
}

impl Block {
    /// The block as a document; without its content, as a stream opens it.
    fn document(&self, is_whole: bool) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": if is_whole { text } else { "" }}),
            Self::ToolUse { id, name, input } => {
                let input = if is_whole { input.clone() } else { json!({}) };
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        }
    }

    fn deltas(&self, slow: Duration) -> Vec<(Duration, Value)> {
        match self {
            Self::Text(text) if slow.is_zero() => {
                vec![(Duration::ZERO, json!({"type": "text_delta", "text": text}))]
            }
            Self::Text(text) => {
                let letters: Vec<char> = text.chars().collect();
                let pieces = letters.chunks(letters.len().div_ceil(SLOW_PIECES as usize).max(1));
                let pause = slow / u32::try_from(pieces.len()).unwrap_or(SLOW_PIECES).max(1);
                let delta = |piece: &[char]| {
                    let text: String = piece.iter().collect();
                    (pause, json!({"type": "text_delta", "text": text}))
                };
                pieces.map(delta).collect()
            }
            Self::ToolUse { input, .. } => {
                let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
                vec![(Duration::ZERO, delta)]
            }
        }
    }
}

pub(super) fn error(status: u16, message: &str) -> Answer {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    Answer::json(
        status,
        &json!({"type": "error", "error": {"type": kind, "message": message}}),
    )
}

pub(super) fn too_long(tokens: u64, limit: u64) -> Answer {
    error(
        400,
        &format!("prompt is too long: {tokens} tokens > {limit} maximum"),
    )
}

pub(super) fn models() -> Answer {
    let ids = ["claude-opus-4-8", "claude-sonnet-5", "claude-haiku-4-5"];
    let data = ids.map(|id| {
        json!({"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z"})
    });
    let list = json!({"data": data, "has_more": false, "first_id": ids[0], "last_id": ids[2]});
    Answer::json(200, &list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(slow: Duration) -> Message {
        let call = Block::ToolUse {
            id: "toolu_1".to_owned(),
            name: "Write".to_owned(),
            input: json!({"file_path": "a"}),
        };
        Message {
            id: "msg_1".to_owned(),
            model: json!("m"),
            blocks: vec![Block::Text("Hi".to_owned()), call],
            usage: Usage::of_total(100, (60, 70), 20),
            slow,
        }
    }

    #[test]
    fn a_stream_carries_the_message_and_its_document_the_same() {
        let stream = message(Duration::ZERO).stream();
        let sent: Vec<Value> = stream.chunks.iter().map(data).collect();
        let usage = |output: u64| {
            json!({
                "input_tokens": 0, "cache_creation_input_tokens": 40,
                "cache_read_input_tokens": 60, "output_tokens": output, "service_tier": "standard"
            })
        };
        assert_eq!(
            sent,
            [
                json!({"type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": usage(1)}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "content_block_start", "index": 1,
                "content_block": {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {}}}),
                json!({"type": "content_block_delta", "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": "{\"file_path\":\"a\"}"}}),
                json!({"type": "content_block_stop", "index": 1}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": usage(20)}),
                json!({"type": "message_stop"}),
            ]
        );
        let document: Value =
            serde_json::from_slice(&message(Duration::ZERO).document().chunks[0].bytes).unwrap();
        assert_eq!(document["content"][1]["input"], json!({"file_path": "a"}));
        assert_eq!(document["usage"], usage(20));
    }

    #[test]
    fn a_slow_text_is_sent_in_pieces_that_take_its_time() {
        let mut slow = message(Duration::from_secs(2));
        slow.blocks = vec![Block::Text("äöü ".repeat(30))];
        let answer = slow.stream();
        let pieces: Vec<&Chunk> = answer
            .chunks
            .iter()
            .filter(|c| !c.after.is_zero())
            .collect();
        let text: String = pieces
            .iter()
            .map(|c| data(c)["delta"]["text"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(text, "äöü ".repeat(30));
        assert_eq!(pieces.len(), 20);
        assert_eq!(
            pieces.iter().map(|c| c.after).sum::<Duration>(),
            Duration::from_secs(2)
        );
    }

    fn data(chunk: &Chunk) -> Value {
        let text = std::str::from_utf8(&chunk.bytes).unwrap();
        serde_json::from_str(text.split_once("data: ").unwrap().1).unwrap()
    }
}
