//! The overlay shows what the harness's own record says, while it grows.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::hosted::LIMIT;
use crate::support::{Pty, TestEnv};

/// Starts a session as the client does, and waits to be ended.
const CLIENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
"$HARN" hook claude-code SessionStart <"$HERE/start.json" >/dev/null
echo started
read -r line
"#;

fn reply(tokens: u64) -> String {
    let usage = json!({"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1});
    let line = json!({"parentUuid": null, "isSidechain": false, "type": "assistant", "sessionId": "s1",
        "message": {"id": tokens.to_string(), "model": "claude-haiku-4-5", "usage": usage}});
    format!("{line}\n")
}

#[test]
fn meter_on_show_follows_the_record_between_two_hooks() {
    let mut env = TestEnv::new();
    env.git_init();
    let program = env.write("bin/claude", CLIENT);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let transcript = env.root().join("s1.jsonl");
    let start = json!({"session_id": "s1", "transcript_path": transcript, "cwd": env.project(),
        "hook_event_name": "SessionStart", "source": "startup"});
    env.write("bin/start.json", start.to_string());
    for (name, value) in [
        ("HARN", env.bin().display().to_string()),
        ("HERE", env.project().join("bin").display().to_string()),
    ] {
        env.set(name, &value);
    }
    let mut command = env.harn(["run", "--overlay", "row", "--"]);
    command.arg(&program);
    let mut pty = Pty::spawn(command, 12, 120);
    let wait_row = |pty: &Pty, text: &str| {
        pty.wait_for(&format!("{text:?} in the last row"), LIMIT, |screen| {
            screen
                .split('\n')
                .nth(11)
                .is_some_and(|row| row.contains(text))
        });
    };
    pty.wait_text("started");
    wait_row(&pty, "claude-code observing");
    wait_row(&pty, "context ?");
    let mut record = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&transcript)
        .unwrap();
    for (tokens, shown) in [(84_000, "84k/"), (97_500, "97.5k/")] {
        record.write_all(reply(tokens).as_bytes()).unwrap();
        wait_row(&pty, shown);
        wait_row(&pty, "(transcript)");
    }
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}
