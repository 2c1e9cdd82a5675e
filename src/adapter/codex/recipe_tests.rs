use super::*;

fn seen(rows: &[&str]) -> Sight {
    let mut model = Model::new(12, 60);
    model.process(format!("\x1b[H\x1b[2J{}", rows.join("\r\n")).as_bytes());
    sight(&model, Editing::Plain)
}

const STATUS: &str = "  gpt-rehearsal default · /p · hello";
const FOOTER: &str = "  ← for agents · ? for shortcuts";

/// As captured from 0.171.0.
#[test]
fn the_prompt_is_the_last_marked_line_without_its_faint_words() {
    let held = |line: &str| seen(&["• answer", "", line, "", STATUS, FOOTER]).composer;
    assert_eq!(
        held("\x1b[1m›\x1b[0m \x1b[2mAsk Codex to do anything\x1b[0m"),
        Composer::Empty
    );
    assert_eq!(
        held("\x1b[1m›\x1b[0m a draft"),
        Composer::Holds("a draft".into())
    );
    assert_eq!(held("! ls"), Composer::Shell);
    let lines = seen(&["• answer", "› one", "  two", "", STATUS, FOOTER]);
    assert_eq!(lines.composer, Composer::Holds("one\n".into()));
}

#[test]
fn the_popup_row_above_is_what_enter_would_run() {
    let rows = [
        "• answer",
        "",
        "› /compact  summarize conversation",
        "",
        "› /compact",
        "",
        STATUS,
    ];
    let found = seen(&rows);
    assert_eq!(found.composer, Composer::Holds("/compact".into()));
    assert_eq!(
        found.menu.as_deref(),
        Some("/compact  summarize conversation")
    );
}

#[test]
fn what_stands_in_the_prompts_place_hides_it() {
    let picker = [
        "  Select Model and Effort",
        "› 1. gpt-rehearsal (current)",
        "  2. other",
        "  3. other",
        "  4. other",
        "  5. other",
        "  Press enter to confirm or esc to go back",
    ];
    let browsing = [
        "› hello",
        "• answer",
        "› \x1b[2mAsk Codex\x1b[0m",
        "",
        STATUS,
        "  Browsing transcript · esc back",
    ];
    for rows in [&picker[..], &browsing, &["text"]] {
        assert_eq!(seen(rows).composer, Composer::Hidden, "{rows:?}");
    }
}

/// Every recorded rollout: what of it matters to an attempt.
#[test]
fn recorded_rollouts_tell_of_compactions_and_failures() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/adapters/codex/fixtures/rollout"
    );
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let session = SessionId::new("s");
    let mut found = String::new();
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        found.extend([path.file_name().unwrap().to_str().unwrap(), "\n"]);
        for line in text.lines() {
            if let Some(told) = record(line.as_bytes(), &session) {
                found.extend([format!("  {told:?}\n")]);
            }
        }
    }
    insta::assert_snapshot!(found);
}
