//! The overlay as a user sees it: the last row is harn's, all above it is the program's, and nothing of it stays behind.

use std::fs;
use std::path::Path;

use harn::terminal::{DEFAULT_PREFIX, Prefix};
use nix::sys::signal::Signal;

use super::hosted::{LIMIT, number, wait_until};
use crate::support::{Pty, TestEnv};

const ROWS: u16 = 12;

fn shown(env: &TestEnv, how: &str, script: &str) -> Pty {
    let command = env.harn(["run", "--overlay", how, "--", "/bin/sh", "-c", script]);
    Pty::spawn(command, ROWS, 60)
}

fn last_row(screen: &str) -> &str {
    screen.split('\n').nth(usize::from(ROWS) - 1).unwrap_or("")
}

fn wait_row(pty: &Pty, text: &str) {
    pty.wait_for(&format!("{text:?} in the last row"), LIMIT, |screen| {
        last_row(screen).contains(text)
    });
}

/// Prints its size when asked to, and ends at a word.
const SIZE: &str = "stty -echo; trap 'echo \"rows:$(stty size | cut -d\\  -f1);\"' WINCH; echo \"start:$(stty size | cut -d\\  -f1);\"; \
    while :; do read -r line; case $line in end) exit 0;; esac; done";

#[test]
fn program_has_a_row_less_and_its_output_scrolls_above_the_row() {
    let env = TestEnv::new();
    let script = "stty size; seq 1 40; printf '\\033[r'; seq 41 60; echo shown; read -r line";
    let mut pty = shown(&env, "row", script);
    pty.wait_text("shown");
    wait_row(&pty, "sh | no adapter");
    let screen = pty.screen();
    let rows: Vec<&str> = screen.split('\n').collect();
    assert_eq!(rows[8..10], ["60", "shown"], "{screen}");
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(raw.contains("11 60\r\n"), "{raw:?}");
    assert!(!pty.screen().contains("no adapter"), "{}", pty.screen());
    // The whole screen scrolls again.
    assert!(
        raw.trim_end()
            .ends_with("\x1b[r\x1b[12;1H\x1b[0m\x1b[2K\x1b8"),
        "{raw:?}"
    );
}

#[test]
fn full_screen_program_and_resets_leave_the_row_alone() {
    let env = TestEnv::new();
    let script = "printf '\\033[?1049h\\033[2J\\033[99;1Hbottom'; sleep 0.1; printf '\\033c\\033[2J\\033[Htop'; read -r line";
    let pty = shown(&env, "row", script);
    pty.wait_text("top");
    wait_row(&pty, "sh | no adapter");
}

#[test]
fn prefix_opens_the_menu_hides_the_row_and_goes_through_when_pressed_twice() {
    let env = TestEnv::new();
    let mut pty = shown(&env, "row", SIZE);
    assert_eq!(number(&pty, "start"), 11);
    pty.send(b"\x1e");
    wait_row(&pty, "k checkpoint");
    pty.send(b"?");
    wait_row(&pty, "one key");
    pty.send(b"\x1eo");
    assert_eq!(number(&pty, "rows"), 12);
    pty.send(b"\x1eo");
    pty.wait_text("rows:11;");
    wait_row(&pty, "sh | no adapter");
    pty.send(b"\x1ek");
    wait_row(&pty, "no session");
    pty.send(b"end\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);

    let pty = shown(&env, "row", "cat -v");
    wait_row(&pty, "sh | no adapter");
    pty.send(b"a\x1e\x1eb\r");
    pty.wait_for("the key itself", LIMIT, |screen| {
        screen.contains("a^^b\na^^b")
    });
}

#[test]
fn low_terminal_is_all_the_programs_until_it_grows() {
    let env = TestEnv::new();
    let command = env.harn(["run", "--overlay", "row", "--", "/bin/sh", "-c", SIZE]);
    let mut pty = Pty::spawn(command, 7, 60);
    assert_eq!(number(&pty, "start"), 7);
    pty.resize(ROWS, 60);
    assert_eq!(number(&pty, "rows"), 11);
    wait_row(&pty, "sh | no adapter");
    pty.resize(6, 60);
    pty.wait_text("rows:6;");
    pty.send(b"end\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn title_carries_the_same_words_and_takes_no_row() {
    let env = TestEnv::new();
    let pty = shown(&env, "title", "stty size; read -r line");
    pty.wait_text("12 60");
    pty.wait_raw("the title", LIMIT, |raw| {
        String::from_utf8_lossy(raw).contains("\x1b]0;sh | no adapter\x07")
    });
}

#[test]
fn unknown_program_has_no_overlay_by_itself_and_no_color_is_none() {
    let mut env = TestEnv::new();
    let command = env.harn(["run", "--", "/bin/sh", "-c", "stty size"]);
    let mut pty = Pty::spawn(command, ROWS, 60);
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.raw(), b"12 60\r\n");
    env.set("NO_COLOR", "1");
    let mut pty = shown(&env, "row", "echo done; read -r line");
    wait_row(&pty, "sh | no adapter");
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(raw.contains("\x1b[0msh | no adapter\x1b[K\x1b8"), "{raw:?}");
}

#[test]
fn stop_undoes_what_is_on_and_going_on_sets_it_again() {
    let env = TestEnv::new();
    let script = "printf '\\033[?1049h\\033[?1003h\\033[>5upid:%s;' $$; read -r line";
    let mut pty = shown(&env, "off", script);
    let pid = nix::unistd::Pid::from_raw(number(&pty, "pid"));
    let count = |part: &[u8]| {
        let raw = pty.raw();
        raw.windows(part.len())
            .filter(|window| *window == part)
            .count()
    };
    nix::sys::signal::kill(pid, Signal::SIGTSTP).unwrap();
    wait_until("modes undone", LIMIT, || {
        count(b"\x1b[<1u\x1b[?1049l\x1b[?1003l") == 1
    });
    pty.signal(Signal::SIGCONT);
    wait_until("modes set again", LIMIT, || {
        count(b"\x1b[?1049h\x1b[>5u\x1b[?1003h") == 1
    });
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

/// What a client binds, as recorded in its adapter.
#[test]
fn default_prefix_is_bound_by_no_adapters_client() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    let mut lists = 0;
    for adapter in fs::read_dir(root).unwrap() {
        let Ok(text) = fs::read_to_string(adapter.unwrap().path().join("keys.toml")) else {
            continue;
        };
        lists += 1;
        let list: toml::Table = text.parse().unwrap();
        let bound: Vec<&str> = list["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key.as_str().unwrap())
            .collect();
        assert!(bound.len() > 20, "{bound:?}");
        let aliases = [DEFAULT_PREFIX, "ctrl+6", "ctrl+shift+6"];
        assert!(!bound.iter().any(|key| aliases.contains(key)), "{bound:?}");
    }
    assert!(lists > 0);
    DEFAULT_PREFIX.parse::<Prefix>().unwrap();
}
