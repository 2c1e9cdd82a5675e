//! Every way out of the dashboard, for good and for a while: the terminal comes back.

use nix::sys::signal::{Signal, kill};
use nix::sys::termios::LocalFlags;
use nix::unistd::tcgetpgrp;
use serde_json::json;

use super::dashboard;
use super::shown::assert_given_back;
use crate::run::hosted::LIMIT;
use crate::session::Session;
use crate::support::{Pty, TestEnv};

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

fn is_cooked(pty: &Pty) -> bool {
    let flags = pty.termios().local_flags;
    flags.contains(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG)
}

/// What was printed since the other screen was left.
fn after_leaving(pty: &Pty) -> String {
    let raw = String::from_utf8(pty.raw()).unwrap();
    let (before, after) = raw.rsplit_once(LEAVE).unwrap();
    assert!(before.contains(ENTER) && !after.contains('\x1b'), "{raw:?}");
    after.to_owned()
}

#[test]
fn every_signal_that_ends_it_gives_the_terminal_back() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        let env = TestEnv::new();
        let mut pty = dashboard(&env);
        pty.signal(signal);
        assert_eq!(pty.wait_exit(LIMIT), 128 + signal as i32);
        assert_given_back(&pty);
    }
}

#[test]
fn it_goes_with_its_terminal() {
    let env = TestEnv::new();
    let mut pty = dashboard(&env);
    pty.hang_up();
    assert_eq!(pty.wait_exit(LIMIT), 128 + Signal::SIGHUP as i32);
}

#[test]
fn a_panic_of_any_thread_it_needs_gives_the_terminal_back_before_it_is_told() {
    if !cfg!(debug_assertions) {
        return;
    }
    for fault in [
        "watch-main",
        "watch-draw",
        "watch-listener",
        "watch-lookout",
    ] {
        let mut env = TestEnv::new();
        env.set("HARN_FAULT", fault);
        let mut pty = Pty::spawn(env.harn(["watch"]), 24, 80);
        pty.send(b"j");
        assert_eq!(pty.wait_exit(LIMIT), 70, "{fault}");
        let told = after_leaving(&pty);
        assert!(
            told.contains("a fault was ordered") && told.contains("harn: internal error"),
            "{fault}: {told}"
        );
        assert!(is_cooked(&pty), "{fault}");
    }
}

#[test]
fn a_panic_of_a_request_is_a_line_and_the_dashboard_goes_on() {
    if !cfg!(debug_assertions) {
        return;
    }
    let mut env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    env.set("HARN_FAULT", "watch-request");
    let mut pty = dashboard(&env);
    pty.wait_text("1 session,");
    pty.send(b"s");
    pty.wait_text("internal error: panicked at");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_given_back(&pty);
}

/// The dashboard below a shell with job control, that tells when its job has stopped and brings it back at a line.
fn below_a_shell(env: &TestEnv) -> Pty {
    let mut command = env.command("/bin/sh");
    let script = "set -m; \"$HARN\" watch; echo stopped; read line; fg; echo end";
    command.args(["-c", script]).env("HARN", env.bin());
    let pty = Pty::spawn(command, 24, 80);
    pty.wait_text("q quit");
    pty
}

/// Stops it, looks at the terminal, and brings it back.
fn stop_and_go_on(stop: impl FnOnce(&Pty)) {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    let mut pty = below_a_shell(&env);
    pty.wait_text("1 session,");
    stop(&pty);
    pty.wait_text("stopped");
    assert!(after_leaving(&pty).contains("stopped"));
    assert!(is_cooked(&pty));
    pty.send(b"\r");
    pty.wait_raw("a new picture", LIMIT, |bytes| {
        let raw = String::from_utf8_lossy(bytes);
        let (_, since) = raw.rsplit_once("stopped").unwrap();
        since.contains(ENTER) && since.contains("1 session,") && since.contains("q quit")
    });
    pty.send(b"q");
    pty.wait_text("end");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert!(after_leaving(&pty).contains("end"));
    assert!(is_cooked(&pty));
}

#[test]
fn control_z_gives_the_terminal_back_until_the_user_returns() {
    stop_and_go_on(|pty| pty.send(b"\x1a"));
}

#[test]
fn a_stop_from_outside_gives_the_terminal_back_until_it_goes_on() {
    stop_and_go_on(|pty| {
        let job = tcgetpgrp(pty.keyboard()).unwrap();
        kill(job, Signal::SIGTSTP).unwrap();
    });
}

#[test]
fn one_that_is_ended_while_it_is_stopped_leaves_the_terminal_to_the_shell() {
    let env = TestEnv::new();
    let mut pty = below_a_shell(&env);
    let job = tcgetpgrp(pty.keyboard()).unwrap();
    pty.send(b"\x1a");
    pty.wait_text("stopped");
    kill(job, Signal::SIGTERM).unwrap();
    pty.send(b"\r");
    pty.wait_text("end");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert!(after_leaving(&pty).contains("end"));
    assert!(is_cooked(&pty));
}

/// Nobody could let it go on.
#[test]
fn control_z_without_a_shell_above_draws_on() {
    let env = TestEnv::new();
    let mut pty = dashboard(&env);
    pty.wait_text("q quit");
    let stops: [fn(&Pty); 2] = [|pty| pty.send(b"\x1a"), |pty| pty.signal(Signal::SIGTSTP)];
    for stop in stops {
        let before = pty.raw().len();
        stop(&pty);
        pty.wait_raw("a new picture", LIMIT, |raw| {
            let since = String::from_utf8_lossy(&raw[before..]).into_owned();
            since.contains(ENTER) && since.contains("q quit")
        });
    }
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_given_back(&pty);
}
