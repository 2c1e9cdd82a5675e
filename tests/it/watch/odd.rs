//! What no session of a healthy machine looks like: logs of a gigabyte, and places that go away.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use serde_json::{Value, json};

use super::dashboard;
use crate::run::hosted::LIMIT;
use crate::session::Session;
use crate::sessions::list;
use crate::support::{Pty, TestEnv};

const MEGABYTE: u64 = 1 << 20;
/// Far below what a log of a gigabyte would take.
const MOST_KB: u64 = 200 * 1024;

fn line(seq: u64, at: &str, used: u64) -> String {
    let event = json!({
        "schema": 1, "id": format!("e{seq}"), "seq": seq, "at": at, "type": "context.sampled",
        "session": "s1", "run": null, "adapter": "claude-code", "source": "hook",
        "data": {
            "used_tokens": used, "window_tokens": 200_000, "window": "reported",
            "used_percent": 1, "source": "statusline", "confidence": "reported",
            "model": null, "at": at,
        },
    });
    format!("{event}\n")
}

/// A log of a gigabyte: samples a megabyte of zeros apart, and then zeros, a line of half a gigabyte without an end.
fn gigabyte(env: &TestEnv) {
    let session = Session::new(env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let log = OpenOptions::new()
        .write(true)
        .open(session.dir().join("events.ndjson"))
        .unwrap();
    for number in 1..500 {
        let at = format!("2026-05-01T{:02}:{:02}:00.000Z", number / 60, number % 60);
        let text = format!("\n{}", line(number, &at, number * 100));
        log.write_all_at(text.as_bytes(), number * MEGABYTE)
            .unwrap();
    }
    log.set_len(1_024 * MEGABYTE).unwrap();
}

#[test]
fn a_graph_of_a_gigabyte_holds_all_of_it_in_little_memory() {
    let env = TestEnv::new();
    gigabyte(&env);
    let mut command = env.command("/bin/sh");
    // Where a system knows no such limit, what is drawn is looked at all the same.
    let script = "ulimit -v 400000 2>/dev/null; exec \"$HARN\" context graph --json";
    command.args(["-c", script]).env("HARN", env.bin());
    let output = env.run(command, b"");
    assert_eq!((output.code, output.err()), (0, String::new()));
    let graph: Value = serde_json::from_slice(&output.stdout).unwrap();
    let used = |point: &Value| point["used_tokens"].as_u64().unwrap();
    let points = graph["points"].as_array().unwrap();
    assert_eq!(
        (points.len(), used(&points[0]), used(&points[498])),
        (499, 100, 49_900)
    );
}

#[test]
fn a_dashboard_on_a_gigabyte_answers_keys_and_stays_small() {
    let env = TestEnv::new();
    gigabyte(&env);
    Session::named(&env, "s2").quiet("SessionStart", &json!({"source": "startup"}));
    let mut pty = dashboard(&env);
    pty.wait_text("2 sessions");
    pty.send(b"/s1\r");
    pty.wait_raw("a log that is half read", LIMIT, |raw| {
        String::from_utf8_lossy(raw).contains("% of the log is read")
    });
    // Before the end was reached.
    pty.send(b"\x1b/s2");
    pty.wait_text("1 match \"s2\"");
    pty.send(b"\x7f1\r");
    pty.wait_for("the whole graph", LIMIT, |screen| {
        screen.contains("200k┤") && !screen.contains("of the log is read")
    });
    if let Ok(status) = fs::read_to_string(format!("/proc/{}/status", pty.pid())) {
        let (_, rest) = status.split_once("VmHWM:").unwrap();
        let most: u64 = rest.split_whitespace().next().unwrap().parse().unwrap();
        assert!(most < MOST_KB, "{most} kB");
    }
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn events_of_other_centuries_are_told_as_what_they_are() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let mut log = OpenOptions::new()
        .append(true)
        .open(session.dir().join("events.ndjson"))
        .unwrap();
    let times = [
        "1970-01-01T00:00:00.000Z",
        "2026-05-01T10:00:00.000Z",
        "2026-05-01T10:10:00.000Z",
        "2100-01-01T00:00:00.000Z",
    ];
    for (seq, at) in (2..).zip(times) {
        log.write_all(line(seq, at, seq * 1_000).as_bytes())
            .unwrap();
    }
    let row = &list(&env)[0];
    assert_eq!(
        (&row["last_event_at"], &row["last_event_age_ms"]),
        (&json!("2100-01-01T00:00:00.000Z"), &Value::Null)
    );
    let mut pty = dashboard(&env);
    pty.wait_text("heard in 7");
    pty.wait_text("2 gaps of 56 y to 73 y between events, drawn short");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn everything_may_vanish_and_come_back() {
    let env = TestEnv::new();
    let start = |id| Session::named(&env, id).quiet("SessionStart", &json!({"source": "startup"}));
    start("first");
    let mut pty = dashboard(&env);
    pty.wait_text("1 session,");
    fs::remove_dir_all(env.project()).unwrap();
    pty.wait_text("project directory is gone");
    fs::remove_dir_all(env.state()).unwrap();
    pty.wait_text("0 sessions");
    fs::create_dir(env.project()).unwrap();
    start("second");
    pty.wait_text("1 session,");
    pty.wait_text("second");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

/// As on a network mount: the system tells of no changes.
#[test]
fn without_a_watcher_it_looks_by_itself() {
    if !cfg!(debug_assertions) {
        return;
    }
    let mut env = TestEnv::new();
    env.set("HARN_FAULT", "watch-untold");
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let mut pty = dashboard(&env);
    pty.wait_text("1 session,");
    session.quiet(
        "PreToolUse",
        &json!({"tool_name": "Seldom", "prompt_id": "t1"}),
    );
    pty.wait_text("tool=Seldom");
    Session::named(&env, "s2").quiet("SessionStart", &json!({"source": "startup"}));
    pty.wait_text("2 sessions");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn hostile_names_do_not_reach_the_terminal_as_sequences() {
    let env = TestEnv::new();
    let project = env.project().join("p\u{1b}[2Jro\u{9b}31mject");
    fs::create_dir(&project).unwrap();
    let git = |args: &[&str]| {
        let mut command = env.command("git");
        command.args(args).current_dir(&project);
        assert_eq!(env.run(command, b"").code, 0, "{args:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["symbolic-ref", "HEAD", "refs/heads/b\u{9b}2Jran\u{202e}ch"]);
    let id = "s\u{1b}]0;pwned\u{7}\u{202e}x";
    let payload = json!({
        "session_id": id, "transcript_path": "/t.jsonl", "cwd": project,
        "hook_event_name": "SessionStart", "source": "startup",
    });
    let mut hook = env.harn(["hook", "claude-code", "SessionStart"]);
    hook.current_dir(&project);
    assert_eq!(env.run(hook, payload.to_string().as_bytes()).code, 0);
    let mut pty = Pty::spawn(env.harn(["watch"]), 30, 140);
    for text in ["s]0;pwned", "p[2Jro31mject", "b2Jranch"] {
        pty.wait_text(text);
    }
    pty.send(b"/\x1b[200~pro\x9b31m\r");
    pty.wait_text("match");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    let listed = env.run(env.harn(["sessions"]), b"").out();
    for text in [String::from_utf8(pty.raw()).unwrap(), listed] {
        for bad in ["\u{1b}]0", "\u{1b}[2Jro", "\u{9b}", "\u{202e}"] {
            assert!(!text.contains(bad), "{bad:?} in {text:?}");
        }
    }
}
