//! What a protocol tells the server to send: a status, headers and timed chunks. Pure; it sends nothing itself.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// One HTTP answer, complete before the first byte is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    /// Wait before the status line.
    pub delay: Duration,
    pub chunks: Vec<Chunk>,
}

/// Bytes of a body, sent `after` the chunk before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub after: Duration,
    pub bytes: Bytes,
}

impl Answer {
    pub fn json(status: u16, document: &Value) -> Self {
        let chunk = Chunk::now(document.to_string());
        Self {
            status,
            content_type: "application/json",
            delay: Duration::ZERO,
            chunks: vec![chunk],
        }
    }

    /// A server-sent event stream.
    pub fn events(chunks: Vec<Chunk>) -> Self {
        Self {
            status: 200,
            content_type: "text/event-stream",
            delay: Duration::ZERO,
            chunks,
        }
    }

    #[must_use]
    pub fn delayed(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// The length of the whole body.
    pub fn len_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.bytes.len()).sum()
    }
}

impl Chunk {
    pub fn now(bytes: impl Into<Bytes>) -> Self {
        Self {
            after: Duration::ZERO,
            bytes: bytes.into(),
        }
    }

    /// One server-sent event, named by the `type` of its data as both model APIs do.
    pub fn event(data: &Value) -> Self {
        let name = data
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("message");
        Self::now(format!("event: {name}\ndata: {data}\n\n"))
    }

    #[must_use]
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_block_named_by_its_type() {
        let chunk = Chunk::event(&json!({"type": "message_stop", "text": "a\nb"}));
        assert_eq!(
            chunk.bytes,
            Bytes::from(
                "event: message_stop\ndata: {\"type\":\"message_stop\",\"text\":\"a\\nb\"}\n\n"
            )
        );
    }
}
