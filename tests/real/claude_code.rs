//! `harn run -- claude`: what a session keeps over its compactions, and what harn leaves alone.

use std::path::PathBuf;

use harn::rehearsal::Kind::{Main, Summary};
use harn::rehearsal::messages::Reply;
use serde_json::{Value, json};

use super::record::{FIRST_TAG, boundaries, conversation, count_in, next_after_summary};
use super::sandbox::{SESSION, Sandbox};
use super::session::{LIMIT, Left, Session};

const INNER: &str = "22222222-2222-4222-8222-222222222222";
/// A person's own flag, which harn's settings must join and not replace.
const SMALL_WINDOW: [&str; 2] = ["--settings", r#"{"autoCompactWindow":100000}"#];

#[test]
fn typed_compaction_is_checkpointed_and_briefed_once() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let session = Session::start(&sandbox, sandbox.harn_claude([]));
    edit_notes(&sandbox, &session);
    session.prompt("and the second half?");
    session.compact();
    session.prompt("go on");
    session.prompt("and on");
    assert_eq!(session.exit(), Left::clean());

    let log = sandbox.log().all();
    assert_eq!(
        conversation(&log),
        [Main, Main, Main, Main, Summary, Main, Main]
    );
    assert_kept(&sandbox, "manual", "and the second half?");
    let types = event_types(&sandbox, SESSION);
    let count = |name: &str| types.iter().filter(|it| *it == name).count();
    assert_eq!(types.first().map(String::as_str), Some("session.started"));
    assert_eq!(count("context.checkpoint.created"), 1);
    assert_eq!(count("context.recovery.injected"), 1);
    assert_eq!(count("session.ended"), 1);
}

#[test]
fn status_after_a_compaction_says_what_is_known() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let session = Session::start(&sandbox, sandbox.harn_claude([]));
    session.prompt("one");
    session.prompt("two");
    session.compact();
    session.prompt("three");
    assert_eq!(session.exit(), Left::clean());

    let args = ["context", "status", "--session", SESSION, "--json"];
    let output = sandbox.env.run(sandbox.env.harn(args), b"");
    assert_eq!((output.err(), output.code), (String::new(), 0));
    let status: Value = serde_json::from_str(&output.out()).unwrap();
    let told = ["adapter", "phase", "generation", "compactions", "owned"].map(|key| &status[key]);
    assert_eq!(
        json!(told),
        json!(["claude-code", "recovered", 1, 1, false])
    );
    assert_eq!(status["recovery"]["state"], "delivered");
}

#[test]
fn compaction_before_a_prompt_is_checkpointed_and_briefed_once() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let session = Session::start(&sandbox, sandbox.harn_claude(SMALL_WINDOW));
    edit_notes(&sandbox, &session);
    session.prompt("two @usage=68000");
    session.prompt("three");
    assert_eq!(session.exit(), Left::clean());
    assert_eq!(
        conversation(&sandbox.log().all()),
        [Main, Main, Main, Main, Summary, Main]
    );
    assert_kept(&sandbox, "auto", "three");
}

#[test]
fn compaction_within_a_turn_is_checkpointed_and_briefed_once() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let session = Session::start(&sandbox, sandbox.harn_claude(SMALL_WINDOW));
    edit_notes(&sandbox, &session);
    sandbox
        .model()
        .script(|script| script.replies.push_back(read_notes(&sandbox)));
    session.prompt("two @usage=68000");
    assert_eq!(session.exit(), Left::clean());
    assert_eq!(
        conversation(&sandbox.log().all()),
        [Main, Main, Main, Main, Summary, Main]
    );
    assert_kept(&sandbox, "auto", "two @usage=68000");
}

#[test]
fn compaction_after_a_refused_request_is_checkpointed_and_briefed_once() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    sandbox
        .model()
        .script(|script| script.context_limit_tokens = Some(200_000));
    let session = Session::start(&sandbox, sandbox.harn_claude([]));
    edit_notes(&sandbox, &session);
    session.prompt("two @usage=205000");
    session.prompt("three");
    assert_eq!(session.exit(), Left::clean());
    assert_eq!(
        conversation(&sandbox.log().all()),
        [Main, Main, Main, Main, Main, Summary, Main]
    );
    assert_kept(&sandbox, "auto", "three");
}

#[test]
fn client_on_pipes_answers_the_same_bytes_and_its_hooks_are_wired() {
    let Some(alone) = Sandbox::new() else { return };
    let Some(hosted) = Sandbox::new() else { return };
    for (prompt, stdin) in [
        ("hello @say=piped", ""),
        ("", "from stdin @say=tëxt"),
        ("x @http=400", ""),
    ] {
        let args = ["-p", "--no-session-persistence", prompt];
        let args = args.into_iter().filter(|arg| !arg.is_empty());
        let direct = alone.env.run(alone.claude(args.clone()), stdin.as_bytes());
        let under_harn = hosted.env.run(hosted.harn_claude(args), stdin.as_bytes());
        assert_eq!(under_harn, direct);
    }
    let args = ["-p", "--session-id", SESSION, "hello @say=wired"];
    assert_eq!(
        hosted.env.run(hosted.harn_claude(args), b"").out(),
        "wired\n"
    );
    let types = event_types(&hosted, SESSION);
    assert_eq!(types.first().map(String::as_str), Some("session.started"));
    assert_left_alone(&hosted, "");
}

#[test]
fn session_that_the_agent_runs_itself_is_nested_and_touches_nothing_of_the_outer_one() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    // The agent's own client has no wiring of harn's: it speaks to harn only where hooks are installed. The outer session
    // then has them twice, and still one capsule and one briefing.
    sandbox.install_hooks();
    let session = Session::start(&sandbox, sandbox.harn_claude([]));
    let ask =
        |how: &str, text: &str| format!("claude --model claude-haiku-4-5 -p {how} {INNER} {text}");
    let command = [
        ask("--session-id", "inner-one"),
        ask("--resume", "inner-two"),
        ask("--resume", "/compact"),
    ]
    .join(" && ");
    let call = ("Bash".to_owned(), json!({"command": command}));
    sandbox
        .model()
        .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
    session.prompt("ask another");
    assert_eq!(boundaries(&sandbox.transcript(INNER)), ["manual"]);
    assert_eq!(sandbox.capsules(SESSION), []);

    let inner_requests = sandbox.log().all().len();
    session.prompt("the last words");
    session.compact();
    session.prompt("go on");
    assert_eq!(session.exit(), Left::clean());
    let outer = &sandbox.log().all()[inner_requests..];
    assert_eq!(count_in(next_after_summary(outer), FIRST_TAG), 1);
    let capsules = sandbox.capsules(SESSION);
    assert_eq!(names(&capsules), ["000001.json"]);
    assert_eq!(capsules[0].1["origin"]["session"], SESSION);
    assert_eq!(capsules[0].1["work"]["request"]["text"], "the last words");
    assert_eq!(
        event_types(&sandbox, SESSION)
            .iter()
            .filter(|it| *it == "session.nested")
            .count(),
        0
    );
    let inner = event_types(&sandbox, INNER);
    assert!(inner.iter().any(|it| it == "session.nested"), "{inner:?}");
    assert_eq!(names(&sandbox.capsules(INNER)), ["000001.json"]);
}

#[test]
fn settings_of_a_persons_own_flag_stay_in_force_in_each_form() {
    let flag = json!({"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "echo flag >> \"$HOME/hooks.log\""}
    ]}]}})
    .to_string();
    for form in ["file", "inline", "joined"] {
        let Some(sandbox) = Sandbox::new() else {
            return;
        };
        let file = sandbox
            .env
            .write(sandbox.env.home().join("flag.json"), &flag);
        let joined = format!("--settings={flag}");
        let given = match form {
            "file" => vec!["--settings", file.to_str().unwrap()],
            "inline" => vec!["--settings", &flag],
            _ => vec![joined.as_str()],
        };
        let args = given
            .into_iter()
            .chain(["-p", "--session-id", SESSION, "hello @say=heard"]);
        let output = sandbox.env.run(sandbox.harn_claude(args), b"");
        assert_eq!(
            (output.out(), output.code),
            ("heard\n".to_owned(), 0),
            "{form}"
        );
        assert!(sandbox.log().wait_done(Main, 1, LIMIT).is_some());
        assert_eq!(sandbox.hooks_ran(), ["flag"], "{form}");
        let types = event_types(&sandbox, SESSION);
        assert_eq!(
            types.first().map(String::as_str),
            Some("session.started"),
            "{form}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), flag);
        assert_left_alone(&sandbox, "");
    }
}

/// One turn in which the agent reads `notes.txt` and changes it.
pub(crate) fn edit_notes(sandbox: &Sandbox, session: &Session<'_>) {
    let file = sandbox.env.project().join("notes.txt");
    let edit = json!({"file_path": file, "old_string": "first", "new_string": "changed"});
    sandbox.model().script(|script| {
        script.replies.extend([
            read_notes(sandbox),
            Reply::Tools(vec![("Edit".to_owned(), edit)]),
            Reply::Say("Changed.".to_owned()),
        ]);
    });
    session.prompt("change the notes");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "changed line\n");
}

fn read_notes(sandbox: &Sandbox) -> Reply {
    let file = sandbox.env.project().join("notes.txt");
    Reply::Tools(vec![("Read".to_owned(), json!({"file_path": file}))])
}

/// The same, and the person's own things untouched.
fn assert_kept(sandbox: &Sandbox, trigger: &str, request: &str) {
    assert_kept_by(sandbox, trigger, request);
    assert_left_alone(sandbox, " M notes.txt");
}

/// One compaction, one capsule of it with the facts of the moment, one briefing, and the person's own hooks ran.
pub(crate) fn assert_kept_by(sandbox: &Sandbox, trigger: &str, request: &str) {
    assert_eq!(boundaries(&sandbox.transcript(SESSION)), [trigger]);
    let capsules = sandbox.capsules(SESSION);
    assert_eq!(names(&capsules), ["000001.json"]);
    let capsule = &capsules[0].1;
    let facts = json!({
        "generation": capsule["generation"],
        "trigger": capsule["trigger"],
        "compaction": capsule["compaction"]["trigger"],
        "session": capsule["origin"]["session"],
        "adapter": capsule["origin"]["adapter"],
        "request": capsule["work"]["request"]["text"],
        "head": capsule["repo"]["head"],
        "dirty": capsule["repo"]["dirty"]["paths"].as_array().map(|paths| {
            paths.iter().map(|path| json!([path["path"], path["status"]])).collect::<Vec<_>>()
        }),
    });
    let expected = json!({
        "generation": 1,
        "trigger": "pre_compact",
        "compaction": trigger,
        "session": SESSION,
        "adapter": "claude-code",
        "request": request,
        "head": {"branch": {"kind": "branch", "name": "main"}, "commit": sandbox.head()},
        "dirty": [["notes.txt", ".M"]],
    });
    assert_eq!(facts, expected);

    let log = sandbox.log().all();
    assert_eq!(
        count_in(next_after_summary(&log), FIRST_TAG),
        1,
        "briefings in the next request"
    );
    let last = log.iter().rfind(|entry| entry.kind == Main).unwrap();
    assert_eq!(
        count_in(last, FIRST_TAG),
        1,
        "briefings in the last request"
    );
    let mut ran = sandbox.hooks_ran();
    ran.sort();
    assert_eq!(
        ran,
        [
            "project:PreCompact",
            "project:SessionStart:compact",
            "user:PreCompact",
            "user:SessionStart:compact"
        ]
    );
}

/// The person's files are as they were, no settings of harn's lie about, and git sees only the agent's own work.
fn assert_left_alone(sandbox: &Sandbox, git_status: &str) {
    assert_eq!(sandbox.changed_own_files(), Vec::<PathBuf>::new());
    assert_eq!(sandbox.files_with_harn_hooks(), Vec::<PathBuf>::new());
    assert_eq!(sandbox.env.git(["status", "--porcelain"]), git_status);
}

fn names(capsules: &[(String, Value)]) -> Vec<&str> {
    capsules.iter().map(|(name, _)| name.as_str()).collect()
}

pub(crate) fn event_types(sandbox: &Sandbox, session: &str) -> Vec<String> {
    let events = sandbox.events(session);
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap_or("?").to_owned())
        .collect()
}
