//! The support proves itself, and so each binary that takes it in uses all of it.

use std::time::Duration;

use nix::sys::signal::Signal;
use nix::sys::termios::{LocalFlags, Termios};

use super::{Output, Pty, Size, TestEnv};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn environment_is_cleared_and_its_places_are_its_own() {
    let mut env = TestEnv::new();
    env.set("EXTRA", "more");
    let mut command = env.command("/bin/sh");
    command.args(["-c", "cat; echo $HOME $XDG_STATE_HOME $XDG_CONFIG_HOME $XDG_RUNTIME_DIR $EXTRA; pwd; env | grep -c CARGO; exit 3"]);
    let output = env.run(command, b"input\n");
    let expected = format!(
        "input\n{} {} {} {} more\n{}\n0\n",
        env.home().display(),
        env.state().display(),
        env.config().display(),
        env.runtime().display(),
        env.project().display()
    );
    assert_eq!(
        output,
        Output {
            stdout: expected.into_bytes(),
            stderr: Vec::new(),
            code: 3
        }
    );
    assert!(env.home().starts_with(env.root()));
}

#[test]
fn repository_has_the_same_first_commit_each_time() {
    let (one, two) = (TestEnv::new(), TestEnv::new());
    assert_eq!(one.git_init(), two.git_init());
    assert_eq!(one.write("a/b.txt", "text"), one.project().join("a/b.txt"));
    assert_eq!(one.git(["status", "--porcelain"]), "?? a/");
}

#[test]
fn binary_runs_in_the_environment() {
    let env = TestEnv::new();
    assert!(env.bin().is_absolute());
    let output = env.run(env.harn(["--no-such-option"]), b"");
    assert_eq!(
        (output.out(), output.err().is_empty()),
        (String::new(), output.code == 0)
    );
}

#[test]
fn terminal_shows_types_and_resizes() {
    let env = TestEnv::new();
    let mut command = env.command("/bin/sh");
    command.args([
        "-c",
        "stty size; read line; echo \"got:$line\"; stty size; exit 3",
    ]);
    let mut pty = Pty::spawn(command, 24, 80);
    pty.wait_text("24 80");
    pty.resize(31, 97);
    pty.resize_sized(Size {
        rows: 30,
        cols: 90,
        width: 0,
        height: 0,
    });
    let echoes = |termios: Termios| termios.local_flags.contains(LocalFlags::ECHO);
    assert!(echoes(pty.termios()));
    pty.send(b"word\r");
    pty.wait_text("got:word");
    pty.wait_raw("the new size", LIMIT, |bytes| {
        String::from_utf8_lossy(bytes).contains("30 90")
    });
    assert_eq!(pty.wait_exit(LIMIT), 3);
    assert!(pty.screen().contains("got:word"));
    assert!(pty.raw().ends_with(b"30 90\r\n"));
}

#[test]
fn stalled_terminal_holds_the_program_until_it_reads_again() {
    let env = TestEnv::new();
    let mut command = env.command("/bin/sh");
    command.args([
        "-c",
        "echo ready; head -c 1000000 /dev/zero; echo; echo done; exec sleep 60",
    ]);
    let mut pty = Pty::spawn(command, 24, 80);
    pty.wait_for("a first line", LIMIT, |screen| screen.contains("ready"));
    pty.stall();
    pty.unstall();
    pty.wait_text("done");
    pty.signal(Signal::SIGKILL);
    assert_eq!(pty.wait_exit(LIMIT), 137);
}

#[test]
fn hang_up_ends_a_program_that_does_not_object() {
    let env = TestEnv::new();
    let mut pty = Pty::spawn(env.command("/bin/cat"), 24, 80);
    assert!(pty.pid().as_raw() > 0);
    pty.hang_up();
    assert_eq!(pty.wait_exit(LIMIT), 129);
}
