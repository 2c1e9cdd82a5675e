//! A harness that runs no hook until its user has vouched for it: what harn says, and when.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use crate::support::{Output, Pty, TestEnv};

const LIMIT: Duration = Duration::from_secs(20);
const NOT_SEEN: &str = "harn: hooks not seen: open /hooks in Codex and trust harn's";

/// Plays one turn and reports its state; `hook` among its arguments: the hooks of the session speak.
const CLIENT: &str = r#"#!/bin/sh
case "$1" in
--version) echo 'codex-cli 0.171.0'; exit 0 ;;
--help) cat "$(dirname "$0")/help"; exit 0 ;;
esac
here=$(dirname "$0")
printf '%s\n' "$@" >"$here/args"
for last in "$@"; do :; done
say() { printf '\033]7501;state=%s:app=codex\033\\' "$1"; }
say idle
case "$last" in
hook) printf '{"session_id":"s1","cwd":"%s","source":"startup"}' "$PWD" | "$here/harn" hook codex SessionStart ;;
esac
case "$last" in
quit) ;;
*) say working; say done ;;
esac
echo "after the turn"
case "$last" in
wait) read -r _ ;;
fail) exit 1 ;;
esac
say clear
exit 0
"#;

fn desk(help: &str) -> TestEnv {
    let env = TestEnv::new();
    let program = env.write("bin/codex", CLIENT);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    env.write("bin/help", help);
    std::os::unix::fs::symlink(env.bin(), env.project().join("bin/harn")).unwrap();
    env
}

fn line(env: &TestEnv, options: &[&str], args: &[&str]) -> std::process::Command {
    let program = env.project().join("bin/codex");
    let program = program.to_str().unwrap();
    env.harn([&["run"], options, &["--", program], args].concat())
}

/// What a person reads on the screen when the client has gone.
fn left_on_screen(env: &TestEnv, args: &[&str]) -> String {
    let mut pty = Pty::spawn(line(env, &["--overlay", "off"], args), 24, 100);
    assert_eq!(pty.wait_exit(LIMIT), 0);
    pty.screen()
}

fn piped(env: &TestEnv, args: &[&str]) -> Output {
    env.run(line(env, &[], args), b"")
}

#[test]
fn hooks_that_nobody_trusted_are_told_when_the_client_has_gone() {
    let env = desk("--no-daemon");
    assert!(left_on_screen(&env, &["now"]).contains(NOT_SEEN));
}

#[test]
fn hooks_that_spoke_and_sessions_without_a_turn_are_passed_over_in_silence() {
    let env = desk("--no-daemon");
    for args in [["hook"], ["quit"]] {
        let screen = left_on_screen(&env, &args);
        assert_eq!(screen.trim_end(), "after the turn", "{args:?}");
    }
}

#[test]
fn hooks_not_seen_are_told_by_the_other_commands_while_the_client_runs() {
    let env = desk("--no-daemon");
    let mut pty = Pty::spawn(line(&env, &[], &["wait"]), 24, 100);
    pty.wait_text("after the turn");
    pty.wait_text("! hooks not seen: open /hooks in Codex");
    let told = || {
        env.run(env.harn(["context", "--section", "peers"]), b"")
            .out()
    };
    let mut peers = told();
    for _ in 0..200 {
        if peers.contains("hooks not seen") {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(20));
        peers = told();
    }
    assert!(
        peers.contains("hooks not seen: open /hooks in Codex"),
        "{peers}"
    );
    assert!(
        peers.contains("the run does not own its session"),
        "{peers}"
    );
    let doctor = env.run(env.harn(["doctor"]), b"");
    assert_eq!(doctor.code, 1, "{}", doctor.out());
    assert!(
        doctor
            .out()
            .contains("hooks not seen: open /hooks in Codex and trust harn's"),
        "{}",
        doctor.out()
    );
    let status = env.run(env.harn(["context", "status"]), b"");
    assert_eq!(status.code, 64);
    assert!(status.err().contains("hooks not seen"), "{}", status.err());
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert!(pty.screen().contains(NOT_SEEN));
}

#[test]
fn an_unattended_run_that_ended_well_had_a_turn() {
    let env = desk("--no-daemon");
    let told = piped(&env, &["exec", "now"]);
    assert_eq!((told.err(), told.code), (format!("{NOT_SEEN}\n"), 0));
    for args in [["exec", "fail"], ["exec", "hook"], ["resume", "now"]] {
        assert_eq!(piped(&env, &args).err(), "", "{args:?}");
    }
}

#[test]
fn a_leading_flag_is_given_only_to_a_program_that_lists_it_and_without_hooks_too() {
    for (help, first) in [("  --no-daemon\n", "--no-daemon"), ("  --other\n", "-c")] {
        let env = desk(help);
        let args = || fs::read_to_string(env.project().join("bin/args")).unwrap();
        piped(&env, &["now"]);
        assert_eq!(args().lines().next(), Some(first));
        assert_eq!(args().lines().last(), Some("now"));
        env.run(line(&env, &["--no-hooks"], &["now"]), b"");
        let bare = help.trim();
        let expected = if bare == "--no-daemon" {
            "--no-daemon\nnow\n"
        } else {
            "now\n"
        };
        assert_eq!(args(), expected);
    }
}
