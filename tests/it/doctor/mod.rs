//! `harn doctor --terminal`: the way back for a terminal whose program and host were both killed.

mod live;
mod past;
mod wiring;

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

fn findings(env: &TestEnv) -> (i32, serde_json::Value) {
    let output = env.run(env.harn(["doctor", "--json"]), b"");
    assert_eq!(output.err(), "");
    (output.code, serde_json::from_str(&output.out()).unwrap())
}

/// Findings of one check: level, what, and whether it says what to do.
fn of_check(report: &serde_json::Value, check: &str) -> Vec<(String, String, bool)> {
    let all = report["findings"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    all.iter()
        .filter(|it| it["check"] == check)
        .map(|it| {
            (
                text(&it["level"]),
                text(&it["what"]),
                it["hint"].is_string(),
            )
        })
        .collect()
}

/// The one finding of a level; whatever is not ok says what to do.
fn only(report: &serde_json::Value, level: &str) -> (String, String) {
    let all = report["findings"].as_array().unwrap();
    let silent = |it: &&serde_json::Value| it["level"] != "ok" && !it["hint"].is_string();
    assert_eq!(all.iter().filter(silent).count(), 0, "{report}");
    let found = of_level(report, level);
    let [one] = found.as_slice() else {
        panic!("{level}: {found:?}");
    };
    one.clone()
}

/// Checks of a level, with what was found.
fn of_level(report: &serde_json::Value, level: &str) -> Vec<(String, String)> {
    let all = report["findings"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    all.iter()
        .filter(|it| it["level"] == level)
        .map(|it| (text(&it["check"]), text(&it["what"])))
        .collect()
}

fn quiet() -> TestEnv {
    let mut env = TestEnv::new();
    env.set("PATH", "/usr/bin:/bin");
    env
}

#[test]
fn nothing_wired_is_a_warning_and_no_failure() {
    let env = quiet();
    let (code, report) = findings(&env);
    assert_eq!(
        (code, &report["ok"], &report["schema"]),
        (0, &true.into(), &1.into()),
        "{report}"
    );
    let warned = of_level(&report, "warn");
    let expected = "no hook of harn's is installed, and no owned run is live";
    assert_eq!(warned, [("wiring".to_owned(), expected.to_owned())]);
    let output = env.run(env.harn(["doctor"]), b"");
    assert!(
        output.out().contains("hint: `harn run -- <agent>`"),
        "{}",
        output.out()
    );
}

#[test]
fn what_is_installed_is_named_by_scope_and_twice_is_told() {
    let env = quiet();
    for scope in ["user", "project"] {
        let installed = env.run(env.harn(["install", "claude-code", "--scope", scope]), b"");
        assert_eq!(installed.code, 0, "{}", installed.err());
    }
    let (code, report) = findings(&env);
    assert_eq!(code, 0, "{report}");
    let warned = of_level(&report, "warn");
    let twice = "claude-code: wired more than once, in the user and project settings";
    assert_eq!(warned, [("wiring".to_owned(), twice.to_owned())]);
}

#[test]
fn each_thing_that_keeps_harn_from_working_is_wrong_and_named() {
    type Break = fn(&TestEnv);
    let table: [(&str, &str, Break); 8] = [
        ("config", "is not valid", |env| {
            env.write(env.config().join("harn/config.toml"), "nonsense = 1\n");
        }),
        ("wiring", "disableAllHooks is on", |env| {
            env.write(
                env.home().join(".claude/settings.json"),
                "{\"disableAllHooks\": true}",
            );
        }),
        ("wiring", "line 2, column", |env| {
            env.write(env.home().join(".claude/settings.json"), "{\n  nonsense\n}");
        }),
        ("wiring", "/gone/harn, which cannot be executed", |env| {
            let settings = wiring::settings(&wiring::entries("/gone/harn", &wiring::FIRST_SIX));
            env.write(env.home().join(".claude/settings.json"), settings);
        }),
        ("wiring", "no plain JSON", |env| {
            env.write(env.home().join(".claude/settings.json"), "{ // mine\n}");
        }),
        ("keys", "keybindings.json", |env| {
            std::fs::create_dir_all(env.home().join(".claude")).unwrap();
            let path = env.home().join(".claude/keybindings.json");
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        }),
        ("keys", "is not valid", |env| {
            env.write(env.home().join(".claude/keybindings.json"), "{,}");
        }),
        ("state", "Not a directory", |env| {
            // A file in the place of harn's directory.
            env.write(env.state().join("harn"), "");
        }),
    ];
    for (check, what, spoil) in table {
        let env = quiet();
        spoil(&env);
        let (code, report) = findings(&env);
        assert_eq!(
            (code, &report["ok"]),
            (1, &false.into()),
            "{what}: {report}"
        );
        let wrong = of_level(&report, "wrong");
        let is_told = |(its, text): &(String, String)| its == check && text.contains(what);
        assert!(wrong.iter().any(is_told), "{what}: {wrong:?}");
        assert_eq!(wrong.len(), 1, "{wrong:?}");
    }
}

#[test]
fn without_a_home_nothing_else_is_looked_at() {
    let env = quiet();
    let mut command = env.harn(["doctor", "--json"]);
    for name in [
        "HOME",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
    ] {
        command.env_remove(name);
    }
    let output = env.run(command, b"");
    let report: serde_json::Value = serde_json::from_str(&output.out()).unwrap();
    assert_eq!(output.code, 1);
    let (check, _) = only(&report, "wrong");
    assert_eq!(check, "state");
    assert_eq!(report["findings"].as_array().unwrap().len(), 2, "{report}");
}

/// What the help says of writing is all that is written.
#[test]
fn a_machine_that_was_looked_at_holds_what_the_help_names_and_nothing_else() {
    let mut env = quiet();
    wiring::put_client(&mut env, "claude", "2.1.197 (Claude Code)");
    let (code, report) = findings(&env);
    assert_eq!(code, 0, "{report}");
    let mut left = Vec::new();
    let mut open = vec![env.home().to_owned(), env.project().to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                left.push(path.strip_prefix(env.root()).unwrap().display().to_string());
            }
        }
    }
    assert_eq!(left, ["home/.local/state/harn/versions.json"]);
    let help = env.run(env.harn(["doctor", "--help"]), b"").out();
    let told = "keeps what installed clients say of their version";
    assert!(help.contains(told), "{help}");
    assert!(!help.contains("Reads only"), "{help}");
}

#[test]
fn state_that_was_removed_is_no_failure_and_a_config_that_is_a_pipe_holds_nothing_up() {
    let env = quiet();
    let payload =
        serde_json::json!({"session_id": "s1", "cwd": env.project(), "source": "startup"});
    let started = env.run(
        env.harn(["hook", "claude-code", "SessionStart"]),
        payload.to_string().as_bytes(),
    );
    assert_eq!(started.code, 0);
    std::fs::remove_dir_all(env.project().join(".harnery")).unwrap();
    let (code, report) = findings(&env);
    assert_eq!(code, 0, "{report}");
    let path = env.config().join("harn/config.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (code, report) = findings(&env);
    assert_eq!(code, 1);
    let wrong = of_level(&report, "wrong");
    assert!(wrong[0].1.ends_with("not a regular file"), "{wrong:?}");
}
