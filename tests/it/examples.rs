//! The set-ups of `examples/`, as they stand.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Pty, TestEnv};

const LIMIT: Duration = Duration::from_secs(30);

fn script(env: &mut TestEnv, name: &str) -> Command {
    let bin = env.root().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env.bin(), bin.join("harn")).unwrap();
    env.set(
        "PATH",
        format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()),
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    env.command(root.join("examples").join(name).join("run.sh"))
}

/// What it prints, and that nothing of the person's own is touched.
fn printed(name: &str) -> String {
    let mut env = TestEnv::new();
    let command = script(&mut env, name);
    let output = env.run(command, b"");
    assert_eq!(
        (output.err(), output.code),
        (String::new(), 0),
        "{}",
        output.out()
    );
    let left = |dir: PathBuf| fs::read_dir(dir).unwrap().count();
    assert_eq!(
        left(env.home().to_owned()) + left(env.root().join("tmp")),
        0
    );
    output.out()
}

#[test]
fn hook_mode_saves_a_checkpoint_and_gives_the_work_back() {
    let out = printed("hook-mode");
    for text in [
        "+  \"model\": \"opus\",",
        "== installed, and up to date",
        "\"hookEventName\":\"SessionStart\"",
        "make the notes say second line; never touch the README",
        "notes.txt",
        "recovered",
        "== uninstalled, every byte as before",
    ] {
        assert!(out.contains(text), "{text}:\n{out}");
    }
}

#[test]
fn a_status_line_of_ones_own_is_shown_and_its_numbers_are_known() {
    let out = printed("status-line");
    for text in [
        "statusline claude-code --then '~/line.sh'",
        "my line, ",
        " bytes of status",
        "84000 of 200000, 42%",
        "== uninstalled, every byte as before",
    ] {
        assert!(out.contains(text), "{text}:\n{out}");
    }
}

#[test]
fn an_owned_agent_is_compacted_by_its_policy() {
    let mut env = TestEnv::new();
    let mut pty = Pty::spawn(script(&mut env, "owned-demo"), 24, 100);
    pty.wait_for("a prompt", LIMIT, |screen| screen.contains('❯'));
    for (prompt, reply) in [
        ("move the lexer\r", "The lexer is moved."),
        ("now the tests\r", "That filled the context."),
    ] {
        pty.send(prompt.as_bytes());
        pty.wait_for(reply, LIMIT, |screen| screen.contains(reply));
    }
    pty.wait_for("a compaction by itself", LIMIT, |screen| {
        screen.contains("✔ Compacted") && screen.ends_with("compacted")
    });
    pty.send(b"what next\r");
    pty.wait_for("the next answer", LIMIT, |screen| {
        screen.contains("I go on from the briefing.")
    });
    pty.send(b"/exit\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}
