//! What these tests share: a hosted demo agent, its scratch directory, and what an intact terminal is.

use std::fs;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::termios::Termios;
use nix::unistd::Pid;

use crate::run::hosted::{LIMIT, wait_until};
use crate::support::{Pty, TestEnv};

/// The line of the empty composer, once the session is up.
const READY: &str = "❯";

pub(crate) fn demo(env: &TestEnv, options: &[&str]) -> Command {
    let mut command = env.harn(["run", "--", "demo"]);
    command.args(options);
    command
}

/// A demo that waits for keys, its composer on the screen.
pub(crate) fn waiting(env: &TestEnv, options: &[&str]) -> Pty {
    let mut all = vec!["--no-story", "--speed", "20"];
    all.extend(options);
    let pty = Pty::spawn(demo(env, &all), 30, 100);
    pty.wait_for("the composer", LIMIT, |screen| {
        screen.contains(READY) || screen.contains('›')
    });
    pty
}

/// The scratch directories there are, and whose.
pub(crate) fn scratches(env: &TestEnv) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(env.root().join("tmp"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("harn-demo-"))
        .collect();
    found.sort();
    found
}

/// The one scratch directory.
pub(crate) fn scratch(env: &TestEnv) -> PathBuf {
    let found = scratches(env);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// The agent's own process.
pub(crate) fn agent(env: &TestEnv) -> Pid {
    let name = scratch(env);
    let name = name.file_name().unwrap().to_str().unwrap().to_owned();
    Pid::from_raw(name.split('-').nth(2).unwrap().parse().unwrap())
}

/// Everything below a directory, by name.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// The agent's status file.
pub(crate) fn status(env: &TestEnv) -> String {
    let dir = scratch(env).join("home/sessions");
    let file = files(&dir).pop();
    let text = file.and_then(|file| fs::read_to_string(file).ok());
    let status: serde_json::Value =
        serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
    status["status"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn wait_status(env: &TestEnv, wanted: &str) {
    wait_until(&format!("status {wanted}"), LIMIT, || status(env) == wanted);
}

/// The modes as numbers: `Termios` itself compares padding on some systems.
pub(crate) fn modes(termios: &Termios) -> [u64; 4] {
    [
        termios.input_flags.bits().into(),
        termios.output_flags.bits().into(),
        termios.control_flags.bits().into(),
        termios.local_flags.bits().into(),
    ]
}

/// Line modes as on a fresh terminal; cursor shown, bracketed paste off, main screen, no scratch directory left.
pub(crate) fn assert_intact(env: &TestEnv, pty: &Pty) {
    let fresh = Pty::spawn(env.command("/bin/cat"), 24, 80);
    assert_eq!(modes(&pty.termios()), modes(&fresh.termios()));
    let size = NonZeroU16::new(100).unwrap();
    let mut parser = vt100::Parser::new(size, size, 0);
    parser.process(&pty.raw());
    let screen = parser.screen();
    assert!(!screen.hide_cursor(), "the cursor is hidden");
    assert!(!screen.bracketed_paste(), "bracketed paste is on");
    assert!(!screen.alternate_screen());
}
