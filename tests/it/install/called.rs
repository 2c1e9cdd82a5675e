//! The installed commands, called the way harnesses call them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::TestEnv;

/// A path that a shell could stumble over.
const ODD: &str = "o'dd \"dir\" $HOME `x` é\\";

/// The installed commands of an adapter's user settings, by event.
fn commands(env: &TestEnv, harn: &Path, adapter: &str, file: &str) -> Vec<(String, String)> {
    let mut command = env.command(harn);
    command.args(["install", adapter]);
    let path = format!("{}:/usr/bin:/bin", harn.parent().unwrap().display());
    command.env("PATH", path);
    let output = env.run(command, b"");
    assert_eq!((output.err(), output.code), (String::new(), 0));
    let text = fs::read(env.home().join(file)).unwrap();
    let settings: Value = serde_json::from_slice(&text).unwrap();
    let hooks = settings["hooks"].as_object().unwrap();
    let command = |groups: &Value| {
        groups[0]["hooks"][0]["command"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    hooks
        .iter()
        .map(|(event, groups)| (event.clone(), command(groups)))
        .collect()
}

#[test]
fn every_command_answers_with_one_document_or_nothing_whatever_the_paths_and_the_shell() {
    for (adapter, file) in [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
    ] {
        let mut env = TestEnv::new();
        for name in [".bashrc", ".bash_profile", ".profile", ".zshrc"] {
            env.write(env.home().join(name), "echo good morning\n");
        }
        env.set("SHELL", "/bin/bash");
        let folder = env.root().join(ODD);
        fs::create_dir(&folder).unwrap();
        let harn = folder.join("harn");
        symlink(env.bin(), &harn).unwrap();
        let project = env.root().join(format!("project {ODD}"));
        fs::create_dir(&project).unwrap();
        let found = commands(&env, &harn, adapter, file);
        let mut documents = 0;
        // A compaction ends with a start.
        let start = found
            .iter()
            .find(|(event, _)| event == "SessionStart")
            .unwrap();
        for (event, command) in found.iter().chain([start]) {
            for shell in ["sh", "bash"] {
                let payload = json!({
                    "session_id": format!("s-{shell}"),
                    "cwd": project,
                    "hook_event_name": event,
                    "source": if documents == 0 && event == "SessionStart" { "compact" } else { "startup" },
                    "trigger": "manual",
                    "turn_id": format!("{event}-{shell}"),
                });
                let mut line = env.command(shell);
                line.args(["-c", command]).current_dir(&project);
                let output = env.run(line, payload.to_string().as_bytes());
                assert_eq!((output.err(), output.code), (String::new(), 0), "{command}");
                if !output.stdout.is_empty() {
                    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
                    assert_eq!(document["hookSpecificOutput"]["hookEventName"], **event);
                    documents += 1;
                }
            }
        }
        assert!(documents >= 1, "{adapter}");
        assert!(project.join(".harnery/context").is_dir());
    }
}

#[test]
fn a_hook_below_a_hook_does_nothing() {
    let mut env = TestEnv::new();
    env.set("HARN_DEPTH", "1");
    let payload = json!({"session_id": "s", "cwd": env.project(), "source": "compact"});
    let line = env.harn(["hook", "claude-code", "SessionStart"]);
    let output = env.run(line, payload.to_string().as_bytes());
    assert_eq!((output.out(), output.code), (String::new(), 0));
    assert!(!env.project().join(".harnery").exists());
}

/// What has no verified lifecycle gets nothing, and is told why.
#[test]
fn a_harness_that_is_wired_for_nothing_cannot_be_installed_for() {
    for (id, told) in [
        (
            "cursor",
            "nothing to install for Cursor: nothing of its lifecycle was verified, so harn wires nothing",
        ),
        ("generic", "nothing to install for "),
    ] {
        for scope in ["user", "project"] {
            let env = TestEnv::new();
            let output = env.run(env.harn(["install", id, "--scope", scope]), b"");
            assert_eq!((output.out(), output.code), (String::new(), 3), "{id}");
            assert!(
                output.err().starts_with(&format!("harn: {told}")),
                "{}",
                output.err()
            );
            let left = |dir: &Path| fs::read_dir(dir).unwrap().count();
            assert_eq!((left(env.home()), left(env.project())), (0, 0), "{id}");
        }
    }
}
