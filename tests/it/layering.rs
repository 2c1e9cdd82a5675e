//! The shape of the house: who may name a harness, who may print, what every file begins with.

use std::fs;
use std::path::{Path, PathBuf};

fn files_below(folder: &str, extension: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![root.join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.extension().is_some_and(|it| it == extension) {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!found.is_empty(), "no file below {folder}");
    found.sort();
    found
}

fn is_test(name: &str) -> bool {
    name.ends_with("_tests.rs") || name.ends_with("/tests.rs")
}

/// The part of a file that is compiled into the product.
fn product_part(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text)
}

#[test]
fn harness_names_stay_in_their_rooms() {
    let rooms = ["src/adapter/", "src/demo/", "src/rehearsal/"];
    let mut strays = Vec::new();
    for (name, text) in files_below("src", "rs") {
        if rooms.iter().any(|room| name.starts_with(room)) || is_test(&name) {
            continue;
        }
        for (number, line) in product_part(&text).lines().enumerate() {
            let is_prose = line.trim_start().starts_with("//");
            // Examples in help texts show the commands that people type.
            let is_help = name == "src/cli.rs";
            let lower = line.to_lowercase();
            let names_one = ["claude", "codex", "cursor_version", "anthropic"];
            if !is_prose && !is_help && names_one.iter().any(|it| lower.contains(it)) {
                strays.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_eq!(strays, Vec::<String>::new());
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent: Vec<String> = files_below("src", "rs")
        .into_iter()
        .filter(|(name, text)| !text.starts_with("//!") && !is_test(name))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn no_module_has_a_vague_name() {
    let vague = [
        "util",
        "utils",
        "helper",
        "helpers",
        "common",
        "misc",
        "manager",
        "service",
        "handler",
        "processor",
        "engine",
        "core",
        "types",
        "models",
        "imp",
    ];
    let found: Vec<String> = files_below("src", "rs")
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| {
            name.trim_end_matches(".rs")
                .split('/')
                .any(|part| vague.contains(&part))
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_pure_rooms_open_no_file_and_read_no_clock() {
    let pure = [
        "src/continuity/",
        "src/telemetry/",
        "src/adapter/gauge.rs",
        "src/adapter/codex/",
        "src/adapter/decode.rs",
        "src/adapter/reply.rs",
        "src/text.rs",
    ];
    let forbidden = [
        "std::fs",
        "std::env::",
        "SystemTime",
        "Instant::",
        "std::process",
        "now_v7",
    ];
    let mut strays = Vec::new();
    for (name, text) in files_below("src", "rs") {
        if !pure.iter().any(|room| name.starts_with(room)) || is_test(&name) {
            continue;
        }
        let part = product_part(&text);
        strays.extend(
            forbidden
                .iter()
                .filter(|it| part.contains(**it))
                .map(|it| format!("{name}: {it}")),
        );
    }
    assert_eq!(strays, Vec::<String>::new());
}

#[test]
fn each_outside_crate_that_touches_the_world_has_one_room() {
    let owners = [
        ("gix::", "src/repo/"),
        ("notify::", "src/watch.rs"),
        ("portable_pty", "src/terminal/"),
        ("signal_hook", "src/terminal/"),
    ];
    let mut strays = Vec::new();
    for (name, text) in files_below("src", "rs") {
        strays.extend(
            owners
                .iter()
                .filter(|(it, room)| text.contains(it) && !name.starts_with(room))
                .map(|(it, _)| format!("{name}: {it}")),
        );
    }
    assert_eq!(strays, Vec::<String>::new());
}

#[test]
fn the_architecture_page_names_every_room() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let missing: Vec<String> = fs::read_dir(root.join("src"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| format!("src/{}/", path.file_name().unwrap().to_str().unwrap()))
        .filter(|room| !page.contains(room.as_str()))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
