//! What harn measures, beside what the client tells its own status line, its transcript and the model server.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use harn::rehearsal::messages::Reply;
use serde_json::{Value, json};

use super::sandbox::{SESSION, Sandbox};
use super::session::{LIMIT, Left, Session};

/// A person's own status line, which writes down what it is told.
const STATUS_LINE: &str =
    r#"cat >> "$HOME/status.ndjson"; echo >> "$HOME/status.ndjson"; echo "MY-STATUS $COLUMNS""#;

fn sandbox() -> Option<Sandbox> {
    let sandbox = Sandbox::new()?;
    let settings = json!({"statusLine": {"type": "command", "command": STATUS_LINE}});
    sandbox
        .env
        .write(".claude/settings.local.json", settings.to_string());
    Some(sandbox)
}

fn status(sandbox: &Sandbox) -> Value {
    let args = ["context", "status", "--session", SESSION, "--json"];
    let output = sandbox.env.run(sandbox.env.harn(args), b"");
    serde_json::from_str(&output.out()).unwrap_or_default()
}

/// The newest of what the status line was told.
fn told(sandbox: &Sandbox) -> Value {
    let text = fs::read_to_string(sandbox.env.home().join("status.ndjson")).unwrap_or_default();
    let mut payloads = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    payloads.next_back().unwrap_or_default()
}

fn tokens(usage: &Value) -> Option<u64> {
    let names = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ];
    let counts: Option<Vec<u64>> = names.iter().map(|name| usage[name].as_u64()).collect();
    Some(counts?.iter().sum())
}

/// What harn shows, once it is what the client's own status line was told.
fn agreed(sandbox: &Sandbox, what: &str, is_so: impl Fn(&Value, &Value) -> bool) -> Value {
    let start = instant();
    loop {
        let (mine, its) = (status(sandbox), told(sandbox));
        if is_so(&mine["context"], &its["context_window"]) {
            return mine;
        }
        assert!(
            start.elapsed() < LIMIT,
            "{what}: harn shows {}, the status line was told {}",
            mine["context"],
            its["context_window"]
        );
        thread::park_timeout(Duration::from_millis(50));
    }
}

fn is_equal(mine: &Value, its: &Value) -> bool {
    let used = tokens(&its["current_usage"]);
    used.is_some_and(|used| used > 0)
        && mine["used_tokens"].as_u64() == used
        && mine["window_tokens"] == its["context_window_size"]
        && mine["used_percent"] == its["used_percentage"]
        && mine["confidence"] == "reported"
}

/// The tokens of the newest reply in lines of a transcript.
fn newest_usage(lines: &[Value]) -> Option<u64> {
    lines
        .iter()
        .rev()
        .find_map(|line| tokens(&line["message"]["usage"]))
}

#[test]
fn numbers_are_those_of_the_clients_own_status_line_through_turns_a_sub_agent_and_a_compaction() {
    let Some(sandbox) = sandbox() else { return };
    let session = Session::start(&sandbox, sandbox.harn_claude([]));
    for tokens in [40_000, 90_000] {
        session.prompt(&format!("go @usage={tokens}"));
        let mine = agreed(&sandbox, "a turn", |mine, its| {
            is_equal(mine, its) && mine["used_tokens"] == tokens
        });
        assert_eq!(mine["owned"], true);
        assert_eq!(newest_usage(&sandbox.transcript(SESSION)), Some(tokens));
    }

    let input = json!({"description": "sub", "prompt": "count the stars", "subagent_type": "general-purpose"});
    sandbox.model().script(|script| {
        script.usage_tokens = None;
        script
            .replies
            .push_back(Reply::Tools(vec![("Agent".to_owned(), input)]));
    });
    session.prompt("send another");
    let main = newest_usage(&sandbox.transcript(SESSION));
    agreed(&sandbox, "a sub-agent's turn", |mine, its| {
        is_equal(mine, its) && mine["used_tokens"].as_u64() == main
    });
    let agents = sub_agent_usage(&sandbox);
    assert!(
        !agents.is_empty() && !agents.contains(&main.unwrap()),
        "{agents:?} {main:?}"
    );

    session.compact();
    agreed(&sandbox, "a compaction", |mine, its| {
        mine["used_tokens"].is_null() && tokens(&its["current_usage"]) == Some(0)
    });
    let after = status(&sandbox);
    assert_eq!(after["meter"]["unknown"], "compacted");
    session.prompt("go on @usage=12345");
    agreed(&sandbox, "the turn after it", |mine, its| {
        is_equal(mine, its) && mine["used_tokens"] == 12_345
    });
    assert_eq!(session.exit(), Left::clean());

    let sampled: Vec<u64> = sandbox
        .events(SESSION)
        .iter()
        .filter(|event| event["type"] == "context.sampled")
        .filter_map(|event| event["data"]["used_tokens"].as_u64())
        .collect();
    // Each change once, and nothing of the sub-agent's.
    let mut without_repeats = sampled.clone();
    without_repeats.dedup();
    assert_eq!(sampled, without_repeats);
    assert!(
        agents.iter().all(|used| !sampled.contains(used)),
        "{sampled:?} {agents:?}"
    );
    assert_eq!(
        sandbox.capsules(SESSION)[0].1["context"]["used_tokens"].as_u64(),
        main
    );
    assert_eq!(
        sandbox.files_with_harn_hooks(),
        [""; 0].map(std::path::PathBuf::from)
    );
}

#[test]
fn hooks_alone_measure_by_the_transcript() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    sandbox.install_hooks();
    let session = Session::start(&sandbox, sandbox.claude([]));
    for tokens in [40_000, 90_000] {
        session.prompt(&format!("go @usage={tokens}"));
        let start = instant();
        // The hook of the turn's end and the client's last write go side by side.
        while status(&sandbox)["context"]["used_tokens"] != tokens {
            assert!(start.elapsed() < LIMIT, "{}", status(&sandbox)["context"]);
            thread::park_timeout(Duration::from_millis(50));
        }
    }
    let mine = status(&sandbox);
    assert_eq!(
        json!([
            mine["owned"],
            mine["context"]["source"],
            mine["context"]["confidence"],
            mine["context"]["used_percent"]
        ]),
        json!([false, "transcript", "inferred", 45])
    );
    session.compact();
    assert_eq!(status(&sandbox)["context"]["used_tokens"], Value::Null);
    assert_eq!(session.exit(), Left::clean());
}

#[test]
fn a_forks_copied_replies_are_none_of_its_own_measurements() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    sandbox.install_hooks();
    let run = |args: &[&str]| {
        let output = sandbox.env.run(sandbox.claude(args.iter().copied()), b"");
        assert_eq!(output.code, 0, "{}", output.err());
        serde_json::from_str::<Value>(&output.out()).unwrap()["session_id"].clone()
    };
    let print = ["-p", "--output-format", "json"];
    run(&[&print[..], &["--session-id", SESSION, "go @usage=40000"]].concat());
    let fork = ["--resume", SESSION, "--fork-session", "on @usage=50000"];
    let fork = run(&[&print[..], &fork].concat());
    let fork = fork.as_str().unwrap();
    assert_ne!(fork, SESSION);
    let copied = sandbox.transcript(fork);
    let usage: Vec<u64> = copied
        .iter()
        .filter_map(|line| tokens(&line["message"]["usage"]))
        .collect();
    assert_eq!(
        usage.first(),
        Some(&40_000),
        "the fork's record begins with what it copied"
    );
    for (session, own) in [(SESSION, 40_000), (fork, 50_000)] {
        let events = sandbox.events(session).into_iter();
        let sampled: Vec<u64> = events
            .filter(|event| event["type"] == "context.sampled")
            .map(|event| event["data"]["used_tokens"].as_u64().unwrap())
            .collect();
        assert_eq!(sampled, [own], "{session}");
    }
}

/// The tokens of every reply to a sub-agent.
fn sub_agent_usage(sandbox: &Sandbox) -> Vec<u64> {
    let mut found = Vec::new();
    let mut open = vec![sandbox.env.home().join(".claude/projects")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.to_string_lossy().contains("/subagents/") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines = text
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            found.extend(lines.filter_map(|line| tokens(&line["message"]["usage"])));
        }
    }
    found
}

#[expect(
    clippy::disallowed_methods,
    reason = "the limits of a test are real time"
)]
fn instant() -> Instant {
    Instant::now()
}
