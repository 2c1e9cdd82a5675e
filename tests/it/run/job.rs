//! The program's place among sessions, groups and shells, and what it inherits.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::hosted::{LIMIT, content, hosted, is_gone, number, wait_until};
use crate::support::{Pty, TestEnv};

/// An interactive bash without anybody's files, its prompt `$ `.
fn shell(env: &TestEnv) -> Pty {
    let mut command = env.command("bash");
    command
        .args(["--norc", "--noprofile", "-i"])
        .env("PS1", "prompt> ");
    let pty = Pty::spawn(command, 30, 100);
    pty.wait_text("prompt> ");
    pty
}

fn run_line(env: &TestEnv, script: &str) -> String {
    format!(
        "{} run --overlay off -- sh -c '{script}'\r",
        env.bin().display()
    )
}

#[test]
fn program_leads_the_foreground_group_of_a_session_that_is_not_its_own() {
    let env = TestEnv::new();
    let script = "set -- $(ps -o pgid= -o tpgid= -o sid= -o ppid= -p $$); echo \"pid:$$;\";
        echo \"group:$1;front:$2;session:$3;parent:$4;tty:$(tty);\"";
    let mut pty = hosted(&env, script);
    let pid = number(&pty, "pid");
    assert_eq!((number(&pty, "group"), number(&pty, "front")), (pid, pid));
    assert_eq!(number(&pty, "session"), number(&pty, "parent"));
    assert!(number(&pty, "session") != pid);
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn job_control_of_a_shell_inside_works() {
    let env = TestEnv::new();
    let args = ["run", "--", "bash", "--norc", "--noprofile", "-i"];
    let mut command = env.harn(args);
    command.env("PS1", "inner> ");
    let mut pty = Pty::spawn(command, 24, 80);
    pty.wait_text("inner> ");
    pty.send(b"echo started-$((1+1)); cat\r");
    pty.wait_text("started-2");
    pty.send(b"to cat\r");
    pty.wait_for("cat's echo", LIMIT, |screen| {
        screen.matches("to cat").count() == 2
    });
    pty.send(b"\x1a");
    pty.wait_text("Stopped");
    pty.send(b"exec sh -c 'exit 5'\r");
    assert_eq!(pty.wait_exit(LIMIT), 5);
}

#[test]
fn stopped_program_gives_the_prompt_back_and_goes_on_with_fg() {
    let env = TestEnv::new();
    let mut pty = shell(&env);
    // A raw program that stops itself on ^Z, as full-screen programs do, and tells of each key.
    let script = "stty raw -echo; echo ready; while :; do key=$(head -c 1); case $key in \
                  z) stty sane; kill -TSTP $$; stty raw -echo; n=$((n+1)); echo again-$n.;; \
                  q) exit 6;; *) printf \"key=%s;\" $key;; esac; done";
    pty.send(run_line(&env, script).as_bytes());
    pty.wait_for("the program", LIMIT, |screen| screen.contains("\nready"));
    pty.send(b"a");
    pty.wait_text("key=a;");
    for round in 1..=2 {
        pty.send(b"z");
        pty.wait_for("the prompt", LIMIT, |screen| {
            screen.trim_end().ends_with("prompt>")
        });
        pty.send(format!("echo round-$((1+{round})); jobs\r").as_bytes());
        pty.wait_for("the job", LIMIT, |screen| {
            screen
                .split_once(&format!("round-{}", 1 + round))
                .is_some_and(|(_, rest)| rest.contains("Stopped"))
        });
        pty.resize(31, 100 + round);
        pty.send(b"fg\r");
        pty.wait_for("the program again", LIMIT, |screen| {
            screen.contains(&format!("again-{round}."))
        });
        pty.send(b"b");
        pty.wait_for("the next key", LIMIT, |screen| {
            screen.matches("key=b;").count() == usize::from(round)
        });
    }
    pty.send(b"q");
    pty.wait_for("the prompt", LIMIT, |screen| {
        screen.trim_end().ends_with("prompt>")
    });
    pty.send(b"exit $?\r");
    assert_eq!(pty.wait_exit(LIMIT), 6);
}

#[test]
fn stop_with_the_key_of_a_cooked_terminal_works_too() {
    let env = TestEnv::new();
    let mut pty = shell(&env);
    pty.send(run_line(&env, "echo ready; read line; echo got:$line; exit 7").as_bytes());
    pty.wait_for("the program", LIMIT, |screen| screen.contains("\nready"));
    pty.send(b"\x1a");
    pty.wait_for("the prompt", LIMIT, |screen| screen.contains("Stopped"));
    pty.send(b"fg\r");
    pty.send(b"word\r");
    pty.wait_for("the prompt", LIMIT, |screen| {
        screen.contains("\ngot:word") && screen.trim_end().ends_with("prompt>")
    });
    pty.send(b"exit $?\r");
    assert_eq!(pty.wait_exit(LIMIT), 7);
}

#[test]
fn script_above_stops_along() {
    let env = TestEnv::new();
    let mut pty = shell(&env);
    let script = env.write(
        "script",
        "\"$HARN\" run -- sh -c 'echo ready; read line; exit 7'\n",
    );
    pty.send(format!("HARN={} sh {}\r", env.bin().display(), script.display()).as_bytes());
    pty.wait_for("the program", LIMIT, |screen| screen.contains("\nready"));
    pty.send(b"\x1a");
    pty.wait_for("the prompt", LIMIT, |screen| screen.contains("Stopped"));
    pty.send(b"fg\r");
    pty.wait_for("fg's line", LIMIT, |screen| screen.contains("> fg"));
    // The line's end is one to a cooked terminal and to a raw one.
    pty.send(b"\n");
    pty.wait_for("the prompt", LIMIT, |screen| {
        screen.trim_end().ends_with("prompt>")
    });
    pty.send(b"exit $?\r");
    assert_eq!(pty.wait_exit(LIMIT), 7);
}

#[test]
fn stop_without_a_shell_above_does_not_brick_the_program() {
    let env = TestEnv::new();
    let mut pty = hosted(
        &env,
        "echo ready; kill -TSTP $$; echo on; read line; exit 8",
    );
    pty.wait_text("on");
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 8);
}

#[test]
fn stopped_program_hears_a_hang_up() {
    let env = TestEnv::new();
    let script = "trap 'echo heard >heard; exit' HUP; echo \"pid:$$;\"; kill -STOP $$; read line";
    let mut pty = hosted(&env, script);
    let pid = number(&pty, "pid");
    pty.hang_up();
    wait_until("the program is gone", LIMIT, || is_gone(pid));
    assert_eq!(content(&env.project().join("heard")), b"heard\n");
}

#[test]
fn blocked_signals_are_the_users() {
    let env = TestEnv::new();
    let block = "sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR2)); exec @ARGV";
    let show = "$now = POSIX::SigSet->new; sigprocmask(SIG_BLOCK, POSIX::SigSet->new, $now);
        print join \" \", grep { $now->ismember($_) } 1..31";
    let mut command = env.command("perl");
    command.args(["-MPOSIX", "-e", block]).arg(env.bin());
    command.args(["run", "--", "perl", "-MPOSIX", "-e", show]);
    let mut pty = Pty::spawn(command, 24, 80);
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.screen(), (Signal::SIGUSR2 as i32).to_string());
}

#[test]
fn raw_mode_comes_back_when_harn_was_stopped_from_outside() {
    let env = TestEnv::new();
    let mut pty = shell(&env);
    let script = "stty raw -echo; echo \"host:$(ps -o ppid= -p $PPID | tr -d \" \");\"; head -c 1";
    pty.send(run_line(&env, script).as_bytes());
    pty.wait_for("the program", LIMIT, |screen| screen.contains("\nhost:"));
    let screen = pty.screen();
    let (_, rest) = screen.split_once("\nhost:").unwrap();
    let host = Pid::from_raw(rest.split_once(';').unwrap().0.parse().unwrap());
    kill(host, Signal::SIGSTOP).unwrap();
    pty.wait_text("Stopped");
    pty.send(b"fg\r");
    // Only a raw terminal passes a key on without a newline.
    wait_until("raw again", LIMIT, || {
        !pty.termios()
            .local_flags
            .contains(nix::sys::termios::LocalFlags::ICANON)
    });
    pty.send(b"K");
    pty.wait_for("the key, then the prompt", LIMIT, |screen| {
        screen.contains("Kprompt> ")
    });
    pty.send(b"exit 9\r");
    assert_eq!(pty.wait_exit(LIMIT), 9);
}

#[test]
fn descriptors_and_ignored_signals_are_inherited_and_others_are_not_changed() {
    let env = TestEnv::new();
    env.write("nine", "from nine\n");
    let mut command = env.command("/bin/sh");
    let inner =
        "cat <&9; kill -USR1 $$; echo alive; ls -l /dev/fd/ | grep -c socket; kill -INT $$; exit 1";
    let script = "trap '' USR1; exec \"$0\" run --overlay off -- sh -c \"$1\" 9<nine";
    command.args(["-c", script]).arg(env.bin()).arg(inner);
    let mut pty = Pty::spawn(command, 24, 80);
    assert_eq!(pty.wait_exit(LIMIT), 130);
    assert_eq!(pty.screen(), "from nine\nalive\n0");
}

#[test]
fn standard_error_stays_a_file() {
    let env = TestEnv::new();
    let mut command = env.command("/bin/sh");
    let script = "exec \"$0\" run --overlay off -- sh -c 'echo out; echo err >&2' 2>errors";
    command.args(["-c", script]).arg(env.bin());
    let mut pty = Pty::spawn(command, 24, 80);
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.raw(), b"out\r\n");
    assert_eq!(content(&env.project().join("errors")), b"err\n");
}

#[test]
fn environment_and_directory_are_the_users() {
    let mut env = TestEnv::new();
    env.set("KEPT", "value");
    let mut pty = hosted(&env, "umask; echo $TERM $KEPT; pwd");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    let shown = pty.screen();
    let expected = format!("xterm-256color value\n{}", env.project().display());
    assert!(shown.ends_with(&expected), "{shown}");
}
