//! Reads a request's body: what kind it is, what a person wrote in it, what the model gets to see.

use serde_json::Value;

use super::super::Kind;

/// What the prompt of a local compaction always contains.
const SUMMARY_MARK: &str = "CONTEXT CHECKPOINT";
/// The item that asks for a remote compaction, last of all.
const TRIGGER: &str = "compaction_trigger";
/// How messages begin that the client writes under the user's name.
const OWN_WORDS: [&str; 3] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md",
];

pub(super) fn kind(method: &str, path: &str, body: &Value) -> Kind {
    let route = path.split('?').next().unwrap_or(path);
    if method != "POST" || !route.ends_with("/responses") {
        return Kind::Other;
    }
    if is_remote_compaction(body) || newest_user_text(body).contains(SUMMARY_MARK) {
        Kind::Summary
    } else if has_tools(body) {
        Kind::Main
    } else {
        Kind::Side
    }
}

/// Whether the client wants the server to compact, and not a summary in words.
pub(super) fn is_remote_compaction(body: &Value) -> bool {
    items(body)
        .last()
        .is_some_and(|item| kind_of(item) == TRIGGER)
}

/// The texts that a person wrote, oldest first.
pub fn human_prompts(body: &Value) -> Vec<String> {
    let texts = items(body)
        .filter(|item| is_message_of(item, "user"))
        .map(text_of);
    texts
        .filter(|text| {
            !OWN_WORDS
                .iter()
                .any(|own| text.trim_start().starts_with(own))
        })
        .collect()
}

/// Every text that the model sees: instructions, each message, what tools gave back.
pub fn texts(body: &Value) -> Vec<String> {
    let instructions = body.get("instructions").and_then(Value::as_str);
    let mut found: Vec<String> = instructions.into_iter().map(str::to_owned).collect();
    for item in items(body) {
        found.push(text_of(item));
        match item.get("output") {
            Some(Value::String(text)) => found.push(text.clone()),
            Some(parts) => found.push(parts_text(parts)),
            None => {}
        }
    }
    found.retain(|text| !text.is_empty());
    found
}

/// The newest user message; empty when a tool has answered since.
pub(super) fn steering_text(body: &Value) -> String {
    let newest = items(body).rposition(|item| is_message_of(item, "user"));
    let Some(newest) = newest else {
        return String::new();
    };
    let mut since = items(body).skip(newest);
    let text = since.next().map(text_of).unwrap_or_default();
    let is_answered = since.any(|item| kind_of(item).ends_with("_call_output"));
    if is_answered { String::new() } else { text }
}

fn newest_user_text(body: &Value) -> String {
    let newest = items(body).rfind(|item| is_message_of(item, "user"));
    newest.map(text_of).unwrap_or_default()
}

fn has_tools(body: &Value) -> bool {
    let is_filled = |tools: Option<&Value>| {
        tools
            .and_then(Value::as_array)
            .is_some_and(|all| !all.is_empty())
    };
    is_filled(body.get("tools"))
        || items(body)
            .any(|item| kind_of(item) == "additional_tools" && is_filled(item.get("tools")))
}

fn items(body: &Value) -> std::slice::Iter<'_, Value> {
    body.get("input")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice)
        .iter()
}

/// A message may leave its type out.
fn is_message_of(item: &Value, role: &str) -> bool {
    matches!(kind_of(item), "message" | "")
        && item.get("role").and_then(Value::as_str) == Some(role)
}

fn kind_of(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn text_of(item: &Value) -> String {
    item.get("content").map(parts_text).unwrap_or_default()
}

fn parts_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: &str = "/v1/responses";

    fn message(role: &str, text: &str) -> Value {
        json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
    }

    fn body(mut items: Vec<Value>) -> Value {
        let context = message("user", "<environment_context>x</environment_context>");
        items.insert(0, context);
        json!({"instructions": "be brief", "tools": [{"name": "exec_command"}], "input": items})
    }

    #[test]
    fn what_a_person_wrote_is_told_from_what_the_client_added() {
        let mut asked = body(vec![
            message("user", "first @usage=5"),
            message("developer", "hook says"),
        ]);
        assert_eq!(human_prompts(&asked), ["first @usage=5"]);
        assert_eq!(steering_text(&asked), "first @usage=5");
        let output = json!({"type": "function_call_output", "call_id": "c", "output": "wrote it"});
        asked["input"].as_array_mut().unwrap().push(output);
        assert_eq!(steering_text(&asked), "");
        assert_eq!(
            texts(&asked)[2..],
            ["first @usage=5", "hook says", "wrote it"]
        );
    }

    #[test]
    fn requests_are_told_apart_by_route_tools_and_how_compaction_is_asked_for() {
        let asked = |text: &str| body(vec![message("user", text)]);
        assert_eq!(kind("POST", PATH, &asked("hello")), Kind::Main);
        let local = asked("You are performing a CONTEXT CHECKPOINT COMPACTION.");
        assert_eq!(kind("POST", PATH, &local), Kind::Summary);
        let remote = body(vec![
            message("user", "hi"),
            json!({"type": "compaction_trigger"}),
        ]);
        assert_eq!(kind("POST", PATH, &remote), Kind::Summary);
        assert!(is_remote_compaction(&remote) && !is_remote_compaction(&local));
        let mut bare = asked("a title, please");
        bare["tools"] = json!([]);
        assert_eq!(kind("POST", PATH, &bare), Kind::Side);
        let offered = json!({"type": "additional_tools", "tools": [{"name": "exec"}]});
        bare["input"].as_array_mut().unwrap().insert(0, offered);
        assert_eq!(kind("POST", PATH, &bare), Kind::Main);
        assert_eq!(kind("GET", PATH, &Value::Null), Kind::Other);
        assert_eq!(kind("POST", "/v1/models", &Value::Null), Kind::Other);
    }
}
