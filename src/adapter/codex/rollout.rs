//! Usage and boundaries in the client's rollout file.
//!
//! Pure. `last_token_usage` is the context, `total_token_usage` a bill; cached tokens are part of the input and reasoning
//! of the output, so nothing is added. The window reported is the usable one already. Right after a compaction the
//! client writes its own estimate, with all counts zero but the total.

use std::path::Path;

use serde::Deserialize;

use crate::adapter::gauge::{Parsed, Subject};
use crate::event::{CompactionTrigger, Timestamp, Tokens};
use crate::telemetry::line::{self, Line};
use crate::telemetry::number::{Count, Part, Words};
use crate::telemetry::sample::Formula;
use crate::telemetry::{Boundary, Fact, Reading, SampleSource};

/// Tokens that the client's own percentage never counts.
const BASELINE: u64 = 12_000;

const NEEDLES: [&str; 3] = ["token_count", "compacted", "turn_context"];
const HEADS: [&str; 1] = ["{\"timestamp\""];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LineWire {
    timestamp: Words,
    r#type: Words,
    payload: Part<PayloadWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PayloadWire {
    r#type: Words,
    thread_source: Words,
    model: Words,
    info: Part<InfoWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InfoWire {
    last_token_usage: Part<UsageWire>,
    model_context_window: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageWire {
    #[serde(rename = "input_tokens")]
    input: Count,
    #[serde(rename = "output_tokens")]
    output: Count,
    #[serde(rename = "total_tokens")]
    total: Count,
}

/// Every thread has a file of its own, and hooks name it; a sub-agent's is told apart by the hook.
pub(super) fn is_main(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

/// Whether the first line of a record tells of the user's own conversation, and not of a sub-agent's or the client's own.
pub(super) fn is_of_user(line: &[u8]) -> bool {
    let (Line::Whole(wire) | Line::Mended(wire)) =
        line::read::<LineWire>(line, &["session_meta"], &HEADS)
    else {
        return false;
    };
    let source = wire.payload.0.unwrap_or_default().thread_source.0;
    wire.r#type.0.as_deref() == Some("session_meta") && source.as_deref() == Some("user")
}

/// Reads one line.
pub(super) fn parse(line: &[u8], _subject: Subject<'_>) -> Parsed {
    let (wire, is_damaged) = match line::read::<LineWire>(line, &NEEDLES, &HEADS) {
        Line::Skipped => return Parsed::NOTHING,
        Line::Damaged => return Parsed::DAMAGED,
        Line::Whole(wire) => (wire, false),
        Line::Mended(wire) => (wire, true),
    };
    Parsed {
        fact: fact(wire),
        is_damaged,
    }
}

fn fact(wire: LineWire) -> Option<Fact> {
    let at: Option<Timestamp> = wire.timestamp.0.and_then(|text| text.parse().ok());
    let payload = wire.payload.0.unwrap_or_default();
    match (wire.r#type.0.as_deref(), payload.r#type.0.as_deref()) {
        (Some("compacted"), _) => Some(Fact::Boundary(Boundary {
            // The file does not say who asked; the hook does.
            trigger: CompactionTrigger::Unknown,
            before: None,
            at,
        })),
        (Some("turn_context"), _) => payload.model.0.map(Fact::Model),
        (Some("event_msg"), Some("token_count")) => {
            let info = payload.info.0?;
            let usage = info.last_token_usage.0?;
            let used = usage.total.0.filter(|total| *total > 0)?;
            Some(Fact::Reading(Reading {
                used: Some(Tokens(used)),
                window: info
                    .model_context_window
                    .0
                    .filter(|size| *size > 0)
                    .map(Tokens),
                window_guess: None,
                sizes: &[],
                percent: None,
                formula: Formula::AboveBaseline(BASELINE),
                is_estimate: usage.input.or_zero() == 0 && usage.output.or_zero() == 0,
                model: None,
                source: SampleSource::Transcript,
                at,
            }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SessionId;
    use crate::telemetry::Meter;

    fn parsed(line: &str) -> Parsed {
        let session = SessionId::new("s");
        let subject = Subject {
            session: &session,
            model: None,
        };
        parse(line.as_bytes(), subject)
    }

    fn percent(last: &str, window: u64) -> (Option<u64>, Option<String>) {
        let line = format!(
            r#"{{"timestamp":"2026-11-30T18:50:26.794Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"total_tokens":2864448}},"last_token_usage":{last},"model_context_window":{window}}}}}}}"#
        );
        let Some(Fact::Reading(reading)) = parsed(&line).fact else {
            return (None, None);
        };
        let now = Timestamp::from_unix_ms(i64::MAX / 2_000_000);
        let sample = Meter::default().offer(&reading, now).unwrap();
        (
            sample.used_tokens.map(|used| used.0),
            sample.used_percent.map(|percent| percent.to_string()),
        )
    }

    #[test]
    fn the_last_usage_is_the_context_and_nothing_is_added_to_its_total() {
        assert_eq!(
            percent(
                r#"{"input_tokens":120000,"cached_input_tokens":96128,"output_tokens":2628,"reasoning_output_tokens":1129,"total_tokens":122628}"#,
                258_400
            ),
            (Some(122_628), Some("45".into()))
        );
        assert_eq!(
            percent(
                r#"{"input_tokens":11990,"output_tokens":10,"total_tokens":12000}"#,
                258_400
            ),
            (Some(12_000), Some("0".into()))
        );
        assert_eq!(percent(r#"{"total_tokens":0}"#, 258_400), (None, None));
        assert_eq!(percent(r#"{"total_tokens":-5}"#, 258_400), (None, None));
        assert_eq!(
            percent(r#"{"input_tokens":1,"total_tokens":5}"#, 0),
            (Some(5), None)
        );
    }

    #[test]
    fn only_the_users_own_conversation_is_taken_without_a_hook() {
        let meta = |source: &str| {
            format!(
                r#"{{"timestamp":"2026-11-30T18:50:26.794Z","ordinal":0,"type":"session_meta","payload":{{"id":"t",{source}"cwd":"/p"}}}}"#
            )
        };
        let of_user = |line: &str| is_of_user(line.as_bytes());
        assert!(of_user(&meta(r#""source":"cli","thread_source":"user","#)));
        assert!(!of_user(&meta(r#""thread_source":"subagent","#)));
        assert!(!of_user(&meta("")));
        assert!(!of_user(
            r#"{"type":"event_msg","payload":{"thread_source":"user"}}"#
        ));
        assert!(!of_user(
            r#"{"type":"session_meta","payload":{"thread_source":"user""#
        ));
    }

    /// Every recorded file: its facts in order, and the rest of the window as the client shows it.
    #[test]
    fn recorded_rollouts_give_the_same_facts() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/adapters/codex/fixtures/rollout"
        );
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut table = String::new();
        for name in names {
            table.extend([&name, "\n"]);
            let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
            for (number, line) in text.lines().enumerate() {
                let parsed = parsed(line);
                assert!(!parsed.is_damaged, "{name}:{number}");
                match parsed.fact {
                    Some(Fact::Reading(reading)) => {
                        let (used, window) = (reading.used.unwrap().0, reading.window.unwrap().0);
                        let left = 100.0 - reading.formula.percent(used, window).unwrap().as_f64();
                        let note = if reading.is_estimate {
                            " estimated"
                        } else {
                            ""
                        };
                        let line = format!("  {number}: {used} of {window}, {left} % left{note}\n");
                        table.extend([line]);
                    }
                    Some(Fact::Boundary(_)) => table.extend([format!("  {number}: boundary\n")]),
                    Some(Fact::Model(_)) | None => {}
                }
            }
        }
        insta::assert_snapshot!(table);
    }
}
