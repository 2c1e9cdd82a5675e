//! `harn run -- codex`: what a session keeps over its compactions, and what harn leaves alone.

use harn::rehearsal::Kind::{Main, Summary};
use harn::rehearsal::responses::{Reply, texts};
use harn::rehearsal::{Entry, Kind};
use serde_json::json;

use super::desk::{Compaction, Desk, Program};
use super::session::{Review, Session};

/// How a briefing of the first generation begins its tag.
const FIRST_TAG: &str = "[harn:g1:";

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

/// One turn in which the agent changes `notes.txt`.
fn patch_notes(desk: &Desk, session: &Session<'_>) {
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
fn conversation(desk: &Desk) -> Vec<Kind> {
    let kinds = desk.log().all().into_iter().map(|entry| entry.kind);
    kinds
        .filter(|kind| matches!(kind, Main | Summary))
        .collect()
}

/// How often the model sees this text in a request.
fn count_in(entry: &Entry, text: &str) -> usize {
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
