//! Joins script, directives and request to an answer. One lock on the script; nothing waits under it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use super::super::{Answer, Exchange, Kind, Protocol, directive};
use super::reply::{self, Block, Message, Usage};
use super::script::Script;
use super::{Reply, request};

/// The scripted Messages API.
#[derive(Debug)]
pub struct Messages {
    state: Mutex<State>,
    /// Keeps message ids apart when several servers feed one transcript.
    mark: String,
}

#[derive(Debug)]
struct State {
    script: Script,
    /// Prompts that were refused by their own directive already.
    refused: Vec<String>,
}

/// What one conversation request gets.
struct Turn {
    reply: Reply,
    usage_tokens: Option<u64>,
}

impl Default for Messages {
    fn default() -> Self {
        Self::new(Script::default())
    }
}

impl Messages {
    pub fn new(script: Script) -> Self {
        let state = Mutex::new(State {
            script,
            refused: Vec::new(),
        });
        Self {
            state,
            mark: Uuid::now_v7().simple().to_string(),
        }
    }

    /// Changes the script; requests that come later see it.
    pub fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.lock().script);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn converse(&self, exchange: &Exchange<'_>) -> Answer {
        let mut state = self.lock();
        let steering = request::steering_text(exchange.body);
        let turn = match state.next_turn(&steering, exchange.n) {
            Ok(turn) => turn,
            Err(refusal) => return refusal,
        };
        let (blocks, slow) = match turn.reply {
            Reply::Say(text) => (vec![Block::Text(text)], Duration::ZERO),
            Reply::Slow(text, slow) => (vec![Block::Text(text)], slow),
            Reply::Tools(calls) => (self.tool_calls(exchange.n, calls), Duration::ZERO),
            Reply::Refuse(status) => return refuse(status),
        };
        self.message(exchange, &state.script, blocks, (turn.usage_tokens, slow))
    }

    fn summarise(&self, exchange: &Exchange<'_>) -> Answer {
        let mut state = self.lock();
        let summary = state.script.summary.clone();
        if let Some(status) = summary.status {
            return refuse(status).delayed(summary.delay);
        }
        let usage = (state.script.usage_tokens, Duration::ZERO);
        let blocks = vec![Block::Text(summary.text)];
        let answer = self.message(exchange, &state.script, blocks, usage);
        if summary.usage_after_tokens.is_some() {
            state.script.usage_tokens = summary.usage_after_tokens;
        }
        answer.delayed(summary.delay)
    }

    fn tool_calls(&self, n: usize, calls: Vec<(String, Value)>) -> Vec<Block> {
        let mark = &self.mark;
        let call = |(index, (name, input))| {
            let id = format!("toolu_{mark}{n:04}{index:02}");
            Block::ToolUse { id, name, input }
        };
        let preface = Block::Text("Using a tool.".to_owned());
        std::iter::once(preface)
            .chain(calls.into_iter().enumerate().map(call))
            .collect()
    }

    fn message(
        &self,
        exchange: &Exchange<'_>,
        script: &Script,
        blocks: Vec<Block>,
        (usage_tokens, slow): (Option<u64>, Duration),
    ) -> Answer {
        let total = usage_tokens.unwrap_or_else(|| estimate(exchange.body_bytes));
        let cached = (script.cache_read_tokens, script.cache_creation_tokens);
        let message = Message {
            id: format!("msg_{}{:06}", self.mark, exchange.n),
            model: exchange.body.get("model").cloned().unwrap_or_default(),
            blocks,
            usage: Usage::of_total(total, cached, script.output_tokens),
            slow,
        };
        let is_streamed = exchange
            .body
            .get("stream")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        if is_streamed {
            message.stream()
        } else {
            message.document()
        }
    }
}

impl State {
    fn next_turn(&mut self, steering: &str, n: usize) -> Result<Turn, Answer> {
        let directives = directive::parse(steering);
        let used = self.script.usage_tokens.unwrap_or(0);
        if let Some(limit) = self
            .script
            .context_limit_tokens
            .filter(|limit| used > *limit)
        {
            return Err(reply::too_long(used, limit));
        }
        if directives.usage.is_some() {
            self.script.usage_tokens = directives.usage;
        }
        if let Some(status) = directives.http
            && !self.refused.iter().any(|refused| refused == steering)
        {
            self.refused.push(steering.to_owned());
            return Err(refuse(status));
        }
        let reply = match self.script.replies.pop_front() {
            Some(reply) => reply,
            None => directives.reply(n),
        };
        Ok(Turn {
            reply,
            usage_tokens: self.script.usage_tokens,
        })
    }
}

impl Protocol for Messages {
    fn kind(&self, _method: &str, path: &str, body: &Value) -> Kind {
        request::kind(path, body)
    }

    fn answer(&self, exchange: &Exchange<'_>) -> Answer {
        match exchange.kind {
            Kind::Main => self.converse(exchange),
            Kind::Summary => self.summarise(exchange),
            Kind::Side => {
                let state = self.lock();
                let blocks = vec![Block::Text(state.script.side.clone())];
                self.message(exchange, &state.script, blocks, (None, Duration::ZERO))
            }
            Kind::CountTokens => {
                let tokens = estimate(exchange.body_bytes);
                Answer::json(200, &serde_json::json!({"input_tokens": tokens}))
            }
            Kind::Other => match (exchange.method, exchange.path) {
                ("HEAD" | "GET", "/") => Answer::json(200, &serde_json::json!({})),
                ("GET", path) if path.starts_with("/v1/models") => reply::models(),
                _ => reply::error(404, "no such route in this rehearsal"),
            },
        }
    }
}

fn refuse(status: u16) -> Answer {
    reply::error(status, &format!("rehearsed failure {status}"))
}

/// Four bytes a token, as clients estimate it.
fn estimate(body_bytes: usize) -> u64 {
    u64::try_from(body_bytes / 4).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(messages: &Messages, n: usize, prompt: &str) -> (u16, Value) {
        let body = json!({
            "model": "m", "tools": [{"name": "Write"}],
            "messages": [{"role": "user", "content": prompt}]
        });
        let (method, path) = ("POST", "/v1/messages");
        let kind = messages.kind(method, path, &body);
        let answer = messages.answer(&Exchange {
            n,
            kind,
            method,
            path,
            body: &body,
            body_bytes: 400,
        });
        (
            answer.status,
            serde_json::from_slice(&answer.chunks[0].bytes).unwrap(),
        )
    }

    fn text(answer: &(u16, Value)) -> &str {
        answer.1["content"][0]["text"].as_str().unwrap()
    }

    #[test]
    fn usage_stays_as_directed_until_a_summary_lets_it_fall() {
        let messages = Messages::default();
        let input = |answer: &(u16, Value)| answer.1["usage"]["input_tokens"].clone();
        assert_eq!(input(&ask(&messages, 1, "hello")), 100);
        assert_eq!(input(&ask(&messages, 2, "hello @usage=68000")), 68000);
        assert_eq!(input(&ask(&messages, 3, "again")), 68000);
        let summary = ask(&messages, 4, "create a detailed summary of this");
        assert!(text(&summary).contains("REHEARSED-SUMMARY"), "{summary:?}");
        assert_eq!(input(&ask(&messages, 5, "on")), 4000);
    }

    #[test]
    fn a_conversation_above_the_limit_is_refused_and_its_summary_is_not() {
        let messages = Messages::default();
        messages.script(|script| {
            script.usage_tokens = Some(205_000);
            script.context_limit_tokens = Some(200_000);
        });
        let refused = ask(&messages, 1, "hello");
        assert_eq!(refused.0, 400);
        assert_eq!(
            refused.1["error"]["message"],
            "prompt is too long: 205000 tokens > 200000 maximum"
        );
        assert_eq!(ask(&messages, 2, "create a detailed summary").0, 200);
        assert_eq!(ask(&messages, 3, "hello").0, 200);
    }

    #[test]
    fn an_http_directive_refuses_its_prompt_once() {
        let messages = Messages::default();
        let prompt = "hello @http=529";
        assert_eq!(ask(&messages, 1, prompt).0, 529);
        assert_eq!(ask(&messages, 2, prompt).0, 200);
    }

    #[test]
    fn scripted_replies_come_before_directives() {
        let messages = Messages::default();
        messages.script(|script| {
            script.replies.extend([
                Reply::Refuse(500),
                Reply::Tools(vec![("Bash".to_owned(), json!({"command": "true"}))]),
            ]);
        });
        assert_eq!(ask(&messages, 1, "x @say=one").0, 500);
        let call = ask(&messages, 2, "x @say=one").1;
        assert_eq!(
            (&call["stop_reason"], &call["content"][1]["name"]),
            (&json!("tool_use"), &json!("Bash"))
        );
        assert_eq!(text(&ask(&messages, 3, "x @say=one")), "one");
    }

    #[test]
    fn a_summary_can_fail_late() {
        let messages = Messages::default();
        messages.script(|script| {
            script.summary.status = Some(400);
            script.summary.delay = Duration::from_secs(3);
        });
        let body = json!({"messages": [{"role": "user", "content": "create a detailed summary"}]});
        let (n, kind, method, path) = (1, Kind::Summary, "POST", "/v1/messages");
        let answer = messages.answer(&Exchange {
            n,
            kind,
            method,
            path,
            body: &body,
            body_bytes: 1,
        });
        assert_eq!((answer.status, answer.delay), (400, Duration::from_secs(3)));
    }
}
