//! Reads what a run left: transcript lines and requests.

use std::collections::BTreeSet;

use harn::rehearsal::messages::texts;
use harn::rehearsal::{Entry, Kind};
use serde_json::Value;

/// How a briefing of the first generation begins its tag.
pub(crate) const FIRST_TAG: &str = "[harn:g1:";

/// The compactions a transcript tells of, by what set them off.
pub(crate) fn boundaries(transcript: &[Value]) -> Vec<&str> {
    let is_boundary = |line: &&Value| line["subtype"] == "compact_boundary";
    transcript.iter().filter(is_boundary).map(trigger).collect()
}

fn trigger(boundary: &Value) -> &str {
    boundary["compactMetadata"]["trigger"]
        .as_str()
        .unwrap_or("?")
}

/// How many turns the model has ended; one message is several lines.
pub(crate) fn turns(transcript: &[Value]) -> usize {
    let is_end = |line: &&Value| {
        line["message"]["stop_reason"] == "end_turn" && line["isSidechain"] != Value::Bool(true)
    };
    let ids = transcript
        .iter()
        .filter(is_end)
        .map(|line| line["message"]["id"].as_str());
    ids.collect::<BTreeSet<_>>().len()
}

/// Conversation and summary requests in order, errands apart.
pub(crate) fn conversation(entries: &[Entry]) -> Vec<Kind> {
    let kinds = entries.iter().map(|entry| entry.kind);
    kinds
        .filter(|kind| matches!(kind, Kind::Main | Kind::Summary))
        .collect()
}

/// The first conversation request after the only summary.
pub(crate) fn next_after_summary(entries: &[Entry]) -> &Entry {
    let summaries: Vec<&Entry> = entries.iter().filter(|e| e.kind == Kind::Summary).collect();
    assert_eq!(summaries.len(), 1, "summary requests");
    let after = |entry: &&Entry| entry.kind == Kind::Main && entry.n > summaries[0].n;
    entries
        .iter()
        .find(after)
        .expect("a request after the summary")
}

/// How often the model sees this text in a request.
pub(crate) fn count_in(entry: &Entry, text: &str) -> usize {
    texts(&entry.body)
        .iter()
        .map(|part| part.matches(text).count())
        .sum()
}
