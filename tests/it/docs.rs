//! The pages: each command in them runs, each snippet is what the program understands.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::TestEnv;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The pages of `docs/` that a person follows.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    pages.sort();
    pages
}

/// The contents of the fenced blocks of one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in page.lines() {
        match &mut open {
            None if line == format!("```{language}") => open = Some(String::new()),
            None => {}
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    blocks
}

/// A project in which the pages' commands make sense: a live session with two checkpoints.
fn lived_in() -> TestEnv {
    let mut env = TestEnv::new();
    env.git_init();
    let bin = env.root().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env.bin(), bin.join("harn")).unwrap();
    let client = env.write(
        "stub",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.197\nexit 0\n",
    );
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(bin.join("claude"), bin.join("codex")).unwrap();
    fs::rename(client, bin.join("claude")).unwrap();
    env.set(
        "PATH",
        format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()),
    );
    let session = Session::new(&env);
    session.work_and_announce();
    let payload = json!({"session_id": "s1", "cwd": env.project()}).to_string();
    env.write("payload.json", payload);
    let saved = env.run(env.harn(["context", "checkpoint"]), b"");
    assert_eq!(saved.code, 0, "{}", saved.err());
    env
}

#[test]
fn every_command_of_the_pages_runs() {
    let mut count = 0;
    for (name, page) in pages() {
        let commands: Vec<String> = blocks(&page, "sh")
            .iter()
            .flat_map(|it| it.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        if commands.is_empty() {
            continue;
        }
        let env = lived_in();
        for command in commands {
            let mut shell = env.command("sh");
            shell.args(["-c", &command]);
            let output = env.run(shell, b"");
            assert_eq!(
                output.code,
                0,
                "{name}: {command}\n{}{}",
                output.out(),
                output.err()
            );
            count += 1;
        }
    }
    assert!(count >= 20, "{count} commands");
}

#[test]
fn every_json_snippet_is_json_and_wires_known_events() {
    let mut seen = 0;
    for (name, page) in pages() {
        for block in blocks(&page, "json") {
            let document: Value =
                serde_json::from_str(&block).unwrap_or_else(|error| panic!("{name}: {error}"));
            let Some(hooks) = document["hooks"].as_object() else {
                continue;
            };
            let manifest =
                fs::read_to_string(root().join("adapters/claude-code/adapter.toml")).unwrap();
            for (event, groups) in hooks {
                seen += 1;
                assert!(
                    manifest.contains(&format!("native = \"{event}\"")),
                    "{name}: {event}"
                );
                let command = &groups[0]["hooks"][0]["command"];
                assert_eq!(*command, format!("harn hook claude-code {event}"));
            }
        }
    }
    assert_eq!(seen, 6);
}

#[test]
fn every_link_between_the_pages_leads_somewhere() {
    let mut texts = pages();
    texts.push((
        "README.md".into(),
        fs::read_to_string(root().join("README.md")).unwrap(),
    ));
    let mut dead = Vec::new();
    for (name, page) in texts {
        let base = if name == "README.md" {
            root()
        } else {
            root().join("docs")
        };
        for link in page.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap_or_default();
            let is_local = !target.is_empty() && !target.contains("://");
            if is_local && !base.join(target).exists() {
                dead.push(format!("{name}: {target}"));
            }
        }
    }
    assert_eq!(dead, Vec::<String>::new());
}

#[test]
fn the_readme_has_the_commands_it_promises() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let commands: Vec<String> = blocks(&readme, "sh")
        .concat()
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(
        commands.iter().any(|line| line == "cargo test"),
        "{commands:?}"
    );
    assert!(Path::new(&root().join("docs/architecture.md")).exists());
}
