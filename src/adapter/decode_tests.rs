use super::*;
use crate::adapter::registry;

fn decoded(event: &str, payload: &[u8]) -> Result<Decoded, DecodeError> {
    decoded_of("claude-code", event, payload)
}

fn decoded_of(harness: &str, event: &str, payload: &[u8]) -> Result<Decoded, DecodeError> {
    let manifest = registry::load(harness).unwrap();
    decode(&manifest, manifest.event(event).unwrap(), payload)
}

fn input(event: &str, payload: &str) -> HookInput {
    input_of("claude-code", event, payload)
}

fn input_of(harness: &str, event: &str, payload: &str) -> HookInput {
    match decoded_of(harness, event, payload.as_bytes()).unwrap() {
        Decoded::Input(input) => *input,
        Decoded::Ignored(why) => panic!("ignored: {why}"),
    }
}

#[test]
fn fields_of_any_type_are_read_or_counted_as_absent() {
    for odd in ["null", "7", "-1.5e300", "true", "{\"a\":[1,{}]}", "[[],{}]"] {
        let payload = format!(
            r#"{{"session_id":"s","cwd":{odd},"prompt":{odd},"tool_input":{odd},"agent_id":{odd},"extra":{odd}}}"#
        );
        let input = input("UserPromptSubmit", &payload);
        assert_eq!((input.cwd, input.agent), (None, None));
        assert_eq!(
            input.signal,
            Signal::PromptSubmitted {
                text: String::new(),
                origin: PromptOrigin::User
            }
        );
    }
}

#[test]
fn only_a_writing_tool_touches_files() {
    let payload = |tool: &str| {
        format!(
            r#"{{"session_id":"s","tool_name":"{tool}","tool_input":{{"content":{{"x":1}},"file_path":"/a b"}}}}"#
        )
    };
    let wrote = |tool: &str| {
        let Signal::ToolFinished { wrote, .. } = input("PostToolUse", &payload(tool)).signal else {
            panic!("another signal");
        };
        wrote
    };
    assert_eq!(wrote("Edit"), ["/a b"]);
    assert_eq!(wrote("Read"), Vec::<String>::new());
}

#[test]
fn the_clients_own_words_are_not_the_users() {
    for (text, origin) in [
        ("fix it", PromptOrigin::User),
        ("<task-notification> done", PromptOrigin::Harness),
        (
            "<command-name>/compact</command-name>",
            PromptOrigin::Harness,
        ),
        ("<local-command-stdout>x", PromptOrigin::Harness),
        ("<div> is broken", PromptOrigin::User),
    ] {
        let payload = serde_json::json!({"session_id": "s", "prompt": text}).to_string();
        assert_eq!(
            input("UserPromptSubmit", &payload).signal,
            Signal::PromptSubmitted {
                text: text.to_owned(),
                origin
            }
        );
    }
}

#[test]
fn lone_surrogates_and_invalid_utf8_lose_a_character_and_not_the_event() {
    let prompt = |payload: &[u8]| {
        let Decoded::Input(input) = decoded("UserPromptSubmit", payload).unwrap() else {
            panic!("ignored");
        };
        let Signal::PromptSubmitted { text, .. } = input.signal else {
            panic!("another signal")
        };
        text
    };
    assert_eq!(
        prompt(br#"{"session_id":"s","prompt":"a\ud83dz \\ud83d \ud83d\ude00"}"#),
        "a\u{fffd}z \\ud83d 😀"
    );
    assert_eq!(
        prompt(b"\xEF\xBB\xBF{\"session_id\":\"s\",\"prompt\":\"a\xffz\"}"),
        "a\u{fffd}z"
    );
}

#[test]
fn a_payload_without_a_session_and_one_of_another_harness_are_told_apart() {
    assert!(matches!(
        decoded("Stop", b"{}"),
        Err(DecodeError::NoSession)
    ));
    assert!(matches!(
        decoded("Stop", br#"{"session_id":""}"#),
        Err(DecodeError::NoSession)
    ));
    let cursor = br#"{"session_id":"s","cursor_version":"3.0"}"#;
    assert!(matches!(decoded("Stop", cursor), Ok(Decoded::Ignored(_))));
}

#[test]
fn a_main_session_started_as_an_agent_is_no_sub_agent() {
    let payload = r#"{"session_id":"s","agent_type":"reviewer"}"#;
    assert_eq!(input("Stop", payload).agent, None);
}

#[test]
fn a_patch_touches_the_files_it_names_below_the_sessions_directory() {
    let wrote = |tool: &str, command: &str| {
        let payload = serde_json::json!({"session_id": "s", "cwd": "/p/", "tool_name": tool,
            "tool_input": {"command": command}});
        let signal = input_of("codex", "PostToolUse", &payload.to_string()).signal;
        let Signal::ToolFinished { wrote, .. } = signal else {
            panic!("another signal");
        };
        wrote
    };
    let patch = "*** Begin Patch\n*** Add File: a b\n+x\n*** Delete File: /c\n*** End Patch";
    assert_eq!(wrote("apply_patch", patch), ["/p/a b", "/c"]);
    assert_eq!(wrote("Bash", patch), [""; 0].map(str::to_owned));
    assert_eq!(wrote("apply_patch", "touch a"), [""; 0].map(str::to_owned));
}

#[test]
fn words_that_one_client_writes_itself_are_the_users_in_another() {
    let payload = r#"{"session_id":"s","prompt":"<command-name> is odd"}"#;
    let Signal::PromptSubmitted { origin, .. } =
        input_of("codex", "UserPromptSubmit", payload).signal
    else {
        panic!("another signal");
    };
    assert_eq!(origin, PromptOrigin::User);
}

/// Every recorded payload, one line each: what harn makes of it.
#[test]
fn recorded_payloads_decode_to_the_same_signals() {
    insta::assert_snapshot!(recorded("claude-code"));
}

#[test]
fn recorded_payloads_of_codex_decode_to_the_same_signals() {
    insta::assert_snapshot!(recorded("codex"));
}

fn recorded(harness: &str) -> String {
    let manifest = registry::load(harness).unwrap();
    let folder = format!(
        "{}/adapters/{harness}/fixtures/hook",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut table = String::new();
    for name in names {
        let text = std::fs::read(format!("{folder}/{name}")).unwrap();
        let recording: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let payload = serde_json::to_vec(&recording["stdin"]).unwrap();
        let event = recording["stdin"]["hook_event_name"].as_str().unwrap();
        let said = match manifest.event(event) {
            None => "not wired".to_owned(),
            Some(spec) => match decode(&manifest, spec, &payload).unwrap() {
                Decoded::Input(input) => format!(
                    "{:?} agent={:?} mode={:?} turn={}",
                    input.signal,
                    input.agent,
                    input.mode,
                    input.turn.is_some()
                ),
                Decoded::Ignored(why) => why.to_owned(),
            },
        };
        table.extend([name.trim_end_matches(".json"), ": ", &said, "\n"]);
    }
    table
}
