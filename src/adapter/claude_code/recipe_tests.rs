use super::*;

const RULE_ROW: &str = "────────────────────────────────────────";

/// A screen of 40 columns with these rows.
fn seen(rows: &[&str], editing: Editing) -> Sight {
    let mut model = Model::new(12, 40);
    model.process(format!("\x1b[H\x1b[2J{}", rows.join("\r\n")).as_bytes());
    sight(&model, editing)
}

fn boxed(held: &str, below: &str) -> Sight {
    seen(
        &["● reply", "", RULE_ROW, held, RULE_ROW, below],
        Editing::Plain,
    )
}

fn holds(text: &str) -> Composer {
    Composer::Holds(text.to_owned())
}

/// As captured from 2.1.197, colours and blanks included.
#[test]
fn the_prompt_is_what_stands_between_the_last_rules() {
    let table = [
        (
            "❯\u{a0}\x1b[7m \x1b[0m",
            "  \x1b[38;5;246m? for shortcuts\x1b[0m",
            Composer::Empty,
        ),
        (
            "❯\u{a0}\x1b[2mTry \"edit a file\"\x1b[0m",
            "",
            Composer::Empty,
        ),
        ("❯\u{a0}merge PR 10", "", holds("merge PR 10")),
        ("❯\u{a0}one\r\n  two", "", holds("one\ntwo")),
        ("❯\u{a0}/compact keep api", "", holds("/compact keep api")),
        (
            "❯\u{a0}/compact \x1b[7m \x1b[0m\x1b[38;5;246m<optional custom summarization instructions>",
            "",
            holds("/compact"),
        ),
        ("!\u{a0}", "  ! for shell mode", Composer::Shell),
        (
            "❯\u{a0}",
            "  search prompts:   ← for agents",
            Composer::Hidden,
        ),
    ];
    for (held, below, expected) in table {
        let wide = held.contains("<optional");
        let found = if wide {
            let mut model = Model::new(8, 80);
            let rule = "─".repeat(80);
            model.process(format!("{rule}\r\n{held}\r\n\x1b[0m{rule}").as_bytes());
            sight(&model, Editing::Plain)
        } else {
            boxed(held, below)
        };
        assert_eq!(found.composer, expected, "{held:?}");
    }
}

#[test]
fn what_stands_in_the_prompts_place_hides_it() {
    let permission = [
        "● Bash(touch zz.txt)",
        RULE_ROW,
        " Bash command",
        "   touch zz.txt",
        " Do you want to proceed?",
        " ❯ 1. Yes",
        "   3. No",
        " Esc to cancel · Tab to amend",
    ];
    let transcript = [
        "● reply",
        RULE_ROW,
        "  Showing detailed transcript · ctrl+o",
    ];
    let rewind = [
        "● reply",
        RULE_ROW,
        "  Rewind",
        "  ❯ (current)",
        "  Enter to continue · Esc to cancel",
    ];
    // A dialog below an older box.
    let over = [
        "",
        RULE_ROW,
        "❯\u{a0}",
        RULE_ROW,
        " ❯ 1. Yes",
        " Esc to cancel",
    ];
    for rows in [&permission[..], &transcript, &rewind, &over, &["text"]] {
        let sight = seen(rows, Editing::Plain);
        assert_eq!(sight.composer, Composer::Hidden, "{rows:?}");
    }
    let mut lost = Model::new(4, 20);
    lost.process(b"x");
    lost.lose();
    assert_eq!(sight(&lost, Editing::Plain), Sight::UNKNOWN);
}

#[test]
fn the_menus_first_row_is_what_enter_would_run() {
    let menu = |row: &str| boxed("❯\u{a0}/compact", row).menu;
    assert_eq!(
        menu("/compact      Free up context").as_deref(),
        Some("/compact      Free up context")
    );
    assert_eq!(
        menu("/security-review   Complete").as_deref(),
        Some("/security-review   Complete")
    );
    assert_eq!(menu("  ? for shortcuts"), None);
}

#[test]
fn an_editor_with_modes_takes_text_only_when_it_says_so() {
    let rows = ["", RULE_ROW, "❯\u{a0}", RULE_ROW, "  -- INSERT --"];
    assert_eq!(seen(&rows, Editing::Modal).composer, Composer::Empty);
    assert_eq!(
        seen(&rows[..4], Editing::Modal).composer,
        Composer::Commands
    );
    assert_eq!(seen(&rows[..4], Editing::Plain).composer, Composer::Empty);
}

#[test]
fn a_status_file_says_what_the_client_is_at() {
    let read = |text: &str| {
        status(text.as_bytes()).map(|it| (it.word, it.since.map(Timestamp::as_unix_ms)))
    };
    let file = |word: &str| {
        format!(r#"{{"pid":1,"sessionId":"s","status":"{word}","statusUpdatedAt":1796093323924}}"#)
    };
    let since = Some(1_796_093_323_924);
    assert_eq!(read(&file("idle")), Some((StatusWord::Idle, since)));
    assert_eq!(read(&file("shell")), Some((StatusWord::Background, since)));
    assert_eq!(read(&file("busy")), Some((StatusWord::Busy, since)));
    assert_eq!(read(&file("waiting")), Some((StatusWord::Waiting, since)));
    assert_eq!(read(&file("dreaming")), None);
    assert_eq!(read("{"), None);
    let path = status_path(Path::new("/h/.claude/projects/p/s.jsonl"), 7);
    assert_eq!(path, Some("/h/.claude/sessions/7.json".into()));
}

#[test]
fn only_a_turning_mark_is_a_busy_title() {
    assert!(is_busy_title("⠂ work") && is_busy_title("⠐ work"));
    assert!(!is_busy_title("✳ work") && !is_busy_title(""));
}

/// Every recorded transcript: what of it matters to an attempt.
#[test]
fn recorded_transcripts_tell_of_compactions_and_failures() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/adapters/claude-code/fixtures/transcript"
    );
    let mut found = String::new();
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        found.extend([path.file_name().unwrap().to_str().unwrap(), "\n"]);
        for line in text.lines() {
            let session: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let session = SessionId::new(session["sessionId"].as_str().unwrap_or("none"));
            match record(line.as_bytes(), &session) {
                Some(Record::Prompt(_)) | None => {}
                Some(told) => found.extend([format!("  {told:?}\n")]),
            }
        }
    }
    insta::assert_snapshot!(found);
}

#[test]
fn a_prompt_is_the_users_words_and_no_command() {
    let session = SessionId::new("s");
    let line = |content: &str| {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":"{content}"}},"sessionId":"s"}}"#
        )
    };
    let told = |content: &str| record(line(content).as_bytes(), &session);
    assert_eq!(told("/compact"), Some(Record::Prompt("/compact".into())));
    assert_eq!(told("<command-name>/compact</command-name>"), None);
    let unknown = r#"{"type":"system","subtype":"informational","content":"Unknown command: /compact","sessionId":"s"}"#;
    assert_eq!(
        record(unknown.as_bytes(), &session),
        Some(Record::Reply(Reply::NoCommand(
            "Unknown command: /compact".into()
        )))
    );
    assert_eq!(record(line("x").as_bytes(), &SessionId::new("other")), None);
}
