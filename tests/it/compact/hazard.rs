//! Everything that may stand in the way: it is waited for, and nothing of it is answered or sent.

use super::desk::{Desk, WAYS, outcome};
use crate::demo::stage::{scratch, status, wait_status};
use crate::run::hosted::LIMIT;
use crate::support::TestEnv;

fn scripted(options: &[&str], script: &str) -> Desk {
    let env = TestEnv::new();
    let script = env.write("script", script);
    let all = [options, &["--script", script.to_str().unwrap()]].concat();
    Desk::with(env, &all)
}

fn assert_waits(desk: &Desk, why: &str) {
    let (code, document) = desk.compact(&["--wait", "1"]);
    let reason = format!("still waiting: {why}");
    assert_eq!(
        (code, outcome(&document)),
        (3, ("refused", reason.as_str()))
    );
    assert_eq!(
        desk.managed(),
        ["compaction.requested", "compaction.settled"]
    );
    assert_eq!(desk.count("context.compaction.started"), 0);
}

#[test]
fn no_dialog_is_answered() {
    let dialogs = [
        ("permission", "Do you want to proceed?"),
        ("question", "1."),
        ("picker", "1."),
    ];
    for (_, options) in WAYS {
        for (dialog, shown) in dialogs {
            let desk = scripted(options, &format!("expect go\ndialog {dialog}\nsay over\n"));
            desk.send("go");
            wait_status(&desk.env, "waiting");
            desk.pty.wait_text(shown);
            assert_waits(&desk, "a dialog is open");
            assert_eq!(status(&desk.env), "waiting", "{dialog}");
            desk.pty.wait_text(shown);
            assert!(!scratch(&desk.env).join("greeter/allowed").exists());
        }
    }
}

/// A background task ends at any moment, and the turn it starts asks.
#[test]
fn a_dialog_that_opens_at_any_moment_is_not_answered() {
    for (way, options) in WAYS {
        for after in ["20.0", "21.0", "22.0", "23.0"] {
            let script =
                format!("background {after}\nexpect <task-notification>\ndialog permission\n");
            let desk = scripted(options, &script);
            let (_, document) = desk.compact(&["--wait", "1"]);
            if way == "enter" {
                assert_eq!(document["evidence"], serde_json::json!([]));
            }
            desk.pty.wait_text("Do you want to proceed?");
            assert_ne!(document["outcome"], "misfired");
            assert!(
                !scratch(&desk.env).join("greeter/allowed").exists(),
                "{document}"
            );
        }
    }
}

#[test]
fn a_draft_is_never_sent() {
    let desk = Desk::talked(&[]);
    desk.pty.send(b"merge PR 10 only after");
    desk.pty.wait_text("❯ merge PR 10 only after");
    assert_waits(&desk, "there is a draft in the prompt");
    desk.pty.wait_text("❯ merge PR 10 only after");
    assert_eq!(desk.count("prompt.submitted"), 2);
    // Rubbed out, the request is granted.
    desk.pty.send(&b"\x7f".repeat(22));
    let (code, document) = desk.compact(&[]);
    assert_eq!((code, outcome(&document)), (0, ("confirmed", "")));
}

#[test]
fn a_draft_of_several_lines_is_seen_on_the_screen() {
    let desk = Desk::talked(&["--like", "codex", "--submit-keys"]);
    desk.pty.send(b"\x1b[200~one\ntwo\x1b[201~");
    desk.pty.wait_text("two");
    assert_waits(&desk, "there is a draft in the prompt");
    assert_eq!(desk.count("prompt.submitted"), 2);
}

#[test]
fn keys_whose_effect_is_not_known_are_a_draft_that_may_be() {
    let desk = Desk::talked(&[]);
    desk.pty.send(b"x\x15");
    desk.pty
        .wait_for("an empty prompt", LIMIT, |screen| !screen.contains("❯ x"));
    assert_waits(&desk, "there may be a draft in the prompt");
}

#[test]
fn shell_mode_is_left_alone() {
    for (_, options) in WAYS {
        let desk = Desk::talked(options);
        desk.pty.send(b"!");
        desk.pty.wait_text("! ");
        assert_waits(&desk, "the prompt is in shell mode");
    }
}

#[test]
fn another_view_is_left_alone() {
    for (_, options) in WAYS {
        let desk = Desk::talked(options);
        desk.pty.send(b"\x0f");
        desk.pty
            .wait_for("the transcript", LIMIT, |screen| !screen.contains('❯'));
        assert_waits(&desk, "the prompt is not on the screen");
    }
}

#[test]
fn an_agent_without_the_command_has_its_work_saved() {
    for (options, reason) in [
        (&["--no-compact"][..], "the agent has no /compact here"),
        (
            &["--no-compact", "--submit-keys"],
            "Unknown command: /compact",
        ),
    ] {
        let desk = Desk::talked(options);
        let (code, document) = desk.compact(&[]);
        assert_eq!((code, outcome(&document)), (3, ("skipped", reason)));
        let saved = desk.wait_managed("context.checkpoint.created");
        assert_eq!(saved["data"]["trigger"], "manual");
        desk.pty
            .wait_for("an empty prompt", LIMIT, |screen| !screen.contains("❯ /"));
        assert_eq!(desk.count("prompt.submitted"), 2);
    }
}

#[test]
fn too_little_to_compact_is_skipped() {
    let desk = Desk::started(TestEnv::new(), &["--submit-keys"]);
    desk.say("one");
    let (code, document) = desk.compact(&[]);
    let reason = "nothing to compact yet: fewer than 2 turns";
    assert_eq!((code, outcome(&document)), (3, ("skipped", reason)));
    for (_, options) in WAYS {
        let desk = Desk::talked(&[options, &["--compact", "early"]].concat());
        let (code, document) = desk.compact(&[]);
        let reason = "Not enough messages to compact.";
        assert_eq!((code, outcome(&document)), (3, ("skipped", reason)));
    }
}

#[test]
fn a_failure_is_told_word_for_word_and_leaves_a_hand_over() {
    for (_, options) in WAYS {
        let desk = Desk::talked(&[options, &["--compact", "fail"]].concat());
        let (code, document) = desk.compact(&[]);
        let (result, reason) = outcome(&document);
        assert_eq!((code, result), (1, "failed"));
        assert_eq!(
            reason,
            "Error during compaction: API Error: 500 the demo was told to let this one fail"
        );
        let path = document["handoff"].as_str().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("> two"), "{text}");
        assert_eq!(desk.count("compaction.submitted"), 1);
    }
}

#[test]
fn a_compaction_that_is_stopped_is_cancelled() {
    for (_, options) in WAYS {
        let desk = Desk::talked(&[options, &["--compact", "slow"]].concat());
        let asking = desk.asking(&[]);
        desk.wait_managed("context.compaction.started");
        desk.pty.send(b"\x1b");
        let output = asking.wait_with_output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (document["outcome"].as_str(), output.status.code()),
            (Some("cancelled"), Some(3))
        );
        desk.pty.wait_for("an empty prompt", LIMIT, |screen| {
            screen.lines().any(|line| line.trim_end() == "❯")
        });
    }
}

#[test]
fn a_caller_that_goes_takes_its_request_along() {
    let desk = scripted(&["--submit-keys"], "expect go\nslow 20\nsay over\n");
    desk.send("go");
    wait_status(&desk.env, "busy");
    let mut asking = desk.asking(&[]);
    desk.wait_managed("compaction.requested");
    asking.kill().unwrap();
    asking.wait().unwrap();
    let settled = desk.wait_managed("compaction.settled");
    assert_eq!(settled["data"]["outcome"], "cancelled");
    wait_status(&desk.env, "idle");
    assert_eq!(desk.count("context.compaction.started"), 0);
}

#[test]
fn keys_of_the_user_come_through_in_order() {
    let desk = Desk::talked(&[]);
    let asking = desk.asking(&[]);
    desk.wait_managed("compaction.typed");
    desk.pty.send(b"and then?");
    let output = asking.wait_with_output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    desk.pty.wait_text("and then?");
    assert_ne!(document["outcome"], "misfired");
    assert_eq!(desk.count("prompt.submitted"), 2);
}

#[test]
fn a_resize_while_it_waits_changes_nothing() {
    let desk = scripted(&[], "expect go\nslow 12\nsay over\n");
    desk.send("go");
    wait_status(&desk.env, "busy");
    let asking = desk.asking(&[]);
    desk.wait_managed("compaction.requested");
    for (rows, cols) in [(1, 1), (12, 40), (30, 100)] {
        desk.pty.resize(rows, cols);
    }
    let output = asking.wait_with_output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome(&document), ("confirmed", ""));
}
