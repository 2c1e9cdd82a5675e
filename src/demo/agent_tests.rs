//! The hazards, one by one: what harn must not walk into.

use super::*;
use crate::demo::hook::Ran;
use crate::demo::key::Decoder;
use crate::demo::script::Script;

/// An agent whose hooks and commands answer at once, and its clock.
struct Stage {
    agent: Agent,
    decoder: Decoder,
    now: u64,
    effects: Vec<Effect>,
    /// What a hook of this event has to say.
    reply: Option<(&'static str, String)>,
}

impl Stage {
    fn new(like: Like, script: &str) -> Self {
        Self::with(like, script, |_| {})
    }

    fn with(like: Like, script: &str, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup {
            hooks: 1,
            like,
            speed: 1,
            window: 200_000,
            manner: Manner::Ok,
            has_compact: true,
            has_submit_keys: false,
            project: "/p".into(),
        };
        change(&mut setup);
        let director = Director::Script(Script::parse(script).unwrap());
        let mut stage = Self {
            agent: Agent::new(setup, director, 0),
            decoder: Decoder::default(),
            now: 1,
            effects: Vec::new(),
            reply: None,
        };
        stage.settle();
        stage
    }

    /// Bytes of one write.
    fn write(&mut self, bytes: &str) -> &mut Self {
        let keys = self.decoder.push(bytes.as_bytes());
        self.agent.press(&keys, self.now);
        self.settle();
        self
    }

    fn pass(&mut self, ms: u64) -> &mut Self {
        let end = self.now + ms;
        while self.now < end {
            self.now += 1;
            self.settle();
        }
        self
    }

    fn settle(&mut self) {
        self.agent.advance(self.now);
        while !self.agent.effects.is_empty() {
            for effect in std::mem::take(&mut self.agent.effects) {
                match &effect {
                    Effect::Hook { id, call } => {
                        let runs = self.runs(call.event);
                        self.agent.hooks_ended(*id, &runs);
                    }
                    Effect::Shell { id, command } => {
                        self.agent.shell_ended(*id, vec![format!("ran {command}")]);
                    }
                    Effect::Record(_)
                    | Effect::Write { .. }
                    | Effect::StatusLine
                    | Effect::Suspend
                    | Effect::Repaint
                    | Effect::Exit(_) => {}
                }
                self.effects.push(effect);
            }
            self.agent.advance(self.now);
        }
    }

    fn runs(&self, event: &str) -> Vec<Ran> {
        let reply = self.reply.iter().filter(|(wanted, _)| *wanted == event);
        reply
            .map(|(_, said)| Ran {
                command: "hook".into(),
                code: Some(0),
                stdout: said.clone(),
                stderr: String::new(),
            })
            .collect()
    }

    /// Two turns, so that a compaction is not too early.
    fn talked(mut self) -> Self {
        self.write("one").pass(20).write("\r").pass(1_000);
        self.write("two").pass(20).write("\r").pass(1_000);
        self.effects.clear();
        self
    }

    fn hooks(&self) -> Vec<&'static str> {
        let events = self.effects.iter().filter_map(|effect| match effect {
            Effect::Hook { call, .. } => Some(call.event),
            Effect::Record(_)
            | Effect::Write { .. }
            | Effect::Shell { .. }
            | Effect::StatusLine
            | Effect::Suspend
            | Effect::Repaint
            | Effect::Exit(_) => None,
        });
        events.collect()
    }

    fn commands(&self) -> Vec<&str> {
        let commands = self.effects.iter().filter_map(|effect| match effect {
            Effect::Shell { command, .. } => Some(command.as_str()),
            Effect::Hook { .. }
            | Effect::Record(_)
            | Effect::Write { .. }
            | Effect::StatusLine
            | Effect::Suspend
            | Effect::Repaint
            | Effect::Exit(_) => None,
        });
        commands.collect()
    }

    fn prompts(&self) -> Vec<&str> {
        let prompts = self.effects.iter().filter_map(|effect| match effect {
            Effect::Hook { call, .. } => call.fields.get("prompt")?.as_str(),
            Effect::Record(_)
            | Effect::Write { .. }
            | Effect::Shell { .. }
            | Effect::StatusLine
            | Effect::Suspend
            | Effect::Repaint
            | Effect::Exit(_) => None,
        });
        prompts.collect()
    }

    fn has_boundary(&self) -> bool {
        self.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Record(Record::Boundary(_))))
    }

    fn last(&self) -> &Entry {
        self.agent.history.last().unwrap()
    }
}

const ASKS: &str = "expect go\ndialog permission";

#[test]
fn a_typed_compact_and_enter_accept_an_open_permission_dialog() {
    let mut stage = Stage::new(Like::Claude, ASKS);
    stage.write("go").write("\r").pass(1_600);
    assert_eq!(
        stage.agent.status(),
        Status::Waiting(DialogKind::Permission)
    );
    stage.write("/compact").write("\r").pass(100);
    assert_eq!(stage.commands(), ["touch allowed && echo allowed"]);
    assert!(!stage.hooks().contains(&"PreCompact"));
}

#[test]
fn a_dialog_is_held_back_while_the_user_types_and_its_status_is_told_already() {
    let mut stage = Stage::new(Like::Claude, ASKS);
    stage.write("go").write("\r").pass(50);
    assert_eq!(
        stage.agent.status(),
        Status::Waiting(DialogKind::Permission)
    );
    assert_eq!(stage.agent.dialog(), None);
    stage.write("/compact").write("\r");
    assert_eq!(stage.agent.queue, [("/compact".to_owned(), false)]);
    stage.pass(1_600);
    assert!(stage.agent.dialog().is_some());
}

#[test]
fn a_no_ends_the_turn_without_a_stop_hook() {
    let mut stage = Stage::new(Like::Claude, ASKS);
    stage
        .write("go")
        .write("\r")
        .pass(1_600)
        .write("3")
        .pass(100);
    assert_eq!(stage.agent.status(), Status::Idle);
    assert_eq!(
        stage.hooks(),
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest"
        ]
    );
    assert_eq!(stage.commands(), [""; 0]);
}

#[test]
fn compact_behind_a_draft_becomes_a_prompt() {
    for like in [Like::Claude, Like::Codex] {
        let mut stage = Stage::new(like, "").talked();
        stage
            .write("fix the ")
            .pass(500)
            .write("/compact")
            .pass(50)
            .write("\r")
            .pass(50);
        assert_eq!(stage.prompts(), ["fix the /compact"]);
        assert!(!stage.hooks().contains(&"PreCompact"));
    }
}

#[test]
fn an_enter_in_the_same_write_submits_for_one_and_not_for_the_other() {
    let mut claude = Stage::new(Like::Claude, "").talked();
    claude.write("/compact\r").pass(50);
    assert_eq!(claude.hooks(), ["PreCompact"]);

    let mut codex = Stage::new(Like::Codex, "").talked();
    codex.write("/compact\r").pass(50);
    assert_eq!(codex.hooks(), [""; 0]);
    assert_eq!(codex.agent.composer.text(), "/compact\n");

    for (gap_ms, events) in [(5, 0), (10, 1)] {
        let mut codex = Stage::new(Like::Codex, "").talked();
        codex.write("/compact").pass(gap_ms).write("\r").pass(50);
        assert_eq!(codex.hooks().len(), events, "Enter after {gap_ms} ms");
    }
}

#[test]
fn a_bracketed_paste_and_enter_in_one_write_submit() {
    for like in [Like::Claude, Like::Codex] {
        let mut stage = Stage::new(like, "").talked();
        stage.write("\x1b[200~/compact\x1b[201~\r").pass(50);
        assert_eq!(stage.hooks(), ["PreCompact"], "{like:?}");
    }
    let mut inside = Stage::new(Like::Claude, "").talked();
    inside.write("\x1b[200~/compact\r\x1b[201~").pass(50);
    assert_eq!(inside.agent.composer.text(), "/compact\n");
}

#[test]
fn a_long_write_is_a_paste_and_its_enter_a_new_line() {
    let mut stage = Stage::new(Like::Claude, "").talked();
    let focus = "x".repeat(60);
    stage.write(&format!("/compact {focus}\r")).pass(50);
    assert_eq!(stage.agent.composer.text(), format!("/compact {focus}\n"));
    stage.write("\x7f").write("\r").pass(50);
    assert_eq!(stage.hooks(), ["PreCompact"]);
}

#[test]
fn an_enter_on_an_open_menu_takes_its_first_row() {
    let mut stage = Stage::new(Like::Claude, "").talked();
    stage.write("/com").write("\r").pass(50);
    assert_eq!(stage.hooks(), ["PreCompact"]);

    let without = |setup: &mut Setup| setup.has_compact = false;
    let mut stage = Stage::with(Like::Claude, "", without).talked();
    stage.write("/compact").write("\r").pass(50);
    assert!(
        stage
            .agent
            .history
            .contains(&Entry::User("/review-changes".into()))
    );
    let mut stage = Stage::with(Like::Claude, "", without).talked();
    stage.write("/compact\r").pass(50);
    assert_eq!(
        stage.last(),
        &Entry::Error("Unknown command: /compact".into())
    );
}

#[test]
fn what_is_submitted_to_a_busy_agent_waits_and_prompts_go_first() {
    let mut stage = Stage::new(Like::Claude, "expect go\nslow 1").talked();
    stage.write("go").write("\r").pass(50);
    stage
        .write("/compact")
        .write("\r")
        .write("more")
        .write("\r")
        .pass(50);
    assert_eq!(stage.agent.queue.len(), 2);
    stage.pass(5_000);
    assert_eq!(stage.prompts(), ["go", "more"]);
    assert!(stage.has_boundary());
}

#[test]
fn codex_refuses_a_command_while_a_task_runs_and_queues_it_by_tab() {
    let mut stage = Stage::new(Like::Codex, "expect go\nslow 1").talked();
    stage.write("go").pass(20).write("\r").pass(50);
    stage.write("/compact").pass(20).write("\r").pass(20);
    let said = "'/compact' is disabled while a task is in progress.";
    assert_eq!(stage.last(), &Entry::Error(said.into()));
    assert!(stage.agent.composer.is_empty() && stage.agent.queue.is_empty());
}

#[test]
fn a_background_task_starts_a_turn_by_itself_that_opens_a_dialog() {
    let script = "background 2\nexpect <task-notification>\ndialog permission";
    let mut stage = Stage::new(Like::Claude, script);
    assert_eq!(stage.agent.status(), Status::Shell);
    stage.pass(2_100);
    assert_eq!(
        stage.agent.status(),
        Status::Waiting(DialogKind::Permission)
    );
    assert!(stage.prompts()[0].starts_with("<task-notification>"));
    stage.write("\r").pass(50);
    assert_eq!(stage.commands().len(), 1);
}

#[test]
fn bash_mode_runs_compact_as_a_command() {
    let mut stage = Stage::with(Like::Claude, "", |setup| setup.has_submit_keys = true).talked();
    stage.write("!").write("/compact").write("\r").pass(50);
    stage.write("!").write("\x18\x19").pass(50);
    assert_eq!(stage.commands(), ["/compact", "/compact"]);
    assert!(!stage.hooks().contains(&"PreCompact"));
}

#[test]
fn submit_keys_leave_drafts_alone_and_no_dialog_takes_them() {
    let keys = |setup: &mut Setup| setup.has_submit_keys = true;
    let mut stage = Stage::with(Like::Claude, ASKS, keys).talked();
    stage.write("a draft\x18\x19").pass(50);
    assert_eq!(stage.hooks(), ["PreCompact"]);
    assert_eq!(stage.agent.composer.text(), "a draft");

    for (like, bytes) in [
        (Like::Claude, "\x18\x19\x18\x12"),
        (Like::Codex, "\x1b[200~/compact \x1b[201~\x1b[17~"),
    ] {
        let mut stage = Stage::with(like, ASKS, keys);
        stage
            .write("go")
            .pass(20)
            .write("\r")
            .pass(1_600)
            .write(bytes)
            .pass(50);
        assert_eq!(stage.commands(), [""; 0], "{like:?}");
        assert!(stage.agent.dialog().is_some());
    }
    let mut codex = Stage::with(Like::Codex, "", keys).talked();
    codex
        .write("\x1b[200~/compact\x1b[201~")
        .write("\x1b[17~")
        .pass(50);
    assert_eq!(codex.hooks(), [""; 0], "the menu is open");
    codex.write(" ").write("\x1b[17~").pass(50);
    assert_eq!(codex.hooks(), ["PreCompact"]);
}

#[test]
fn a_compaction_tells_its_hooks_in_each_familys_order() {
    let mut claude = Stage::new(Like::Claude, "").talked();
    claude.write("/compact keep it").write("\r").pass(1_850);
    assert_eq!(
        claude.hooks(),
        ["PreCompact", "SessionStart", "PostCompact"]
    );
    assert_eq!(claude.agent.status(), Status::Idle);
    assert!(!claude.has_boundary(), "the transcript is late");
    claude.pass(100);
    assert!(claude.has_boundary());

    let mut codex = Stage::new(Like::Codex, "").talked();
    codex.write("/compact").pass(20).write("\r").pass(1_850);
    assert_eq!(codex.hooks(), ["PreCompact", "PostCompact"]);
    assert!(codex.has_boundary());
    codex.write("on").pass(20).write("\r").pass(20);
    assert_eq!(
        codex.hooks(),
        [
            "PreCompact",
            "PostCompact",
            "SessionStart",
            "UserPromptSubmit"
        ]
    );
    let mut codex = Stage::new(Like::Codex, "").talked();
    codex
        .write("\x1b[200~/compact keep it\x1b[201~")
        .write("\r")
        .pass(50);
    assert_eq!(
        codex.prompts(),
        ["/compact keep it"],
        "there a focus makes a prompt"
    );
}

#[test]
fn a_compaction_can_be_too_early_fail_be_slow_and_be_cancelled() {
    let mut early = Stage::new(Like::Claude, "");
    early.write("/compact").write("\r").pass(2_000);
    assert_eq!(early.hooks(), ["SessionStart", "PreCompact"]);
    assert_eq!(early.last(), &Entry::Error(compaction::TOO_EARLY.into()));

    let mut failed = Stage::new(Like::Claude, "compact fail").talked();
    failed.write("/compact").write("\r").pass(2_000);
    assert_eq!(failed.hooks(), ["PreCompact", "StopFailure"]);
    assert!(!failed.has_boundary());

    let mut slow = Stage::new(Like::Claude, "compact slow").talked();
    slow.write("/compact").write("\r").pass(20_000);
    assert_eq!(slow.agent.status(), Status::Busy);
    slow.write("\x1b[").pass(1).write("A");
    slow.agent.press(&[crate::demo::key::Key::Esc], slow.now);
    slow.pass(10);
    assert_eq!(slow.agent.status(), Status::Idle);
    assert_eq!(
        slow.agent.composer.text(),
        "/compact",
        "the command is put back"
    );
    assert_eq!(slow.hooks(), ["PreCompact"]);

    let mut cancelled = Stage::new(Like::Claude, "compact cancel").talked();
    cancelled.write("/compact").write("\r").pass(2_000);
    assert_eq!(cancelled.hooks(), ["PreCompact"]);
    assert_eq!(cancelled.agent.composer.text(), "/compact");
}

#[test]
fn a_full_context_compacts_by_itself_before_the_answer() {
    let mut stage = Stage::new(Like::Claude, "usage 195000");
    stage.write("one").write("\r").pass(3_000);
    assert_eq!(
        stage.hooks(),
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreCompact",
            "SessionStart",
            "PostCompact",
            "Stop"
        ]
    );
    assert!(stage.agent.memory.used.is_some_and(|used| used < 50_000));
    stage.effects.clear();
    stage.write("two").write("\r").pass(1_000);
    assert_eq!(
        stage.hooks(),
        ["UserPromptSubmit", "Stop"],
        "once was enough"
    );
}

#[test]
fn a_briefing_is_received_with_the_next_answer_and_not_before() {
    let mut stage = Stage::new(Like::Claude, "").talked();
    let said = serde_json::json!({"hookSpecificOutput": {"hookEventName": "SessionStart",
        "additionalContext": "[harn:g3:7f2a91] Work state\n\nmore"}});
    stage.reply = Some(("SessionStart", said.to_string()));
    let received = Entry::Fact("briefing received: [harn:g3:7f2a91]".into());
    stage.write("/compact").write("\r").pass(2_500);
    assert!(!stage.agent.history.contains(&received));
    stage.write("go on").write("\r").pass(1_000);
    assert!(stage.agent.history.contains(&received));
}

#[test]
fn a_hook_can_object_to_prompt_tool_and_compaction() {
    let block = || r#"{"decision":"block","reason":"no"}"#.to_owned();
    let mut stage = Stage::new(Like::Claude, "expect go\nwrite x\nsay end").talked();
    stage.reply = Some(("PreCompact", block()));
    stage.write("/compact").write("\r").pass(50);
    let said = "Compaction blocked by PreCompact hook: [hook]: no";
    assert_eq!(stage.last(), &Entry::Error(said.into()));
    stage.reply = Some(("UserPromptSubmit", block()));
    stage.write("three").write("\r").pass(1_500);
    assert_eq!(stage.hooks(), ["PreCompact", "UserPromptSubmit"]);
    stage.reply = Some(("PreToolUse", block()));
    stage.write("go").write("\r").pass(1_500);
    assert_eq!(stage.last(), &Entry::Assistant("end".into()));
    assert!(
        !stage
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Write { .. }))
    );
}

#[test]
fn control_c_interrupts_then_leaves_and_an_interrupt_tells_no_stop() {
    let mut stage = Stage::new(Like::Claude, "expect go\nslow 9").talked();
    stage
        .write("go")
        .write("\r")
        .pass(50)
        .write("\x03")
        .pass(50);
    assert_eq!(stage.agent.status(), Status::Idle);
    assert_eq!(stage.hooks(), ["UserPromptSubmit"]);
    stage.pass(2_000).write("\x03").pass(50);
    assert!(!stage.effects.contains(&Effect::Exit(0)));
    stage.write("\x03");
    assert!(stage.effects.contains(&Effect::Exit(0)));
}

#[test]
fn the_transcript_view_eats_keys_and_looks_idle() {
    let mut stage = Stage::new(Like::Claude, "").talked();
    stage.write("\x0f").write("/compact").write("\r").pass(50);
    assert_eq!(stage.agent.status(), Status::Idle);
    assert_eq!(stage.hooks(), [""; 0]);
    stage.write("\x0f");
    assert!(stage.agent.composer.is_empty());
}

#[test]
fn a_picker_takes_enter_and_says_idle_to_one_and_waiting_to_the_other() {
    let mut stage = Stage::new(Like::Claude, "").talked();
    stage.write("/model").write("\r").pass(10);
    assert_eq!(stage.agent.status(), Status::Waiting(DialogKind::Picker));
    stage.write("/compact").write("\r").pass(10);
    assert_eq!(stage.last(), &Entry::Info("Model set to demo-large".into()));
}
