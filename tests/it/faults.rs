//! What a continuity tool may not get wrong. Each test is named after a fault that was seen in one; where a fault concerns
//! the cost of a hook, `benches/hook.rs` and `benches/checkpoint.rs` measure it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::TestEnv;

fn write_file(path: &Path, content: &[u8]) {
    fs::File::create(path).unwrap().write_all(content).unwrap();
}

fn announce(session: &Session<'_>, trigger: &str, turn: &str) {
    session.quiet(
        "PreCompact",
        &json!({"trigger": trigger, "prompt_id": turn}),
    );
}

/// What SessionStart(compact) of a turn prints.
fn start(session: &Session<'_>, turn: &str) -> Option<String> {
    let fields = json!({"source": "compact", "prompt_id": turn});
    crate::session::context_of(&session.send("SessionStart", &fields))
}

fn dirty_paths(capsule: &Value) -> Vec<&str> {
    let paths = capsule["repo"]["dirty"]["paths"].as_array().unwrap();
    let names = paths.iter().map(|path| path["path"].as_str().unwrap());
    names.collect()
}

fn status(env: &TestEnv) -> Value {
    let output = env.run(env.harn(["context", "status", "--json"]), b"");
    serde_json::from_str(&output.out()).unwrap()
}

#[test]
fn the_first_dirty_path_keeps_its_first_letter_and_staging_it_is_no_other_file() {
    let env = TestEnv::new();
    env.git_init();
    env.write("a.ts", "one\n");
    env.git(["add", "a.ts"]);
    env.git(["commit", "--quiet", "--message", "a"]);
    env.write("a.ts", "two\n");
    let session = Session::new(&env);
    announce(&session, "manual", "t1");
    assert_eq!(dirty_paths(&session.capsule(1)), ["a.ts"]);
    env.git(["add", "a.ts"]);
    let briefing = start(&session, "t1").unwrap();
    assert!(
        briefing.contains("still dirty, differently: a.ts (modified -> modified, staged)"),
        "{briefing}"
    );
    assert!(!briefing.contains("newly dirty"), "{briefing}");
    assert!(!briefing.contains("no longer dirty"), "{briefing}");
}

#[test]
fn a_bad_row_in_the_log_disarms_nothing_and_is_told() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    let log = session.dir().join("events.ndjson");
    let mut text = fs::read(&log).unwrap();
    text.splice(0..0, b"{\"seq\": \"one\"\n\0\0\n".iter().copied());
    write_file(&log, &text);
    announce(&session, "auto", "t3");
    assert_eq!(
        session.capsule(2)["work"]["request"]["text"],
        "fix the parser"
    );
    assert!(start(&session, "t3").unwrap().starts_with("[harn:g2:"));
    fs::remove_file(session.dir().join("state.json")).unwrap();
    let problems = status(&env)["problems"].to_string();
    assert!(
        problems.contains("lines of the event log are damaged"),
        "{problems}"
    );
}

#[test]
fn a_compaction_that_never_came_leaves_no_checkpoint_for_the_next_one() {
    let env = TestEnv::new();
    env.git_init();
    let session = Session::new(&env);
    session.work_and_announce();
    env.write("later.txt", "later\n");
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "something else", "prompt_id": "t3"}),
    );
    announce(&session, "auto", "t4");
    let fresh = session.capsule(2);
    assert_eq!(fresh["work"]["request"]["text"], "something else");
    assert!(dirty_paths(&fresh).contains(&"later.txt"));
    assert!(start(&session, "t4").unwrap().starts_with("[harn:g2:"));
}

#[test]
fn a_checkpoint_by_hand_does_not_stand_in_for_the_one_before_a_compaction() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "one", "prompt_id": "t1"}),
    );
    let saved = env.run(env.harn(["context", "checkpoint"]), b"");
    assert_eq!(saved.code, 0, "{}", saved.err());
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "two", "prompt_id": "t2"}),
    );
    announce(&session, "auto", "t3");
    let triggers = [1, 2].map(|generation| session.capsule(generation)["trigger"].clone());
    assert_eq!(triggers, ["manual", "pre_compact"]);
    assert_eq!(session.capsule(2)["work"]["request"]["text"], "two");
}

#[test]
fn two_compactions_in_one_turn_are_two_and_the_agents_own_commit_is_no_drift_of_the_second() {
    let env = TestEnv::new();
    env.git_init();
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(start(&session, "t2").unwrap().starts_with("[harn:g1:"));
    session.quiet(
        "PostCompact",
        &json!({"trigger": "manual", "prompt_id": "t2"}),
    );
    env.git(["commit", "--quiet", "--all", "--message", "by the agent"]);
    let head = env.git(["rev-parse", "HEAD"]);
    announce(&session, "auto", "t2");
    assert_eq!(session.capsule(2)["repo"]["head"]["commit"], head.trim());
    let briefing = start(&session, "t2").unwrap();
    assert!(briefing.starts_with("[harn:g2:"), "{briefing}");
    assert!(
        briefing.contains("as at the checkpoint (branch, HEAD, dirty paths)"),
        "{briefing}"
    );
}

#[test]
fn what_a_harness_cannot_do_is_not_promised_for_it() {
    let env = TestEnv::new();
    let output = env.run(env.harn(["adapter", "show", "cursor", "--json"]), b"");
    let shown: Value = serde_json::from_str(&output.out()).unwrap();
    let claims = shown["claims"].as_array().unwrap();
    let promised = claims
        .iter()
        .filter(|claim| claim["support"] != "unsupported")
        .map(|claim| {
            (
                claim["dimension"].as_str().unwrap(),
                claim["support"].as_str().unwrap(),
            )
        });
    assert_eq!(promised.collect::<Vec<_>>(), [("telemetry", "unknown")]);
}

#[test]
fn a_compaction_in_mid_turn_is_briefed_before_anybody_prompts_again() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "fix the parser", "prompt_id": "t1"}),
    );
    session.quiet(
        "PostToolUse",
        &json!({"tool_name": "Read", "prompt_id": "t1"}),
    );
    announce(&session, "auto", "t1");
    assert!(start(&session, "t1").unwrap().contains("> fix the parser"));
}

#[test]
fn a_second_signal_of_one_compaction_briefs_nobody_again() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(session.briefing().is_some());
    session.quiet(
        "PostCompact",
        &json!({"trigger": "manual", "prompt_id": "t2"}),
    );
    assert_eq!(session.briefing(), None);
    let injected = session
        .event_types()
        .iter()
        .filter(|it| *it == "context.recovery.injected")
        .count();
    assert_eq!(injected, 1);
}

/// The capsule of the compaction before is told to be an older one, and the state of now comes from what was kept since.
#[test]
fn a_compaction_without_an_announcement_is_not_briefed_with_what_was_recovered_before() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(session.briefing().is_some());
    session.quiet(
        "PostCompact",
        &json!({"trigger": "manual", "prompt_id": "t2"}),
    );
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "write the docs", "prompt_id": "t3"}),
    );
    session.quiet("Stop", &json!({"prompt_id": "t3"}));
    let briefing = start(&session, "t4").unwrap();
    assert!(!briefing.starts_with("[harn:g1:"), "{briefing}");
    assert!(briefing.contains("> write the docs"), "{briefing}");
    assert!(!briefing.contains("> fix the parser"), "{briefing}");
}

#[test]
fn checkpoints_by_hand_from_two_processes_are_all_kept() {
    const EACH: usize = 20;
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    for _ in 0..EACH {
        let pair = [(); 2].map(|()| {
            let mut command = env.harn(["context", "checkpoint"]);
            command.stdout(Stdio::null()).spawn().unwrap()
        });
        for mut child in pair {
            assert!(child.wait().unwrap().success());
        }
    }
    let verified = env.run(env.harn(["context", "verify"]), b"");
    assert_eq!(verified.code, 0, "{}", verified.out());
    let created: Vec<u64> = session
        .events()
        .iter()
        .filter(|event| event["type"] == "context.checkpoint.created")
        .map(|event| event["data"]["generation"].as_u64().unwrap())
        .collect();
    assert_eq!(created, (1..=2 * EACH as u64).collect::<Vec<_>>());
}

#[test]
fn notes_from_parallel_processes_and_hooks_are_all_kept() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    for round in 0..4 {
        let mut children = Vec::new();
        for number in 0..4 {
            let mut command = env.harn(["note", &format!("note {round}/{number}")]);
            children.push(command.stdout(Stdio::null()).spawn().unwrap());
        }
        announce(&session, "auto", &format!("t{round}"));
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    }
    announce(&session, "auto", "last");
    let capsule = session.capsule(5);
    let mut texts: Vec<&str> = capsule["work"]["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["text"].as_str().unwrap())
        .collect();
    texts.sort_unstable();
    let wanted: Vec<String> = (0..16)
        .map(|it| format!("note {}/{}", it / 4, it % 4))
        .collect();
    assert_eq!(texts, wanted);
}

#[test]
fn the_first_commit_other_bytes_and_files_beyond_the_list_are_all_told() {
    let env = TestEnv::new();
    env.git(["init", "--quiet", "--initial-branch=main"]);
    env.write("b.txt", "one\n");
    let session = Session::new(&env);
    announce(&session, "auto", "t1");
    env.git(["add", "b.txt"]);
    env.git(["commit", "--quiet", "--message", "first"]);
    let briefing = start(&session, "t1").unwrap();
    assert!(briefing.contains("HEAD (no commit yet) -> "), "{briefing}");

    env.write("b.txt", "two\n");
    announce(&session, "auto", "t2");
    env.write("b.txt", "3\n");
    let briefing = start(&session, "t2").unwrap();
    assert!(
        briefing.contains("dirty before, edited since: b.txt"),
        "{briefing}"
    );

    for number in 0..400 {
        env.write(format!("many/{number:03}"), "x\n");
    }
    env.git(["add", "many"]);
    announce(&session, "auto", "t3");
    assert_eq!(session.capsule(3)["repo"]["dirty"]["total"], 401);
    env.write("zzz", "beyond\n");
    let briefing = start(&session, "t3").unwrap();
    assert!(!briefing.contains("no longer dirty"), "{briefing}");
    assert!(
        briefing.contains("zzz") || briefing.contains("402"),
        "{briefing}"
    );
}

#[test]
fn renames_and_names_of_any_bytes_are_stored_as_they_are() {
    let env = TestEnv::new();
    env.git_init();
    env.write(
        "old name",
        "the same bytes, long enough to be known again\n",
    );
    env.git(["add", "."]);
    env.git(["commit", "--quiet", "--message", "x"]);
    env.git(["mv", "old name", "n\u{e4}chste -> zeile"]);
    let session = Session::new(&env);
    announce(&session, "auto", "t1");
    let capsule = session.capsule(1);
    let paths = &capsule["repo"]["dirty"]["paths"];
    assert_eq!(dirty_paths(&capsule), ["n\u{e4}chste -> zeile"]);
    assert!(paths[0].to_string().contains("\"old name\""), "{paths}");
}

#[test]
fn printed_is_not_delivered() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    assert!(session.briefing().is_some());
    let status = status(&env);
    assert_eq!(status["recovery"]["state"], "injected");
    assert!(
        !session
            .event_types()
            .contains(&"context.recovery.delivered".to_owned())
    );
}

#[test]
fn a_briefing_tells_age_trigger_and_instructions_and_notes_live_through_generations() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let noted = env.run(env.harn(["note", "never use curl"]), b"");
    assert_eq!(noted.code, 0, "{}", noted.err());
    for turn in ["t1", "t2"] {
        let fields =
            json!({"trigger": "manual", "prompt_id": turn, "custom_instructions": "keep the API"});
        session.quiet("PreCompact", &fields);
        let briefing = start(&session, turn).unwrap();
        for part in ["never use curl", "keep the API", "manual", " ago"] {
            assert!(briefing.contains(part), "{part} is not in\n{briefing}");
        }
        session.quiet(
            "PostCompact",
            &json!({"trigger": "manual", "prompt_id": turn}),
        );
    }
}

#[test]
fn a_checkpoint_leaves_the_index_of_the_repository_alone() {
    let env = TestEnv::new();
    env.git_init();
    let index = env.project().join(".git/index");
    let path = env.write("README", "edited\n");
    // Other stats than the index holds: `git status` would write them back.
    let now = fs::File::open(&path).unwrap();
    now.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let before = (
        fs::read(&index).unwrap(),
        fs::metadata(&index).unwrap().modified().unwrap(),
    );
    let lock = env.project().join(".git/index.lock");
    write_file(&lock, b"");
    let session = Session::new(&env);
    announce(&session, "auto", "t1");
    assert_eq!(dirty_paths(&session.capsule(1)), ["README"]);
    let after = (
        fs::read(&index).unwrap(),
        fs::metadata(&index).unwrap().modified().unwrap(),
    );
    assert_eq!(before, after);
    assert!(lock.exists());
}

#[test]
fn outside_git_the_briefing_never_says_unchanged() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    let briefing = session.briefing().unwrap();
    assert!(briefing.contains("none (not a git worktree)"), "{briefing}");
    assert!(!briefing.contains("as at the checkpoint ("), "{briefing}");
}

#[test]
fn a_damaged_state_file_is_rebuilt_and_no_capsule_is_written_over() {
    let env = TestEnv::new();
    env.git_init();
    let session = Session::new(&env);
    session.work_and_announce();
    let first = fs::read(session.dir().join("capsules/000001.json")).unwrap();
    write_file(&session.dir().join("state.json"), b"{\"format\":\"harn-sta");
    session.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t9"}));
    assert_eq!(
        fs::read(session.dir().join("capsules/000001.json")).unwrap(),
        first
    );
    assert!(session.dir().join("capsules/000002.json").exists());
    assert_eq!(
        fs::read(session.dir().join("state.damaged.json")).unwrap(),
        b"{\"format\":\"harn-sta"
    );
}

#[test]
fn a_damaged_state_file_keeps_the_words_of_the_one_before_it() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    session.quiet("Stop", &json!({"prompt_id": "t3"}));
    session.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t4"}));
    write_file(&session.dir().join("state.json"), b"");
    session.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t2"}));
    assert!(session.briefing().unwrap().contains("> fix the parser"));
}

#[test]
fn old_checkpoints_and_old_sessions_go_and_the_newest_stay() {
    let env = TestEnv::new();
    fs::create_dir_all(env.config().join("harn")).unwrap();
    write_file(
        &env.config().join("harn/config.toml"),
        b"[retention]\ncapsules = 2\ndays = 0\n",
    );
    let old = Session::named(&env, "old");
    old.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t0"}));
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    for turn in 0..4 {
        session.quiet(
            "PreCompact",
            &json!({"trigger": "auto", "prompt_id": format!("t{turn}")}),
        );
    }
    assert_eq!(
        fs::read_dir(env.project().join(".harnery/context"))
            .unwrap()
            .count(),
        1
    );
    let mut left: Vec<_> = fs::read_dir(session.dir().join("capsules"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["000003.json", "000004.json"]);
    let verified = env.run(env.harn(["context", "verify"]), b"");
    assert_eq!(verified.code, 0, "{}", verified.out());
}

#[test]
fn everything_written_is_private() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    let mut open = vec![env.project().join(".harnery"), env.state().join("harn")];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        seen += 1;
        if path.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    }
    assert!(seen > 8, "{seen}");
}

#[test]
fn sub_agents_and_parallel_sessions_are_kept_apart() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let other = Session::named(&env, "s2");
    session.work_and_announce();
    session.quiet(
        "PreCompact",
        &json!({"trigger": "auto", "agent_id": "a1", "prompt_id": "t3"}),
    );
    session.quiet(
        "SessionStart",
        &json!({"source": "compact", "agent_id": "a1", "prompt_id": "t2"}),
    );
    other.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "something else", "prompt_id": "t1"}),
    );
    other.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t2"}));
    let theirs = other.briefing().unwrap();
    assert!(theirs.contains("> something else") && !theirs.contains("fix the parser"));
    assert!(session.briefing().unwrap().contains("> fix the parser"));
}

#[test]
fn a_broken_event_log_keeps_no_checkpoint_and_no_briefing_back() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "fix the parser", "prompt_id": "t1"}),
    );
    fs::remove_file(session.dir().join("events.ndjson")).unwrap();
    fs::create_dir(session.dir().join("events.ndjson")).unwrap();
    session.quiet("PreCompact", &json!({"trigger": "auto", "prompt_id": "t2"}));
    assert!(session.dir().join("capsules/000001.json").exists());
    let briefing = session.briefing().unwrap();
    assert!(
        briefing.starts_with("[harn:g1:") && briefing.contains("> fix the parser"),
        "{briefing}"
    );
}
