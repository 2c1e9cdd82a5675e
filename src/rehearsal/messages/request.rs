//! Reads a request's body: what kind it is, what a person wrote in it, what the model gets to see.

use serde_json::Value;

use super::super::Kind;

/// What the client's compaction prompt always contains.
const SUMMARY_MARK: &str = "create a detailed summary";
const REMINDER_MARK: &str = "<system-reminder>";

pub(super) fn kind(path: &str, body: &Value) -> Kind {
    let has_tools = body
        .get("tools")
        .and_then(Value::as_array)
        .is_some_and(|all| !all.is_empty());
    match path.split('?').next().unwrap_or(path) {
        "/v1/messages/count_tokens" => Kind::CountTokens,
        "/v1/messages" if newest_human_text(body).contains(SUMMARY_MARK) => Kind::Summary,
        "/v1/messages" if has_tools => Kind::Main,
        "/v1/messages" => Kind::Side,
        _ => Kind::Other,
    }
}

/// The human texts of each user message, oldest first; tool results and reminders apart.
pub fn human_prompts(body: &Value) -> Vec<String> {
    user_messages(body)
        .map(human_text)
        .filter(|text| !text.is_empty())
        .collect()
}

/// The whole text of the last user message, the client's reminders included.
pub fn last_user_text(body: &Value) -> String {
    user_messages(body)
        .next_back()
        .map(|message| blocks(message).join("\n"))
        .unwrap_or_default()
}

/// Every text that the model sees: the system prompt, each message, tool results.
pub fn texts(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(system) = body.get("system") {
        collect(system, &mut found);
    }
    for message in messages(body) {
        if let Some(content) = message.get("content") {
            collect(content, &mut found);
        }
    }
    found
}

/// The person's words in the last user message; empty when that message answers a tool call.
pub(super) fn steering_text(body: &Value) -> String {
    match user_messages(body).next_back() {
        Some(message) if !answers_tool(message) => human_text(message),
        Some(_) | None => String::new(),
    }
}

fn newest_human_text(body: &Value) -> String {
    user_messages(body)
        .next_back()
        .map(human_text)
        .unwrap_or_default()
}

fn messages(body: &Value) -> std::slice::Iter<'_, Value> {
    body.get("messages")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
        .iter()
}

fn user_messages(body: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    messages(body).filter(|message| message.get("role").and_then(Value::as_str) == Some("user"))
}

fn human_text(message: &Value) -> String {
    let mut texts = blocks(message);
    texts.retain(|text| !text.trim_start().starts_with(REMINDER_MARK));
    texts.join("\n")
}

fn answers_tool(message: &Value) -> bool {
    let is_result = |block: &Value| kind_of(block) == Some("tool_result");
    message
        .get("content")
        .and_then(Value::as_array)
        .is_some_and(|all| all.iter().any(is_result))
}

/// The text blocks of a message, tool results apart.
fn blocks(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| block.get("text").and_then(Value::as_str))
            .collect(),
        _ => Vec::new(),
    }
}

fn collect(content: &Value, found: &mut Vec<String>) {
    match content {
        Value::String(text) => found.push(text.clone()),
        Value::Array(blocks) => {
            for block in blocks {
                match (block.get("text"), block.get("content")) {
                    (Some(Value::String(text)), _) => found.push(text.clone()),
                    (_, Some(inner)) => collect(inner, found),
                    _ => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

fn kind_of(block: &Value) -> Option<&str> {
    block.get("type").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation() -> Value {
        json!({
            "system": [{"type": "text", "text": "be brief"}],
            "tools": [{"name": "Write"}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "<system-reminder>today</system-reminder>"},
                    {"type": "text", "text": "first @usage=5"}
                ]},
                {"role": "assistant", "content": "ok"},
                {"role": "user", "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "wrote it"}]},
                    {"type": "text", "text": "<system-reminder>hook</system-reminder>"}
                ]}
            ]
        })
    }

    #[test]
    fn what_a_person_wrote_is_told_from_what_the_client_added() {
        let body = conversation();
        assert_eq!(human_prompts(&body), ["first @usage=5"]);
        assert_eq!(
            last_user_text(&body),
            "<system-reminder>hook</system-reminder>"
        );
        assert_eq!(steering_text(&body), "");
        assert_eq!(
            texts(&body),
            [
                "be brief",
                "<system-reminder>today</system-reminder>",
                "first @usage=5",
                "ok",
                "wrote it",
                "<system-reminder>hook</system-reminder>"
            ]
        );
    }

    #[test]
    fn requests_are_told_apart_by_route_tools_and_the_compaction_prompt() {
        let ask = |text: &str, tools: Value| json!({"tools": tools, "messages": [{"role": "user", "content": text}]});
        let tools = json!([{"name": "Write"}]);
        let summary =
            "CRITICAL: Respond with TEXT ONLY. Your task is to create a detailed summary of";
        let messages = "/v1/messages?beta=true";
        assert_eq!(kind(messages, &conversation()), Kind::Main);
        assert_eq!(kind(messages, &ask("hello", tools.clone())), Kind::Main);
        assert_eq!(kind(messages, &ask(summary, tools)), Kind::Summary);
        assert_eq!(kind(messages, &ask("name this", json!([]))), Kind::Side);
        assert_eq!(
            kind("/v1/messages/count_tokens?beta=true", &Value::Null),
            Kind::CountTokens
        );
        assert_eq!(kind("/", &Value::Null), Kind::Other);
    }
}
