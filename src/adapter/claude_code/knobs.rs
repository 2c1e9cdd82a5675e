//! Settings of the client that move its automatic compaction.
//!
//! Pure. What they mean was measured on 2.1.197; without a configured window this version compacts only when the model
//! refuses a prompt as too long, and no threshold is told.

use std::path::PathBuf;

use serde_json::Value;

use super::site::MANAGED;
use super::status_line::{layers, read};
use crate::adapter::gauge::{Knobs, Settings};
use crate::event::Tokens;
use crate::telemetry::meter::Knob;

const WINDOW_VARIABLE: &str = "CLAUDE_CODE_AUTO_COMPACT_WINDOW";
const WINDOW_KEY: &str = "autoCompactWindow";
const PERCENT_VARIABLE: &str = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE";
const OFF_VARIABLES: [&str; 2] = ["DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"];
const KEYS: [&str; 2] = [WINDOW_KEY, "autoCompactEnabled"];
/// The client takes no smaller window, in tokens.
const LEAST_WINDOW: u64 = 100_000;
/// Held free for the answer, and before that again, in tokens.
const ANSWER_ROOM: u64 = 20_000;
const MARGIN: u64 = 13_000;
/// Characters of a value that are kept.
const VALUE_CHARS: usize = 24;

/// Finds the settings in force.
pub(super) fn knobs(settings: &Settings<'_>) -> Knobs {
    let mut knobs = Vec::new();
    for name in [WINDOW_VARIABLE, PERCENT_VARIABLE]
        .into_iter()
        .chain(OFF_VARIABLES)
    {
        let value = (settings.var)(name).and_then(|value| value.into_string().ok());
        knobs.extend(value.map(|value| knob(name, &value, "environment")));
    }
    // The organisation's own come first, then what this run was started with.
    let strongest = [
        Some(("managed settings", PathBuf::from(MANAGED))),
        settings.run.clone().map(|path| ("passed settings", path)),
    ];
    let layers: Vec<(&str, Value)> = strongest
        .into_iter()
        .flatten()
        .chain(layers(settings))
        .filter_map(|(origin, path)| Some((origin, read(settings, &path)?)))
        .collect();
    for key in KEYS {
        // The strongest file that says it.
        let found = layers
            .iter()
            .find_map(|(origin, layer)| Some((origin, layer.get(key).and_then(plain)?)));
        knobs.extend(found.map(|(origin, value)| knob(key, &value, origin)));
    }
    let threshold = threshold(&knobs);
    Knobs { knobs, threshold }
}

fn knob(name: &str, value: &str, origin: &str) -> Knob {
    Knob {
        name: name.to_owned(),
        value: crate::text::shorten(&crate::text::one_line(value), VALUE_CHARS),
        origin: origin.to_owned(),
    }
}

/// A number or a yes and no; anything else is not what these keys hold.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn threshold(knobs: &[Knob]) -> Option<Tokens> {
    let number = |wanted: &str| -> Option<u64> {
        let knob = knobs.iter().find(|knob| knob.name == wanted)?;
        knob.value.parse().ok()
    };
    let is_off = knobs.iter().any(|knob| {
        OFF_VARIABLES.contains(&knob.name.as_str()) && !matches!(knob.value.as_str(), "0" | "false")
    });
    let window = number(WINDOW_VARIABLE)
        .or_else(|| number(WINDOW_KEY))
        .filter(|window| *window >= LEAST_WINDOW && !is_off)?;
    let room = window - ANSWER_ROOM;
    let percent = number(PERCENT_VARIABLE).filter(|percent| (1..=100).contains(percent));
    let lowered = percent.map_or(room, |percent| room * percent / 100);
    Some(Tokens(lowered.min(room - MARGIN)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;

    fn found(vars: &[(&str, &str)], project_settings: &str) -> Knobs {
        let vars: BTreeMap<&str, &str> = vars.iter().copied().collect();
        knobs(&Settings {
            var: &|name| vars.get(name).map(OsString::from),
            read: &|path| {
                (path == Path::new("/p/.claude/settings.json"))
                    .then(|| project_settings.as_bytes().to_vec())
            },
            project: Path::new("/p"),
            run: None,
        })
    }

    #[test]
    fn managed_settings_go_before_what_was_passed_and_that_before_the_projects() {
        let with = |managed: &str, passed: &str| {
            let found = knobs(&Settings {
                var: &|_| None,
                read: &|path| {
                    let text = match path.to_str()? {
                        MANAGED => managed,
                        "/run/settings.json" => passed,
                        "/p/.claude/settings.json" => r#"{"autoCompactWindow":130000}"#,
                        _ => return None,
                    };
                    Some(text.as_bytes().to_vec())
                },
                project: Path::new("/p"),
                run: Some("/run/settings.json".into()),
            });
            found
                .knobs
                .first()
                .map(|knob| (knob.value.clone(), knob.origin.clone()))
        };
        let told = |value: &str, origin: &str| Some((value.to_owned(), origin.to_owned()));
        let (managed, passed) = (
            r#"{"autoCompactWindow":110000}"#,
            r#"{"autoCompactWindow":120000}"#,
        );
        assert_eq!(with(managed, passed), told("110000", "managed settings"));
        assert_eq!(with("{}", passed), told("120000", "passed settings"));
        assert_eq!(with("{}", "{}"), told("130000", "project settings"));
    }

    fn expected(vars: &[(&str, &str)], settings: &str) -> Option<u64> {
        found(vars, settings).threshold.map(|tokens| tokens.0)
    }

    #[test]
    fn thresholds_are_those_that_were_measured() {
        // Fired at 68,000 and not at 66,000; at 87,500 and not at 86,500; at 91,000 and not at 89,000.
        assert_eq!(
            expected(&[], r#"{"autoCompactWindow":100000}"#),
            Some(67_000)
        );
        assert_eq!(expected(&[(WINDOW_VARIABLE, "120000")], "{}"), Some(87_000));
        let percent = (PERCENT_VARIABLE, "50");
        assert_eq!(
            expected(&[(WINDOW_VARIABLE, "200000"), percent], "{}"),
            Some(90_000)
        );
        assert_eq!(expected(&[percent], "{}"), None);
        assert_eq!(
            expected(
                &[(WINDOW_VARIABLE, "200000"), ("DISABLE_AUTO_COMPACT", "1")],
                "{}"
            ),
            None
        );
    }

    #[test]
    fn odd_values_are_shown_and_mean_nothing() {
        let knobs = found(
            &[(
                WINDOW_VARIABLE,
                "a\u{1b}[31m very long value that never ends",
            )],
            r#"{"autoCompactWindow":"x","autoCompactEnabled":false}"#,
        );
        assert_eq!(knobs.threshold, None);
        let told: Vec<_> = knobs
            .knobs
            .iter()
            .map(|knob| {
                (
                    knob.name.as_str(),
                    knob.value.as_str(),
                    knob.origin.as_str(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (WINDOW_VARIABLE, "a[31m very long value t…", "environment"),
                ("autoCompactEnabled", "false", "project settings"),
            ]
        );
    }
}
