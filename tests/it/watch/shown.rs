//! What the dashboard shows, and what keys do.

use std::fs;

use serde_json::json;

use crate::run::hosted::LIMIT;
use crate::session::Session;
use crate::support::{Pty, TestEnv};

pub(crate) fn dashboard(env: &TestEnv) -> Pty {
    let pty = Pty::spawn(env.harn(["watch"]), 24, 80);
    pty.wait_text("harn watch: ");
    pty
}

/// The other screen was left, the cursor is back, and the modes are a shell's.
pub(super) fn assert_given_back(pty: &Pty) {
    use nix::sys::termios::LocalFlags;
    let raw = pty.raw();
    assert!(
        raw.ends_with(b"\x1b[?25h\x1b[?1049l"),
        "{:?}",
        String::from_utf8_lossy(&raw)
    );
    let flags = pty.termios().local_flags;
    assert!(flags.contains(LocalFlags::ICANON | LocalFlags::ECHO));
}

#[test]
fn without_a_terminal_it_is_an_error_with_a_hint() {
    let env = TestEnv::new();
    let output = env.run(env.harn(["watch"]), b"");
    assert_eq!(output.code, 64);
    assert_eq!(
        output.err(),
        "harn: the dashboard needs a terminal on standard input and output\n\
         hint: the same as text: harn sessions\n"
    );
}

#[test]
fn sessions_and_their_events_are_shown_as_they_come() {
    let env = TestEnv::new();
    env.git_init();
    let session = Session::new(&env);
    session.work_and_announce();
    let mut pty = dashboard(&env);
    pty.wait_text("1 session, 0 owned");
    pty.wait_text("checkpoint 1 saved");
    pty.wait_text("> fix the parser");
    pty.wait_text("repository: as at the checkpoint");
    Session::named(&env, "s2").quiet("SessionStart", &json!({"source": "startup"}));
    pty.wait_text("2 sessions");
    session.quiet(
        "PreToolUse",
        &json!({"tool_name": "Seldom", "prompt_id": "t2"}),
    );
    pty.wait_text("tool=Seldom");
    pty.send(b"b");
    pty.wait_text("briefing of s1");
    pty.send(b"\x1b");
    pty.wait_text("q quit");
    pty.send(b"/nothing-like-it\r");
    pty.wait_text("0 match");
    pty.send(b"\x1b");
    pty.wait_text("tool=Seldom");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_given_back(&pty);
}

#[test]
fn an_owned_run_without_a_word_yet_has_a_line_too() {
    let env = TestEnv::new();
    let mut run = env.harn(["run", "--no-hooks", "--name", "mute", "--", "demo"]);
    run.args(["--no-story"]);
    let host = Pty::spawn(run, 30, 100);
    host.wait_for("the composer", LIMIT, |screen| screen.contains('❯'));
    let pty = dashboard(&env);
    pty.wait_text("mute");
    pty.send(b"c");
    pty.wait_text("not hosted by harn");
}

#[test]
fn one_cell_and_back_draws_on() {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    let mut pty = dashboard(&env);
    pty.wait_text("1 session,");
    pty.resize(1, 1);
    pty.resize(2, 3);
    pty.resize(24, 80);
    pty.wait_text("1 session,");
    pty.wait_text("q quit");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn no_color_means_none() {
    let mut env = TestEnv::new();
    env.set("NO_COLOR", "1");
    Session::new(&env).work_and_announce();
    let mut pty = dashboard(&env);
    pty.wait_text("checkpoint 1 saved");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    let raw = String::from_utf8(pty.raw()).unwrap();
    let colours = ["31", "32", "33", "34", "36"].map(|code| format!(";{code}m"));
    assert!(colours.iter().all(|colour| !raw.contains(colour)));
}

#[test]
fn a_vanishing_project_becomes_a_line_with_its_reason() {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    let mut pty = dashboard(&env);
    pty.wait_text("open");
    fs::remove_dir_all(env.project().join(".harnery")).unwrap();
    pty.wait_text("state directory is gone");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn two_hundred_sessions_are_listed_and_the_last_is_reached() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let index = env.state().join("harn/index");
    let known = fs::read_dir(&index)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    // Lines that cannot be read are lines as well.
    for number in 1..200 {
        fs::copy(&known, index.join(format!("{number:04}.json"))).unwrap();
    }
    let mut pty = dashboard(&env);
    pty.wait_text("200 sessions");
    pty.send(b"G");
    pty.wait_text("0199");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}
