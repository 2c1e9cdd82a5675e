//! What no session of a healthy machine looks like: logs of a gigabyte, and places that go away.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;

use serde_json::{Value, json};

use super::dashboard;
use crate::run::hosted::LIMIT;
use crate::session::Session;
use crate::support::TestEnv;

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
