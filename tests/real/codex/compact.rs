//! `harn compact` on the real Codex, by the key of the session flag and by Enter.

use harn::rehearsal::responses::Reply;
use serde_json::{Value, json};

use super::desk::Desk;
use super::session::{Review, Session};
use crate::support::TestEnv;

/// The person is asked before anything leaves the sandbox.
const ASKING: [&str; 4] = [
    "-c",
    "approval_policy=\"on-request\"",
    "-c",
    "sandbox_mode=\"read-only\"",
];

/// How the command is submitted: the key that the run brings along, or Enter where the person has a keymap of their own.
const WAYS: [&str; 2] = ["submit_key", "enter"];

fn desk(way: &str) -> Option<Desk> {
    let mut desk = Desk::new()?;
    if way == "enter" {
        desk.add_config("\n[tui.keymap.composer]\nsubmit = [\"enter\"]\n");
    }
    Some(desk)
}

fn talked(desk: &Desk) -> Session<'_> {
    let session = Session::start(desk, desk.harn_codex([]), Review::TrustAll);
    session.prompt("one");
    session.prompt("two");
    session
}

fn compact(env: &TestEnv, args: &[&str]) -> (i32, Value) {
    let mut all = vec!["compact", "--json"];
    all.extend(args);
    let output = env.run(env.harn(all), b"");
    assert_eq!(output.err(), "");
    (output.code, serde_json::from_str(&output.out()).unwrap())
}

fn told(document: &Value) -> (&str, &str) {
    let reason = document["reason"].as_str().unwrap_or_default();
    (document["outcome"].as_str().unwrap(), reason)
}

fn confirmed(document: &Value, way: &str) {
    assert_eq!(told(document), ("confirmed", ""), "{document}");
    let evidence = document["evidence"].as_array().unwrap();
    let find = |kind: &str| evidence.iter().find(|item| item["kind"] == kind);
    assert_eq!(find("submit").unwrap()["way"], way);
    assert_eq!(find("idle").unwrap()["source"], "state report");
    assert!(find("pre_signal").is_some() && find("post_signal").is_some());
    assert!(find("boundary").unwrap()["id"].is_string());
}

fn assert_waits(desk: &Desk, why: &str) {
    let (code, document) = compact(&desk.env, &["--wait", "2"]);
    let reason = format!("still waiting: {why}");
    assert_eq!((code, told(&document)), (3, ("refused", reason.as_str())));
    assert_eq!(document["evidence"], json!([]));
}

#[test]
fn idle_is_confirmed_a_focus_is_never_typed_and_the_briefing_comes() {
    for way in WAYS {
        let Some(desk) = desk(way) else { return };
        let session = talked(&desk);
        let (code, document) = compact(&desk.env, &["--focus", "keep the API notes"]);
        assert_eq!(code, 0);
        confirmed(&document, way);
        assert_eq!(
            document["focus"],
            json!({"text": "keep the API notes", "applied": false})
        );
        assert_eq!(document["generation"], 1);
        session.prompt("three");
        let requests_with = |text: &str| {
            let log = desk.log().all();
            let bodies = log.iter().map(|entry| entry.body.to_string());
            bodies.filter(|body| body.contains(text)).count()
        };
        session.wait("the briefing in a request", || {
            requests_with("[harn:g1:") > 0
        });
        assert_eq!(requests_with("[harn:g1:"), 1);
        assert_eq!(requests_with("keep the API notes"), 0);
        let (_, document) = compact(&desk.env, &[]);
        confirmed(&document, way);
        assert_eq!(desk.windows(), [1, 2]);
        session.exit();
        if way == "submit_key" {
            assert_eq!(desk.changed_own_files(), [""; 0]);
        }
        assert_eq!(desk.processes(), [""; 0]);
    }
}

#[test]
fn a_busy_agent_a_draft_shell_mode_and_a_picker_are_waited_for() {
    for way in WAYS {
        let Some(desk) = desk(way) else { return };
        let session = talked(&desk);
        session.send("@slow=3");
        session.wait_working();
        let (_, document) = compact(&desk.env, &[]);
        confirmed(&document, way);
        session.type_text("merge PR 10 only after");
        assert_waits(&desk, "there is a draft in the prompt");
        session.clear(22);
        session.type_text("!");
        session.wait_text("Shell mode");
        assert_waits(&desk, "the prompt is in shell mode");
        session.clear(1);
        session.send("/model ");
        session.wait_text("Select Model");
        assert_waits(&desk, "the prompt is not on the screen");
        session.wait_text("Select Model");
        assert_eq!(desk.windows(), [1]);
        session.kill();
    }
}

#[test]
fn no_dialog_is_answered() {
    for way in WAYS {
        let Some(desk) = desk(way) else { return };
        let session = Session::start(&desk, desk.harn_codex(ASKING), Review::TrustAll);
        session.prompt("one");
        session.prompt("two");
        let input = json!({"cmd": "touch ran.txt", "sandbox_permissions": "require_escalated", "justification": "a test"});
        let call = ("exec_command".to_owned(), input);
        desk.model()
            .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
        session.send("ask me");
        session.wait_blocked();
        assert_waits(&desk, "a dialog is open");
        session.wait_text("› 1. Yes");
        assert!(!desk.env.project().join("ran.txt").exists());
        assert_eq!(desk.windows(), [0_u64; 0]);
        session.kill();
    }
}

#[test]
fn a_failure_is_told_word_for_word() {
    for way in WAYS {
        let Some(desk) = desk(way) else { return };
        let session = talked(&desk);
        desk.model()
            .script(|script| script.summary.status = Some(400));
        let (code, document) = compact(&desk.env, &[]);
        let (outcome, reason) = told(&document);
        assert_eq!((code, outcome), (1, "failed"), "{document}");
        assert!(
            reason.contains("400") || reason.contains("rehearsed"),
            "{reason}"
        );
        assert!(document["handoff"].is_string());
        assert_eq!(desk.windows(), [0_u64; 0]);
        session.kill();
    }
}
