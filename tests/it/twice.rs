//! A harness that has harn's hooks from two of its settings calls each of them twice.

use std::io::Write as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::TestEnv;

fn start(env: &TestEnv, event: &str, fields: &Value) -> Child {
    let mut payload = json!({"session_id": "s1", "cwd": env.project(), "hook_event_name": event});
    for (key, value) in fields.as_object().unwrap() {
        payload[key] = value.clone();
    }
    let mut child = env
        .harn(["hook", "claude-code", event])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(payload.to_string().as_bytes()).unwrap();
    child
}

fn types(session: &Session<'_>) -> Vec<String> {
    let events = session.events();
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_call_that_is_delivered_twice_counts_once() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let both = |event: &str, fields: &Value| {
        let children = [(); 2].map(|()| start(&env, event, fields));
        let printed = children.map(|child| child.wait_with_output().unwrap());
        assert!(printed.iter().all(|it| it.status.success()));
        printed.iter().filter(|it| !it.stdout.is_empty()).count()
    };
    both("SessionStart", &json!({"source": "startup"}));
    both(
        "UserPromptSubmit",
        &json!({"prompt": "one", "prompt_id": "t1"}),
    );
    let tool = json!({"tool_name": "Edit", "tool_use_id": "u1", "tool_input": {"file_path": "/a"}});
    both("PreToolUse", &tool);
    both("PostToolUse", &tool);
    both("Stop", &json!({"prompt_id": "t1"}));
    let compaction = json!({"trigger": "manual", "prompt_id": "t2"});
    both("PreCompact", &compaction);
    let start = json!({"source": "compact", "prompt_id": "t2"});
    assert_eq!(both("SessionStart", &start), 1, "briefings");
    both("PostCompact", &compaction);
    both("SessionEnd", &json!({"reason": "other"}));
    let mut types = types(&session);
    // Of the compaction's own start it does not matter.
    types.retain(|it| it != "session.started");
    let expected = [
        "prompt.submitted",
        "tool.started",
        "tool.finished",
        "turn.stopped",
        "context.compaction.started",
        "context.checkpoint.created",
        "context.compaction.completed",
        "context.recovery.injected",
        "session.ended",
    ];
    assert_eq!(types, expected);
}

#[test]
fn what_happens_again_in_the_same_words_counts_again() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let words = json!({"prompt": "go on"});
    for _ in 0..2 {
        session.quiet("UserPromptSubmit", &words);
        session.quiet("PostToolUse", &json!({"tool_name": "Bash"}));
        session.quiet("Stop", &json!({}));
    }
    let turn = ["prompt.submitted", "tool.finished", "turn.stopped"];
    assert_eq!(types(&session), [turn, turn].concat());
}
