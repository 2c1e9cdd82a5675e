//! Which session, which project, which run: ids that change, sessions side by side, an agent that moves.

use std::fs;

use serde_json::{Value, json};

use crate::session::{Session, context_of};
use crate::support::TestEnv;

fn capsule(env: &TestEnv, session: &str, generation: u64) -> Value {
    let line = [
        "context",
        "show",
        &generation.to_string(),
        "--session",
        session,
        "--json",
    ];
    let output = env.run(env.harn(line), b"");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", output.err()))
}

#[test]
fn a_cleared_session_is_another_one_and_knows_nothing_of_the_old() {
    let env = TestEnv::new();
    let old = Session::new(&env);
    old.work_and_announce();
    old.quiet("SessionEnd", &json!({"reason": "clear"}));
    let new = Session::named(&env, "s2");
    new.quiet("SessionStart", &json!({"source": "clear"}));
    new.quiet(
        "PreCompact",
        &json!({"trigger": "manual", "prompt_id": "t1"}),
    );
    let start = json!({"source": "compact", "prompt_id": "t1"});
    let briefing = context_of(&new.send("SessionStart", &start)).unwrap();
    assert!(!briefing.contains("fix the parser"), "{briefing}");
}

#[test]
fn a_resumed_session_goes_on_with_its_generations() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    session.quiet("SessionEnd", &json!({"reason": "other"}));
    session.quiet("SessionStart", &json!({"source": "resume"}));
    session.quiet(
        "PreCompact",
        &json!({"trigger": "manual", "prompt_id": "t9"}),
    );
    let second = capsule(&env, "s1", 2);
    assert_eq!(second["work"]["request"]["text"], "fix the parser");
}

#[test]
fn an_agent_that_moves_into_a_linked_worktree_keeps_its_state_and_gets_that_trees_facts() {
    let env = TestEnv::new();
    env.git_init();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let tree = env.root().join("tree");
    env.git([
        "worktree",
        "add",
        "--quiet",
        "-b",
        "topic",
        tree.to_str().unwrap(),
    ]);
    fs::File::create(tree.join("only-there")).unwrap();
    session.quiet(
        "UserPromptSubmit",
        &json!({"prompt": "go", "prompt_id": "t1", "cwd": tree}),
    );
    session.quiet(
        "PreCompact",
        &json!({"trigger": "auto", "prompt_id": "t2", "cwd": tree}),
    );
    let saved = capsule(&env, "s1", 1);
    assert_eq!(
        saved["repo"]["head"]["branch"],
        json!({"kind": "branch", "name": "topic"})
    );
    assert_eq!(saved["repo"]["linked"], true);
    assert_eq!(saved["repo"]["dirty"]["paths"][0]["path"], "only-there");
    assert_eq!(saved["origin"]["project"], env.project().to_str().unwrap());
    assert_eq!(saved["origin"]["cwd"], tree.to_str().unwrap());
    assert!(!tree.join(".harnery").exists());
}

#[test]
fn the_project_the_harness_names_owns_the_state_wherever_the_agent_stands() {
    let mut env = TestEnv::new();
    env.git_init();
    let elsewhere = env.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let project = env.project().display().to_string();
    env.set("CLAUDE_PROJECT_DIR", project);
    let session = Session::new(&env);
    session.quiet(
        "SessionStart",
        &json!({"source": "startup", "cwd": elsewhere}),
    );
    assert!(env.project().join(".harnery").exists() && !elsewhere.join(".harnery").exists());
}

#[test]
fn a_subdirectory_of_a_worktree_is_the_same_project() {
    let env = TestEnv::new();
    env.git_init();
    let below = env.project().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup", "cwd": below}));
    assert!(env.project().join(".harnery").exists() && !below.join(".harnery").exists());
    let mut status = env.harn(["context", "status", "--json"]);
    status.current_dir(&below);
    let output = env.run(status, b"");
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["session"],
        "s1"
    );
}

/// A client that is one process with two sessions, one after the other.
const CLIENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && exit 0
say() { printf '{"session_id":"%s","cwd":"%s","source":"%s"}' "$2" "$PWD" "$3" | "$HARN" hook claude-code "$1"; }
say SessionStart first startup
say SessionEnd first clear
say SessionStart second clear
"$HARN" context status --json >"$OUT"
"#;

#[test]
fn a_run_follows_its_process_from_one_session_id_to_the_next() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut env = TestEnv::new();
    let harn = env.bin().display().to_string();
    env.set("HARN", harn);
    let out = env.root().join("status.json");
    env.set("OUT", out.to_str().unwrap());
    let client = env.write("bin/claude", CLIENT);
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    let output = env.run(env.harn(["run", "--", client.to_str().unwrap()]), b"");
    assert_eq!((output.code, output.err()), (0, String::new()));
    let status: Value = serde_json::from_slice(&fs::read(out).unwrap()).unwrap();
    assert_eq!(
        (&status["session"], &status["owned"]),
        (&json!("second"), &json!(true))
    );
    let line = ["events", "--session", "second", "--json"];
    let events = env.run(env.harn(line), b"").out();
    let first: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["type"], &first["data"]["previous"]),
        (&json!("session.linked"), &json!("first"))
    );
    assert_eq!(first["run"], status["run"]);
}
