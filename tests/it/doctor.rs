//! `harn doctor --terminal`: the way back for a terminal whose program and host were both killed.

use std::time::Duration;

use nix::sys::termios::{LocalFlags, OutputFlags};

use crate::support::{Pty, TestEnv};

#[test]
fn broken_terminal_is_put_right() {
    let env = TestEnv::new();
    let harn = env!("CARGO_BIN_EXE_harn");
    let script = format!(
        "stty raw -echo; printf '\\033[?1049h\\033[?1003h\\033[?25l\\033[>1u\\033[2;5r\\033(0'; {harn} doctor --terminal; echo status:$?"
    );
    let mut command = env.command("/bin/sh");
    command.args(["-c", &script]);
    let mut pty = Pty::spawn(command, 24, 80);
    assert_eq!(pty.wait_exit(Duration::from_secs(20)), 0);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    let reset = raw.rsplit_once("\x1b(0").unwrap().1;
    for part in [
        "\x1b[<99u\x1b[=0u\x1b[?1049l\x1b[<99u",
        "\x1b[?1003l",
        "\x1b[?25h",
        "\x1b[r",
        "\x1b(B",
        "\x1b[0m",
        "\x1b[>4;0m",
        // Line feeds return the carriage again.
        "status:0\r\n",
    ] {
        assert!(reset.contains(part), "{part:?} in {reset:?}");
    }
    let modes = pty.termios();
    assert!(
        modes
            .local_flags
            .contains(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG)
    );
    assert!(
        modes
            .output_flags
            .contains(OutputFlags::OPOST | OutputFlags::ONLCR)
    );
}
