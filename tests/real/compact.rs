//! `harn compact` on the real Claude Code, both ways of submitting: no dialog answered, no draft sent, no key lost, nothing
//! called confirmed that the client's own record does not hold.

use std::process::{Child, Stdio};
use std::time::Duration;

use harn::rehearsal::Kind;
use harn::rehearsal::messages::Reply;
use serde_json::{Value, json};

use super::record::boundaries;
use super::sandbox::{SESSION, Sandbox};
use super::session::{Left, Session};

/// How the command is submitted: the chords that `install --keys` binds, or Enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Key,
    Enter,
}

const WAYS: [Way; 2] = [Way::Key, Way::Enter];

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Key => "submit_key",
            Self::Enter => "enter",
        }
    }

    fn sandbox(self) -> Option<Sandbox> {
        let sandbox = Sandbox::new()?;
        if self == Self::Key {
            let bindings = json!({"bindings": [{"context": "Chat", "bindings": {
                "ctrl+x ctrl+y": "command:compact", "ctrl+x ctrl+r": "chat:submit"}}]});
            sandbox.env.write(
                sandbox.env.home().join(".claude/keybindings.json"),
                bindings.to_string(),
            );
        }
        Some(sandbox)
    }
}

fn talked(sandbox: &Sandbox) -> Session<'_> {
    let session = Session::start(sandbox, sandbox.harn_claude([]));
    session.prompt("one");
    session.prompt("two");
    session
}

/// The exit code and the document.
fn compact(sandbox: &Sandbox, args: &[&str]) -> (i32, Value) {
    let mut all = vec!["compact", "--json"];
    all.extend(args);
    let output = sandbox.env.run(sandbox.env.harn(all), b"");
    assert_eq!(output.err(), "");
    (output.code, serde_json::from_str(&output.out()).unwrap())
}

fn asking(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.env.harn(["compact", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn answer(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn told(document: &Value) -> (&str, &str) {
    let reason = document["reason"].as_str().unwrap_or_default();
    (document["outcome"].as_str().unwrap(), reason)
}

fn confirmed(document: &Value, way: Way) {
    assert_eq!(told(document), ("confirmed", ""), "{document}");
    let evidence = document["evidence"].as_array().unwrap();
    let find = |kind: &str| evidence.iter().find(|item| item["kind"] == kind);
    assert_eq!(find("submit").unwrap()["way"], way.word());
    assert!(find("pre_signal").is_some() && find("post_signal").is_some());
    assert!(find("boundary").unwrap()["id"].is_string());
}

/// What stands in the way is waited for, and the screen below it stays.
fn assert_waits(sandbox: &Sandbox, why: &str) {
    let (code, document) = compact(sandbox, &["--wait", "2"]);
    let reason = format!("still waiting: {why}");
    assert_eq!((code, told(&document)), (3, ("refused", reason.as_str())));
    assert_eq!(document["evidence"], json!([]));
}

fn manual(sandbox: &Sandbox) -> usize {
    let transcript = sandbox.transcript(SESSION);
    let found = boundaries(&transcript);
    assert!(
        found.iter().all(|trigger| *trigger == "manual"),
        "{found:?}"
    );
    found.len()
}

fn prompts(sandbox: &Sandbox) -> usize {
    let events = sandbox.events(SESSION);
    events
        .iter()
        .filter(|event| event["type"] == "prompt.submitted")
        .count()
}

#[test]
fn idle_focus_and_two_at_once_are_confirmed_and_the_briefing_comes() {
    for way in WAYS {
        let Some(sandbox) = way.sandbox() else { return };
        let session = talked(&sandbox);
        let (code, document) = compact(&sandbox, &[]);
        assert_eq!(code, 0);
        confirmed(&document, way);
        assert_eq!(document["generation"], 1);
        let timing = &document["timing_ms"];
        eprintln!("{way:?}: {timing}");
        session.wait_compacted(1, "");
        session.prompt("three");
        session.prompt("four");
        let (_, document) = compact(&sandbox, &["--focus", "keep the API notes"]);
        confirmed(&document, way);
        assert_eq!(
            document["focus"],
            json!({"text": "keep the API notes", "applied": true})
        );
        session.wait_compacted(2, "");
        let log = sandbox.log().all();
        let summaries: Vec<_> = log
            .iter()
            .filter(|entry| entry.kind == Kind::Summary)
            .collect();
        assert!(summaries[1].body.to_string().contains("keep the API notes"));
        session.prompt("five");
        let log = sandbox.log().all();
        let next = log.iter().rfind(|entry| entry.kind == Kind::Main).unwrap();
        assert!(
            next.body.to_string().contains("[harn:g2:"),
            "the briefing is in the next request"
        );
        session.prompt("six");
        let (first, second) = (asking(&sandbox), asking(&sandbox));
        let (first, second) = (answer(first), answer(second));
        confirmed(&first, way);
        assert_eq!(first["attempt"], second["attempt"]);
        session.wait_compacted(3, "");
        assert_eq!(manual(&sandbox), 3);
        assert_eq!(session.exit(), Left::clean());
    }
}

/// One session through everything that may stand at the prompt.
#[test]
fn nothing_at_the_prompt_is_sent_or_run() {
    for way in WAYS {
        let Some(sandbox) = way.sandbox() else { return };
        let session = talked(&sandbox);
        session.press(b"!");
        session.wait_text("! for shell mode");
        assert_waits(&sandbox, "the prompt is in shell mode");
        session.press(b"\x7f");
        session.draft("");
        session.press(b"\x0f");
        session.wait_text("Showing detailed transcript");
        assert_waits(&sandbox, "the prompt is not on the screen");
        session.press(b"\x0f");
        session.draft("");
        session.press(b"\x12");
        session.wait_text("search prompts:");
        assert_waits(&sandbox, "the prompt is not on the screen");
        session.press(b"\x1b");
        session.wait_no_text("search prompts:");
        session.press(b"\x1b");
        std::thread::sleep(Duration::from_millis(150));
        session.press(b"\x1b");
        session.wait_text("Restore the code");
        assert_waits(&sandbox, "the prompt is not on the screen");
        session.press(b"\x1b");
        session.wait_no_text("Restore the code");
        // An empty Enter: whatever those keys left open is settled.
        session.press(b"\r");
        session.draft("merge PR 10 only after");
        if way == Way::Enter {
            assert_waits(&sandbox, "there is a draft in the prompt");
            session.press(b"\\\r");
            session.press(b"the release");
            session.wait_text("the release");
            assert_waits(&sandbox, "there is a draft in the prompt");
            assert_eq!((manual(&sandbox), prompts(&sandbox)), (0, 2));
        } else {
            let (_, document) = compact(&sandbox, &[]);
            confirmed(&document, way);
            session.wait_compacted(1, "merge PR 10 only after");
            assert_eq!((manual(&sandbox), prompts(&sandbox)), (1, 2));
        }
        session.kill();
    }
}

#[test]
fn no_dialog_is_answered() {
    for way in WAYS {
        let Some(sandbox) = way.sandbox() else { return };
        let session = talked(&sandbox);
        session.send(r#"@tool=Bash {"command":"touch ran.txt","description":"make"}"#);
        session.wait_text("Do you want to proceed?");
        assert_waits(&sandbox, "a dialog is open");
        session.wait_text("Do you want to proceed?");
        session.press(b"\x1b");
        session.draft("");
        let question = json!({"questions": [{"question": "Which one?", "header": "Pick", "multiSelect": false,
            "options": [{"label": "Alpha", "description": "a"}, {"label": "Beta", "description": "b"}]}]});
        let ask = Reply::Tools(vec![("AskUserQuestion".to_owned(), question)]);
        sandbox
            .model()
            .script(|script| script.replies.push_back(ask));
        session.send("ask me");
        session.wait_text("Enter to select");
        assert_waits(&sandbox, "a dialog is open");
        session.wait_text("Beta");
        session.press(b"\x1b");
        session.draft("");
        session.send("/model");
        session.wait_text("Select model");
        assert_waits(&sandbox, "a dialog is open");
        session.wait_text("Select model");
        session.press(b"\x1b");
        session.draft("");
        assert!(!sandbox.env.project().join("ran.txt").exists());
        assert_eq!(manual(&sandbox), 0);
        session.kill();
    }
}

/// A background task ends about when the text is typed, and the turn that it starts asks.
#[test]
fn a_dialog_that_opens_meanwhile_is_not_answered() {
    for way in WAYS {
        for seconds in ["2.0", "2.3", "2.6"] {
            let Some(sandbox) = way.sandbox() else { return };

            let session = talked(&sandbox);
            let ask = (
                "Bash".to_owned(),
                json!({"command": "touch ran.txt", "description": "make"}),
            );
            session.prompt_in_background(&format!("sleep {seconds}"));
            sandbox
                .model()
                .script(|script| script.replies.push_back(Reply::Tools(vec![ask])));
            let (_, document) = compact(&sandbox, &["--wait", "3"]);
            assert!(
                ["refused", "confirmed", "unconfirmed"].contains(&told(&document).0),
                "{document}"
            );
            let count = usize::from(told(&document).0 == "confirmed");
            session.wait_text("Do you want to proceed?");
            std::thread::sleep(Duration::from_millis(500));
            session.wait_text("Do you want to proceed?");
            assert!(
                !sandbox.env.project().join("ran.txt").exists(),
                "{document}"
            );
            assert!(
                manual(&sandbox) <= 1 && manual(&sandbox) >= count,
                "{document}"
            );
            session.kill();
        }
    }
}

#[test]
fn a_streaming_agent_and_a_nested_one_are_waited_for() {
    for way in WAYS {
        let Some(sandbox) = way.sandbox() else { return };
        let session = talked(&sandbox);
        session.send("@slow=3");
        session.wait_busy();
        let waiting = asking(&sandbox);
        session.resize(30);
        session.resize(40);
        let document = answer(waiting);
        confirmed(&document, way);
        session.wait_compacted(1, "");
        session.prompt("three");
        session
            .send(r#"@tool=Bash {"command":"claude -p 'inner @slow=1'","description":"nested"}"#);
        session.wait_busy();
        let document = answer(asking(&sandbox));
        confirmed(&document, way);
        session.wait_compacted(2, "");
        assert_eq!(manual(&sandbox), 2);
        session.kill();
    }
}

#[test]
fn an_absent_command_a_failure_and_an_escape_are_told_as_what_they_are() {
    for way in WAYS {
        let Some(sandbox) = way.sandbox() else { return };
        let session = talked(&sandbox);
        sandbox
            .model()
            .script(|script| script.summary.status = Some(400));
        let (code, document) = compact(&sandbox, &[]);
        let (outcome, reason) = told(&document);
        assert_eq!((code, outcome), (1, "failed"), "{document}");
        assert!(
            reason.starts_with("Error during compaction: API Error: 400"),
            "{reason}"
        );
        assert!(document["handoff"].is_string());
        sandbox.model().script(|script| {
            script.summary.status = None;
            script.summary.delay = Duration::from_secs(20);
        });
        session.draft("");
        let waiting = asking(&sandbox);
        session.wait_text("Compacting conversation");
        session.press(b"\x1b");
        let document = answer(waiting);
        assert_eq!(told(&document).0, "cancelled", "{document}");
        session.draft("");
        assert_eq!((manual(&sandbox), prompts(&sandbox)), (0, 2));
        session.kill();

        let Some(mut sandbox) = way.sandbox() else {
            return;
        };
        sandbox.env.set("DISABLE_COMPACT", "1");
        let session = talked(&sandbox);
        let (code, document) = compact(&sandbox, &[]);
        assert_eq!((code, told(&document).0), (3, "skipped"), "{document}");
        session.draft("");
        assert_eq!(prompts(&sandbox), 2);
        session.kill();
    }
}

#[test]
fn vim_is_compacted_by_key_and_waited_for_otherwise() {
    for way in WAYS {
        let Some(sandbox) = way.sandbox() else { return };
        sandbox.edit_state(|state| state["editorMode"] = json!("vim"));
        let session = talked_vim(&sandbox);
        session.press(b"\x1b");
        session.wait_no_text("-- INSERT --");
        if way == Way::Key {
            let (_, document) = compact(&sandbox, &[]);
            confirmed(&document, way);
        } else {
            let (code, document) = compact(&sandbox, &["--wait", "1"]);
            assert_eq!((code, told(&document).0), (3, "refused"), "{document}");
            assert_eq!(document["evidence"], json!([]));
        }
        assert_eq!(prompts(&sandbox), 2);
        session.kill();
    }
}

/// In the editor's own mode for text, which it starts in.
fn talked_vim(sandbox: &Sandbox) -> Session<'_> {
    let session = talked(sandbox);
    session.wait_text("-- INSERT --");
    session
}

#[test]
fn a_session_that_ends_or_is_not_ready_is_refused() {
    let Some(sandbox) = Way::Enter.sandbox() else {
        return;
    };
    let session = Session::start(&sandbox, sandbox.harn_claude([]));
    session.prompt("one");
    let (code, document) = compact(&sandbox, &[]);
    let reason = "nothing to compact yet: fewer than 2 turns";
    assert_eq!((code, told(&document)), (3, ("skipped", reason)));
    session.prompt("two");
    session.send("@slow=20");
    session.wait_busy();
    let waiting = asking(&sandbox);
    session.wait_event("compaction.requested");
    session.kill();
    let document = answer(waiting);
    let (outcome, reason) = told(&document);
    assert_eq!(outcome, "refused");
    let ends = [
        "the agent has exited",
        "the process that owns the session is gone",
    ];
    assert!(ends.contains(&reason), "{reason}");
    let (code, document) = compact(&sandbox, &[]);
    assert_eq!((code, told(&document).0), (3, "refused"));
}
