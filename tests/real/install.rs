//! Claude Code with harn's hooks installed, among a person's own, in sessions that harn does not own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use harn::rehearsal::Kind::{Main, Summary};
use serde_json::{Value, json};

use super::claude_code::{assert_kept_by, edit_notes, event_types};
use super::record::conversation;
use super::sandbox::{SESSION, Sandbox};
use super::session::{Left, Session};

/// A name on PATH that a shell could stumble over.
const ODD: &str = "o'dd \"bin\" $HOME é";

/// harn under that name, first on PATH.
fn odd_harn(sandbox: &Sandbox, args: &str) -> Command {
    let folder = sandbox.env.root().join(ODD);
    let link = folder.join("harn");
    if !link.exists() {
        fs::create_dir_all(&folder).unwrap();
        symlink(sandbox.env.bin(), &link).unwrap();
    }
    let mut command = sandbox.env.command(&link);
    let path = format!("{}:{}", folder.display(), Sandbox::path());
    command.env("PATH", path).args(args.split_whitespace());
    command
}

fn settings(sandbox: &Sandbox) -> PathBuf {
    sandbox.env.home().join(".claude/settings.json")
}

#[test]
fn session_that_nobody_owns_is_checkpointed_and_briefed_among_foreign_settings() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    // A person's own status line, and shells that say good morning.
    let own = fs::read_to_string(settings(&sandbox)).unwrap();
    let line = r#"cat > "$HOME/line.json"; echo MY-LINE"#;
    let mut with_line: Value = serde_json::from_str(&own).unwrap();
    with_line["statusLine"] = json!({"type": "command", "command": line});
    let text = format!("{with_line:#}\n");
    sandbox.env.write(settings(&sandbox), &text);
    for file in [".bashrc", ".bash_profile", ".profile", ".zshrc"] {
        sandbox
            .env
            .write(sandbox.env.home().join(file), "echo good morning\n");
    }
    let installed = odd_harn(&sandbox, "install claude-code --statusline --keys");
    let output = sandbox.env.run(installed, b"");
    assert_eq!((output.err(), output.code), (String::new(), 0));

    let session = Session::start(&sandbox, sandbox.claude([]));
    session.wait_screen("MY-LINE");
    edit_notes(&sandbox, &session);
    session.prompt("and the second half?");
    session.compact();
    session.prompt("go on");
    session.prompt("and on");
    let refused = sandbox.env.run(sandbox.env.harn(["compact"]), b"");
    assert_eq!(refused.code, 3);
    assert!(
        refused.out().contains("a hook cannot compact"),
        "{}",
        refused.out()
    );
    let args = ["context", "status", "--session", SESSION, "--json"];
    let status = sandbox.env.run(sandbox.env.harn(args), b"");
    assert_eq!(session.exit(), Left::clean());

    let status: Value = serde_json::from_str(&status.out()).unwrap();
    let told = ["phase", "generation", "owned"].map(|key| &status[key]);
    assert_eq!(json!(told), json!(["recovered", 1, false]));
    assert_eq!(status["capabilities"]["trigger"], "unsupported");
    assert_eq!(status["recovery"]["state"], "delivered");
    // Only the status line is told the window.
    assert_eq!(status["meter"]["window"], "reported");
    assert_eq!(
        conversation(&sandbox.log().all()),
        [Main, Main, Main, Main, Summary, Main, Main]
    );
    assert_kept_by(&sandbox, "manual", "and the second half?");
    let payload = fs::read_to_string(sandbox.env.home().join("line.json")).unwrap();
    assert!(payload.contains(SESSION), "{payload}");

    let output = sandbox
        .env
        .run(odd_harn(&sandbox, "uninstall claude-code"), b"");
    assert_eq!((output.err(), output.code), (String::new(), 0));
    assert_eq!(fs::read_to_string(settings(&sandbox)).unwrap(), text);
    assert!(!sandbox.env.home().join(".claude/keybindings.json").exists());
}

#[test]
fn owned_session_with_installed_hooks_of_another_name_acts_once() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let own = fs::read_to_string(settings(&sandbox)).unwrap();
    let output = sandbox
        .env
        .run(odd_harn(&sandbox, "install claude-code"), b"");
    assert_eq!((output.err(), output.code), (String::new(), 0));
    let session = Session::start(&sandbox, sandbox.harn_claude([]));
    edit_notes(&sandbox, &session);
    session.prompt("and the second half?");
    session.compact();
    session.prompt("go on");
    assert_eq!(session.exit(), Left::clean());

    let types = event_types(&sandbox, SESSION);
    let count = |name: &str| types.iter().filter(|it| *it == name).count();
    let counts = [
        "prompt.submitted",
        "tool.started",
        "tool.finished",
        "context.compaction.started",
        "context.compaction.completed",
        "context.checkpoint.created",
        "context.recovery.injected",
        "session.ended",
    ]
    .map(|name| (name, count(name)));
    let expected = [
        ("prompt.submitted", 3),
        ("tool.started", 2),
        ("tool.finished", 2),
        ("context.compaction.started", 1),
        ("context.compaction.completed", 1),
        ("context.checkpoint.created", 1),
        ("context.recovery.injected", 1),
        ("session.ended", 1),
    ];
    assert_eq!(counts, expected, "{types:?}");
    assert_kept_by(&sandbox, "manual", "and the second half?");
    let output = sandbox
        .env
        .run(odd_harn(&sandbox, "uninstall claude-code"), b"");
    assert_eq!(output.code, 0);
    assert_eq!(fs::read_to_string(settings(&sandbox)).unwrap(), own);
}
