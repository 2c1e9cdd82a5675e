//! `harn install` and `harn uninstall`, on files as people have them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::corpus::{json_corpus, toml_corpus};
use crate::support::{Output, TestEnv};

/// A machine with a client of this version on it.
fn desk() -> TestEnv {
    let mut env = TestEnv::new();
    for (name, version) in [
        ("claude", "2.1.197 (Claude Code)"),
        ("codex", "codex-cli 0.171.0"),
    ] {
        let program = env.root().join("bin").join(name);
        env.write(&program, format!("#!/bin/sh\necho '{version}'\n"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}/bin:/usr/bin:/bin", env.root().display());
    env.set("PATH", path);
    env
}

fn harn(env: &TestEnv, line: &str) -> Output {
    env.run(env.harn(line.split_whitespace()), b"")
}

fn done(env: &TestEnv, line: &str) -> String {
    let output = harn(env, line);
    assert_eq!((output.err(), output.code), (String::new(), 0), "{line}");
    output.out()
}

/// Every file and folder below, by path: kind, mode and content.
fn tree(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if meta.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            found.push((path, meta.mode(), content));
        }
    }
    found.sort();
    found
}

#[test]
fn installed_twice_and_uninstalled_every_settings_file_is_the_same_to_the_byte() {
    let corpus = json_corpus();
    assert!(corpus.len() >= 25);
    for (name, bytes) in corpus {
        let env = desk();
        let file = env.write(env.home().join(".claude/settings.json"), &bytes);
        let with_line = if name == "huge" { "" } else { " --statusline" };
        let line = format!("install claude-code{with_line}");
        done(&env, &line);
        let first = fs::read(&file).unwrap();
        assert_ne!(first, bytes, "{name}");
        done(&env, &line);
        assert_eq!(fs::read(&file).unwrap(), first, "{name}");
        assert_eq!(harn(&env, "install claude-code --check").code, 0, "{name}");
        done(&env, "uninstall claude-code");
        assert!(
            fs::read(&file).unwrap() == bytes,
            "{name} came back changed"
        );
        assert_eq!(
            fs::read_dir(env.home().join(".claude")).unwrap().count(),
            1,
            "{name}"
        );
    }
}

#[test]
fn without_what_harn_remembers_most_files_come_back_the_same_too() {
    // What cannot be told without it: whether empty brackets and empty files were there before.
    let ambiguous = [
        "empty file",
        "one line end",
        "blanks",
        "blank in the object",
        "line in the object",
        "only a comment",
        "comment without a line end",
        "minified with hooks",
        "one line with blanks",
        "comma at the end",
        "dos",
        "key twice",
        "escapes",
        "closing bracket in the line",
        "no indentation",
        "byte order mark alone",
        "foreign status line",
    ];
    for (name, bytes) in json_corpus() {
        if ambiguous.contains(&name) {
            continue;
        }
        let env = desk();
        let file = env.write(env.home().join(".claude/settings.json"), &bytes);
        done(&env, "install claude-code");
        fs::remove_dir_all(env.state()).unwrap();
        done(&env, "uninstall claude-code");
        assert!(
            fs::read(&file).unwrap() == bytes,
            "{name} came back changed"
        );
    }
}

#[test]
fn hooks_go_where_toml_has_hooks_already_and_come_out_of_there() {
    for (name, text) in toml_corpus() {
        let env = desk();
        let file = env.write(env.home().join(".codex/config.toml"), text);
        done(&env, "install codex");
        let first = fs::read(&file).unwrap();
        done(&env, "install codex");
        assert_eq!(fs::read(&file).unwrap(), first, "{name}");
        let told = String::from_utf8(first).unwrap();
        let parsed: toml::Table = told.trim_start_matches('\u{feff}').parse().unwrap();
        let stops = parsed["hooks"]["Stop"].as_array().unwrap();
        let last = format!("{:?}", stops.last().unwrap());
        assert!(last.contains("hook codex Stop"), "{name}: {told}");
        assert!(!env.home().join(".codex/hooks.json").exists());
        done(&env, "uninstall codex");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{name}");
        // Codex itself writes into this file as soon as somebody trusts a hook.
        done(&env, "install codex");
        let trust = "\n[hooks.state.\"/y:pre_compact:0:0\"]\ntrusted_hash = \"sha256:11\"\n";
        let mut grown = fs::read_to_string(&file).unwrap();
        let is_open = !grown.ends_with('\n');
        grown.push_str(trust);
        env.write(&file, &grown);
        done(&env, "uninstall codex");
        if !is_open {
            assert_eq!(
                fs::read_to_string(&file).unwrap(),
                format!("{text}{trust}"),
                "{name}"
            );
        }
    }
}

#[test]
fn codex_hooks_go_to_their_own_file_and_leave_the_configuration_alone() {
    let env = desk();
    let config = env.write(env.home().join(".codex/config.toml"), "model = \"x\"\n");
    let before = tree(&env.home().join(".codex"));
    done(&env, "install codex");
    let hooks: Value =
        serde_json::from_slice(&fs::read(env.home().join(".codex/hooks.json")).unwrap()).unwrap();
    let keys: Vec<&String> = hooks.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["hooks"]);
    assert_eq!(fs::read_to_string(config).unwrap(), "model = \"x\"\n");
    done(&env, "uninstall codex");
    assert_eq!(tree(&env.home().join(".codex")), before);
}

#[test]
fn files_and_folders_that_install_made_are_gone_again() {
    let env = desk();
    let before = tree(env.home());
    done(&env, "install claude-code --statusline --keys");
    assert!(env.home().join(".claude/keybindings.json").exists());
    done(&env, "uninstall claude-code");
    let left = tree(env.home());
    let left: Vec<_> = left
        .into_iter()
        .filter(|(path, ..)| !path.starts_with(env.home().join(".local")))
        .collect();
    assert_eq!(left, before);
}

#[test]
fn a_file_that_install_made_and_somebody_filled_stays_with_what_is_theirs() {
    let env = desk();
    done(&env, "install claude-code");
    let file = env.home().join(".claude/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    env.write(
        &file,
        text.replacen("{\n", "{\n  \"model\": \"opus\",\n", 1),
    );
    done(&env, "install claude-code --statusline");
    done(&env, "uninstall claude-code");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "{\n  \"model\": \"opus\"\n}\n"
    );
}

#[test]
fn links_are_written_through_and_modes_kept() {
    let env = desk();
    let real = env.write(env.home().join("dotfiles/settings.json"), "{\"a\": 1}\n");
    fs::create_dir(env.home().join(".claude")).unwrap();
    let link = env.home().join(".claude/settings.json");
    symlink("../dotfiles/settings.json", &link).unwrap();
    for mode in [0o644, 0o600, 0o444, 0o664] {
        fs::set_permissions(&real, fs::Permissions::from_mode(mode)).unwrap();
        let before = tree(env.home());
        let before: Vec<_> = before
            .into_iter()
            .filter(|it| !it.0.starts_with(env.home().join(".local")))
            .collect();
        done(&env, "install claude-code");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, mode);
        assert!(
            fs::read_to_string(&real)
                .unwrap()
                .contains("hook claude-code Stop")
        );
        done(&env, "uninstall claude-code");
        let after = tree(env.home());
        let after: Vec<_> = after
            .into_iter()
            .filter(|it| !it.0.starts_with(env.home().join(".local")))
            .collect();
        assert_eq!(after, before, "{mode:o}");
    }
}

#[test]
fn a_link_out_of_the_project_is_not_followed_for_its_settings() {
    let env = desk();
    let outside = env.write(env.home().join("other.json"), "{}");
    fs::create_dir(env.project().join(".claude")).unwrap();
    symlink(&outside, env.project().join(".claude/settings.json")).unwrap();
    let output = harn(&env, "install claude-code --scope project");
    assert_eq!(output.code, 1);
    assert!(
        output.err().contains("is a link out of the project"),
        "{}",
        output.err()
    );
    assert_eq!(fs::read_to_string(outside).unwrap(), "{}");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place_and_nothing_is_written() {
    for (text, place) in [
        (
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            "line 2, column 9: expected comma",
        ),
        (
            "{\"hooks\": [],}",
            "line 1, column 11: hooks is not an object",
        ),
        (
            "{\"statusLine\": 1}",
            "line 1, column 16: statusLine is not a command",
        ),
        ("nonsense", "line 1, column 1"),
    ] {
        let env = desk();
        env.write(env.home().join(".claude/settings.json"), text);
        let before = tree(&env.home().join(".claude"));
        let output = harn(&env, "install claude-code --statusline --keys");
        assert_eq!((output.out(), output.code), (String::new(), 65), "{text}");
        assert!(output.err().contains(place), "{}", output.err());
        assert_eq!(tree(&env.home().join(".claude")), before);
    }
    let env = desk();
    env.write(
        env.home().join(".claude/keybindings.json"),
        "{\"bindings\": [{\"context\": \"Chat\", \"bindings\": {\"ctrl+x\": \"chat:undo\"}}]}",
    );
    let output = harn(&env, "install claude-code --keys");
    assert_eq!(output.code, 65);
    assert!(
        output.err().contains("ctrl+x has another meaning already"),
        "{}",
        output.err()
    );
    assert!(!env.home().join(".claude/settings.json").exists());
}

#[test]
fn check_and_dry_run_tell_and_write_nothing() {
    let env = desk();
    env.write(
        env.home().join(".claude/settings.json"),
        "{\n  \"model\": \"opus\"\n}\n",
    );
    let before = tree(&env.home().join(".claude"));
    let check = harn(&env, "install claude-code --check");
    assert_eq!(check.code, 1);
    assert!(
        check.out().contains("PreCompact: not wired"),
        "{}",
        check.out()
    );
    let shown = harn(&env, "install claude-code --dry-run");
    assert_eq!(shown.code, 0);
    let path = env.home().join(".claude/settings.json");
    let head = format!("--- {0}\n+++ {0}\n@@ -1,3 +1,", path.display());
    assert!(shown.out().starts_with(&head), "{}", shown.out());
    let body = "\n {\n-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n+  \"hooks\": {\n";
    assert!(shown.out().contains(body), "{}", shown.out());
    assert_eq!(tree(&env.home().join(".claude")), before);
    done(&env, "install claude-code");
    let told: Value =
        serde_json::from_str(&done(&env, "install claude-code --check --json")).unwrap();
    assert_eq!(
        (&told["current"], &told["written"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(done(&env, "install claude-code --dry-run"), "");
}

#[test]
fn hooks_of_an_older_harn_are_brought_up_to_date_in_place_and_come_out_whole() {
    let env = desk();
    let old = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"/old/bin/harn hook claude-code Stop\", \"timeout\": 99}, {\"type\": \"command\", \"command\": \"mine\"}]}]\n  }\n}\n";
    let file = env.write(env.home().join(".claude/settings.json"), old);
    let check = harn(&env, "install claude-code --check");
    assert!(
        check
            .out()
            .contains("Stop: another command, another time limit"),
        "{}",
        check.out()
    );
    done(&env, "install claude-code");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("hook claude-code Stop\"").count(), 1, "{text}");
    assert!(!text.contains("/old/bin"), "{text}");
    done(&env, "uninstall claude-code");
    let bare = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]\n  }\n}\n";
    // The blank that stood before the second one stays with it.
    assert_eq!(
        fs::read_to_string(&file).unwrap().replace("[ {", "[{"),
        bare
    );
}

#[test]
fn scopes_have_their_own_files_and_an_older_client_is_spared_events_it_does_not_know() {
    let env = desk();
    let events = |path: &Path| {
        let text = fs::read(path).unwrap();
        let settings: Value = serde_json::from_slice(&text).unwrap();
        settings["hooks"].as_object().unwrap().len()
    };
    done(&env, "install claude-code --scope local");
    assert_eq!(
        events(&env.project().join(".claude/settings.local.json")),
        13
    );
    // A project's settings are everybody's.
    done(&env, "install claude-code --scope project");
    assert_eq!(events(&env.project().join(".claude/settings.json")), 6);
    assert!(!env.home().join(".claude").exists());
    fs::remove_file(env.root().join("bin/claude")).unwrap();
    let told = done(&env, "install claude-code");
    assert!(told.contains("Claude Code is not on PATH"), "{told}");
    assert_eq!(events(&env.home().join(".claude/settings.json")), 6);
    done(&env, "uninstall claude-code --scope project");
    done(&env, "uninstall claude-code --scope local");
    assert!(!env.project().join(".claude").exists());
}

#[test]
fn what_a_harness_has_no_place_for_is_not_done() {
    let env = desk();
    for (line, code) in [
        ("install demo", 3),
        ("install codex --statusline", 3),
        ("install codex --keys", 3),
        ("install codex --scope local", 64),
        ("install nobody", 64),
        ("uninstall demo", 3),
    ] {
        let output = harn(&env, line);
        assert_eq!((output.out(), output.code), (String::new(), code), "{line}");
        assert!(
            output.err().starts_with("harn: "),
            "{line}: {}",
            output.err()
        );
    }
    assert_eq!(tree(env.home()), []);
}

#[test]
fn the_name_on_path_is_what_settings_call() {
    let env = desk();
    let link = env.root().join("bin/harn");
    symlink(env.bin(), &link).unwrap();
    done(&env, "install claude-code");
    let text = fs::read_to_string(env.home().join(".claude/settings.json")).unwrap();
    let expected = format!("\"{} hook claude-code Stop\"", link.display());
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn what_the_client_would_not_read_is_told() {
    let env = desk();
    env.write(
        env.home().join(".claude/settings.json"),
        "{\n  // mine\n}\n",
    );
    let told = done(&env, "install claude-code");
    assert!(
        told.contains("reads no file that is more than plain JSON"),
        "{told}"
    );
    env.write(
        env.home().join(".claude/settings.json"),
        "{\"disableAllHooks\": true}",
    );
    let told = done(&env, "install claude-code");
    assert!(told.contains("no hook runs"), "{told}");
    env.write(env.home().join(".claude/settings.json"), "\u{feff}{}\n");
    let told = done(&env, "install claude-code");
    assert!(!told.contains("plain JSON"), "{told}");
}
