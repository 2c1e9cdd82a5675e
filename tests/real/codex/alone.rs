//! The client alone, without harn: what the rehearsal is worth, and what the client does by itself.

use harn::rehearsal::Kind::{Main, Summary};
use harn::rehearsal::responses::{Reply, human_prompts};
use serde_json::json;

use super::desk::{Compaction, Desk, Program};
use super::run::{conversation, count_in};
use super::session::{Review, Session};

const SUMMARY: &str = "REHEARSED-SUMMARY";

#[test]
fn codex_compacts_when_told_and_goes_on_whoever_compacts() {
    for compaction in [Compaction::Local, Compaction::Remote] {
        let Some(desk) = Desk::with(Program::Native, compaction) else {
            return;
        };
        let session = Session::start(&desk, desk.codex([]), Review::TrustAll);
        session.prompt("one");
        session.compact();
        session.prompt("go on @say=going now");
        assert_eq!(session.exit().0, 0);

        assert_eq!(conversation(&desk), [Main, Summary, Main]);
        let log = desk.log().all();
        let asked = log.iter().find(|entry| entry.kind == Summary).unwrap();
        let last_item = asked.body["input"].as_array().unwrap().last().unwrap();
        let is_remote = last_item["type"] == "compaction_trigger";
        assert_eq!(is_remote, compaction == Compaction::Remote);
        let next = log.iter().rfind(|entry| entry.kind == Main).unwrap();
        let words = usize::from(compaction == Compaction::Local);
        assert_eq!(count_in(next, SUMMARY), words);
        let prompts = human_prompts(&next.body);
        assert_eq!(prompts.last().unwrap(), "go on @say=going now");
        assert_eq!(desk.windows(), [1]);
        let ran = [
            "project:PreCompact",
            "project:Stop",
            "project:Stop",
            "user:PreCompact",
            "user:Stop",
            "user:Stop",
        ];
        assert_eq!(desk.hooks_ran(), ran);
        assert_eq!(desk.changed_own_files(), [""; 0].map(String::from));
        assert_eq!(desk.processes(), [""; 0].map(String::from));
    }
}

#[test]
fn codex_compacts_before_a_turn_and_within_one_when_its_limit_is_reached() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.codex([]), Review::TrustAll);
    session.prompt("@usage=70000 one");
    session.prompt("two");
    let call = ("exec_command".to_owned(), json!({"cmd": "true"}));
    desk.model()
        .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
    session.prompt("@usage=70000 three");
    assert_eq!(session.exit().0, 0);
    assert_eq!(
        conversation(&desk),
        [Main, Summary, Main, Main, Summary, Main]
    );
    assert_eq!(desk.windows(), [1, 2]);
}

#[test]
fn codex_answers_through_pipes() {
    let Some(desk) = Desk::new() else { return };
    let output = desk.env.run(desk.codex(["exec", "-"]), b"hello @say=piped");
    assert_eq!((output.out(), output.code), ("piped\n".to_owned(), 0));
    assert_eq!(conversation(&desk), [Main]);
}
