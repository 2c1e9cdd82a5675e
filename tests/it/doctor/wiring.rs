//! What `harn doctor` says of settings, status line, keys and installed clients.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Map, Value, json};

use super::{findings, of_check, of_level, only, quiet};
use crate::support::TestEnv;

/// The events that every version of Claude Code knows.
pub(super) const FIRST_SIX: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "Stop",
    "PreCompact",
    "SessionEnd",
];

/// For each event, the event whose hook it runs.
pub(super) fn entries(harn: &str, events: &[&str]) -> Vec<(String, String)> {
    let line = |event: &&str| format!("{harn} hook claude-code {event}");
    let both = events
        .iter()
        .map(|event| ((*event).to_owned(), line(event)));
    both.collect()
}

pub(super) fn settings(entries: &[(String, String)]) -> String {
    let mut hooks = Map::new();
    for (event, command) in entries {
        let group = json!({"hooks": [{"type": "command", "command": command, "timeout": 10}]});
        let list = hooks.entry(event.clone()).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(group);
    }
    json!({"hooks": hooks}).to_string()
}

/// A program that tells its version, first on PATH.
pub(super) fn put_client(env: &mut TestEnv, name: &str, says: &str) {
    let bin = env.root().join("bin");
    let path = env.write(bin.join(name), format!("#!/bin/sh\necho '{says}'\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    env.set("PATH", format!("{}:/usr/bin:/bin", bin.display()));
}

fn user_settings(env: &TestEnv, text: &str) {
    env.write(env.home().join(".claude/settings.json"), text);
}

fn harn_of(env: &TestEnv) -> String {
    env.bin().display().to_string()
}

#[test]
fn some_events_wired_and_others_not_is_wrong_where_a_compaction_would_be_missed() {
    for (missing, level, code) in [
        ("PostToolUse", "warn", 0),
        ("PreCompact", "wrong", 1),
        ("SessionStart", "wrong", 1),
    ] {
        let env = quiet();
        let mut all = entries(&harn_of(&env), &FIRST_SIX);
        all.retain(|(event, _)| event != missing);
        user_settings(&env, &settings(&all));
        let (its_code, report) = findings(&env);
        let what = format!("claude-code: 5 of 6 events are wired; missing: {missing}");
        assert_eq!(only(&report, level), ("wiring".to_owned(), what));
        assert_eq!(its_code, code, "{missing}");
        // What one scope lacks, another may have.
        let rest = entries(&harn_of(&env), &[missing]);
        env.write(".claude/settings.json", settings(&rest));
        let (_, report) = findings(&env);
        let told = report.to_string();
        assert!(!told.contains("events are wired"), "{told}");
    }
}

#[test]
fn events_that_the_installed_version_has_besides_are_told_unless_others_share_the_settings() {
    let mut env = quiet();
    put_client(&mut env, "claude", "2.1.197 (Claude Code)");
    let text = settings(&entries(&harn_of(&env), &FIRST_SIX));
    user_settings(&env, &text);
    let (code, report) = findings(&env);
    let what = "claude-code: 6 of 13 events are wired; missing: PreToolUse, PostToolUseFailure, PermissionRequest, \
                PostCompact, StopFailure, SubagentStart, SubagentStop";
    assert_eq!(
        only(&report, "warn"),
        ("wiring".to_owned(), what.to_owned())
    );
    assert_eq!(code, 0);
    fs::remove_file(env.home().join(".claude/settings.json")).unwrap();
    env.write(".claude/settings.json", &text);
    let (_, report) = findings(&env);
    assert_eq!(of_level(&report, "warn"), []);
}

#[test]
fn an_event_that_is_wired_twice_in_one_file_or_runs_anothers_hook_is_told() {
    let env = quiet();
    let path = env.home().join(".claude/settings.json");
    let mut all = entries(&harn_of(&env), &FIRST_SIX);
    all.extend(entries("harn", &["Stop"]));
    user_settings(
        &env,
        &settings(&all).replace("\"harn hook", &format!("\"{} hook", harn_of(&env))),
    );
    let (code, report) = findings(&env);
    let what = format!("claude-code: Stop is wired 2 times in {}", path.display());
    assert_eq!(only(&report, "warn"), ("wiring".to_owned(), what));
    assert_eq!(code, 0);
    let mut all = entries(&harn_of(&env), &FIRST_SIX);
    all[3].1 = all[3].1.replace("Stop", "PreCompact");
    user_settings(&env, &settings(&all));
    let (code, report) = findings(&env);
    let what = "claude-code: Stop runs the hook of PreCompact".to_owned();
    assert_eq!(only(&report, "wrong"), ("wiring".to_owned(), what));
    assert_eq!(code, 1);
}

#[test]
fn hooks_in_both_files_of_one_folder_and_the_feature_that_is_off_are_told() {
    let env = quiet();
    let installed = env.run(env.harn(["install", "codex"]), b"");
    assert_eq!(installed.code, 0, "{}", installed.err());
    let command = format!("{} hook codex Stop", harn_of(&env));
    let config = env.home().join(".codex/config.toml");
    let hook = format!(
        "[[hooks.Stop]]\nhooks = [{{ type = \"command\", command = \"{command}\", timeout = 10 }}]\n"
    );
    env.write(&config, hook);
    let (code, report) = findings(&env);
    let json = env.home().join(".codex/hooks.json");
    let what = format!(
        "codex: wired in both {} and {}",
        json.display(),
        config.display()
    );
    assert_eq!(only(&report, "warn"), ("wiring".to_owned(), what));
    assert_eq!(code, 0);
    env.write(&config, "[features]\nhooks = false\n");
    let (code, report) = findings(&env);
    let what = format!(
        "{}: features.hooks is off, so no hook runs",
        config.display()
    );
    assert_eq!(only(&report, "wrong"), ("wiring".to_owned(), what));
    assert_eq!(code, 1);
}

#[test]
fn a_status_line_that_leads_nowhere_is_wrong_whichever_half_is_missing() {
    let env = quiet();
    let own = env.write(env.home().join("line.sh"), "#!/bin/sh\n");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let harn = harn_of(&env);
    let line = |then: &str| format!("{harn} statusline claude-code --then '{then}'");
    let shown = env
        .home()
        .join(".claude/settings.json")
        .display()
        .to_string();
    let told = |command: &str| {
        let text = json!({"statusLine": {"type": "command", "command": command}}).to_string();
        user_settings(&env, &text);
        let (code, report) = findings(&env);
        (code, of_check(&report, "status line"))
    };
    let fine = |code| {
        (
            code,
            vec![(
                "ok".to_owned(),
                format!("claude-code: harn's bridge in {shown}"),
                false,
            )],
        )
    };
    for then in ["~/line.sh --x", "printf hi", "$HOME/gone.sh", "cd /"] {
        assert_eq!(told(&line(then)), fine(0), "{then}");
    }
    assert_eq!(told(&format!("{harn} statusline claude-code")), fine(0));
    let wrong = |what: &str| {
        (
            1,
            vec![("wrong".to_owned(), format!("{shown}: {what}"), true)],
        )
    };
    assert_eq!(
        told("/gone/harn statusline claude-code"),
        wrong("it starts /gone/harn, which cannot be executed")
    );
    for then in ["~/gone.sh", "/gone/line.sh --x"] {
        let program = then.split(' ').next().unwrap();
        assert_eq!(
            told(&line(then)),
            wrong(&format!("your own, {program}, cannot be executed"))
        );
    }
}

#[test]
fn key_chords_are_told_as_bound_missing_or_taken() {
    let env = quiet();
    let (_, report) = findings(&env);
    let missing = "claude-code: no submit chords; managed compactions use Enter";
    assert_eq!(
        of_check(&report, "keys"),
        [("ok".to_owned(), missing.to_owned(), true)]
    );
    let installed = env.run(env.harn(["install", "claude-code", "--keys"]), b"");
    assert_eq!(installed.code, 0, "{}", installed.err());
    let path = env.home().join(".claude/keybindings.json");
    let (_, report) = findings(&env);
    let bound = format!(
        "claude-code: the submit chords are bound in {}",
        path.display()
    );
    assert_eq!(of_check(&report, "keys"), [("ok".to_owned(), bound, false)]);
    let mine =
        json!({"bindings": [{"context": "Chat", "bindings": {"ctrl+x ctrl+y": "chat:cancel"}}]});
    env.write(&path, mine.to_string());
    let (_, report) = findings(&env);
    let taken = format!(
        "claude-code: ctrl+x ctrl+y means something else in {}",
        path.display()
    );
    assert_eq!(
        of_check(&report, "keys"),
        [("warn".to_owned(), taken, true)]
    );
}

#[test]
fn an_installed_client_is_held_against_the_version_that_was_verified() {
    let of_client = |says: &str| {
        let mut env = quiet();
        put_client(&mut env, "claude", says);
        let (code, report) = findings(&env);
        assert_eq!(code, 0, "{report}");
        let mut found = of_check(&report, "client");
        found.retain(|(_, what, _)| what.contains("claude"));
        let bin = format!("{}/", env.root().join("bin").display());
        found
            .into_iter()
            .map(|(level, what, hint)| (level, what.replace(&bin, ""), hint))
            .collect::<Vec<_>>()
    };
    let told = |level: &str, what: &str, hint| [(level.to_owned(), what.to_owned(), hint)];
    assert_eq!(
        of_client("2.1.197 (Claude Code)"),
        told("ok", "claude 2.1.197, as verified", false)
    );
    assert_eq!(
        of_client("2.0.1 (Claude Code)"),
        told(
            "warn",
            "claude is 2.0.1; harn was verified on 2.1.197",
            true
        )
    );
    assert_eq!(
        of_client("hello"),
        told("warn", "claude does not tell its version", true)
    );
    let (_, report) = findings(&quiet());
    let absent: Vec<Value> = of_check(&report, "client")
        .into_iter()
        .map(|it| json!(it))
        .collect();
    let expected =
        ["claude is not on PATH", "codex is not on PATH"].map(|it| json!(["ok", it, false]));
    assert_eq!(absent[..2], expected);
}

#[test]
fn whoever_stands_in_their_home_has_one_file_and_not_two() {
    let env = quiet();
    let installed = env.run(env.harn(["install", "claude-code"]), b"");
    assert_eq!(installed.code, 0, "{}", installed.err());
    let mut command = env.harn(["doctor", "--json"]);
    command.current_dir(env.home());
    let output = env.run(command, b"");
    let report: Value = serde_json::from_str(&output.out()).unwrap();
    let wired = "claude-code: 6 hooks in the user settings".to_owned();
    assert_eq!(
        of_check(&report, "wiring"),
        [("ok".to_owned(), wired, false)]
    );
}
