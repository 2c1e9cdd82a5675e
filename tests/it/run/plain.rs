//! Without a terminal on both sides there is no PTY: the program has harn's own descriptors.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::hosted::{LIMIT, content, hosting, wait_until};
use crate::support::{Output, Pty, TestEnv};

#[test]
fn pipes_carry_the_same_bytes_and_the_same_status() {
    let env = TestEnv::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let output = env.run(hosting(&env, "cat; echo err >&2; exit 5"), &bytes);
    let expected = Output {
        stdout: bytes,
        stderr: b"err\n".to_vec(),
        code: 5,
    };
    assert!(output == expected, "{} {}", output.code, output.err());
}

#[test]
fn input_from_a_file_and_output_to_a_pipe_need_no_pty() {
    let env = TestEnv::new();
    env.write("text", "of a file\n");
    for script in [
        "exec \"$0\" run -- cat <text",
        "\"$0\" run -- cat text | cat",
    ] {
        let mut command = env.command("/bin/sh");
        command.args(["-c", script]).arg(env.bin());
        let mut pty = Pty::spawn(command, 24, 80);
        assert_eq!(pty.wait_exit(LIMIT), 0);
        assert_eq!(pty.screen(), "of a file");
    }
}

#[test]
fn death_by_a_signal_is_128_and_its_number() {
    let env = TestEnv::new();
    assert_eq!(env.run(hosting(&env, "kill -SEGV $$"), b"").code, 139);
    assert_eq!(env.run(hosting(&env, "kill -PIPE $$"), b"").code, 141);
}

#[test]
fn missing_and_unusable_programs_are_told_apart() {
    let env = TestEnv::new();
    let output = env.run(env.harn(["run", "--", "no-such-program"]), b"");
    let said =
        "harn: no-such-program: not found\nhint: check the spelling, or give the program's path\n";
    assert_eq!((output.code, output.err().as_str()), (127, said));
    assert_eq!(env.run(env.harn(["run", "--", "/"]), b"").code, 126);
}

#[test]
fn ending_signals_reach_the_program() {
    let env = TestEnv::new();
    for signal in [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
    ] {
        let script = format!(
            "trap 'echo heard >heard; exit 3' {}; echo up; read line",
            signal as i32
        );
        let mut command = hosting(&env, &script);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Kept open: waiting for a child closes what it still holds of it.
        let _keyboard = child.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "up\n");
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (Some(3), None));
        assert_eq!(content(&env.project().join("heard")), b"heard\n");
        std::fs::remove_file(env.project().join("heard")).unwrap();
    }
}

#[test]
fn key_at_a_pipeline_reaches_the_program_once() {
    let env = TestEnv::new();
    let mut command = env.command("/bin/sh");
    let inner =
        "trap 'echo heard >>heard' INT; echo up; until read line; do :; done; echo end >>heard";
    let script = "trap : INT; \"$0\" run -- sh -c \"$1\" | cat";
    command.args(["-c", script]).arg(env.bin()).arg(inner);
    let pty = Pty::spawn(command, 24, 80);
    pty.wait_text("up");
    pty.send(b"\x03");
    let heard = || content(&env.project().join("heard"));
    wait_until("the key is heard", LIMIT, || {
        heard().starts_with(b"heard\n")
    });
    pty.send(b"\r");
    wait_until("the end", LIMIT, || heard().ends_with(b"end\n"));
    assert_eq!(heard(), b"heard\nend\n");
}
