//! What `harn doctor` says of the sessions that were.

use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};

use super::{findings, of_check, of_level, only, quiet};
use crate::session::Session;

fn append(path: &std::path::Path, text: &str) {
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// What was found of the hooks: the text, and each event that has come.
fn hooks(report: &Value) -> (String, Vec<String>, Vec<String>) {
    let all = report["findings"].as_array().unwrap();
    let finding = all.iter().find(|it| it["check"] == "hooks").unwrap();
    let events = finding["events"].as_array().unwrap();
    let named = |has_come: bool| -> Vec<String> {
        let of = events
            .iter()
            .filter(|it| it["last_at"].is_string() == has_come);
        of.map(|it| it["event"].as_str().unwrap().to_owned())
            .collect()
    };
    (
        finding["what"].as_str().unwrap().to_owned(),
        named(true),
        named(false),
    )
}

#[test]
fn each_event_is_told_with_its_last_time() {
    let env = quiet();
    let installed = env.run(env.harn(["install", "claude-code"]), b"");
    assert_eq!(installed.code, 0, "{}", installed.err());
    let (_, report) = findings(&env);
    let (what, seen, unseen) = hooks(&report);
    assert_eq!(what, "claude-code: no hook has fired in this project");
    assert_eq!((seen.len(), unseen.len()), (0, 6));

    let session = Session::new(&env);
    session.work_and_announce();
    session.briefing().unwrap();
    session.quiet("StopFailure", &json!({"prompt_id": "t2"}));
    let (_, report) = findings(&env);
    let (what, seen, unseen) = hooks(&report);
    let expected = [
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "PreCompact",
        "StopFailure",
    ];
    assert_eq!(seen, expected);
    assert_eq!(unseen, ["SessionEnd"]);
    assert!(
        what.starts_with("claude-code: SessionStart 0 s ago, "),
        "{what}"
    );
    assert!(what.ends_with("; not yet: SessionEnd"), "{what}");

    // Where the report comes first it is told of by itself.
    session.quiet(
        "PreCompact",
        &json!({"trigger": "manual", "prompt_id": "t3"}),
    );
    session.quiet(
        "PostCompact",
        &json!({"trigger": "manual", "prompt_id": "t3"}),
    );
    let (_, report) = findings(&env);
    let (_, seen, _) = hooks(&report);
    assert!(seen.contains(&"PostCompact".to_owned()), "{seen:?}");
}

#[test]
fn how_far_a_briefing_came_is_told() {
    let env = quiet();
    let (_, report) = findings(&env);
    let none = "no session of this project is known";
    assert_eq!(
        of_check(&report, "sessions"),
        [("ok".to_owned(), none.to_owned(), false)]
    );
    let session = Session::new(&env);
    session.work_and_announce();
    let told = || {
        let (code, report) = findings(&env);
        assert_eq!(code, 0, "{report}");
        let (level, what, _) = of_check(&report, "sessions").remove(0);
        (level, what.split("; ").nth(1).unwrap().to_owned())
    };
    assert_eq!(
        told(),
        ("ok".to_owned(), "no briefing was needed yet".to_owned())
    );
    session.briefing().unwrap();
    let printed = "the last briefing was printed";
    assert_eq!(told(), ("ok".to_owned(), printed.to_owned()));
}

#[test]
fn signals_that_wait_are_a_warning() {
    let env = quiet();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    env.write(session.dir().join("spool/0190-1"), "{}");
    let (code, report) = findings(&env);
    let (level, what, has_hint) = of_check(&report, "sessions").remove(0);
    assert_eq!(what, "s1: 1 signals met a held lock and wait");
    assert_eq!((level.as_str(), has_hint), ("warn", true));
    assert_eq!(code, 0);
}

#[test]
fn damage_of_a_session_is_wrong_and_named() {
    type Break = fn(&Session<'_>);
    let table: [(&str, &str, Break); 4] = [
        ("sessions", "s1: 1 damaged lines in its log", |session| {
            append(&session.dir().join("events.ndjson"), "nonsense\n");
        }),
        ("sessions", "s1: a damaged state file", |session| {
            session.env.write(session.dir().join("state.json"), "{");
        }),
        (
            "sessions",
            "was written by a newer harn (format 99)",
            |session| {
                let path = session.dir().join("state.json");
                let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                state["format"] = json!("harn-state/99");
                session.env.write(path, state.to_string());
            },
        ),
        (
            "clock",
            "s1: its newest event is in the future",
            |session| {
                let path = session.dir().join("events.ndjson");
                let text = fs::read_to_string(&path).unwrap();
                let mut last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
                last["at"] = json!("2999-01-01T00:00:00.000Z");
                last["seq"] = json!(99);
                append(&path, &format!("{last}\n"));
            },
        ),
    ];
    for (check, what, spoil) in table {
        let env = quiet();
        let session = Session::new(&env);
        session.work_and_announce();
        spoil(&session);
        let (code, report) = findings(&env);
        let wrong = of_level(&report, "wrong");
        assert_eq!((code, wrong.len()), (1, 1), "{what}: {wrong:?}");
        let (its, text) = only(&report, "wrong");
        assert!(its == check && text.contains(what), "{what}: {text}");
    }
}
