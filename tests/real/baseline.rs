//! The client alone, without harn: what the rehearsal is worth, and what the client does by itself.

use harn::rehearsal::Kind::{Main, Summary};
use harn::rehearsal::messages::human_prompts;

use super::record::{boundaries, conversation, count_in, next_after_summary};
use super::sandbox::{SESSION, Sandbox};
use super::session::{Asked, LIMIT, Left, Session};

const SUMMARY: &str = "REHEARSED-SUMMARY";

#[test]
fn claude_edits_after_a_dialog_compacts_when_told_and_goes_on() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let session = Session::start(&sandbox, sandbox.claude([]));
    let file = sandbox.env.project().join("new.txt");
    let write = format!(r#"make it @tool=Write {{"file_path":{file:?},"content":"made\n"}}"#);
    session.prompt_asked(&write, Asked::Permission);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "made\n");
    session.prompt("and then?");
    session.compact();
    session.prompt("go on @say=going");
    assert_eq!(session.exit(), Left::clean());

    let log = sandbox.log().all();
    assert_eq!(conversation(&log), [Main, Main, Main, Summary, Main]);
    let next = next_after_summary(&log);
    assert_eq!(count_in(next, SUMMARY), 1);
    assert!(
        human_prompts(&next.body)
            .last()
            .unwrap()
            .ends_with("go on @say=going")
    );
    assert_eq!(boundaries(&sandbox.transcript(SESSION)), ["manual"]);
    assert_eq!(ran(&sandbox), BOTH_OWNERS);
    assert_eq!(
        sandbox.changed_own_files(),
        [""; 0].map(std::path::PathBuf::from)
    );
}

#[test]
fn claude_compacts_before_a_prompt_when_its_window_is_filled() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let args = ["--settings", r#"{"autoCompactWindow":100000}"#];
    let session = Session::start(&sandbox, sandbox.claude(args));
    session.prompt("one");
    session.prompt("two @usage=68000");
    session.prompt("three");
    assert_eq!(session.exit(), Left::clean());
    assert_eq!(
        conversation(&sandbox.log().all()),
        [Main, Main, Summary, Main]
    );
    assert_eq!(boundaries(&sandbox.transcript(SESSION)), ["auto"]);
    assert_eq!(ran(&sandbox), BOTH_OWNERS);
}

#[test]
fn claude_compacts_within_a_turn_when_its_window_is_filled() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let args = ["--settings", r#"{"autoCompactWindow":100000}"#];
    let session = Session::start(&sandbox, sandbox.claude(args));
    session.prompt("one");
    let notes = sandbox.env.project().join("notes.txt");
    session.prompt(&format!(
        r#"two @usage=68000 @tool=Read {{"file_path":{notes:?}}}"#
    ));
    assert_eq!(session.exit(), Left::clean());
    assert_eq!(
        conversation(&sandbox.log().all()),
        [Main, Main, Summary, Main]
    );
    assert_eq!(boundaries(&sandbox.transcript(SESSION)), ["auto"]);
}

#[test]
fn claude_compacts_when_the_model_refuses_a_prompt_as_too_long() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    sandbox
        .model()
        .script(|script| script.context_limit_tokens = Some(200_000));
    let session = Session::start(&sandbox, sandbox.claude([]));
    session.prompt("one");
    session.prompt("two @usage=205000");
    session.prompt("three");
    assert_eq!(session.exit(), Left::clean());
    assert_eq!(
        conversation(&sandbox.log().all()),
        [Main, Main, Main, Summary, Main]
    );
    assert_eq!(boundaries(&sandbox.transcript(SESSION)), ["auto"]);
}

#[test]
fn claude_answers_through_pipes() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let output = sandbox.env.run(sandbox.claude(["-p"]), b"hello @say=piped");
    assert_eq!(
        (output.out(), output.err(), output.code),
        ("piped\n".to_owned(), String::new(), 0)
    );
    assert!(sandbox.log().wait_done(Main, 1, LIMIT).is_some());
}

const BOTH_OWNERS: [&str; 4] = [
    "project:PreCompact",
    "project:SessionStart:compact",
    "user:PreCompact",
    "user:SessionStart:compact",
];

/// Each hook that ran, sorted: their order is not the client's promise.
fn ran(sandbox: &Sandbox) -> Vec<String> {
    let mut ran = sandbox.hooks_ran();
    ran.sort();
    ran
}
