use super::*;
use crate::event::SessionId;

const SESSION: &str = "s";

fn parsed(text: &str) -> Parsed {
    let session = SessionId::new(SESSION);
    parse(
        text.as_bytes(),
        Subject {
            session: &session,
            model: None,
        },
    )
}

fn used(text: &str) -> Option<u64> {
    match parsed(text).fact {
        Some(Fact::Reading(reading)) => reading.used.map(|used| used.0),
        Some(Fact::Boundary(_) | Fact::Model(_)) | None => None,
    }
}

fn usage(usage: &str) -> String {
    format!(r#"{{"type":"assistant","sessionId":"s","message":{{"id":"m1","usage":{usage}}}}}"#)
}

#[test]
fn context_is_input_and_both_kinds_of_cache() {
    let line = usage(
        r#"{"input_tokens":4,"cache_creation_input_tokens":15000,"cache_read_input_tokens":0,"output_tokens":37}"#,
    );
    assert_eq!(used(&line), Some(15_004));
}

#[test]
fn odd_numbers_count_as_absent_and_zero_is_an_aborted_reply() {
    let table = [
        (r#"{"input_tokens":"12"}"#, Some(12)),
        (
            r#"{"input_tokens":-1,"cache_read_input_tokens":7}"#,
            Some(7),
        ),
        (r#"{"input_tokens":1e308}"#, None),
        (r#"{"input_tokens":[[{"a":1}]]}"#, None),
        (r#"{"input_tokens":0,"output_tokens":0}"#, None),
        (r"{}", None),
        ("null", None),
        ("[1]", None),
    ];
    assert_eq!(table.map(|(odd, _)| (odd, used(&usage(odd)))), table);
}

#[test]
fn side_chains_sub_agents_and_other_sessions_are_passed_over() {
    let line = usage(r#"{"input_tokens":5}"#);
    assert_eq!(used(&line), Some(5));
    for (from, to) in [
        ("\"sessionId\":\"s\"", "\"sessionId\":\"other\""),
        ("\"sessionId\"", "\"isSidechain\":true,\"sessionId\""),
        ("\"sessionId\"", "\"agentId\":\"a\",\"sessionId\""),
        ("\"assistant\"", "\"user\""),
    ] {
        assert_eq!(used(&line.replace(from, to)), None, "{to}");
    }
    for (path, is_own) in [
        ("/p/x/s.jsonl", true),
        ("/p/x/s/subagents/agent-1.jsonl", false),
        ("/p/x/agent-1.jsonl", false),
    ] {
        assert_eq!(is_main(Path::new(path)), is_own, "{path}");
    }
}

#[test]
fn a_large_window_is_guessed_by_the_name_the_session_started_with() {
    let size = |model, started| guess(Some(model), started).map(|size| size.0);
    assert_eq!(size("opus-4-8", None), Some(200_000));
    assert_eq!(size("opus-4-8", Some("opus-4-8[1m]")), Some(1_000_000));
    assert_eq!(size("haiku-4-5", Some("opus-4-8[1m]")), Some(200_000));
    assert_eq!(guess(None, None), None);
}

/// Every recorded transcript: what each of its lines says of the context.
#[test]
fn recorded_transcripts_give_the_same_facts() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/adapters/claude-code/fixtures/transcript"
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
        let id = text
            .lines()
            .find_map(|line| {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                value["sessionId"].as_str().map(str::to_owned)
            })
            .unwrap();
        let session = SessionId::new(id);
        let subject = Subject {
            session: &session,
            model: None,
        };
        for (number, line) in text.lines().enumerate() {
            let parsed = parse(line.as_bytes(), subject);
            if parsed.is_damaged {
                table.extend([format!("  {number}: damaged\n")]);
            }
            match parsed.fact {
                Some(Fact::Reading(reading)) => table.extend([format!(
                    "  {number}: {} {}\n",
                    reading.used.unwrap().0,
                    reading.model.unwrap()
                )]),
                Some(Fact::Boundary(boundary)) => table.extend([format!(
                    "  {number}: boundary {:?} before {:?}\n",
                    boundary.trigger, boundary.before
                )]),
                Some(Fact::Model(_)) | None => {}
            }
        }
    }
    insta::assert_snapshot!(table);
}
