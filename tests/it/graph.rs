//! `harn context graph` of a real log: text, SVG and JSON.

use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::{Output, TestEnv};

fn graph(env: &TestEnv, args: &[&str]) -> Output {
    env.run(env.harn([&["context", "graph"], args].concat()), b"")
}

/// A session whose log holds a climb, a compaction by the harness alone, and one that was asked of harn and refused.
fn measured(env: &TestEnv) {
    Session::new(env).quiet("SessionStart", &json!({"source": "startup"}));
    let context = env.project().join(".harnery/context");
    let dir = fs::read_dir(context).unwrap().next().unwrap().unwrap();
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(dir.path().join("events.ndjson"))
        .unwrap();
    let mut seq = 1;
    let mut line = |minute: u64, kind: &str, data: Value| {
        seq += 1;
        let event = json!({
            "schema": 1, "id": format!("e{seq}"), "seq": seq,
            "at": format!("2026-05-01T10:{minute:02}:00.000Z"), "type": kind, "session": "s1",
            "run": null, "adapter": "claude-code", "source": "hook", "data": data,
        });
        writeln!(log, "{event}").unwrap();
    };
    let sample = |used: u64| {
        json!({
            "used_tokens": used, "window_tokens": 200_000, "window": "reported",
            "used_percent": 1, "source": "statusline", "confidence": "reported", "model": null,
            "at": "2026-05-01T10:00:00.000Z",
        })
    };
    for minute in 0..20 {
        line(minute, "context.sampled", sample(20_000 + minute * 8_000));
    }
    let auto = json!({"attempt": "a1", "trigger": "auto"});
    line(20, "context.compaction.completed", auto);
    let boundary = json!({
        "trigger": "auto", "before_tokens": 172_000, "recorded_at": "2026-05-01T10:20:00.000Z",
    });
    line(20, "context.boundary", boundary);
    line(25, "context.sampled", sample(30_000));
    let origin = json!({"attempt": "m1", "origin": "terminal", "has_focus": false});
    line(30, "compaction.requested", origin);
    let settled = json!({
        "attempt": "m1", "origin": "terminal", "outcome": "refused",
        "reason": "still waiting: a draft\u{1b}[2J", "evidence": [], "generation": null,
    });
    line(31, "compaction.settled", settled);
}

#[test]
fn a_session_without_numbers_says_so() {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    let output = graph(&env, &[]);
    assert_eq!(output.code, 3);
    assert!(
        output
            .err()
            .starts_with("harn: nothing was measured yet\nhint: ")
    );
}

#[test]
fn text_svg_and_json_tell_the_same_compactions() {
    let env = TestEnv::new();
    measured(&env);
    let text = graph(&env, &[]);
    assert_eq!((text.code, text.err()), (0, String::new()));
    let text = text.out();
    for part in [
        "─  window 200k",
        "░  compacted by itself at 172k before",
        "A  2026-05-01T10:20:00.000Z  harness: automatic, in the harness's record",
        "M  2026-05-01T10:30:00.000Z  managed (terminal): refused: still waiting: a draft[2J",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("confirmed") && !text.contains('\u{1b}'));
    let svg = graph(&env, &["--svg", "out.svg"]);
    assert_eq!((svg.code, svg.out()), (0, "written: out.svg\n".to_owned()));
    let svg = fs::read_to_string(env.project().join("out.svg")).unwrap();
    assert!(svg.contains("managed (terminal): refused") && svg.ends_with("</svg>\n"));
    let json: Value = serde_json::from_slice(&graph(&env, &["--json"]).stdout).unwrap();
    assert_eq!(
        (&json["schema"], &json["window_tokens"]),
        (&json!(1), &json!(200_000))
    );
    assert_eq!(
        json["automatic"],
        json!({"least_tokens": 172_000, "most_tokens": 172_000})
    );
    assert_eq!(json["points"].as_array().unwrap().len(), 22);
    assert_eq!(
        json["compactions"],
        json!([
            {"at": "2026-05-01T10:20:00.000Z", "attempt": "a1", "kind": "harness",
             "trigger": "auto", "seen": "recorded"},
            {"at": "2026-05-01T10:30:00.000Z", "attempt": "m1", "kind": "managed",
             "origin": "terminal", "outcome": "refused",
             "reason": "still waiting: a draft\u{1b}[2J"},
        ])
    );
}
