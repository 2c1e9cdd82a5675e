//! The demo where there is no screen: a pipe, a closed input, a terminal that knows no escape sequence.

use super::stage::{assert_intact, demo, files, scratches};
use crate::run::hosted::LIMIT;
use crate::support::{Pty, TestEnv};

#[test]
fn lines_of_a_pipe_are_prompts_and_harn_looks_after_them_all_the_same() {
    let env = TestEnv::new();
    let output = env.run(
        demo(&env, &["--speed", "50"]),
        b"one\ntwo\n/compact keep the notes\n/ask\n!echo from the shell\ngo on",
    );
    let out = output.out();
    assert_eq!((output.code, output.err()), (0, String::new()));
    assert!(out.contains("no answer to \"one\""), "{out}");
    assert!(out.contains("briefing received: [harn:g1:"), "{out}");
    assert!(
        out.contains("The compaction was asked to keep: keep the notes"),
        "{out}"
    );
    assert!(out.contains("Not allowed."), "{out}");
    assert!(out.contains("from the shell"), "{out}");
    assert!(!out.contains('\x1b'), "{out}");
    assert!(scratches(&env).is_empty());
}

#[test]
fn a_closed_input_is_no_prompt_at_all() {
    let env = TestEnv::new();
    let mut command = env.command("/bin/sh");
    command.args(["-c", "exec \"$HARN\" run -- demo <&-"]);
    command.env("HARN", env.bin());
    let output = env.run(command, b"");
    assert_eq!(
        (output.code, output.out(), output.err()),
        (0, String::new(), String::new())
    );
    assert!(scratches(&env).is_empty());
}

#[test]
fn one_prompt_on_the_command_line_is_answered() {
    let env = TestEnv::new();
    let output = env.run(demo(&env, &["--speed", "50", "-p", "hello"]), b"ignored");
    assert!(
        output
            .out()
            .starts_with("I am a scripted demo and have no answer to \"hello\"")
    );
    assert_eq!(output.code, 0);
}

#[test]
fn a_dumb_terminal_gets_the_story_in_plain_lines() {
    let mut env = TestEnv::new();
    env.set("TERM", "dumb");
    let mut pty = Pty::spawn(demo(&env, &["--speed", "10"]), 50, 100);
    pty.wait_text("briefing received: [harn:g1:");
    pty.wait_text("harn run -- claude");
    let raw = String::from_utf8(pty.raw()).unwrap();
    assert!(!raw.contains('\x1b'), "an escape sequence");
    pty.send(b"/exit\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_intact(&env, &pty);
    assert!(scratches(&env).is_empty());
}

#[test]
fn what_cannot_be_used_is_said_and_nothing_is_left() {
    let env = TestEnv::new();
    let script = env.write("script", "say a\nsing b\n");
    let output = env.run(demo(&env, &["--script", script.to_str().unwrap()]), b"");
    assert_eq!(output.code, 1);
    let said = format!(
        "harn: the script {}: line 2: no such word\n",
        script.display()
    );
    assert_eq!(output.err(), said);
    let output = env.run(demo(&env, &["--like", "nobody"]), b"");
    assert_eq!(output.code, 64);
    assert!(scratches(&env).is_empty());
}

#[test]
fn kept_scratch_holds_the_transcript_of_either_kind() {
    for (format, mark) in [
        ("claude", "compact_boundary"),
        ("codex", "\"type\":\"compacted\""),
    ] {
        let env = TestEnv::new();
        let options = ["--keep", "--speed", "50", "--transcript", format];
        let output = env.run(demo(&env, &options), b"one\ntwo\n/compact\ngo on\n");
        assert_eq!(output.code, 0);
        let home = super::stage::scratch(&env).join("home/projects");
        let transcript = std::fs::read_to_string(files(&home).pop().unwrap()).unwrap();
        let boundary = transcript.find(mark).unwrap();
        // The briefing is in the transcript, behind the boundary or in front of the next answer.
        assert!(transcript.contains("[harn:g1:"), "{transcript}");
        assert!(transcript.find("two").unwrap() < boundary);
        for line in transcript.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }
}
