//! Every way out: the exit code is the program's own, the terminal is as it was, and nothing is left running.

use nix::sys::signal::{Signal, kill};
use nix::sys::termios::Termios;
use nix::unistd::Pid;

use std::time::Duration;

use super::hosted::{LIMIT, content, hosted, hosting, is_gone, number, wait_until};
use crate::support::{Pty, TestEnv};

/// A closed terminal or a killed harn has to have its program gone in this time.
const GONE_LIMIT: Duration = Duration::from_secs(2);

/// Raw, tells its process, waits for keys that it ignores.
const WAITS: &str = "stty raw -echo; printf \"pid:$$;\"; exec cat >/dev/null";
/// The same, deaf to everything but KILL.
const DEAF: &str =
    "trap '' HUP TERM INT QUIT; stty raw -echo; printf \"pid:$$;\"; exec cat >/dev/null";

/// The modes as numbers: `Termios` itself compares padding on some systems.
fn modes(termios: &Termios) -> [u64; 4] {
    [
        termios.input_flags.bits().into(),
        termios.output_flags.bits().into(),
        termios.control_flags.bits().into(),
        termios.local_flags.bits().into(),
    ]
}

/// The modes of a terminal nobody has touched.
fn fresh(env: &TestEnv) -> [u64; 4] {
    modes(&Pty::spawn(env.command("/bin/cat"), 24, 80).termios())
}

#[test]
fn exit_code_is_the_programs_own() {
    let env = TestEnv::new();
    for code in [0, 1, 37, 64, 126, 255] {
        assert_eq!(hosted(&env, &format!("exit {code}")).wait_exit(LIMIT), code);
    }
}

#[test]
fn death_by_a_signal_is_128_and_its_number() {
    let env = TestEnv::new();
    for signal in [
        Signal::SIGTERM,
        Signal::SIGSEGV,
        Signal::SIGKILL,
        Signal::SIGPIPE,
    ] {
        let number = signal as i32;
        let code = hosted(&env, &format!("kill -{number} $$; exit 1")).wait_exit(LIMIT);
        assert_eq!(code, 128 + number);
    }
}

#[test]
fn missing_program_is_127_and_said_on_a_sane_terminal() {
    let env = TestEnv::new();
    let before = fresh(&env);
    let mut pty = Pty::spawn(env.harn(["run", "--", "no-such-program"]), 24, 80);
    assert_eq!(pty.wait_exit(LIMIT), 127);
    let said = "harn: no-such-program: not found\r\nhint: check the spelling, or give the program's path\r\n";
    assert_eq!(String::from_utf8(pty.raw()).unwrap(), said);
    assert_eq!(modes(&pty.termios()), before);
}

#[test]
fn program_that_cannot_run_is_126_with_the_reason() {
    let env = TestEnv::new();
    let plain = env.write("plain", "no program");
    let broken = env.write("broken", "#!/no/such/interpreter\n");
    nix::sys::stat::fchmodat(
        nix::fcntl::AT_FDCWD,
        &broken,
        nix::sys::stat::Mode::S_IRWXU,
        nix::sys::stat::FchmodatFlags::FollowSymlink,
    )
    .unwrap();
    let cases = [
        (plain.as_path(), "Permission denied"),
        (broken.as_path(), "its interpreter is missing"),
        (env.project(), "Permission denied"),
    ];
    for (program, reason) in cases {
        let args = ["run".as_ref(), "--".as_ref(), program.as_os_str()];
        let mut pty = Pty::spawn(env.harn(args), 24, 200);
        assert_eq!(pty.wait_exit(LIMIT), 126);
        let said = format!(
            "harn: {}: cannot be executed: {reason}\r\n",
            program.display()
        );
        assert!(pty.raw().starts_with(said.as_bytes()), "{}", pty.screen());
    }
}

#[test]
fn terminal_is_restored_after_a_normal_exit() {
    let env = TestEnv::new();
    let mut pty = hosted(&env, "stty raw -echo; exit 0");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(modes(&pty.termios()), fresh(&env));
}

#[test]
fn terminal_is_restored_when_the_program_is_killed() {
    let env = TestEnv::new();
    let mut pty = hosted(&env, WAITS);
    kill(Pid::from_raw(number(&pty, "pid")), Signal::SIGKILL).unwrap();
    assert_eq!(pty.wait_exit(LIMIT), 137);
    assert_eq!(modes(&pty.termios()), fresh(&env));
}

#[test]
fn ending_signals_go_to_the_program_and_the_terminal_is_restored() {
    let env = TestEnv::new();
    for signal in [
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
        Signal::SIGTERM,
    ] {
        let mut pty = hosted(&env, WAITS);
        number(&pty, "pid");
        pty.signal(signal);
        assert_eq!(pty.wait_exit(LIMIT), 128 + signal as i32);
        assert_eq!(modes(&pty.termios()), fresh(&env));
    }
}

#[test]
fn deaf_program_is_killed_in_the_end() {
    let env = TestEnv::new();
    let mut pty = hosted(&env, DEAF);
    let pid = number(&pty, "pid");
    pty.signal(Signal::SIGTERM);
    wait_until("the program is gone", GONE_LIMIT, || is_gone(pid));
    assert_eq!(pty.wait_exit(LIMIT), 137);
    assert_eq!(modes(&pty.termios()), fresh(&env));
}

#[test]
fn whole_group_of_the_program_hears_an_ending_signal() {
    let env = TestEnv::new();
    let script = "(trap '' HUP; trap 'echo heard >heard; exit' TERM; echo up >up; while :; do sleep 1; done) &
        stty raw -echo; printf \"pid:$$;\"; exec cat";
    let pty = hosted(&env, script);
    wait_until("both run", LIMIT, || {
        content(&env.project().join("up")) == b"up\n"
    });
    number(&pty, "pid");
    pty.signal(Signal::SIGTERM);
    wait_until("the second heard", LIMIT, || {
        content(&env.project().join("heard")) == b"heard\n"
    });
}

#[test]
fn program_is_gone_after_a_hang_up() {
    let env = TestEnv::new();
    for script in [WAITS, DEAF] {
        let mut pty = hosted(&env, script);
        let pid = number(&pty, "pid");
        pty.hang_up();
        wait_until("the program is gone", GONE_LIMIT, || is_gone(pid));
        wait_until("harn is gone", GONE_LIMIT, || pty.has_ended());
    }
}

#[test]
fn program_is_gone_after_harn_was_killed() {
    let env = TestEnv::new();
    for script in [WAITS, DEAF] {
        let pty = hosted(&env, script);
        let pid = number(&pty, "pid");
        pty.signal(Signal::SIGKILL);
        wait_until("the program is gone", GONE_LIMIT, || is_gone(pid));
    }
}

#[test]
fn terminal_is_restored_when_harn_is_killed() {
    let env = TestEnv::new();
    let before = fresh(&env);
    let pty = hosted(&env, WAITS);
    number(&pty, "pid");
    pty.signal(Signal::SIGKILL);
    wait_until("the modes are back", GONE_LIMIT, || {
        modes(&pty.termios()) == before
    });
}

#[test]
fn killed_launcher_is_said_and_the_program_does_not_stay() {
    let env = TestEnv::new();
    let before = fresh(&env);
    let script = "stty raw -echo; printf \"pid:$$;leader:$PPID;\"; exec cat";
    let mut pty = hosted(&env, script);
    let (pid, leader) = (number(&pty, "pid"), number(&pty, "leader"));
    kill(Pid::from_raw(leader), Signal::SIGKILL).unwrap();
    assert_eq!(pty.wait_exit(LIMIT), 1);
    assert!(
        pty.screen()
            .contains("harn: the launcher ended before the program did")
    );
    assert_eq!(modes(&pty.termios()), before);
    wait_until("the program is gone", GONE_LIMIT, || is_gone(pid));
}

/// Switches modes on as full-screen programs do, then goes `last`.
fn leaving_modes_on(last: &str) -> String {
    format!("printf '\\033[?1049h\\033[?1003h\\033[>1u\\033[?25l'; {last}")
}

#[test]
fn modes_a_dead_program_left_on_are_undone() {
    let env = TestEnv::new();
    for last in ["kill -9 $$", "exit 1"] {
        let mut pty = hosted(&env, &leaving_modes_on(last));
        pty.wait_exit(LIMIT);
        assert!(
            pty.raw()
                .ends_with(b"\x1b[<1u\x1b[?1049l\x1b[?1003l\x1b[?25h"),
            "{last}"
        );
    }
}

#[test]
fn modes_a_program_left_on_with_success_are_its_own_affair() {
    let env = TestEnv::new();
    let mut pty = hosted(&env, &leaving_modes_on("exit 0"));
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.raw(), b"\x1b[?1049h\x1b[?1003h\x1b[>1u\x1b[?25l");
}

#[test]
fn program_in_the_background_does_not_hold_the_end_up() {
    let env = TestEnv::new();
    let mut pty = hosted(&env, "trap '' HUP; sleep 60 & echo \"pid:$!;\"; exit 4");
    let pid = number(&pty, "pid");
    assert_eq!(pty.wait_exit(Duration::from_secs(3)), 4);
    // It was not harn that started it: told of, and left alone.
    let told = format!("harn: still running: sleep ({pid})");
    assert!(pty.screen().contains(&told), "{}", pty.screen());
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

#[test]
fn nothing_is_told_of_what_goes_along() {
    let env = TestEnv::new();
    let mut pty = hosted(&env, "sleep 60 & echo \"pid:$!;\"; exit 4");
    let pid = number(&pty, "pid");
    assert_eq!(pty.wait_exit(LIMIT), 4);
    wait_until("it is gone", GONE_LIMIT, || is_gone(pid));
    assert!(!pty.screen().contains("running"), "{}", pty.screen());
}

#[test]
fn panic_in_the_host_gives_the_terminal_back_and_takes_the_program_along() {
    if !cfg!(debug_assertions) {
        return;
    }
    let mut env = TestEnv::new();
    env.set("HARN_FAULT", "panic");
    let mut pty = hosted(&env, WAITS);
    let pid = number(&pty, "pid");
    pty.send(b"x");
    assert_eq!(pty.wait_exit(LIMIT), 70);
    assert!(
        pty.screen().contains("a fault was ordered"),
        "{}",
        pty.screen()
    );
    assert_eq!(modes(&pty.termios()), fresh(&env));
    wait_until("the program is gone", GONE_LIMIT, || is_gone(pid));
}

#[test]
fn usage_error_is_64() {
    let env = TestEnv::new();
    assert_eq!(env.run(env.harn(["run"]), b"").code, 64);
    assert_eq!(hosting(&env, "exit 3").status().unwrap().code(), Some(3));
}
