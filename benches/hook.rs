//! What a tool hook costs as a whole process, beside `true` and beside hooks in other languages that append the same facts:
//! `cargo bench --bench hook`. The bound is three times `true` at the median. Set `TMPDIR` to a disk to measure a disk.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use support::timing::{Contestant, medians, millis};

const ROUNDS: usize = 101;
const BOUND: f64 = 3.0;

const PYTHON: &str = "import json,sys,time
p=json.load(sys.stdin)
line=json.dumps({'at':time.time(),'type':'tool.finished','session':p['session_id'],'tool':p['tool_name']})
open(sys.argv[1],'a').write(line+'\\n')";

const BASH: &str = r#"payload=$(cat)
session=$(jq -r .session_id <<<"$payload")
tool=$(jq -r .tool_name <<<"$payload")
printf '{"type":"tool.finished","session":"%s","tool":"%s"}\n' "$session" "$tool" >>"$1""#;

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn main() -> Result<ExitCode> {
    let place = tempfile::tempdir().context("making a scratch directory")?;
    let payload = payload(place.path())?;
    let log = place.path().join("peer.ndjson");
    let mut contestants = vec![contestant("true", Command::new("true"), &payload)];
    contestants.push(contestant(
        "harn",
        harn("PostToolUse", place.path()),
        &payload,
    ));
    for (name, program, args) in [
        ("bash+jq", "bash", ["-c", BASH, "hook"]),
        ("python3", "python3", ["-c", PYTHON, ""]),
    ] {
        if which::which(program).is_err() || (name == "bash+jq" && which::which("jq").is_err()) {
            println!("{name}: not installed, left out");
            continue;
        }
        let mut command = Command::new(program);
        command
            .args(args.iter().filter(|arg| !arg.is_empty()))
            .arg(&log);
        contestants.push(contestant(name, command, &payload));
    }
    let times = medians(&mut contestants, ROUNDS)?;
    let base = times.first().map_or(0.0, |time| millis(*time));
    println!("{:<10} {:>9} {:>8}", "hook", "median ms", "x true");
    let mut is_within = true;
    for (contestant, time) in contestants.iter().zip(&times) {
        let ratio = millis(*time) / base;
        println!(
            "{:<10} {:>9.2} {ratio:>7.1}x",
            contestant.name,
            millis(*time)
        );
        is_within &= contestant.name != "harn" || ratio <= BOUND;
    }
    println!(
        "bound of {BOUND} x true: {}",
        if is_within { "met" } else { "MISSED" }
    );
    Ok(if is_within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn contestant(name: &'static str, command: Command, payload: &Path) -> Contestant {
    Contestant {
        name,
        command,
        input: Some(payload.to_owned()),
        prepare: None,
    }
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
fn payload(place: &Path) -> Result<PathBuf> {
    let path = place.join("payload.json");
    let document = serde_json::json!({
        "session_id": "bench",
        "transcript_path": "/t.jsonl",
        "cwd": place,
        "hook_event_name": "PostToolUse",
        "prompt_id": "t1",
        "tool_name": "Edit",
        "tool_input": {"file_path": place.join("a.rs"), "old_string": "a".repeat(400), "new_string": "b".repeat(400)},
        "tool_response": {"structuredPatch": "c".repeat(4_000)},
    });
    std::fs::write(&path, document.to_string()).context("writing the payload")?;
    Ok(path)
}
