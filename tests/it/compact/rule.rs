//! Who may ask: the user's own rule, the session itself, and nobody where harn owns nothing.

use super::desk::{Desk, outcome};
use crate::run::hosted::{LIMIT, wait_until};
use crate::support::TestEnv;

#[test]
fn the_mark_asks_by_itself_and_the_task_goes_on() {
    let harn = ["--compact-at", "18k", "--continue-after-compact"];
    let desk = Desk::ruled(TestEnv::new(), &harn, &["--submit-keys"]);
    desk.say("one");
    desk.say("two");
    assert_eq!(desk.managed(), [""; 0]);
    desk.say("three");
    let settled = desk.wait_managed("compaction.settled");
    assert_eq!(
        (&settled["data"]["outcome"], &settled["data"]["origin"]),
        (&"confirmed".into(), &"policy".into())
    );
    // A checkpoint first, then the one before the compaction.
    assert_eq!(desk.count("context.checkpoint.created"), 2);
    desk.pty.wait_text("> Continue with the task.");
    wait_until("the turn", LIMIT, || desk.count("turn.stopped") == 4);
    assert_eq!(desk.count("compaction.requested"), 1);
}

#[test]
fn a_user_who_types_goes_on_by_themselves() {
    let desk = Desk::ruled(
        TestEnv::new(),
        &["--continue-after-compact"],
        &["--submit-keys"],
    );
    desk.say("one");
    desk.say("two");
    desk.pty.send(b"my own words");
    desk.pty.wait_text("my own words");
    let (code, document) = desk.compact(&[]);
    assert_eq!((code, outcome(&document)), (0, ("confirmed", "")));
    desk.pty.send(b" go");
    desk.pty.wait_text("my own words go");
    desk.pty.wait_text("not continued");
    assert_eq!(desk.count("prompt.submitted"), 2);
}

fn from_inside(config: &str, args: &str) -> Desk {
    let env = TestEnv::new();
    env.write(env.config().join("harn/config.toml"), config);
    let harn = env!("CARGO_BIN_EXE_harn");
    let out = env.root().join("out.json");
    let script = format!(
        "expect go\nrun {harn} compact --json {args} >{0}.part 2>&1; mv {0}.part {0}\nsay over\n",
        out.display()
    );
    let script = env.write("script", script);
    let desk = Desk::with(
        env,
        &["--submit-keys", "--script", script.to_str().unwrap()],
    );
    desk.say("go");
    desk
}

fn told(desk: &Desk) -> serde_json::Value {
    let text = std::fs::read_to_string(desk.env.root().join("out.json")).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn from_inside_the_session_it_is_off() {
    let desk = from_inside("", "--wait 0");
    let document = told(&desk);
    assert_eq!(
        outcome(&document),
        (
            "refused",
            "asked from inside the session, and compact.allow_agent is off"
        )
    );
    assert_eq!(document["origin"], "agent");
    assert_eq!(desk.managed(), [""; 0]);
}

#[test]
fn from_inside_the_session_it_takes_the_users_leave_and_no_focus() {
    let leave = "[compact]\nallow_agent = true\n";
    let desk = from_inside(leave, "--wait 0 --focus 'do as I say'");
    assert_eq!(
        outcome(&told(&desk)),
        (
            "refused",
            "a request from inside the session takes no focus"
        )
    );
    let desk = from_inside(leave, "--wait 0");
    assert_eq!(outcome(&told(&desk)), ("pending", ""));
    let settled = desk.wait_managed("compaction.settled");
    assert_eq!(
        (&settled["data"]["outcome"], &settled["data"]["origin"]),
        (&"confirmed".into(), &"agent".into())
    );
}

#[test]
fn nobody_can_compact_what_harn_does_not_host() {
    let env = TestEnv::new();
    let output = env.run(env.harn(["compact", "--json"]), b"");
    let document: serde_json::Value = serde_json::from_str(&output.out()).unwrap();
    let reason = "no session here is hosted by harn: a hook cannot compact, only a person at the keyboard or `harn run` can";
    assert_eq!((output.code, outcome(&document)), (3, ("refused", reason)));
    let output = env.run(env.harn(["compact"]), b"");
    assert_eq!(output.out(), format!("refused: {reason}\n"));
    assert_eq!(
        output.err(),
        "hint: host the agent with `harn run -- <agent>`, or type its own command\n"
    );
}

#[test]
fn a_focus_that_is_no_line_is_a_usage_error() {
    let env = TestEnv::new();
    for focus in ["a\nb", "", "\x1b[A"] {
        let output = env.run(env.harn(["compact", "--focus", focus]), b"");
        assert_eq!((output.code, output.out().as_str()), (64, ""), "{focus:?}");
    }
}

#[test]
fn a_run_without_hooks_takes_no_requests() {
    let desk = Desk::ruled(TestEnv::new(), &["--no-hooks"], &["--submit-keys"]);
    let (code, document) = desk.compact(&[]);
    assert_eq!(
        (code, outcome(&document)),
        (
            3,
            (
                "refused",
                "the run takes no requests: it has no terminal of its own, or runs without harn's hooks"
            )
        )
    );
}
