//! harn's decision, in the JSON that this harness, event and version accept.
//!
//! Pure. Nothing to say is no bytes at all: `{}`, an echo or a second document are errors to some harness.

use serde_json::json;

use super::manifest::EventSpec;

/// What a hook has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Nothing,
    /// Text for the model.
    Context(String),
}

/// The bytes for stdout; an event whose reply carries no text says nothing.
pub fn reply(spec: &EventSpec, decision: &Decision) -> Vec<u8> {
    match decision {
        Decision::Context(text) if spec.context => {
            let document = json!({"hookSpecificOutput": {
                "hookEventName": spec.native,
                "additionalContext": text,
            }});
            let mut bytes = document.to_string().into_bytes();
            bytes.push(b'\n');
            bytes
        }
        Decision::Context(_) | Decision::Nothing => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::registry;

    #[test]
    fn context_is_nested_under_its_event_and_only_where_the_event_takes_it() {
        for harness in ["claude-code", "codex"] {
            let manifest = registry::load(harness).unwrap();
            let said = |event: &str, decision: &Decision| {
                String::from_utf8(reply(manifest.event(event).unwrap(), decision)).unwrap()
            };
            let context = Decision::Context("a \"b\"".into());
            assert_eq!(
                said("SessionStart", &context),
                "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"a \\\"b\\\"\"}}\n"
            );
            let silent: Vec<&str> = manifest
                .events
                .iter()
                .map(|event| event.native.as_str())
                .filter(|event| said(event, &context).is_empty())
                .collect();
            assert_eq!(silent.len(), manifest.events.len() - 2);
            assert!(silent.contains(&"PreCompact") && silent.contains(&"PostCompact"));
            assert_eq!(said("SessionStart", &Decision::Nothing), "");
        }
    }
}
