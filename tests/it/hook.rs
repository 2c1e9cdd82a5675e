//! `harn hook` as a harness calls it: whole processes, recorded shapes, bad input, broken state.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::session::{Session, assert_silent, context_of};
use crate::support::TestEnv;

fn write_file(path: &Path, content: &[u8]) {
    fs::File::create(path).unwrap().write_all(content).unwrap();
}

fn log_of(env: &TestEnv) -> String {
    fs::read_to_string(env.state().join("harn/log/harn.log")).unwrap_or_default()
}

#[test]
fn a_compaction_is_checkpointed_and_briefed_with_what_git_says() {
    let env = TestEnv::new();
    let head = env.git_init();
    let session = Session::new(&env);
    session.work_and_announce();
    let capsule: Value =
        serde_json::from_slice(&fs::read(session.dir().join("capsules/000001.json")).unwrap())
            .unwrap();
    assert_eq!(capsule["work"]["request"]["text"], "fix the parser");
    assert_eq!(capsule["repo"]["head"]["commit"], head.as_str());
    let readme = env.project().join("README");
    assert_eq!(
        capsule["work"]["touched"][0]["path"],
        readme.to_str().unwrap()
    );
    assert_eq!(capsule["compaction"]["trigger"], "manual");

    env.git(["commit", "--quiet", "--all", "--message", "second"]);
    let briefing = session.briefing().unwrap();
    assert!(briefing.starts_with("[harn:g1:"), "{briefing}");
    for part in [
        "> fix the parser",
        "branch main",
        "README (modified)",
        "re-check before editing",
    ] {
        assert!(briefing.contains(part), "{part} is not in\n{briefing}");
    }
    assert_eq!(session.briefing(), None);
    session.quiet(
        "PostCompact",
        &json!({"trigger": "manual", "prompt_id": "t2", "compact_summary": "x"}),
    );
    session.quiet("SessionEnd", &json!({"reason": "other"}));
    assert_eq!(env.git(["status", "--porcelain"]), "");
    assert_eq!(
        session.event_types(),
        [
            "session.started",
            "prompt.submitted",
            "tool.finished",
            "turn.stopped",
            "context.compaction.started",
            "context.checkpoint.created",
            "session.started",
            "context.compaction.completed",
            "context.recovery.injected",
            "session.started",
            "session.ended",
        ]
    );
    let numbers: Vec<u64> = session
        .events()
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=11).collect::<Vec<_>>());
}

#[test]
fn git_unborn_and_detached_are_named() {
    let env = TestEnv::new();
    env.git(["init", "--quiet", "--initial-branch=main"]);
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(
        session
            .briefing()
            .unwrap()
            .contains("branch main (no commit yet)")
    );

    let env = TestEnv::new();
    env.git_init();
    env.git(["checkout", "--quiet", "--detach"]);
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(
        session
            .briefing()
            .unwrap()
            .contains("no branch (detached HEAD), HEAD ")
    );
}

#[test]
fn every_other_source_of_a_session_start_is_answered_with_nothing() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    for source in [
        json!("startup"),
        json!("resume"),
        json!("clear"),
        json!("fork"),
        json!(7),
    ] {
        session.quiet("SessionStart", &json!({"source": source}));
    }
}

#[test]
fn input_that_is_no_payload_is_passed_over_and_logged() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let cases: [(&[u8], &str); 6] = [
        (b"", "standard input is empty"),
        (b"not json", "does not begin with a JSON object"),
        (b"{\"session_id\":\"s1\"", "ends within a JSON object"),
        (b"{\"session_id\" 1}", "not JSON"),
        (b"{}", "names no session"),
        (b"[{}]", "does not begin with a JSON object"),
    ];
    for (payload, reason) in cases {
        assert_silent(&session.send_raw("PreCompact", payload));
        let log = log_of(&env);
        assert!(
            log.lines().last().unwrap().contains(reason),
            "{reason} is not in {log}"
        );
    }
    assert!(!env.project().join(".harnery").exists());
}

#[test]
fn a_huge_payload_is_read_to_its_end() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let output = "x\\n".repeat(1_000_000);
    let payload = format!(
        "{{\"session_id\":\"s1\",\"cwd\":{:?},\"tool_response\":{{\"stdout\":\"{output}\"}},\"tool_name\":\"Bash\"}}",
        env.project()
    );
    // Not a tool event: on a busy machine their deadline passes while three megabytes go by.
    assert_silent(&session.send_raw("Stop", payload.as_bytes()));
    assert_eq!(session.event_types(), ["turn.stopped"]);
}

#[test]
fn a_stdin_that_never_closes_is_not_waited_for() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let mut child = env
        .harn(["hook", "claude-code", "Stop"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let payload = json!({"session_id": "s1", "cwd": env.project()}).to_string();
    stdin.write_all(payload.as_bytes()).unwrap();
    let status = child.wait().unwrap();
    drop(stdin);
    assert_eq!(status.code(), Some(0));
    assert_eq!(session.event_types(), ["turn.stopped"]);
}

#[test]
fn a_stdin_that_says_nothing_ends_at_the_deadline() {
    let env = TestEnv::new();
    let mut child = env
        .harn(["hook", "claude-code", "PostToolUse"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the bound itself is what is tested"
    )]
    let begun = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert!(log_of(&env).contains("gave up at its deadline"));
}

#[test]
fn an_unknown_event_adapter_or_usage_is_never_an_error_to_the_harness() {
    let env = TestEnv::new();
    for args in [
        vec!["hook", "claude-code", "FromTheFuture"],
        vec!["hook", "nobody", "Stop"],
        vec!["hook", "claude-code"],
        vec!["hook", "claude-code", "Stop", "--bogus"],
        vec!["hook"],
    ] {
        let output = env.run(env.harn(&args), b"{\"session_id\":\"s1\"}");
        assert_eq!((output.code, output.out()), (0, String::new()), "{args:?}");
    }
}

#[test]
fn disabled_hooks_do_nothing_at_all() {
    let mut env = TestEnv::new();
    env.set("HARN_DISABLE", "1");
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    assert!(!env.project().join(".harnery").exists() && !env.state().exists());
}

#[test]
fn a_project_that_cannot_be_written_keeps_its_state_with_the_user() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    // A file in the directory's place, because permissions do not hold root back.
    env.write(".harnery", "not a directory\n");
    session.work_and_announce();
    assert!(session.briefing().unwrap().contains("> fix the parser"));
    assert!(env.state().join("harn/projects").exists());
    assert_eq!(
        fs::read_to_string(env.project().join(".harnery")).unwrap(),
        "not a directory\n"
    );
}

#[test]
fn a_linked_state_directory_is_never_written_through() {
    let env = TestEnv::new();
    let elsewhere = env.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, env.project().join(".harnery")).unwrap();
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(session.briefing().is_some());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn without_any_usable_state_the_hook_is_silent() {
    let env = TestEnv::new();
    fs::create_dir_all(env.state().parent().unwrap()).unwrap();
    write_file(&env.state(), b"in the way");
    let session = Session::new(&env);
    session.work_and_announce();
    assert_eq!(session.briefing(), None);
    let mut homeless = env.harn(["hook", "claude-code", "Stop"]);
    homeless.env_remove("HOME").env_remove("XDG_STATE_HOME");
    assert_silent(&env.run(homeless, b"{\"session_id\":\"s1\"}"));
}

#[test]
fn prompts_stay_out_of_every_file_when_capture_is_off() {
    let env = TestEnv::new();
    fs::create_dir_all(env.config().join("harn")).unwrap();
    write_file(
        &env.config().join("harn/config.toml"),
        b"[capture]\nprompts = false\n",
    );
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(!session.briefing().unwrap().contains("fix the parser"));
    let grep = env.run(
        {
            let mut grep = env.command("grep");
            grep.args(["-rl", "-e", "fix the parser", "-e", "Done\\."])
                .arg(env.root());
            grep
        },
        b"",
    );
    assert_eq!((grep.code, grep.out()), (1, String::new()));
}

#[test]
fn a_secret_in_a_prompt_is_masked_everywhere() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let secret = format!("ghp_{}", "aB3".repeat(12));
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": format!("use {secret}"), "prompt_id": "t1"}),
    );
    session.quiet(
        "PreCompact",
        &json!({"trigger": "manual", "prompt_id": "t2"}),
    );
    assert!(session.briefing().unwrap().contains("> use [masked]"));
    let mut grep = env.command("grep");
    grep.args(["-rl", &secret]).arg(env.root());
    assert_eq!(env.run(grep, b"").code, 1);
}

/// A transcript of the session's own, in which tests write what the client would.
fn transcript(env: &TestEnv, text: &str) -> PathBuf {
    let path = env.write("transcript.jsonl", "");
    fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    path
}

const REPLY: &str = "{\"type\":\"assistant\",\"isSidechain\":false,\"message\":{}}\n";

fn append(path: &Path, text: &str) {
    fs::File::options()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

#[test]
fn a_briefing_is_delivered_when_its_tag_stands_in_the_transcript() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let path = transcript(&env, REPLY);
    session.work_and_announce();
    let start = json!({"source": "compact", "prompt_id": "t2", "transcript_path": path});
    let briefing = context_of(&session.send("SessionStart", &start)).unwrap();
    let tag = briefing.split_whitespace().next().unwrap();
    append(
        &path,
        &format!("{{\"type\":\"attachment\",\"content\":\"{tag} Work state\"}}\n{REPLY}"),
    );
    session.quiet("Stop", &json!({"prompt_id": "t3", "transcript_path": path}));
    let delivered = session.events().pop().unwrap();
    let types = session.event_types();
    assert_eq!(
        types[types.len() - 2..],
        ["context.recovery.delivered", "turn.stopped"]
    );
    assert_eq!(delivered["type"], "turn.stopped");
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "x", "transcript_path": path}),
    );
}

#[test]
fn a_briefing_that_provably_was_not_taken_comes_again_once_with_the_prompt() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let path = transcript(&env, REPLY);
    session.work_and_announce();
    let start = json!({"source": "compact", "prompt_id": "t2", "transcript_path": path});
    assert!(context_of(&session.send("SessionStart", &start)).is_some());
    let prompt = json!({"prompt": "go on", "prompt_id": "t3", "transcript_path": path});
    // No reply since: the transcript may simply be late.
    session.quiet("UserPromptSubmit", &prompt);
    append(&path, REPLY);
    let again = session.send("UserPromptSubmit", &prompt);
    let document: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        document["hookSpecificOutput"]["hookEventName"],
        "UserPromptSubmit"
    );
    append(&path, REPLY);
    session.quiet("UserPromptSubmit", &prompt);
}

#[test]
fn a_fifo_in_the_transcripts_place_is_not_waited_for() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let path = transcript(&env, REPLY);
    session.work_and_announce();
    let start = json!({"source": "compact", "prompt_id": "t2", "transcript_path": path});
    assert!(context_of(&session.send("SessionStart", &start)).is_some());
    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    session.quiet("Stop", &json!({"prompt_id": "t3", "transcript_path": path}));
    assert_eq!(
        session.event_types().last().map(String::as_str),
        Some("turn.stopped")
    );
}

#[test]
fn a_signal_that_meets_a_held_lock_waits_for_the_next_holder() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let lock = fs::File::options()
        .write(true)
        .open(session.dir().join("lock"))
        .unwrap();
    lock.lock().unwrap();
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "fix the parser", "prompt_id": "t1"}),
    );
    session.quiet(
        "PostToolUse",
        &json!({"tool_name": "Bash", "prompt_id": "t1"}),
    );
    assert_eq!(session.event_types(), ["session.started"]);
    drop(lock);
    session.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t2"}));
    assert_eq!(
        session.event_types()[1..],
        [
            "prompt.submitted",
            "tool.finished",
            "context.compaction.started",
            "context.checkpoint.created"
        ]
    );
    assert!(session.briefing().unwrap().contains("> fix the parser"));
    assert_eq!(
        fs::read_dir(session.dir().join("spool")).unwrap().count(),
        0
    );
}

#[test]
fn an_unannounced_compaction_is_briefed_from_what_was_kept_along_the_way() {
    let env = TestEnv::new();
    let head = env.git_init();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "fix the parser", "prompt_id": "t1"}),
    );
    session.quiet(
        "Stop",
        &json!({"last_assistant_message": "Done.", "prompt_id": "t1"}),
    );
    let briefing = session.briefing().unwrap();
    for part in [
        "[harn:g1:",
        "which predates it",
        "> fix the parser",
        "branch main, HEAD ",
    ] {
        assert!(briefing.contains(part), "{part} is not in\n{briefing}");
    }
    let capsule: Value =
        serde_json::from_slice(&fs::read(session.dir().join("capsules/000001.json")).unwrap())
            .unwrap();
    assert_eq!(
        (&capsule["trigger"], &capsule["repo"]["head"]["commit"]),
        (&json!("late"), &json!(head))
    );
}

#[test]
fn sub_agents_in_flight_are_named_and_those_that_stopped_are_not() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "go", "prompt_id": "t1"}),
    );
    for (agent, kind) in [("a1", "reviewer"), ("a2", "tester")] {
        session.quiet(
            "SubagentStart",
            &json!({"agent_id": agent, "agent_type": kind}),
        );
    }
    session.quiet(
        "SubagentStop",
        &json!({"agent_id": "a1", "agent_type": "reviewer"}),
    );
    // The summarising agent of the compaction itself.
    session.quiet("SubagentStop", &json!({"agent_type": ""}));
    session.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t2"}));
    let briefing = session.briefing().unwrap();
    assert!(
        briefing.contains("In flight at the checkpoint:\n- sub-agent a2 (tester)\n"),
        "{briefing}"
    );
}

/// Cursor runs the hooks that stand in Claude Code's settings, and marks its payloads.
#[test]
fn a_payload_of_cursors_through_claude_codes_hooks_is_left_alone_and_logged() {
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreCompact",
        "Stop",
        "SessionEnd",
    ];
    for event in events {
        let env = TestEnv::new();
        env.git_init();
        let payload = json!({
            "conversation_id": "c1",
            "generation_id": "g1",
            "session_id": "c1",
            "hook_event_name": event,
            "cursor_version": "3.2.11",
            "workspace_roots": [env.project()],
            "cwd": env.project(),
            "transcript_path": null,
            "prompt": "hello",
            "source": "startup",
            "trigger": "auto",
            "tool_name": "Bash",
        });
        let output = Session::new(&env).send_raw(event, payload.to_string().as_bytes());
        assert_silent(&output);
        let listed = env.run(env.harn(["sessions", "--json"]), b"").out();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed["sessions"], json!([]), "{event}");
        assert!(!env.project().join(".harnery").exists(), "{event}");
        let state = env.state().join("harn");
        let left: Vec<String> = fs::read_dir(&state)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(left, ["log"], "{event}");
        let log = log_of(&env);
        assert_eq!(log.lines().count(), 1, "{log}");
        assert!(
            log.contains("another harness runs this hook") && log.contains(event),
            "{log}"
        );
    }
}
