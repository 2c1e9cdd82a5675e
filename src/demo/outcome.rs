//! What comes back to the agent: the user's answer to a dialog, the hooks' words, a command's output, an interrupt.
//!
//! Pure, a part of `agent`: each of them ends a wait, and what nobody waits for any more means nothing.

use super::agent::{Agent, Asked, Effect, Waiting};
use super::dialog::{Answer, DialogKind, NO};
use super::entry::Entry;
use super::hook::{self, HookCall, Ran};
use super::options::Like;
use super::record::Record;
use super::step::Step;
use super::turn;

/// A Stop hook may keep a turn going this often.
const STOP_LOOPS: u32 = 8;

impl Agent {
    /// The user has answered the open dialog.
    pub(super) fn answered(&mut self, answer: &Answer) {
        let Some(Asked { dialog, .. }) = self.asked.take() else {
            return;
        };
        if self.waiting == Waiting::Answer {
            self.waiting = Waiting::Nothing;
        }
        match (dialog.kind, answer) {
            (DialogKind::Permission, Answer::Cancelled | Answer::Chosen(NO)) => {
                self.print(Entry::Info("Not allowed.".into()));
                self.interrupt();
            }
            (DialogKind::Permission, Answer::Chosen(_)) => {
                self.print(Entry::Info(format!("Allowed: {}", dialog.detail)));
            }
            (DialogKind::Question | DialogKind::Picker, Answer::Cancelled) => {
                self.print(Entry::Info("No answer given.".into()));
            }
            (DialogKind::Question, Answer::Chosen(row)) => {
                self.print(Entry::Info(format!("Answered: {}", dialog.chosen(*row))));
            }
            (DialogKind::Picker, Answer::Chosen(row)) => {
                self.print(Entry::Info(format!("Model set to {}", dialog.chosen(*row))));
            }
        }
    }

    /// Ends the turn where it is. No Stop hook is told, as in the real clients.
    pub(super) fn interrupt(&mut self) {
        let Some(turn) = self.turn.clone() else {
            return;
        };
        self.work.clear();
        self.waiting = Waiting::Nothing;
        self.asked = None;
        self.ended = Some("idle");
        if let Some(order) = turn.compacts {
            self.print(Entry::Info("Compaction canceled.".into()));
            // The command is put back in front of the user.
            if self.setup.like == Like::Claude && self.composer.is_empty() {
                let typed = format!("/compact {}", order.focus);
                self.composer.set(typed.trim_end());
            }
        } else {
            self.print(Entry::Info("Interrupted.".into()));
            self.effects.push(Effect::Record(Record::Interrupted));
        }
        if self.setup.like == Like::Codex {
            let call = HookCall::new("Interrupt", serde_json::json!({}));
            self.work.push_back(Step::Hook(call));
        }
    }

    /// The hooks of one event have ended; one that nobody waits for any more means nothing.
    pub(super) fn hooks_ended(&mut self, id: u64, runs: &[Ran]) {
        let event = match self.waiting {
            Waiting::Hook { id: waited, event } if waited == id => event,
            Waiting::Nothing
            | Waiting::Until(_)
            | Waiting::Hook { .. }
            | Waiting::Shell { .. }
            | Waiting::Answer => return,
        };
        self.waiting = Waiting::Nothing;
        let heard = hook::hear(event, runs);
        for error in heard.errors {
            self.print(Entry::Error(error));
        }
        for message in heard.messages {
            self.print(Entry::Info(message));
        }
        for text in heard.contexts.into_iter().rev() {
            self.memory.texts.push(text.clone());
            // Behind the user's line, which the next step writes.
            let at = self
                .work
                .iter()
                .position(|step| matches!(step, Step::Record(Record::User { .. })));
            let record = Step::Record(Record::Context {
                event: event.to_owned(),
                text,
            });
            self.work.insert(at.map_or(0, |at| at + 1), record);
        }
        if let Some((command, reason)) = heard.block {
            self.blocked(event, &command, &reason);
        }
    }

    fn blocked(&mut self, event: &'static str, command: &str, reason: &str) {
        match event {
            "PreToolUse" => {
                self.print(Entry::Error(format!(
                    "{event} hook refused: [{command}]: {reason}"
                )));
                while self.work.front().is_some_and(|step| *step != Step::ToolEnd) {
                    self.work.pop_front();
                }
            }
            "PreCompact" => {
                let text = format!("Compaction blocked by PreCompact hook: [{command}]: {reason}");
                self.print(Entry::Error(text.clone()));
                if matches!(self.work.front(), Some(Step::Summarize(_))) {
                    self.work.pop_front();
                }
                self.effects.push(Effect::Record(Record::Local { text }));
            }
            "UserPromptSubmit" => {
                self.print(Entry::Error(format!(
                    "Blocked by hook: [{command}]: {reason}"
                )));
                self.work.clear();
            }
            "Stop" => self.keep_going(reason),
            _ => {}
        }
    }

    fn keep_going(&mut self, reason: &str) {
        let Some(turn) = &mut self.turn else { return };
        turn.stops += 1;
        if turn.stops <= STOP_LOOPS {
            self.push_front(vec![
                Step::Reply(format!("I go on, because a hook said so: {reason}")),
                Step::Stop { is_active: true },
            ]);
        }
    }

    pub(super) fn shell_ended(&mut self, id: u64, output: Vec<String>) {
        let tool = match &mut self.waiting {
            Waiting::Shell { id: waited, tool } if *waited == id => tool.take(),
            Waiting::Nothing
            | Waiting::Until(_)
            | Waiting::Hook { .. }
            | Waiting::Shell { .. }
            | Waiting::Answer => return,
        };
        self.waiting = Waiting::Nothing;
        let entry = match tool {
            Some(tool) => turn::shown(&tool, &output),
            None => Entry::Tool {
                name: String::new(),
                result: output,
            },
        };
        self.print(entry);
    }
}
