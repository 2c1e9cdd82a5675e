//! `harn run -- codex`: what a session keeps over its compactions, and what harn leaves alone.

use harn::rehearsal::Kind::{Main, Summary};
use harn::rehearsal::responses::{Reply, texts};
use harn::rehearsal::{Entry, Kind};
use serde_json::{Value, json};

use super::desk::{Compaction, Desk, Program, background};
use super::session::{Review, Session};
use crate::kept;

/// How a briefing of the first generation begins its tag.
pub(super) const FIRST_TAG: &str = "[harn:g1:";

#[test]
fn typed_compaction_is_checkpointed_and_briefed_once_in_each_program() {
    for program in [Program::Native, Program::Launcher] {
        for compaction in [Compaction::Local, Compaction::Remote] {
            let Some(desk) = Desk::with(program, compaction) else {
                return;
            };
            let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
            session.prompt("one");
            patch_notes(&desk, &session);
            session.compact();
            session.prompt("go on");
            session.prompt("and on");
            assert_eq!(session.exit().0, 0);
            assert_kept(&desk, "manual", "change the notes");
            assert_eq!(desk.windows(), [1]);
        }
    }
}

#[test]
fn compaction_before_a_prompt_is_checkpointed_and_briefed_once() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    patch_notes(&desk, &session);
    session.prompt("@usage=70000 two");
    session.prompt("three");
    assert_eq!(session.exit().0, 0);
    assert_eq!(conversation(&desk), [Main, Main, Main, Summary, Main]);
    assert_kept(&desk, "auto", "@usage=70000 two");
}

#[test]
fn compaction_within_a_turn_is_checkpointed_and_briefed_in_the_next_request() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    patch_notes(&desk, &session);
    let call = ("exec_command".to_owned(), json!({"cmd": "true"}));
    desk.model()
        .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
    session.prompt("@usage=70000 two");
    assert_eq!(session.exit().0, 0);
    assert_eq!(conversation(&desk), [Main, Main, Main, Summary, Main]);
    assert_kept(&desk, "auto", "@usage=70000 two");
}

#[test]
fn trust_is_asked_for_once_and_a_second_launch_goes_on_with_the_session() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    session.prompt("one");
    assert_eq!(session.exit().0, 0);
    let first = desk.session();

    let again = desk.harn_codex(["resume", "--last"]);
    let session = Session::start(&desk, again, Review::Absent);
    patch_notes(&desk, &session);
    session.compact();
    session.prompt("go on");
    let (code, screen) = session.exit();
    assert_eq!((code, screen.contains("hooks not seen")), (0, false));
    assert_eq!(desk.session(), first);
    let starts = desk.starts();
    assert_eq!(starts, ["startup", "resume", "compact"]);
    let capsules = desk.capsules();
    assert_eq!(capsules.len(), 1);
    assert_eq!(capsules[0].1["work"]["request"]["text"], "change the notes");
    let log = desk.log().all();
    let last = log.iter().rfind(|entry| entry.kind == Main).unwrap();
    assert_eq!(count_in(last, FIRST_TAG), 1);
    assert_left_alone(&desk, " M notes.txt");
}

#[test]
fn declined_hooks_keep_nothing_back_and_harn_says_so() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::Decline);
    patch_notes(&desk, &session);
    let peers = || {
        let command = desk.env.harn(["context", "--section", "peers"]);
        desk.env.run(command, b"").out()
    };
    session.wait("harn's word on the hooks", || {
        peers().contains("hooks not seen: open /hooks in Codex and trust harn's")
    });
    session.wait_text("! hooks not seen: open /hooks in Codex");
    // The session is this run's all the same: its process holds the lock of the conversation.
    assert!(!peers().contains("does not own"), "{}", peers());
    session.compact();
    session.prompt("go on");
    let (code, screen) = session.exit();
    assert_eq!(code, 0);
    assert!(screen.contains("harn: hooks not seen"), "{screen}");
    assert_eq!(desk.windows(), [1]);
    assert_eq!(desk.hooks_ran(), [""; 0].map(String::from));
    assert!(!desk.env.project().join(".harnery").exists());
    assert_left_alone(&desk, " M notes.txt");
}

/// Nobody speaks for the session, so the meter rests on what its process holds open: the parent's record and a sub-agent's.
#[test]
fn without_hooks_the_meter_goes_on_from_the_record_that_the_client_holds() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::Decline);
    let call = (
        "multi_agent_v1/spawn_agent".to_owned(),
        json!({"message": "@usage=90000 the child's task"}),
    );
    desk.model().script(|script| {
        script.replies.push_back(Reply::Tools(vec![call]));
    });
    session.prompt("@usage=50000 the parent's task");
    session.wait_row("codex idle | ! hooks not seen");
    session.wait("a second record", || desk.rollouts().len() == 2);
    let sources = desk
        .rollouts()
        .into_iter()
        .map(|(_, lines)| lines[0]["payload"]["thread_source"].clone());
    assert_eq!(sources.collect::<Vec<_>>(), ["user", "subagent"]);
    let listed = || {
        let output = desk.env.run(desk.env.harn(["sessions", "--json"]), b"");
        let list: Value = serde_json::from_str(&output.out()).unwrap();
        let [only] = list["sessions"].as_array().unwrap().as_slice() else {
            panic!("{list}");
        };
        assert_eq!(only["session"], Value::Null);
        only["context"]["used_tokens"].as_u64()
    };
    session.prompt("@usage=51000 go on");
    session.wait_row("| 51k/95k (transcript)");
    assert_eq!(listed(), Some(51_020));
    session.compact();
    session.wait("another number", || listed() != Some(51_020));
    session.prompt("@usage=20000 go on");
    session.wait_row("| 20k/95k (transcript)");
    session.begin_anew("@usage=20000 go on");
    session.prompt("@usage=30000 anew");
    session.wait_row("| 30k/95k (transcript)");
    assert_eq!(session.exit().0, 0);
    assert!(!desk.env.project().join(".harnery").exists());
}

#[test]
fn unattended_runs_answer_the_same_bytes_and_their_hooks_are_wired_once_trusted() {
    let Some(desk) = Desk::new() else { return };
    for (args, stdin) in [
        (vec!["exec", "hello @say=piped"], ""),
        (vec!["exec", "-"], "from stdin @say=tëxt"),
    ] {
        let direct = desk.env.run(desk.codex(args.clone()), stdin.as_bytes());
        let hosted = desk.env.run(desk.harn_codex(args), stdin.as_bytes());
        assert_eq!((&hosted.out(), hosted.code), (&direct.out(), direct.code));
        let told = "harn: hooks not seen: open /hooks in Codex and trust harn's\n";
        assert!(hosted.err().ends_with(told), "{}", hosted.err());
        assert!(!direct.err().contains("harn:"), "{}", direct.err());
    }
    assert!(!desk.env.project().join(".harnery").exists());

    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    session.prompt("one");
    assert_eq!(session.exit().0, 0);
    let hosted = desk
        .env
        .run(desk.harn_codex(["exec", "hello @say=wired"]), b"");
    assert_eq!((hosted.out(), hosted.code), ("wired\n".to_owned(), 0));
    assert!(!hosted.err().contains("hooks not seen"), "{}", hosted.err());
    let newest = desk.rollouts().pop().unwrap().0;
    let types = desk.event_types_of(&newest);
    assert_eq!(types.first().map(String::as_str), Some("session.started"));
    assert_eq!(types.last().map(String::as_str), Some("session.ended"));
    assert_left_alone(&desk, "");
}

#[test]
fn failed_and_cancelled_compactions_are_briefed_to_nobody() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    session.prompt("one");
    desk.model()
        .script(|script| script.summary.status = Some(400));
    session.fail_to_compact();
    session.prompt("go on");
    assert_eq!(session.exit().0, 0);
    assert_eq!(desk.windows(), [0; 0]);
    assert_eq!(desk.capsules().len(), 1);
    let log = desk.log().all();
    let last = log.iter().rfind(|entry| entry.kind == Main).unwrap();
    assert_eq!(count_in(last, "[harn:"), 0);
    let types = desk.event_types();
    assert!(!types.iter().any(|it| it == "context.compaction.completed"));
    assert!(!types.iter().any(|it| it == "context.degraded"));
}

#[test]
fn sub_agents_move_nothing_of_the_main_session() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    let call = (
        "multi_agent_v1/spawn_agent".to_owned(),
        json!({"message": "the child's task"}),
    );
    desk.model()
        .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
    session.prompt("the parent's task");
    session.wait("the end of the sub-agent", || {
        let events = kept::events(&desk.env, &desk.main_session());
        events.iter().any(|event| event["type"] == "agent.stopped")
    });
    session.compact();
    session.prompt("go on");
    assert_eq!(session.exit().0, 0);
    let capsules = kept::capsules(&desk.env, &desk.main_session());
    assert_eq!(capsules.len(), 1);
    let capsule = &capsules[0].1;
    assert_eq!(capsule["work"]["request"]["text"], "the parent's task");
    let contexts = std::fs::read_dir(desk.env.project().join(".harnery/context")).unwrap();
    assert_eq!(contexts.count(), 1, "sessions that harn keeps");
    let log = desk.log().all();
    let last = log.iter().rfind(|entry| entry.kind == Main).unwrap();
    assert_eq!(count_in(last, FIRST_TAG), 1);
}

#[test]
fn another_conversation_in_the_same_client_is_followed() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    session.prompt("one");
    session.begin_anew("one");
    session.prompt("two");
    session.compact();
    session.prompt("three");
    session.clear_away("three");
    session.prompt("four");
    assert_eq!(session.exit().0, 0);
    let ids: Vec<String> = desk.rollouts().into_iter().map(|(id, _)| id).collect();
    let [first, second, third] = ids.as_slice() else {
        panic!("{ids:?}");
    };
    let counts = [first, second, third].map(|id| kept::capsules(&desk.env, id).len());
    assert_eq!(counts, [0, 1, 0]);
    for (before, after) in [(first, second), (second, third)] {
        let events = kept::events(&desk.env, after);
        let linked = events
            .iter()
            .find(|event| event["type"] == "session.linked");
        assert_eq!(linked.unwrap()["data"]["previous"], before.as_str());
        assert!(events.iter().all(|event| event["run"].is_string()));
    }
}

#[test]
fn a_fork_is_followed_and_measured_from_its_own_replies_on() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    session.prompt("@usage=50000 one");
    session.fork();
    session.prompt("@usage=30000 two");
    session.compact();
    session.prompt("three");
    assert_eq!(session.exit().0, 0);
    let ids: Vec<String> = desk.rollouts().into_iter().map(|(id, _)| id).collect();
    let [first, fork] = ids.as_slice() else {
        panic!("{ids:?}");
    };
    assert_eq!(kept::capsules(&desk.env, first).len(), 0);
    let capsules = kept::capsules(&desk.env, fork);
    let numbers = |name: &str| -> Vec<u64> {
        let events = kept::events(&desk.env, name).into_iter();
        events
            .filter(|event| event["type"] == "context.sampled")
            .filter_map(|event| event["data"]["used_tokens"].as_u64())
            .collect()
    };
    assert_eq!(capsules.len(), 1);
    assert_eq!(capsules[0].1["context"]["used_tokens"], 30_020);
    assert_eq!(numbers(first), [50_020]);
    assert_eq!(numbers(fork).first(), Some(&30_020));
    let events = kept::events(&desk.env, fork);
    let linked = events
        .iter()
        .find(|event| event["type"] == "session.linked");
    assert_eq!(linked.unwrap()["data"]["previous"], first.as_str());
}

#[test]
fn an_interrupted_turn_and_a_permission_dialog_are_told() {
    let Some(desk) = Desk::new() else { return };
    let asking = [
        "-c",
        "approval_policy=\"on-request\"",
        "-c",
        "sandbox_mode=\"read-only\"",
    ];
    let session = Session::start(&desk, desk.harn_codex(asking), Review::TrustAll);
    let input = json!({
        "cmd": "true", "sandbox_permissions": "require_escalated", "justification": "to see",
    });
    let call = ("exec_command".to_owned(), input);
    desk.model()
        .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
    session.prompt_allowing("ask me");
    session.interrupt("take your time @slow=30");
    assert_eq!(session.exit().0, 0);
    let events = kept::events(&desk.env, &desk.session());
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| match event["type"].as_str()? {
            "permission.requested" => Some(format!("asked for {}", event["data"]["tool"])),
            "turn.stopped" => Some(format!("ended {}", event["data"]["end"])),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "asked for \"Bash\"",
            "ended \"completed\"",
            "ended \"interrupted\""
        ]
    );
}

#[test]
fn a_session_in_a_server_of_its_own_is_not_this_runs_and_harn_says_why() {
    let Some(desk) = Desk::new() else { return };
    let socket = desk.env.runtime().join("codex.sock");
    let address = format!("unix://{}", socket.display());
    let listen = ["app-server", "--listen", address.as_str()];
    let mut server = background(desk.codex(listen));
    let args = ["--remote", address.as_str()];
    let session = Session::start(&desk, desk.harn_codex(args), Review::Decline);
    session.prompt("one");
    let (code, screen) = session.exit();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(code, 0);
    assert!(
        screen.contains("harn: the run does not own its session"),
        "{screen}"
    );
}

#[test]
fn status_tells_the_clients_own_numbers_and_the_patched_files_are_known() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    session.prompt("@usage=50000 one");
    assert_eq!(session.exit().0, 0);
    let output = desk
        .env
        .run(desk.env.harn(["context", "status", "--json"]), b"");
    let status: Value = serde_json::from_str(&output.out()).unwrap();
    let told = ["used_tokens", "window_tokens", "source"].map(|key| &status["context"][key]);
    assert_eq!(json!(told), json!([50_020, 95_000, "transcript"]));
    assert_eq!(status["problems"], json!([]));
}

/// One turn in which the agent changes `notes.txt`.
pub(super) fn patch_notes(desk: &Desk, session: &Session<'_>) {
    let patch = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-first line\n+changed line\n*** End Patch\n";
    let command = format!("apply_patch <<'EOF'\n{patch}EOF");
    let call = ("exec_command".to_owned(), json!({"cmd": command}));
    desk.model()
        .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
    session.prompt("change the notes");
    let notes = std::fs::read_to_string(desk.env.project().join("notes.txt")).unwrap();
    assert_eq!(notes, "changed line\n");
}

/// Conversation and summary requests in order, errands apart.
pub(super) fn conversation(desk: &Desk) -> Vec<Kind> {
    let kinds = desk.log().all().into_iter().map(|entry| entry.kind);
    kinds
        .filter(|kind| matches!(kind, Main | Summary))
        .collect()
}

/// How often the model sees this text in a request.
pub(super) fn count_in(entry: &Entry, text: &str) -> usize {
    let seen = texts(&entry.body);
    seen.iter().map(|part| part.matches(text).count()).sum()
}

/// One compaction, one capsule with the facts of the moment, one briefing, in the next request; nothing else touched.
fn assert_kept(desk: &Desk, trigger: &str, request: &str) {
    let capsules = desk.capsules();
    let names: Vec<&str> = capsules.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["000001.json"]);
    let capsule = &capsules[0].1;
    let facts = json!({
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
        "trigger": "pre_compact",
        "compaction": trigger,
        "session": desk.session(),
        "adapter": "codex",
        "request": request,
        "head": {"branch": {"kind": "branch", "name": "main"}, "commit": desk.head()},
        "dirty": [["notes.txt", ".M"]],
    });
    assert_eq!(facts, expected);

    let log = desk.log().all();
    let summary = log.iter().find(|entry| entry.kind == Summary).unwrap();
    let mut after = log
        .iter()
        .filter(|entry| entry.kind == Main && entry.n > summary.n);
    let next = after.next().unwrap();
    assert_eq!(
        count_in(next, FIRST_TAG),
        1,
        "briefings in the next request"
    );
    let last = after.next_back().unwrap_or(next);
    assert_eq!(
        count_in(last, FIRST_TAG),
        1,
        "briefings in the last request"
    );
    let types = desk.event_types();
    let count = |name: &str| types.iter().filter(|it| *it == name).count();
    let counted = [
        "session.started",
        "context.checkpoint.created",
        "context.compaction.completed",
        "context.recovery.injected",
        "context.degraded",
        "session.ended",
    ]
    .map(|name| (name, count(name)));
    let expected = [
        ("session.started", 2),
        ("context.checkpoint.created", 1),
        ("context.compaction.completed", 1),
        ("context.recovery.injected", 1),
        ("context.degraded", 0),
        ("session.ended", 1),
    ];
    assert_eq!(counted, expected);
    let ran = desk.hooks_ran();
    for owner in ["user:", "project:"] {
        let own = ran.iter().filter(|it| it.starts_with(owner));
        let compactions = own.filter(|it| it.ends_with("PreCompact")).count();
        assert_eq!(compactions, 1, "{ran:?}");
    }
    assert_left_alone(desk, " M notes.txt");
}

/// The person's files are as they were but for what the client adds itself, and no process goes on.
fn assert_left_alone(desk: &Desk, git_status: &str) {
    assert_eq!(desk.changed_own_files(), Vec::<String>::new());
    assert_eq!(
        desk.own_files_with_harn_hooks(),
        Vec::<std::path::PathBuf>::new()
    );
    assert_eq!(desk.env.git(["status", "--porcelain"]), git_status);
    assert_eq!(desk.processes(), Vec::<String>::new());
}
