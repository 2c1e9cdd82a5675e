//! What each hook costs as a whole process, beside `true` and beside hooks in other languages that append the same facts:
//! `cargo bench --bench hook`. The bound, for hooks that need no look at the repository, is three times `true` at the
//! median. Set `TMPDIR` to a disk to measure a disk.

mod support;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use support::timing::{Contestant, Prepare, millis, percentile, samples};

const ROUNDS: usize = 41;
const BOUND: f64 = 3.0;

const NODE: &str = "const fs=require('fs');const p=JSON.parse(fs.readFileSync(0));
fs.appendFileSync(process.argv[1],JSON.stringify({at:Date.now(),type:p.hook_event_name,session:p.session_id,tool:p.tool_name})+'\\n')";

const PYTHON: &str = "import json,sys,time
p=json.load(sys.stdin)
line=json.dumps({'at':time.time(),'type':p['hook_event_name'],'session':p['session_id'],'tool':p.get('tool_name')})
open(sys.argv[1],'a').write(line+'\\n')";

const BASH: &str = r#"payload=$(cat)
session=$(jq -r .session_id <<<"$payload")
event=$(jq -r .hook_event_name <<<"$payload")
printf '{"type":"%s","session":"%s"}\n' "$event" "$session" >>"$1""#;

/// The native events, and whether git is looked at.
const EVENTS: [(&str, bool); 13] = [
    ("PreToolUse", false),
    ("PostToolUse", false),
    ("PostToolUseFailure", false),
    ("PermissionRequest", false),
    ("SubagentStart", false),
    ("SubagentStop", false),
    ("UserPromptSubmit", false),
    ("PostCompact", false),
    ("SessionEnd", false),
    ("SessionStart", true),
    ("Stop", true),
    ("StopFailure", true),
    ("PreCompact", true),
];

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn main() -> Result<ExitCode> {
    println!(
        "{:<20} {:<8} {:>9} {:>9} {:>8}",
        "event", "hook", "p50 ms", "p95 ms", "x true"
    );
    let mut missed = Vec::new();
    for (event, has_git) in EVENTS {
        let place = tempfile::tempdir().context("making a scratch directory")?;
        let mut contestants = contestants(event, place.path())?;
        let times = samples(&mut contestants, ROUNDS)?;
        let base = times.first().map_or(0.0, |it| millis(percentile(it, 50)));
        for (contestant, times) in contestants.iter().zip(&times) {
            let ratio = millis(percentile(times, 50)) / base;
            println!(
                "{event:<20} {:<8} {:>9.2} {:>9.2} {ratio:>7.1}x",
                contestant.name,
                millis(percentile(times, 50)),
                millis(percentile(times, 95))
            );
            if contestant.name == "harn" && !has_git && ratio > BOUND {
                missed.push(event);
            }
        }
    }
    if missed.is_empty() {
        println!("bound of {BOUND} x true without git: met");
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "bound of {BOUND} x true without git: MISSED by {}",
        missed.join(", ")
    );
    Ok(ExitCode::FAILURE)
}

fn contestants(event: &str, place: &Path) -> Result<Vec<Contestant>> {
    let payload = place.join("payload.json");
    write_payload(event, 0, place, &payload)?;
    let log = place.join("peer.ndjson");
    let mut all = vec![
        contestant("true", Command::new("true"), &payload, None),
        contestant(
            "harn",
            harn(event, place),
            &payload,
            Some(next_call(event, place, &payload)),
        ),
    ];
    for (name, programs, args) in [
        ("node", ["node", "node"], ["-e", NODE, ""]),
        ("python3", ["python3", "python3"], ["-c", PYTHON, ""]),
        ("bash+jq", ["bash", "jq"], ["-c", BASH, "hook"]),
    ] {
        if programs
            .iter()
            .any(|program| which::which(program).is_err())
        {
            continue;
        }
        let [program, _] = programs;
        let mut command = Command::new(program);
        command
            .args(args.iter().filter(|arg| !arg.is_empty()))
            .arg(&log);
        all.push(contestant(name, command, &payload, None));
    }
    Ok(all)
}

fn contestant(
    name: &'static str,
    command: Command,
    payload: &Path,
    prepare: Option<Prepare>,
) -> Contestant {
    Contestant {
        name,
        command,
        input: Some(payload.to_owned()),
        prepare,
    }
}

/// Each call is one of its own: the same one again would be passed over.
fn next_call(event: &str, place: &Path, payload: &Path) -> Prepare {
    let (event, place, payload) = (event.to_owned(), place.to_owned(), payload.to_owned());
    let mut number = 0;
    Box::new(move || {
        number += 1;
        write_payload(&event, number, &place, &payload)
    })
}

fn harn(event: &str, place: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harn"));
    command
        .args(["hook", "claude-code", event])
        .current_dir(place)
        .env("HOME", place)
        .env_remove("XDG_STATE_HOME")
        .env_remove("HARN_RUN_ID");
    command
}

/// A payload of the size that an edit makes.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody else reads the scratch file"
)]
fn write_payload(event: &str, number: u32, place: &Path, path: &Path) -> Result<()> {
    let mut document = json!({
        "session_id": "bench",
        "transcript_path": "/t.jsonl",
        "cwd": place,
        "hook_event_name": event,
        "prompt_id": format!("t{number}"),
    });
    let more = match event {
        "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionRequest" => json!({
            "tool_name": "Edit",
            "tool_use_id": format!("toolu_{number}"),
            "tool_input": {"file_path": place.join("a.rs"), "old_string": "a".repeat(400), "new_string": "b".repeat(400)},
            "tool_response": {"structuredPatch": "c".repeat(4_000)},
        }),
        "SubagentStart" | "SubagentStop" => {
            json!({"agent_id": format!("a{number}"), "agent_type": "Explore"})
        }
        "UserPromptSubmit" => json!({"prompt": "d".repeat(2_000)}),
        "SessionStart" => json!({"source": "resume"}),
        "Stop" | "StopFailure" => json!({"last_assistant_message": "e".repeat(2_000)}),
        "PreCompact" | "PostCompact" => json!({"trigger": "manual"}),
        _ => json!({"reason": "other"}),
    };
    if let (Value::Object(document), Value::Object(more)) = (&mut document, more) {
        document.extend(more);
    }
    std::fs::write(path, document.to_string()).context("writing the payload")
}
