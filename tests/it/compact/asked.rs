//! Requests that are granted, and what is told of them.

use super::desk::{Desk, WAYS, kinds, outcome};
use crate::demo::stage::wait_status;
use crate::run::hosted::{LIMIT, wait_until};
use crate::support::TestEnv;

#[test]
fn a_compaction_at_the_prompt_is_confirmed_by_the_record() {
    for (way, options) in WAYS {
        let desk = Desk::talked(options);
        let (code, document) = desk.compact(&[]);
        assert_eq!((code, outcome(&document)), (0, ("confirmed", "")), "{way}");
        let echo = (way == "enter").then_some("echo");
        let expected: Vec<&str> = ["idle"]
            .into_iter()
            .chain(echo)
            .chain(["submit", "pre_signal", "post_signal", "boundary"])
            .collect();
        assert_eq!(kinds(&document), expected);
        let evidence = document["evidence"].as_array().unwrap();
        let submit = evidence
            .iter()
            .find(|item| item["kind"] == "submit")
            .unwrap();
        assert_eq!(submit["way"], way);
        let boundary = evidence.last().unwrap();
        assert_eq!(boundary["source"], "transcript");
        assert!(boundary["offset"].as_u64().unwrap() > 0);
        assert_eq!(document["generation"], 1);
        assert_eq!(document["tokens"]["after"], serde_json::Value::Null);
        assert!(document["tokens"]["before"].as_u64().unwrap() > 0);
        assert_eq!(
            desk.managed(),
            [
                "compaction.requested",
                "compaction.typed",
                "compaction.submitted",
                "compaction.settled"
            ]
        );
        let settled = desk.wait_managed("compaction.settled");
        assert_eq!(
            (
                &settled["data"]["outcome"],
                &settled["data"]["attempt"],
                &settled["source"]
            ),
            (
                &"confirmed".into(),
                &document["attempt"],
                &"supervisor".into()
            )
        );
    }
}

#[test]
fn both_families_of_clients_take_it() {
    for options in [
        &["--like", "codex", "--submit-keys"][..],
        &["--like", "codex"],
    ] {
        let desk = Desk::talked(options);
        let (code, document) = desk.compact(&["--focus", "keep the notes"]);
        assert_eq!((code, outcome(&document)), (0, ("confirmed", "")));
        // Behind the command the words would make a prompt of it.
        assert_eq!(
            document["focus"],
            serde_json::json!({"text": "keep the notes", "applied": false})
        );
        assert!(
            !desk.pty.screen().contains("keep the notes"),
            "{}",
            desk.pty.screen()
        );
    }
}

#[test]
fn a_focus_goes_with_the_command() {
    for (way, options) in WAYS {
        let desk = Desk::talked(options);
        let (code, document) = desk.compact(&["--focus", "keep the API notes"]);
        assert_eq!((code, outcome(&document)), (0, ("confirmed", "")), "{way}");
        assert_eq!(
            document["focus"],
            serde_json::json!({"text": "keep the API notes", "applied": true})
        );
        desk.pty.wait_text("/compact keep the API notes");
    }
}

#[test]
fn a_draft_stays_where_only_a_key_is_pressed() {
    let desk = Desk::talked(&["--submit-keys"]);
    desk.pty.send(b"merge PR 10 only after");
    desk.pty.wait_text("merge PR 10 only after");
    let (code, document) = desk.compact(&[]);
    assert_eq!((code, outcome(&document)), (0, ("confirmed", "")));
    desk.pty.wait_text("❯ merge PR 10 only after");
}

#[test]
fn two_requests_are_one_attempt() {
    let desk = Desk::talked(&["--submit-keys"]);
    let first = desk.asking(&[]);
    let second = desk.asking(&[]);
    let documents = [first, second].map(|child| {
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    });
    assert_eq!(documents[0]["attempt"], documents[1]["attempt"]);
    assert_eq!(outcome(&documents[0]), ("confirmed", ""));
    assert_eq!(desk.count("context.compaction.completed"), 1);
}

#[test]
fn who_does_not_wait_is_told_by_an_event() {
    let desk = Desk::talked(&["--submit-keys"]);
    let (code, document) = desk.compact(&["--wait", "0"]);
    assert_eq!((code, outcome(&document)), (0, ("pending", "")));
    let settled = desk.wait_managed("compaction.settled");
    assert_eq!(settled["data"]["outcome"], "confirmed");
    assert_eq!(settled["data"]["attempt"], document["attempt"]);
}

#[test]
fn a_busy_agent_is_waited_for() {
    for (_, options) in WAYS {
        let env = TestEnv::new();
        let script = env.write("script", "expect go\nslow 12\nsay gone\n");
        let all = [options, &["--script", script.to_str().unwrap()]].concat();
        let desk = Desk::with(env, &all);
        desk.send("go");
        wait_status(&desk.env, "busy");
        let (code, document) = desk.compact(&[]);
        assert_eq!((code, outcome(&document)), (0, ("confirmed", "")));
        let events = desk.events();
        let place = |kind: &str| {
            events
                .iter()
                .rposition(|event| event["type"] == kind)
                .unwrap()
        };
        let stopped = events
            .iter()
            .filter(|event| event["type"] == "turn.stopped")
            .nth(2)
            .unwrap();
        assert!(stopped["seq"].as_u64() < events[place("compaction.typed")]["seq"].as_u64());
    }
}

#[test]
fn the_overlays_key_asks_as_well() {
    let desk = Desk::talked(&["--submit-keys"]);
    desk.pty.send(b"\x1ec");
    let settled = desk.wait_managed("compaction.settled");
    assert_eq!(
        (&settled["data"]["outcome"], &settled["data"]["origin"]),
        (&"confirmed".into(), &"overlay".into())
    );
    desk.pty.wait_text("compacted");
}

#[test]
fn a_run_is_found_by_its_name_and_several_are_not_guessed_between() {
    let desk = Desk::ruled(TestEnv::new(), &["--name", "docs"], &["--submit-keys"]);
    let (code, document) = desk.compact(&["--run", "docs", "--wait", "1"]);
    assert_eq!((code, document["outcome"].as_str()), (3, Some("skipped")));
    let (code, document) = desk.compact(&["--run", "other"]);
    assert_eq!(
        (code, outcome(&document)),
        (3, ("refused", "no live run other"))
    );
}

#[test]
fn a_request_ends_with_the_agent() {
    let env = TestEnv::new();
    let script = env.write("script", "expect go\nslow 1000\n");
    let mut desk = Desk::with(env, &["--script", script.to_str().unwrap()]);
    desk.send("go");
    wait_status(&desk.env, "busy");
    let asking = desk.asking(&[]);
    desk.wait_managed("compaction.requested");
    desk.pty.signal(nix::sys::signal::Signal::SIGTERM);
    desk.pty.wait_exit(LIMIT);
    let output = asking.wait_with_output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome(&document), ("refused", "the agent has exited"));
    wait_until("no socket", LIMIT, || {
        let dir = desk.env.runtime().join("harn");
        std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
    });
}
