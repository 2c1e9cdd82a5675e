//! Every way out of the demo: the terminal is as it was, the scratch directory is gone.

use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};

use super::stage::{agent, assert_intact, demo, scratches, wait_status, waiting};
use crate::run::hosted::{LIMIT, content, is_gone, wait_until};
use crate::support::{Pty, TestEnv};

fn assert_swept(env: &TestEnv) {
    assert_eq!(scratches(env), Vec::<PathBuf>::new());
}

#[test]
fn control_c_twice_leaves() {
    let env = TestEnv::new();
    let mut pty = waiting(&env, &[]);
    pty.send(b"\x03");
    pty.wait_text("Press Ctrl-C again to exit");
    pty.send(b"\x03");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_intact(&env, &pty);
    assert_swept(&env);
}

#[test]
fn a_script_chooses_the_exit_code() {
    let env = TestEnv::new();
    let script = env.write("script", "expect bye\nexit 37\n");
    let mut pty = waiting(&env, &["--script", script.to_str().unwrap()]);
    pty.send(b"bye");
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 37);
    assert_intact(&env, &pty);
    assert_swept(&env);
}

#[test]
fn a_terminating_signal_ends_it_while_it_plays() {
    let env = TestEnv::new();
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let mut pty = Pty::spawn(demo(&env, &[]), 30, 100);
        pty.wait_text("> Add a farewell");
        pty.signal(signal);
        assert_eq!(pty.wait_exit(LIMIT), code);
        assert_intact(&env, &pty);
        assert_swept(&env);
    }
}

#[test]
fn a_closed_terminal_ends_it() {
    let env = TestEnv::new();
    let mut pty = Pty::spawn(demo(&env, &[]), 30, 100);
    pty.wait_text("> Add a farewell");
    pty.hang_up();
    assert_eq!(pty.wait_exit(LIMIT), 129);
    wait_until("the scratch directory goes", LIMIT, || {
        scratches(&env).is_empty()
    });
}

#[test]
fn a_second_signal_does_not_cut_the_end_off() {
    let env = TestEnv::new();
    let began = env.root().join("began");
    let again = env.root().join("again");
    let settings = format!(
        r#"{{"hooks":{{"SessionEnd":[{{"hooks":[{{"type":"command","command":
        "echo >{}; while ! test -e {}; do :; done"}}]}}]}}}}"#,
        began.display(),
        again.display()
    );
    let mut pty = waiting(&env, &["--settings", &settings]);
    pty.signal(Signal::SIGHUP);
    wait_until("the end begins", LIMIT, || began.exists());
    pty.signal(Signal::SIGHUP);
    std::fs::File::create(&again).unwrap();
    assert_eq!(pty.wait_exit(LIMIT), 129);
    assert_swept(&env);
}

#[test]
fn hooks_that_never_end_do_not_hold_the_end_up() {
    let env = TestEnv::new();
    let began = env.root().join("began");
    let hold = format!(
        r#"{{"type":"command","command":"trap '' HUP TERM; echo $$ >>{}; sleep 1000"}}"#,
        began.display()
    );
    // One after the other they would need longer than harn waits before it kills.
    let hooks = [hold.as_str(); 6].join(",");
    let left_behind = r#"{"type":"command","command":"setsid sh -c 'sleep 3' & exit 0"}"#;
    let settings = format!(r#"{{"hooks":{{"SessionEnd":[{{"hooks":[{hooks},{left_behind}]}}]}}}}"#);
    let mut pty = waiting(&env, &["--settings", &settings]);
    pty.signal(Signal::SIGHUP);
    assert_eq!(pty.wait_exit(LIMIT), 129);
    assert_swept(&env);
    let pids = String::from_utf8(content(&began)).unwrap();
    let pids: Vec<i32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 6);
    assert!(pids.into_iter().all(is_gone));
}

#[test]
fn a_hook_that_still_writes_at_the_end_leaves_nothing_behind() {
    let env = TestEnv::new();
    let told = env.root().join("told");
    let settings = format!(
        r#"{{"hooks":{{"UserPromptSubmit":[{{"hooks":[{{"type":"command","command":
        "trap '' HUP TERM; echo $$ >{}; while :; do mkdir -p late; date >late/$$; done 2>&-"}}]}}]}}}}"#,
        told.display()
    );
    let mut pty = waiting(&env, &["--settings", &settings]);
    pty.send(b"hello\r");
    let pid = || -> Option<i32> { String::from_utf8(content(&told)).ok()?.trim().parse().ok() };
    wait_until("the hook runs", LIMIT, || pid().is_some());
    pty.signal(Signal::SIGTERM);
    assert_eq!(pty.wait_exit(LIMIT), 143);
    assert_swept(&env);
    assert!(is_gone(pid().unwrap()));
}

#[test]
fn a_killed_agent_leaves_the_terminal_to_harn_and_its_scratch_to_the_next() {
    let env = TestEnv::new();
    let mut pty = Pty::spawn(demo(&env, &[]), 30, 100);
    pty.wait_text("> Add a farewell");
    kill(agent(&env), Signal::SIGKILL).unwrap();
    assert_eq!(pty.wait_exit(LIMIT), 137);
    assert_intact(&env, &pty);
    let left = scratches(&env);
    assert_eq!(left.len(), 1);
    let next = waiting(&env, &[]);
    next.wait_text("Demo agent");
    let now = scratches(&env);
    assert_eq!(now.len(), 1);
    assert_ne!(now, left);
}

#[test]
fn a_living_demo_is_not_swept_by_another() {
    let env = TestEnv::new();
    let _one = waiting(&env, &[]);
    let _two = waiting(&env, &[]);
    assert_eq!(scratches(&env).len(), 2);
}

#[test]
fn control_z_gives_the_terminal_back_until_the_user_returns() {
    let env = TestEnv::new();
    let command = {
        let mut command = env.command("/bin/sh");
        command.args([
            "-c",
            "set -m; \"$HARN\" run -- demo --no-story; echo stopped; read x; fg; echo end",
        ]);
        command.env("HARN", env.bin());
        command
    };
    let pty = Pty::spawn(command, 30, 100);
    pty.wait_text("❯");
    pty.send(b"\x1a");
    pty.wait_text("stopped");
    assert_intact(&env, &pty);
    pty.send(b"\r");
    pty.wait_raw("a redraw", LIMIT, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        text.rsplit("stopped")
            .next()
            .is_some_and(|rest| rest.contains('❯'))
    });
    wait_status(&env, "idle");
    pty.send(b"\x03\x03");
    pty.wait_text("end");
}
