//! harn's hooks for one run, in the client's own `--settings`.
//!
//! Pure but for the reading of a settings file that the user passed. The client takes the last `--settings` only, so
//! the user's is taken out of the arguments and merged: everything of theirs stays, harn's hook groups are added
//! behind their own. Hooks of the user, project and local settings files are merged by the client itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::status_line;
use crate::adapter::gauge::gauge;
use crate::adapter::launch::{Request, Wiring, WiringError};

const FLAG: &str = "--settings";

/// Wires the hooks into one generated settings file.
pub fn wire(request: &Request<'_>) -> Result<Wiring, WiringError> {
    let (rest, passed) = split(request.args);
    let mut settings = match passed {
        None => Map::new(),
        Some(passed) => user_settings(passed, request.cwd)?,
    };
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let Value::Object(hooks) = hooks else {
        return Err(WiringError::Shape("hooks"));
    };
    for spec in request.manifest.events_of(request.version) {
        let groups = hooks
            .entry(spec.native.as_str())
            .or_insert_with(|| json!([]));
        let Value::Array(groups) = groups else {
            return Err(WiringError::Shape("hooks"));
        };
        groups.push(json!({"hooks": [{
            "type": "command",
            "command": (request.command)(&spec.native),
            "timeout": spec.timeout_s,
        }]}));
    }
    let status_line = bridge(&mut settings, request);
    let mut args = vec![OsString::from(FLAG), request.file.as_os_str().to_owned()];
    args.extend(rest.into_iter().cloned());
    let mut file = serde_json::to_vec_pretty(&settings).map_err(WiringError::Json)?;
    file.push(b'\n');
    Ok(Wiring {
        has_submit_key: false,
        args,
        file: Some(file),
        status_line,
    })
}

/// Puts the bridge in the place of the status line in force; gives the one that was
/// passed, or chosen by a flag, which the settings files do not tell (empty: none).
fn bridge(settings: &mut Map<String, Value>, request: &Request<'_>) -> Option<String> {
    let passed = status_line::in_settings(settings.get("statusLine"));
    if passed.is_none() && settings.contains_key("statusLine") {
        // No command that harn knows how to run: it stays.
        return None;
    }
    let sources = sources(request.args);
    let own = passed.clone().or_else(|| match sources {
        Some(sources) => status_line::effective_of(request.settings, sources),
        None => gauge(&request.manifest.id).and_then(|it| (it.own_status_line)(request.settings)),
    });
    let rest = own.as_ref().map(|line| line.rest.clone());
    let mut line = Map::new();
    line.insert("type".to_owned(), json!("command"));
    line.insert("command".to_owned(), json!(request.status_line));
    line.extend(rest.unwrap_or_default());
    settings.insert("statusLine".to_owned(), Value::Object(line));
    match (passed, sources) {
        (Some(line), _) => Some(line.command),
        // The bridge would look into files that the client was told not to read.
        (None, Some(_)) => Some(own.map(|line| line.command).unwrap_or_default()),
        (None, None) => None,
    }
}

/// The settings that the client was told to read; none: all.
fn sources(args: &[OsString]) -> Option<&str> {
    const SOURCES: &str = "--setting-sources";
    let mut args = args.iter().take_while(|arg| *arg != "--");
    let mut found = None;
    while let Some(arg) = args.next() {
        if arg == SOURCES {
            found = args.next().and_then(|value| value.to_str());
        } else if let Some(value) = arg.to_str().and_then(|arg| arg.strip_prefix(SOURCES)) {
            found = value.strip_prefix('=').or(found);
        }
    }
    found
}

/// The arguments without any `--settings`, and the value of the last one, which is the one the client would take.
fn split(args: &[OsString]) -> (Vec<&OsString>, Option<&OsStr>) {
    let mut rest = Vec::new();
    let mut passed = None;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            rest.push(arg);
            rest.extend(args.by_ref());
        } else if arg == FLAG {
            match args.next() {
                Some(value) => passed = Some(value.as_os_str()),
                // The client has its own words for a missing value.
                None => rest.push(arg),
            }
        } else if let Some(value) = inline_value(arg) {
            passed = Some(value);
        } else {
            rest.push(arg);
        }
    }
    (rest, passed)
}

fn inline_value(arg: &OsStr) -> Option<&OsStr> {
    let value = arg
        .as_bytes()
        .strip_prefix(FLAG.as_bytes())?
        .strip_prefix(b"=")?;
    Some(OsStr::from_bytes(value))
}

/// What the user passed: JSON itself, or the path of a file (a pipe, too).
fn user_settings(passed: &OsStr, cwd: &Path) -> Result<Map<String, Value>, WiringError> {
    let text = passed.as_bytes().trim_ascii();
    let bytes = if text.first() == Some(&b'{') {
        text.to_vec()
    } else {
        let path = cwd.join(passed);
        std::fs::read(&path).map_err(|source| WiringError::Read { path, source })?
    };
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    match serde_json::from_slice(text) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err(WiringError::Shape("the settings")),
        Err(source) => Err(WiringError::Json(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::gauge::Settings;
    use crate::adapter::manifest::Version;
    use crate::adapter::registry;

    fn wired(args: &[&str], version: Option<&str>) -> Result<(Vec<OsString>, Value), WiringError> {
        let manifest = registry::load("claude-code").unwrap();
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let version: Option<Version> = version.map(|text| text.parse().unwrap());
        let wiring = wire(&Request {
            manifest: &manifest,
            version: version.as_ref(),
            leading_flags: &[],
            args: &args,
            cwd: Path::new("/"),
            file: Path::new("/run/s.json"),
            command: &|event| format!("harn hook claude-code {event}"),
            status_line: "harn statusline claude-code",
            settings: &Settings {
                var: &|name| (name == "HOME").then(|| OsString::from("/h")),
                read: &|path| {
                    let line = r#"{"statusLine":{"type":"command","command":"mine","padding":2}}"#;
                    (path == Path::new("/h/.claude/settings.json"))
                        .then(|| line.as_bytes().to_vec())
                },
                project: Path::new("/"),
                run: None,
            },
        })?;
        Ok((
            wiring.args,
            serde_json::from_slice(&wiring.file.unwrap()).unwrap(),
        ))
    }

    fn words(args: &[OsString]) -> Vec<&str> {
        args.iter().map(|arg| arg.to_str().unwrap()).collect()
    }

    #[test]
    fn an_unknown_version_gets_the_smallest_set_of_events() {
        let events = |version| {
            let (_, settings) = wired(&[], version).unwrap();
            settings["hooks"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        let smallest = [
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "Stop",
            "PreCompact",
            "SessionEnd",
        ];
        assert_eq!(events(None), smallest);
        assert_eq!(events(Some("2.1.100")), smallest);
        assert_eq!(events(Some("2.1.197")).len(), 13);
    }

    #[test]
    fn the_users_settings_stay_and_their_hooks_come_first() {
        let user =
            r#"{"model":"m","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#;
        for args in [
            vec!["--settings", user, "-c"],
            vec!["-c", &format!("--settings={user}")],
        ] {
            let (args, settings) = wired(&args, None).unwrap();
            assert_eq!(words(&args), ["--settings", "/run/s.json", "-c"]);
            assert_eq!(settings["model"], "m");
            let stop: Vec<_> = settings["hooks"]["Stop"]
                .as_array()
                .unwrap()
                .iter()
                .map(|group| group["hooks"][0]["command"].as_str().unwrap())
                .collect();
            assert_eq!(stop, ["mine", "harn hook claude-code Stop"]);
        }
    }

    #[test]
    fn a_settings_file_is_read_and_the_last_one_wins() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut temp.as_file(), b"\xEF\xBB\xBF{\"theme\":\"dark\"}")
            .unwrap();
        let path = temp.path().to_str().unwrap();
        let (args, settings) = wired(
            &["--settings", "{\"theme\":\"light\"}", "--settings", path],
            None,
        )
        .unwrap();
        assert_eq!(words(&args), ["--settings", "/run/s.json"]);
        assert_eq!(settings["theme"], "dark");
    }

    #[test]
    fn the_bridge_takes_the_place_of_the_status_line_in_force_with_its_other_keys() {
        let line = |passed: &[&str]| wired(passed, None).unwrap().1["statusLine"].clone();
        let bridge = |padding: u64| json!({"type": "command", "command": "harn statusline claude-code", "padding": padding});
        assert_eq!(line(&[]), bridge(2));
        let passed = r#"{"statusLine":{"type":"command","command":"theirs","padding":5}}"#;
        assert_eq!(line(&["--settings", passed]), bridge(5));
        assert_eq!(line(&["--setting-sources", "user,local"]), bridge(2));
        let without = json!({"type": "command", "command": "harn statusline claude-code"});
        assert_eq!(line(&["--setting-sources=project"]), without);
        let unknown = r#"{"statusLine":{"type":"plugin","command":"theirs"}}"#;
        assert_eq!(
            line(&["--settings", unknown]),
            json!({"type": "plugin", "command": "theirs"})
        );
    }

    #[test]
    fn what_stands_behind_two_dashes_is_a_prompt() {
        let (args, _) = wired(&["--", "--settings", "x"], None).unwrap();
        assert_eq!(
            words(&args),
            ["--settings", "/run/s.json", "--", "--settings", "x"]
        );
    }

    #[test]
    fn settings_that_cannot_be_merged_are_an_error_and_not_dropped() {
        assert!(matches!(
            wired(&["--settings", "{oops"], None),
            Err(WiringError::Json(_))
        ));
        assert!(matches!(
            wired(&["--settings", "/nowhere"], None),
            Err(WiringError::Read { .. })
        ));
        let odd = r#"{"hooks":{"Stop":{}}}"#;
        assert!(matches!(
            wired(&["--settings", odd], None),
            Err(WiringError::Shape(_))
        ));
    }
}
