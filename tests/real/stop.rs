//! Ctrl-Z in the real client, under harn, under a shell: the prompt is back, the shell knows the job, `fg` goes on, and the
//! next key is the client's.

use std::process::Command;

use super::sandbox::{SESSION, Sandbox};
use super::session::{COLS, LIMIT, ROWS, holds};
use super::support::{Pty, TestEnv};

/// An interactive bash without anybody's files.
pub(crate) fn shell(env: &TestEnv) -> Pty {
    let mut command: Command = env.command("bash");
    command
        .args(["--norc", "--noprofile", "-i"])
        .env("PS1", "prompt> ");
    let pty = Pty::spawn(command, ROWS, COLS);
    pty.wait_text("prompt> ");
    pty
}

/// Stops what runs, sees the shell's own view of it, and goes on.
pub(crate) fn stop_and_go_on(pty: &Pty, round: usize) {
    pty.send(b"\x1a");
    pty.wait_for("the prompt", LIMIT, |screen| {
        screen.trim_end().ends_with("prompt>")
    });
    pty.send(format!("jobs; echo round-$(({round}+100))\r").as_bytes());
    pty.wait_for("the job, stopped", LIMIT, |screen| {
        let end = format!("round-{}", round + 100);
        screen
            .split_once(&end)
            .is_some_and(|(before, _)| before.contains("Stopped"))
    });
    pty.send(b"fg\r");
}

#[test]
fn stopped_client_gives_the_prompt_back_and_takes_the_next_key_after_fg() {
    for how in ["off", "row"] {
        let Some(sandbox) = Sandbox::new() else {
            return;
        };
        let mut pty = shell(&sandbox.env);
        let harn = sandbox.env.bin().display().to_string();
        let line = format!("{harn} run --overlay {how} -- claude --session-id {SESSION}\r");
        pty.send(line.as_bytes());
        pty.wait_for("the prompt box", LIMIT, |screen| holds(screen, ""));
        for round in 1..=2 {
            stop_and_go_on(&pty, round);
            pty.wait_for("the prompt box again", LIMIT, |screen| holds(screen, ""));
            pty.send(b"q");
            pty.wait_for("the next key", LIMIT, |screen| holds(screen, "q"));
            pty.send(b"\x7f");
            pty.wait_for("an empty prompt box", LIMIT, |screen| holds(screen, ""));
        }
        pty.send(b"/exit");
        pty.wait_for("the command", LIMIT, |screen| holds(screen, "/exit"));
        pty.send(b"\r");
        pty.wait_for("the prompt", LIMIT, |screen| {
            screen.trim_end().ends_with("prompt>")
        });
        pty.send(b"exit $?\r");
        assert_eq!(pty.wait_exit(LIMIT), 0, "{how}");
    }
}
