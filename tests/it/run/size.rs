//! The program sees the size of the user's terminal, at once and to the last change.

use super::hosted::{LIMIT, hosted, hosting};
use crate::support::{Pty, Size, TestEnv};

/// Prints its size at start, at each change, and when asked with a line.
const SHOWS_SIZE: &str = "show() { echo \"size:$(stty size);\"; }; trap show WINCH; show
    while :; do read line && { show; echo asked; }; done";

#[test]
fn size_is_right_before_the_program_starts() {
    let env = TestEnv::new();
    let mut pty = Pty::spawn(hosting(&env, "stty size"), 31, 97);
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.raw(), b"31 97\r\n");
}

#[test]
fn one_change_arrives_by_itself() {
    let env = TestEnv::new();
    let pty = hosted(&env, SHOWS_SIZE);
    pty.wait_text("size:24 80;");
    pty.resize(31, 97);
    pty.wait_text("size:31 97;");
}

#[test]
fn last_change_of_a_storm_wins() {
    let env = TestEnv::new();
    let pty = hosted(&env, SHOWS_SIZE);
    pty.wait_text("size:24 80;");
    for step in 0..60 {
        pty.resize(25 + step % 20, 80 + step);
    }
    pty.resize(44, 132);
    pty.wait_text("size:44 132;");
    pty.send(b"\r");
    pty.wait_for("the same size again", LIMIT, |screen| {
        screen.trim_end().ends_with("size:44 132;\nasked")
    });
}

#[test]
fn terminal_without_a_size_counts_as_80_by_24() {
    let env = TestEnv::new();
    let size = Size {
        rows: 0,
        cols: 0,
        width: 0,
        height: 0,
    };
    let mut pty = Pty::spawn_sized(hosting(&env, "stty size"), size);
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.raw(), b"24 80\r\n");
}

#[test]
fn pixels_are_passed_on() {
    let env = TestEnv::new();
    let script = format!(
        "exec perl -e '$w = \"\\0\" x 8; ioctl(STDIN, {}, $w); print join \" \", unpack(\"S4\", $w)'",
        nix::libc::TIOCGWINSZ
    );
    let size = Size {
        rows: 20,
        cols: 70,
        width: 701,
        height: 403,
    };
    let mut pty = Pty::spawn_sized(hosting(&env, &script), size);
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.raw(), b"20 70 701 403");
}
