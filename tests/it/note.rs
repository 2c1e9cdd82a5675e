//! `harn note` and `harn events`: words that last, and what happened.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::{Output, TestEnv};

fn note(env: &TestEnv, args: &[&str]) -> Output {
    env.run(env.harn([&["note"], args].concat()), b"")
}

fn texts(env: &TestEnv) -> Vec<(String, String, String)> {
    let output = note(env, &["--list", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let field = |note: &Value, name: &str| note[name].as_str().unwrap().to_owned();
    let notes = document["notes"].as_array().unwrap().iter();
    notes
        .map(|it| (field(it, "kind"), field(it, "text"), field(it, "origin")))
        .collect()
}

fn started(env: &TestEnv) -> Session<'_> {
    let session = Session::new(env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    session
}

#[test]
fn notes_come_back_in_the_briefing_verbatim_and_by_kind() {
    let env = TestEnv::new();
    let session = started(&env);
    for args in [
        &["never use curl; use ./bin/api"][..],
        &["--task", "an older task"],
        &["--task", "move the parser"],
        &["--next", "run the fuzz target"],
    ] {
        assert_eq!(note(&env, args).code, 0);
    }
    let kind = |kind: &str, text: &str| (kind.to_owned(), text.to_owned(), "terminal".to_owned());
    assert_eq!(
        texts(&env),
        [
            kind("keep", "never use curl; use ./bin/api"),
            kind("task", "move the parser"),
            kind("next", "run the fuzz target"),
        ]
    );
    session.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t2"}));
    let briefing = session.briefing().unwrap();
    for part in [
        "Task, as noted:\n- move the parser\n",
        "Next step, as noted:\n- run the fuzz target\n",
        "Must keep, verbatim:\n- never use curl; use ./bin/api\n",
    ] {
        assert!(briefing.contains(part), "{part} is not in\n{briefing}");
    }
}

#[test]
fn a_note_from_inside_the_session_says_so() {
    let mut env = TestEnv::new();
    started(&env);
    env.set("CLAUDE_CODE_SESSION_ID", "s1");
    note(&env, &["remember me"]);
    assert_eq!(texts(&env)[0].2, "session");
}

#[test]
fn dropped_notes_are_gone_and_limits_are_errors() {
    let env = TestEnv::new();
    started(&env);
    for number in 0..20 {
        assert_eq!(note(&env, &[&format!("note {number}")]).code, 0);
    }
    let full = note(&env, &["one more"]);
    assert_eq!(full.code, 64);
    assert!(
        full.err()
            .starts_with("harn: there are 20 notes already\nhint: ")
    );
    assert_eq!(note(&env, &["--drop", "1"]).code, 0);
    assert_eq!(texts(&env)[0].1, "note 1");
    assert_eq!(
        note(&env, &["--drop", "20"]).err().lines().next(),
        Some("harn: there is no note 20")
    );
    assert_eq!(note(&env, &[&"x".repeat(501)]).code, 64);
    assert_eq!(note(&env, &[]).code, 64);
    assert_eq!(note(&env, &["--task", "--list"]).code, 64);
}

#[test]
fn events_are_told_to_people_and_printed_exactly_to_programs() {
    let env = TestEnv::new();
    let session = started(&env);
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "go", "prompt_id": "t1"}),
    );
    let output = env.run(env.harn(["events", "--json"]), b"");
    let stored = std::fs::read_to_string(session.dir().join("events.ndjson")).unwrap();
    assert_eq!((output.code, output.out()), (0, stored));
    let told = env.run(env.harn(["events"]), b"").out();
    let second = told.lines().nth(1).unwrap();
    assert!(
        second.ends_with("     2  prompt.submitted  turn=t1  origin=user"),
        "{second}"
    );
}

#[test]
fn followed_events_come_as_they_happen() {
    let env = TestEnv::new();
    let session = started(&env);
    let mut child = env
        .harn(["events", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        event["type"].as_str().unwrap().to_owned()
    };
    assert_eq!(next(), "session.started");
    session.quiet("Stop", &json!({}));
    assert_eq!(next(), "turn.stopped");
    child.kill().unwrap();
    child.wait().unwrap();
}
