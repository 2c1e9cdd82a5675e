//! harn's hooks for one run, as session flags: `-c hooks.<Event>=[...]`.
//!
//! Pure. The flags stand before everything the user typed. The client remembers which hooks its user trusts by their very
//! text, so the commands are the same in every run and whatever differs goes by the environment; trust itself is never
//! given or passed here. A `-c` for the same event replaces an earlier one, so the user's own is taken out and joined.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use toml::{Table, Value};

use crate::adapter::launch::{self, Request, Wiring, WiringError};
use crate::adapter::manifest::Version;

const PREFIX: &str = "hooks.";
/// The table of key bindings in the client's settings.
const KEYMAP: (&str, &str) = ("tui", "keymap");
/// Enter as before, and a key that no dialog knows (`recipe` has its bytes).
const SUBMIT_KEY: &str = r#"tui.keymap.composer.submit=["enter","f6"]"#;

/// Puts one flag for each event before the user's arguments.
pub fn wire(request: &Request<'_>) -> Result<Wiring, WiringError> {
    let (rest, mut passed) = split(request.args)?;
    let mut args: Vec<OsString> = request.leading_flags.iter().map(OsString::from).collect();
    for spec in request.manifest.events_of(request.version) {
        let own = group(&(request.command)(&spec.native), spec.timeout_s);
        let groups: Vec<String> = passed
            .remove(&spec.native)
            .into_iter()
            .filter(|groups| !groups.is_empty())
            .chain([own])
            .collect();
        args.extend(["-c".into(), flag(&spec.native, &groups)]);
    }
    // Events that harn does not listen to.
    for (event, groups) in passed {
        args.extend(["-c".into(), flag(&event, &[groups])]);
    }
    let has_submit_key = may_bind(request);
    if has_submit_key {
        args.extend(["-c".into(), SUBMIT_KEY.into()]);
    }
    args.extend(rest);
    Ok(Wiring {
        has_submit_key,
        args,
        file: None,
        status_line: None,
    })
}

/// Whether the submit key can be added: a binding that collides would keep the client from starting, and the flag takes the
/// place of whatever the user has bound.
fn may_bind(request: &Request<'_>) -> bool {
    let is_verified = request
        .manifest
        .verified
        .as_ref()
        .and_then(|verified| verified.version.parse::<Version>().ok())
        .is_some_and(|verified| request.version == Some(&verified));
    let is_named = |arg: &OsString| {
        let arg = arg.to_string_lossy();
        arg.contains(KEYMAP.1) || arg == "-p" || arg.starts_with("--profile")
    };
    let folder = (request.settings.var)("CODEX_HOME")
        .map(PathBuf::from)
        .or_else(|| (request.settings.var)("HOME").map(|home| PathBuf::from(home).join(".codex")));
    let files = [
        folder.map(|folder| folder.join("config.toml")),
        Some(request.settings.project.join(".codex/config.toml")),
    ];
    let has_keymap = files.into_iter().flatten().any(|file| {
        let text = (request.settings.read)(&file).unwrap_or_default();
        let Ok(text) = String::from_utf8(text) else {
            return true;
        };
        let config = text.parse::<Table>();
        config.map_or(true, |config| {
            let tui = config.get(KEYMAP.0).and_then(Value::as_table);
            tui.is_some_and(|tui| tui.contains_key(KEYMAP.1))
        })
    });
    is_verified
        && !has_keymap
        && !request.args.iter().any(is_named)
        && !launch::is_unattended(request.manifest, request.args)
}

/// One hook group in TOML; what JSON writes of a string, TOML reads.
fn group(command: &str, timeout_s: u64) -> String {
    let command = serde_json::Value::from(command);
    format!("{{hooks=[{{type=\"command\",command={command},timeout={timeout_s}}}]}}")
}

fn flag(event: &str, groups: &[String]) -> OsString {
    format!("{PREFIX}{event}=[{}]", groups.join(",")).into()
}

/// By event, the inner text of the array of its hook groups.
type Groups = std::collections::BTreeMap<String, String>;

/// The arguments without `-c hooks.*`, and the last such value of each event, which is the one the client would take.
fn split(args: &[OsString]) -> Result<(Vec<OsString>, Groups), WiringError> {
    let mut rest = Vec::new();
    let mut passed = Groups::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            rest.push(arg.clone());
            rest.extend(args.by_ref().cloned());
        } else if arg == "-c" || arg == "--config" {
            let value = args.next();
            match value.map(|value| hooks_of(value)).transpose()?.flatten() {
                Some((event, groups)) => drop(passed.insert(event, groups)),
                None => rest.extend([arg].into_iter().chain(value).cloned()),
            }
        } else {
            let joined = arg.to_str().and_then(|arg| {
                arg.strip_prefix("--config=")
                    .or_else(|| arg.strip_prefix("-c").filter(|_| !arg.starts_with("--")))
            });
            match joined
                .map(|value| hooks_of(OsStr::new(value)))
                .transpose()?
                .flatten()
            {
                Some((event, groups)) => drop(passed.insert(event, groups)),
                None => rest.push(arg.clone()),
            }
        }
    }
    Ok((rest, passed))
}

/// The event and its groups, if the setting is about an event's hooks.
fn hooks_of(setting: &OsStr) -> Result<Option<(String, String)>, WiringError> {
    let text = setting.to_str();
    // `-c=key=value` is a way to write it, too.
    let text = text.map(|text| text.strip_prefix('=').unwrap_or(text));
    let Some((key, value)) = text.and_then(|text| text.split_once('=')) else {
        return Ok(None);
    };
    let key = key.trim();
    let Some(event) = key.strip_prefix(PREFIX) else {
        return match key {
            // The whole table at once would replace harn's part of it.
            "hooks" => Err(WiringError::Shape("hooks")),
            _ => Ok(None),
        };
    };
    let is_event = event.starts_with(|first: char| first.is_ascii_uppercase());
    if !is_event || !event.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(None);
    }
    let document = format!("value = {value}").parse::<Table>();
    let is_array = document.is_ok_and(|it| it.get("value").is_some_and(Value::is_array));
    let inner = value
        .trim()
        .strip_prefix('[')
        .and_then(|it| it.strip_suffix(']'));
    match inner.filter(|_| is_array) {
        Some(groups) => {
            let groups = groups.trim().trim_end_matches(',');
            Ok(Some((event.to_owned(), groups.to_owned())))
        }
        None => Err(WiringError::Shape("hooks")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::adapter::gauge::Settings;
    use crate::adapter::registry;

    fn wired(args: &[&str], leading: &[&str]) -> Result<Vec<String>, WiringError> {
        let manifest = registry::load("codex").unwrap();
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let leading: Vec<String> = leading.iter().map(|flag| (*flag).to_owned()).collect();
        let wiring = wire(&Request {
            manifest: &manifest,
            version: None,
            leading_flags: &leading,
            args: &args,
            cwd: Path::new("/"),
            file: Path::new("/run/s.json"),
            command: &|event| format!("'/opt/a \"b\"/harn' hook codex {event}"),
            status_line: "",
            settings: &Settings {
                var: &|_| None,
                read: &|_| None,
                project: Path::new("/"),
                run: None,
            },
        })?;
        assert_eq!(wiring.file, None);
        let texts = wiring
            .args
            .into_iter()
            .map(|arg| arg.into_string().unwrap());
        Ok(texts.collect())
    }

    /// The value of `-c hooks.<event>=`, parsed; and how often it stands there.
    fn groups(args: &[String], event: &str) -> (Vec<Value>, usize) {
        let prefix = format!("hooks.{event}=");
        let found: Vec<&str> = args
            .iter()
            .filter_map(|arg| arg.strip_prefix(&prefix))
            .collect();
        let document: Table = format!("value = {}", found[0]).parse().unwrap();
        (document["value"].as_array().unwrap().clone(), found.len())
    }

    #[test]
    fn every_event_is_one_flag_before_what_the_user_typed() {
        let args = wired(&["exec", "-c", "model=\"x\"", "hello"], &["--no-daemon"]).unwrap();
        assert_eq!(args.first().unwrap(), "--no-daemon");
        assert_eq!(args[1 + 2 * 12..], ["exec", "-c", "model=\"x\"", "hello"]);
        let (stop, count) = groups(&args, "Stop");
        let expected: Table =
            "value = [{hooks=[{type='command',command=\"'/opt/a \\\"b\\\"/harn' hook codex Stop\",timeout=10}]}]"
                .parse()
                .unwrap();
        assert_eq!(
            (stop, count),
            (expected["value"].as_array().unwrap().clone(), 1)
        );
        assert_eq!(
            args,
            wired(&["exec", "-c", "model=\"x\"", "hello"], &["--no-daemon"]).unwrap()
        );
    }

    #[test]
    fn a_program_that_lists_no_leading_flag_gets_none() {
        assert_eq!(wired(&[], &[]).unwrap()[0], "-c");
    }

    #[test]
    fn the_users_own_session_hooks_stay_and_come_first() {
        let own = "hooks.Stop=[{hooks=[{type=\"command\",command=\"mine\"}]}]";
        for given in [
            vec!["-c".to_owned(), own.to_owned()],
            vec!["--config".to_owned(), own.to_owned()],
            vec![format!("--config={own}")],
            vec![format!("-c{own}")],
            vec![format!("-c={own}")],
        ] {
            let mut given: Vec<&str> = given.iter().map(String::as_str).collect();
            given.extend(["resume", "--last"]);
            let args = wired(&given, &[]).unwrap();
            let (stop, count) = groups(&args, "Stop");
            let commands: Vec<&str> = stop
                .iter()
                .map(|group| group["hooks"][0]["command"].as_str().unwrap())
                .collect();
            assert_eq!(
                (commands, count),
                (vec!["mine", "'/opt/a \"b\"/harn' hook codex Stop"], 1),
                "{given:?}"
            );
            assert_eq!(args[2 * 12..], ["resume", "--last"], "{given:?}");
        }
    }

    #[test]
    fn other_settings_and_what_stands_behind_two_dashes_pass_untouched() {
        let given = [
            "-c",
            "hooks.state={}",
            "-C",
            "/x",
            "--cd",
            "y",
            "--",
            "-c",
            "hooks.Stop=[]",
        ];
        assert_eq!(wired(&given, &[]).unwrap()[2 * 12..], given);
        let unheard = wired(&["-c", "hooks.Other=[]"], &[]).unwrap();
        assert_eq!(unheard[2 * 12..], ["-c", "hooks.Other=[]"]);
    }

    #[test]
    fn hooks_that_cannot_be_joined_are_an_error_and_not_dropped() {
        for odd in ["hooks={}", "hooks.Stop=7", "hooks.Stop=[{"] {
            assert!(
                matches!(wired(&["-c", odd], &[]), Err(WiringError::Shape("hooks"))),
                "{odd}"
            );
        }
    }
}
