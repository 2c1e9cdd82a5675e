//! Joins script, directives and request to an answer. One lock on the script; nothing waits under it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use super::super::{Answer, Exchange, Kind, Protocol, directive};
use super::reply::{self, Item, Usage};
use super::script::Script;
use super::{Reply, request};

/// The scripted Responses API.
#[derive(Debug)]
pub struct Responses {
    state: Mutex<State>,
    /// Keeps ids apart when several servers feed one record.
    mark: String,
}

#[derive(Debug)]
struct State {
    script: Script,
    /// Prompts that were refused by their own directive already.
    refused: Vec<String>,
}

impl Default for Responses {
    fn default() -> Self {
        Self::new(Script::default())
    }
}

impl Responses {
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
        let items = match state.next_reply(&steering, exchange.n) {
            Reply::Say(text) => vec![Item::Text(text, Duration::ZERO)],
            Reply::Slow(text, slow) => vec![Item::Text(text, slow)],
            Reply::Tools(calls) => {
                let call = |(name, input)| Item::Call { name, input };
                calls.into_iter().map(call).collect()
            }
            Reply::Refuse(status) => return refuse(status),
        };
        self.response(exchange, &state.script, &items)
    }

    fn summarise(&self, exchange: &Exchange<'_>) -> Answer {
        let mut state = self.lock();
        let summary = state.script.summary.clone();
        if let Some(status) = summary.status {
            return refuse(status).delayed(summary.delay);
        }
        let item = if request::is_remote_compaction(exchange.body) {
            Item::Compaction
        } else {
            Item::Text(summary.text, Duration::ZERO)
        };
        let answer = self.response(exchange, &state.script, &[item]);
        if summary.usage_after_tokens.is_some() {
            state.script.usage_tokens = summary.usage_after_tokens;
        }
        answer.delayed(summary.delay)
    }

    fn response(&self, exchange: &Exchange<'_>, script: &Script, items: &[Item]) -> Answer {
        let estimate = u64::try_from(exchange.body_bytes / 4).unwrap_or(u64::MAX);
        let usage = Usage {
            input: script.usage_tokens.unwrap_or(estimate),
            cached: script.cached_tokens,
            output: script.output_tokens,
        };
        reply::stream(&format!("{}{:06}", self.mark, exchange.n), items, usage)
    }
}

impl State {
    fn next_reply(&mut self, steering: &str, n: usize) -> Reply {
        let directives = directive::parse(steering);
        if directives.usage.is_some() {
            self.script.usage_tokens = directives.usage;
        }
        if let Some(status) = directives.http
            && !self.refused.iter().any(|refused| refused == steering)
        {
            self.refused.push(steering.to_owned());
            return Reply::Refuse(status);
        }
        let scripted = self.script.replies.pop_front();
        scripted.unwrap_or_else(|| directives.reply(n))
    }
}

impl Protocol for Responses {
    fn kind(&self, method: &str, path: &str, body: &Value) -> Kind {
        request::kind(method, path, body)
    }

    fn answer(&self, exchange: &Exchange<'_>) -> Answer {
        match exchange.kind {
            Kind::Main => self.converse(exchange),
            Kind::Summary => self.summarise(exchange),
            Kind::Side => {
                let state = self.lock();
                let item = Item::Text(state.script.side.clone(), Duration::ZERO);
                self.response(exchange, &state.script, &[item])
            }
            Kind::CountTokens | Kind::Other => match (exchange.method, exchange.path) {
                // Asked to speak WebSocket; the client falls back to HTTP.
                ("GET", path) if path.ends_with("/responses") => {
                    reply::error(426, "no WebSocket in this rehearsal")
                }
                ("GET", path) if path.contains("/models") => reply::models(),
                _ => reply::error(404, "no such route in this rehearsal"),
            },
        }
    }
}

fn refuse(status: u16) -> Answer {
    reply::error(status, &format!("rehearsed failure {status}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The status and, of a stream, the items in it and the input tokens at its end.
    fn ask(responses: &Responses, n: usize, items: &[Value]) -> (u16, Vec<Value>, u64) {
        let body = json!({"tools": [{"name": "exec_command"}], "input": items});
        let (method, path) = ("POST", "/v1/responses");
        let answer = responses.answer(&Exchange {
            n,
            kind: responses.kind(method, path, &body),
            method,
            path,
            body: &body,
            body_bytes: 400,
        });
        let mut found = Vec::new();
        let mut input = 0;
        for chunk in &answer.chunks {
            let text = std::str::from_utf8(&chunk.bytes).unwrap();
            let Some((_, data)) = text.split_once("data: ") else {
                continue;
            };
            let event: Value = serde_json::from_str(data).unwrap();
            if event["type"] == "response.output_item.done" {
                found.push(event["item"].clone());
            }
            if let Some(tokens) = event["response"]["usage"]["input_tokens"].as_u64() {
                input = tokens;
            }
        }
        (answer.status, found, input)
    }

    fn user(text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    fn text(items: &[Value]) -> &str {
        items[0]["content"][0]["text"].as_str().unwrap()
    }

    #[test]
    fn usage_stays_as_directed_until_a_compaction_of_either_kind_lets_it_fall() {
        for compaction in [
            user("You are performing a CONTEXT CHECKPOINT COMPACTION."),
            json!({"type": "compaction_trigger"}),
        ] {
            let responses = Responses::default();
            assert_eq!(ask(&responses, 1, &[user("hello")]).2, 100);
            assert_eq!(ask(&responses, 2, &[user("hello @usage=68000")]).2, 68_000);
            assert_eq!(ask(&responses, 3, &[user("again")]).2, 68_000);
            let (status, items, used) = ask(&responses, 4, &[user("x"), compaction.clone()]);
            assert_eq!((status, items.len(), used), (200, 1, 68_000));
            match compaction["type"].as_str() {
                Some("message") => assert!(text(&items).contains("REHEARSED-SUMMARY")),
                _ => assert_eq!(items[0]["type"], "compaction"),
            }
            assert_eq!(ask(&responses, 5, &[user("on")]).2, 4_000);
        }
    }

    #[test]
    fn a_tool_call_is_made_once_and_answered_with_words() {
        let responses = Responses::default();
        let prompt = user(r#"do it @tool=exec_command {"cmd":"true"}"#);
        let (_, calls, _) = ask(&responses, 1, std::slice::from_ref(&prompt));
        assert_eq!(
            (&calls[0]["type"], &calls[0]["name"], &calls[0]["arguments"]),
            (
                &json!("function_call"),
                &json!("exec_command"),
                &json!("{\"cmd\":\"true\"}")
            )
        );
        let output = json!({"type": "function_call_output", "call_id": "c", "output": ""});
        let (_, words, _) = ask(&responses, 2, &[prompt, output]);
        assert_eq!(text(&words), "Rehearsed reply 2.");
    }

    #[test]
    fn failures_come_once_by_directive_and_every_time_by_script() {
        let responses = Responses::default();
        assert_eq!(ask(&responses, 1, &[user("x @http=529")]).0, 529);
        assert_eq!(ask(&responses, 2, &[user("x @http=529")]).0, 200);
        responses.script(|script| {
            script.replies.push_back(Reply::Refuse(500));
            script.summary.status = Some(400);
        });
        assert_eq!(ask(&responses, 3, &[user("x @say=one")]).0, 500);
        assert_eq!(text(&ask(&responses, 4, &[user("x @say=one")]).1), "one");
        let trigger = json!({"type": "compaction_trigger"});
        assert_eq!(ask(&responses, 5, std::slice::from_ref(&trigger)).0, 400);
        assert_eq!(ask(&responses, 6, &[trigger]).0, 400);
    }
}
