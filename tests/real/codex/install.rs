//! Codex with harn's hooks installed, among a person's own, in sessions that harn does not own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use harn::rehearsal::Kind::{Main, Summary};
use harn::rehearsal::responses::Reply;
use serde_json::{Value, json};

use super::desk::Desk;
use super::run::{FIRST_TAG, conversation, count_in, patch_notes};
use super::session::{Review, Session};

/// A name on PATH that a shell could stumble over.
const ODD: &str = "o'dd \"bin\" $HOME é";

fn odd_harn(desk: &Desk, args: &str) -> Command {
    let folder = desk.env.root().join(ODD);
    let link = folder.join("harn");
    if !link.exists() {
        fs::create_dir_all(&folder).unwrap();
        symlink(desk.env.bin(), &link).unwrap();
    }
    let mut command = desk.env.command(&link);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
    command.env("PATH", path).args(args.split_whitespace());
    command
}

fn done(desk: &Desk, args: &str) {
    let output = desk.env.run(odd_harn(desk, args), b"");
    assert_eq!((output.err(), output.code), (String::new(), 0), "{args}");
}

fn hooks(desk: &Desk) -> PathBuf {
    desk.env.home().join(".codex/hooks.json")
}

/// A turn with a tool whose end is told, too; of a patch through the shell it is not.
fn look(desk: &Desk, session: &Session<'_>) {
    let call = ("exec_command".to_owned(), json!({"cmd": "true"}));
    desk.model()
        .script(|script| script.replies.push_back(Reply::Tools(vec![call])));
    session.prompt("look");
}

/// What counts in harn's record of a session of two turns with a tool each, a compaction and one more turn.
fn counts(desk: &Desk) -> Vec<(&'static str, usize)> {
    let types = desk.event_types();
    let count = |name: &str| types.iter().filter(|it| *it == name).count();
    [
        "prompt.submitted",
        "tool.started",
        "tool.finished",
        "context.compaction.started",
        "context.compaction.completed",
        "context.checkpoint.created",
        "context.recovery.injected",
    ]
    .map(|name| (name, count(name)))
    .into()
}

fn expected() -> Vec<(&'static str, usize)> {
    vec![
        ("prompt.submitted", 3),
        ("tool.started", 2),
        ("tool.finished", 1),
        ("context.compaction.started", 1),
        ("context.compaction.completed", 1),
        ("context.checkpoint.created", 1),
        ("context.recovery.injected", 1),
    ]
}

#[test]
fn codex_that_nobody_owns_is_checkpointed_and_briefed_among_foreign_settings() {
    let Some(desk) = Desk::new() else { return };
    let own = fs::read_to_string(hooks(&desk)).unwrap();
    done(&desk, "install codex");
    let session = Session::start(&desk, desk.codex([]), Review::TrustAll);
    patch_notes(&desk, &session);
    look(&desk, &session);
    session.compact();
    session.prompt("go on");
    let refused = desk.env.run(desk.env.harn(["compact"]), b"");
    assert_eq!(refused.code, 3);
    assert!(
        refused.out().contains("a hook cannot compact"),
        "{}",
        refused.out()
    );
    assert_eq!(session.exit().0, 0);

    assert_eq!(conversation(&desk), [Main, Main, Main, Main, Summary, Main]);
    assert_eq!(counts(&desk), expected());
    let log = desk.log().all();
    let last = log.iter().rfind(|entry| entry.kind == Main).unwrap();
    assert_eq!(count_in(last, FIRST_TAG), 1);
    let capsules = desk.capsules();
    assert_eq!(capsules.len(), 1);
    assert_eq!(capsules[0].1["work"]["request"]["text"], "look");
    let ran = desk.hooks_ran();
    assert!(
        ran.contains(&"user:PreCompact".to_owned())
            && ran.contains(&"project:PreCompact".to_owned())
    );

    let id = desk.session();
    let args = ["context", "status", "--session", &id, "--json"];
    let status = desk.env.run(desk.env.harn(args), b"");
    let status: Value = serde_json::from_str(&status.out()).unwrap();
    let told = ["adapter", "phase", "owned"].map(|key| &status[key]);
    assert_eq!(json!(told), json!(["codex", "recovered", false]));
    assert_eq!(status["capabilities"]["trigger"], "unsupported");

    done(&desk, "uninstall codex");
    assert_eq!(fs::read_to_string(hooks(&desk)).unwrap(), own);
    assert_eq!(desk.changed_own_files(), [""; 0].map(String::from));
}

#[test]
fn owned_codex_with_installed_hooks_acts_once() {
    let Some(desk) = Desk::new() else { return };
    done(&desk, "install codex");
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    patch_notes(&desk, &session);
    look(&desk, &session);
    session.compact();
    session.prompt("go on");
    assert_eq!(session.exit().0, 0);
    assert_eq!(counts(&desk), expected(), "{:?}", desk.event_types());
    let log = desk.log().all();
    let last = log.iter().rfind(|entry| entry.kind == Main).unwrap();
    assert_eq!(count_in(last, FIRST_TAG), 1);
}
