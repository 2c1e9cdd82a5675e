//! `harn context`: what a person or a script sees of a session.

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::{Output, TestEnv};

fn context(env: &TestEnv, args: &[&str]) -> Output {
    env.run(env.harn([&["context"], args].concat()), b"")
}

fn status(env: &TestEnv) -> Value {
    let output = context(env, &["status", "--json"]);
    assert_eq!((output.code, output.err()), (0, String::new()));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn status_has_the_shape_of_the_contract_at_each_phase() {
    let env = TestEnv::new();
    env.git_init();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let mut before = status(&env);
    let capabilities = before["capabilities"].take();
    assert_eq!(
        before,
        json!({
            "schema": 1, "session": "s1", "run": null, "owned": false, "adapter": "claude-code",
            "phase": "observing", "generation": 0, "capsule": null, "recovery": null,
            "context": null, "degraded": null, "compactions": 0,
            "meter": {
                "unknown": "not_reported", "window": "unknown", "model": null, "mismatch": null,
                "knobs": [], "configured_threshold_tokens": null, "automatic": null,
            },
            "capabilities": null, "problems": [],
        })
    );
    assert_eq!(
        capabilities,
        json!({
            "telemetry": "supported", "pre_signal": "partial", "post_signal": "supported",
            "trigger": "unsupported",
        })
    );
    session.work_and_announce();
    let announced = status(&env);
    assert_eq!(
        (&announced["phase"], &announced["generation"]),
        (&json!("checkpointed"), &json!(1))
    );
    let path = announced["capsule"]["path"].as_str().unwrap();
    assert_eq!(
        announced["capsule"]["bytes"],
        std::fs::metadata(path).unwrap().len()
    );
    session.briefing().unwrap();
    let after = status(&env);
    assert_eq!(
        (&after["phase"], &after["compactions"]),
        (&json!("recovered"), &json!(1))
    );
    assert_eq!(after["recovery"]["state"], "injected");
    assert_eq!(after["recovery"]["via"], "session_start");
}

#[test]
fn a_compaction_without_a_checkpoint_is_degraded_with_its_reason() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "go", "prompt_id": "t1"}),
    );
    let briefing = session.briefing().unwrap();
    assert!(
        briefing.contains("which predates it") && briefing.contains("> go"),
        "{briefing}"
    );
    let after = status(&env);
    assert_eq!(after["phase"], "degraded");
    assert_eq!(
        after["degraded"],
        "the harness reported a compaction for which no checkpoint was made"
    );
}

#[test]
fn a_checkpoint_by_hand_is_always_a_new_generation_and_keeps_its_note() {
    let env = TestEnv::new();
    let head = env.git_init();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let note = "never use curl; use ./bin/api";
    for generation in 1..=2 {
        let output = context(&env, &["checkpoint", "--note", note, "--json"]);
        let saved: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.code, &saved["generation"]), (0, &json!(generation)));
    }
    let shown = context(&env, &["show", "2", "--json"]);
    let capsule: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(capsule["repo"]["head"]["commit"], head.as_str());
    assert_eq!(capsule["work"]["notes"][0]["text"], note);
    assert!(
        context(&env, &["show"])
            .out()
            .contains(&format!("- {note}\n"))
    );
    session.quiet(
        "PreCompact",
        &json!({"trigger": "manual", "prompt_id": "t2"}),
    );
    assert!(session.briefing().unwrap().contains(&format!("- {note}\n")));
}

#[test]
fn a_note_that_is_too_long_saves_nothing() {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    let output = context(&env, &["checkpoint", "--note", &"x".repeat(501)]);
    assert_eq!(
        (output.code, output.err()),
        (
            64,
            "harn: a note has 1 to 500 characters; this one has 501\n".to_owned()
        )
    );
    assert_eq!(status(&env)["generation"], 0);
}

#[test]
fn several_live_sessions_are_listed_and_none_is_guessed() {
    let env = TestEnv::new();
    let none = context(&env, &["status"]);
    assert_eq!(none.code, 64);
    assert!(
        none.err()
            .starts_with("harn: no session of this project is known\nhint: ")
    );
    for id in ["s1", "s2"] {
        Session::named(&env, id).quiet("SessionStart", &json!({"source": "startup"}));
    }
    let several = context(&env, &["status"]);
    assert_eq!(several.code, 64);
    for part in [
        "several sessions",
        "\n  s1",
        "\n  s2",
        "hint: name one with --session ID",
    ] {
        assert!(
            several.err().contains(part),
            "{part} is not in {}",
            several.err()
        );
    }
    assert_eq!(context(&env, &["status", "--session", "s2"]).code, 0);
    assert_eq!(context(&env, &["status", "--session", "s3"]).code, 64);
    Session::named(&env, "s1").quiet("SessionEnd", &json!({"reason": "other"}));
    assert_eq!(status(&env)["session"], "s2");
}

#[test]
fn inside_a_session_the_harness_names_it() {
    let mut env = TestEnv::new();
    for id in ["s1", "s2"] {
        Session::named(&env, id).quiet("SessionStart", &json!({"source": "startup"}));
    }
    env.set("CLAUDE_CODE_SESSION_ID", "s2");
    assert_eq!(status(&env)["session"], "s2");
}

#[test]
fn there_is_nothing_to_show_before_the_first_checkpoint() {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    let output = context(&env, &["show"]);
    assert_eq!((output.code, output.out()), (3, String::new()));
    assert_eq!(context(&env, &["show", "7"]).code, 64);
}

#[test]
fn hostile_names_reach_the_terminal_without_control_characters() {
    let env = TestEnv::new();
    Session::named(&env, "s\u{1b}[2J\u{202e}x")
        .quiet("SessionStart", &json!({"source": "startup"}));
    let output = context(&env, &["status"]);
    assert_eq!(output.code, 0);
    assert!(!output.out().chars().any(|c| c.is_control() && c != '\n'));
    assert!(!output.out().contains('\u{202e}'));
}

#[test]
fn checkpoints_are_listed_and_compared() {
    let env = TestEnv::new();
    let head = env.git_init();
    let session = Session::new(&env);
    session.work_and_announce();
    env.git(["commit", "--quiet", "--all", "--message", "second"]);
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "now the lexer", "prompt_id": "t3"}),
    );
    assert_eq!(context(&env, &["checkpoint", "--note", "a rule"]).code, 0);
    let list: Value = serde_json::from_slice(&context(&env, &["list", "--json"]).stdout).unwrap();
    let rows = list["capsules"].as_array().unwrap();
    assert_eq!(
        (rows.len(), &rows[0]["commit"], &rows[0]["dirty"]),
        (2, &json!(head), &json!(1))
    );
    assert_eq!(rows[1]["request"], "now the lexer");
    assert_eq!(context(&env, &["list"]).out().lines().count(), 2);

    let diff: Value =
        serde_json::from_slice(&context(&env, &["diff", "1", "2", "--json"]).stdout).unwrap();
    assert_eq!(
        diff["request"],
        json!({"from": "fix the parser", "to": "now the lexer"})
    );
    assert_eq!(diff["notes"], json!({"added": ["a rule"], "removed": []}));
    let text = context(&env, &["diff", "1", "2"]).out();
    assert!(
        text.contains("checkpoint 1 -> 2") && text.contains("  + note: a rule"),
        "{text}"
    );
    assert!(text.contains("README"), "{text}");
    assert_eq!(context(&env, &["diff", "1", "9"]).code, 64);
}

#[test]
fn the_report_tells_every_section_and_each_fails_on_its_own() {
    let env = TestEnv::new();
    let report = |args: &[&str]| {
        let output = context(&env, args);
        assert_eq!(output.code, 0, "{}", output.err());
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["sections"].take()
    };
    let before = report(&["--json"]);
    let names: Vec<_> = before.as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        names,
        [
            "self", "time", "repo", "commits", "peers", "context", "capsule"
        ]
    );
    assert_eq!(before["repo"], json!({"unavailable": "not a git worktree"}));
    assert_eq!(
        before["self"],
        json!({"unavailable": "no session of this project is known"})
    );
    assert!(
        context(&env, &[])
            .out()
            .contains("repo     (unavailable: not a git worktree)\n")
    );

    let head = env.git_init();
    let session = Session::new(&env);
    session.work_and_announce();
    Session::named(&env, "s2").quiet("SessionStart", &json!({"source": "startup"}));
    let mut env = env;
    env.set("CLAUDE_CODE_SESSION_ID", "s1");
    let after: Value = serde_json::from_slice(&context(&env, &["--json"]).stdout).unwrap();
    let after = &after["sections"];
    assert_eq!(
        (&after["self"]["session"], &after["self"]["adapter"]),
        (&json!("s1"), &json!("claude-code"))
    );
    assert_eq!(after["repo"]["head"]["commit"], head);
    assert_eq!(
        (&after["commits"][0]["summary"], &after["commits"][0]["id"]),
        (&json!("first"), &json!(head))
    );
    assert_eq!(after["peers"][0]["session"], "s2");
    assert_eq!(
        (&after["context"]["phase"], &after["capsule"]["generation"]),
        (&json!("checkpointed"), &json!(1))
    );
    let only = context(&env, &["--section", "commits"]).out();
    assert!(
        only.starts_with(&format!("commits  {} first (", head.get(..8).unwrap())),
        "{only}"
    );
    assert_eq!(only.lines().count(), 1);
}
