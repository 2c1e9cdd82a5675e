use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::json;

use super::*;
use crate::event::Timestamp;
use crate::telemetry::{ContextSample, Meter};

fn sample(bytes: &[u8]) -> Option<ContextSample> {
    Meter::default().offer(&parse(bytes)?.reading, Timestamp::from_unix_ms(1))
}

/// Every recorded payload: tokens, window, percent as the client says it.
#[test]
fn recorded_payloads_give_the_clients_own_percentage() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/adapters/claude-code/fixtures/statusline"
    );
    let mut told = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let payload: Value = serde_json::from_slice(&bytes).unwrap();
        let sample = sample(&bytes);
        let percent = sample.as_ref().and_then(|sample| sample.used_percent);
        // One recording holds more tokens than its window: there the client's own number cannot be right.
        let is_sound = |sample: &ContextSample| sample.mismatch.is_none();
        if sample.as_ref().is_some_and(is_sound) {
            assert_eq!(
                json!(percent),
                payload["context_window"]["used_percentage"],
                "{}",
                path.display()
            );
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        told.push((
            name,
            sample.and_then(|sample| Some((sample.used_tokens?.0, sample.window_tokens?.0))),
        ));
    }
    told.sort();
    assert_eq!(
        told,
        [
            ("after_compact", None),
            ("after_turn", Some((32_052, 200_000))),
            ("at_60pct", Some((120_000, 200_000))),
            ("before_first_request", None),
            ("cache_split", Some((150_000, 200_000))),
            ("opus_exceeds_200k", Some((210_000, 1_000_000))),
        ]
        .map(|(name, numbers)| (name.to_owned(), numbers))
    );
}

#[test]
fn every_field_may_be_anything() {
    let whole = json!({
        "session_id": "s",
        "model": {"id": "m"},
        "context_window": {
            "total_input_tokens": 9_000_000,
            "context_window_size": 200_000,
            "current_usage": {"input_tokens": 2, "cache_creation_input_tokens": 13_000, "cache_read_input_tokens": 1_998},
            "used_percentage": 8,
        },
    });
    let odd = [
        Value::Null,
        json!({}),
        json!(0),
        json!("12"),
        json!("NaN"),
        json!(-1),
        json!(1e9),
        json!(1e308),
        json!([[{}]]),
    ];
    let fields = [
        "/model",
        "/model/id",
        "/context_window",
        "/context_window/context_window_size",
        "/context_window/current_usage",
        "/context_window/current_usage/input_tokens",
        "/context_window/current_usage/cache_read_input_tokens",
        "/context_window/used_percentage",
    ];
    for field in fields {
        for odd in &odd {
            let mut payload = whole.clone();
            *payload.pointer_mut(field).unwrap() = odd.clone();
            let report = parse(payload.to_string().as_bytes()).unwrap();
            let sample = Meter::default().offer(&report.reading, Timestamp::from_unix_ms(1));
            let used = sample.as_ref().and_then(|sample| sample.used_tokens);
            // Never out of the totals.
            assert!(used.is_none_or(|used| used.0 < 100_000), "{field} {odd}");
        }
    }
    assert_eq!(parse(b"{}"), None);
    assert_eq!(parse(br#"{"session_id":""}"#), None);
    assert_eq!(parse(b"{\"session_id\":\"s\",\"context_window\":{"), None);
}

#[test]
fn the_users_status_line_is_found_by_its_place() {
    let line = |name: &str| {
        json!({"statusLine": {"type": "command", "command": name, "padding": 1}}).to_string()
    };
    let none = json!({"statusLine": {"type": "other", "command": "x"}}).to_string();
    let files: BTreeMap<&str, String> = BTreeMap::from([
        ("/p/.claude/settings.local.json", none),
        ("/p/.claude/settings.json", line("project")),
        ("/h/.claude/settings.json", line("user")),
        ("/c/settings.json", "{".to_owned()),
    ]);
    let found = |project: &str, vars: &[(&str, &str)]| {
        let vars: BTreeMap<&str, &str> = vars.iter().copied().collect();
        effective(&Settings {
            var: &|name| vars.get(name).map(OsString::from),
            read: &|path| Some(files.get(path.to_str()?)?.clone().into_bytes()),
            project: Path::new(project),
            run: None,
        })
        .map(|line| (line.command, Value::Object(line.rest)))
    };
    let told = |name: &str| Some((name.to_owned(), json!({"padding": 1})));
    assert_eq!(found("/p", &[("HOME", "/h")]), told("project"));
    assert_eq!(found("/q", &[("HOME", "/h")]), told("user"));
    assert_eq!(
        found("/q", &[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")]),
        None
    );
}

#[test]
fn an_installed_bridge_stands_for_the_line_behind_it() {
    let line = |command: &str| json!({"statusLine": {"command": command}}).to_string();
    let found = |project: &str| {
        let user = line("mine");
        effective(&Settings {
            var: &|name| (name == "HOME").then(|| OsString::from("/h")),
            read: &|path| match path.to_str()? {
                "/p/.claude/settings.json" => Some(line(project).into_bytes()),
                "/h/.claude/settings.json" => Some(user.clone().into_bytes()),
                _ => None,
            },
            project: Path::new("/p"),
            run: None,
        })
        .map(|line| line.command)
    };
    let bare = "/x/harn statusline claude-code";
    assert_eq!(found(bare).as_deref(), Some("mine"));
    let with = format!("{bare} --then 'theirs a'");
    assert_eq!(found(&with).as_deref(), Some("theirs a"));
    assert_eq!(
        found("harness statusline x").as_deref(),
        Some("harness statusline x")
    );
}
