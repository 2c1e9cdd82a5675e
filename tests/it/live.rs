//! `harn adapter bench --live` where the client is missing, fails, does nothing or is interrupted. `tests/real/` drives real ones.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{Output, TestEnv};

/// A machine whose client is this script, or that has none.
fn desk(client: Option<&str>) -> TestEnv {
    let mut env = TestEnv::new();
    let bin = env.root().join("bin");
    if let Some(script) = client {
        let text =
            format!("#!/bin/sh\ntest \"$1\" = --version && echo 2.1.197 && exit\n{script}\n");
        let path = env.write(bin.join("claude"), text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    env.set("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    env
}

fn bench(env: &TestEnv, more: &[&str]) -> Output {
    let args = [&["adapter", "bench", "--live"], more].concat();
    env.run(env.harn(args), b"")
}

/// What is said of the rehearsal alone.
fn live(output: &Output) -> Value {
    let bench: Value = serde_json::from_str(&output.out()).unwrap();
    bench["adapters"][0]["live"].clone()
}

/// Nothing of the scratch machine is left: neither its folder nor a process that was started in it.
fn assert_gone(env: &TestEnv) {
    let tmp = env.root().join("tmp");
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
    let home = format!("HOME={}/harn-bench-", tmp.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let environs = entries.map(|it| fs::read(it.path().join("environ")).unwrap_or_default());
    let left = environs.filter(|it| String::from_utf8_lossy(it).contains(&home));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_client_that_is_not_installed_is_skipped_with_a_hint() {
    let env = desk(None);
    let output = bench(&env, &["claude-code", "--json"]);
    let expected = json!({
        "outcome": "skipped",
        "reason": "no client of it is installed",
        "hint": "put it on PATH",
    });
    assert_eq!((live(&output), output.code), (expected, 0));
    let output = bench(&env, &["claude-code"]);
    let told = "\n  not driven: no client of it is installed; hint: put it on PATH\n";
    assert!(output.out().ends_with(told), "{}", output.out());
    assert_eq!((output.err(), output.code), (String::new(), 0));
    assert_eq!(bench(&env, &["claude-code", "--require-installed"]).code, 1);
    assert!(!env.state().join("harn/attested.json").exists());
    // What has no client at all is passed over, unless it is asked for.
    let output = bench(&env, &["demo", "--json"]);
    assert_eq!(live(&output)["outcome"], "skipped");
    let all = bench(&env, &["--json"]);
    let all: Value = serde_json::from_str(&all.out()).unwrap();
    let driven = all["adapters"].as_array().unwrap().iter();
    let told: Vec<&str> = driven
        .filter(|it| it.get("live").is_some())
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["claude-code", "codex"]);
}

#[test]
fn a_client_that_fails_or_does_nothing_is_a_failure_and_attests_nothing() {
    for (script, reason) in [
        (
            "echo; echo no such model >&2; exit 3",
            "it ended with 3: no such model",
        ),
        ("kill -9 $$", "it ended with 137: "),
        ("setsid sleep 600 & exit 0", "the client did not compact"),
    ] {
        let env = desk(Some(script));
        let output = bench(&env, &["claude-code", "--json"]);
        let expected = json!({"outcome": "failed", "reason": reason});
        assert_eq!(
            (live(&output), output.code),
            (expected, 1),
            "{}",
            output.err()
        );
        assert!(
            output.err().contains("claude-code: turn 1 of 2\n"),
            "{}",
            output.err()
        );
        assert!(!env.state().join("harn/attested.json").exists());
        assert_gone(&env);
    }
}

#[test]
fn an_interrupt_ends_the_client_and_leaves_nothing_behind() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        // A pipe that nobody writes to: the client is there once it is opened.
        let env = desk(Some("setsid sleep 600 & echo on > \"$GATE\"; sleep 600"));
        let gate = env.root().join("gate");
        nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let script = fs::read_to_string(env.root().join("bin/claude")).unwrap();
        env.write(
            env.root().join("bin/claude"),
            script.replace("$GATE", gate.to_str().unwrap()),
        );
        let mut command: Command = env.harn(["adapter", "bench", "--live", "claude-code"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut on = String::new();
        BufReader::new(fs::File::open(&gate).unwrap())
            .read_line(&mut on)
            .unwrap();
        assert_eq!(on, "on\n");
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let mut out = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        assert_eq!(out, "");
        assert_gone(&env);
    }
}

#[test]
fn what_was_attested_stands_beside_the_claim() {
    let env = desk(None);
    let dimension = |name: &str, verdict: &str| json!({"dimension": name, "claimed": "supported", "verdict": verdict, "seen": "x"});
    let attested = json!({
        "program": "claude",
        "version": "2.1.300",
        "at": "2026-12-07T01:02:03.004Z",
        "harn": "0.1.0",
        "result": "drift",
        "dimensions": [dimension("telemetry", "supported"), dimension("injection", "drift"), dimension("focus", "skipped")],
    });
    let kept = json!({"format": "harn-attested/1", "content": {"claude-code": attested}});
    env.write(env.state().join("harn/attested.json"), kept.to_string());
    let show = |id: &str, more: &[&str]| {
        let args = [&["adapter", "show", id], more].concat();
        env.run(env.harn(args), b"").out()
    };
    let shown: Value = serde_json::from_str(&show("claude-code", &["--json"])).unwrap();
    assert_eq!(shown["attested"], attested);
    let text = show("claude-code", &[]);
    let told: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("attested"))
        .collect();
    assert_eq!(
        told,
        [
            "    attested on 2.1.300 2026-12-07: supported",
            "    attested on 2.1.300 2026-12-07: drift",
        ]
    );
    assert!(!show("codex", &[]).contains("attested"));
}
