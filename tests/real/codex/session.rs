//! Plays the person at Codex's terminal: answers its questions, types, waits for what the client itself reports, leaves.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::desk::Desk;
use crate::session::LIMIT;
use crate::support::Pty;

const ROWS: u16 = 40;
const COLS: u16 = 140;
const REPORT: &str = "\u{1b}]7501;state=";

/// The client's question about hooks it does not know yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Review {
    /// It is not asked.
    Absent,
    TrustAll,
    Decline,
}

pub(crate) struct Session<'a> {
    desk: &'a Desk,
    pty: Pty,
}

impl<'a> Session<'a> {
    /// Starts the client, or harn with it, answers its question and waits until it says that it is idle.
    pub(crate) fn start(desk: &'a Desk, command: Command, review: Review) -> Self {
        let session = Self {
            desk,
            pty: Pty::spawn(command, ROWS, COLS),
        };
        match review {
            Review::Absent => {}
            Review::TrustAll => session.answer_review("2"),
            Review::Decline => session.answer_review("3"),
        }
        session.wait_state("an idle client", |states| states.last() == Some(&"idle"));
        if review == Review::Absent {
            assert!(!session.pty.screen().contains("Hooks need review"));
        }
        session
    }

    /// A digit moves the mark, and the last one answers at once.
    fn answer_review(&self, digit: &str) {
        let is_asked = |screen: &str| screen.contains("Hooks need review");
        let is_marked = |screen: &str| screen.contains(&format!("› {digit}."));
        self.pty.wait_for("the review of hooks", LIMIT, is_asked);
        self.press_until(digit, "a marked answer", |screen| {
            is_marked(screen) || !is_asked(screen)
        });
        if is_asked(&self.pty.screen()) {
            self.pty.send(b"\r");
        }
    }

    /// Before one of its questions listens, the client drops what was typed, gives up when that goes on for a second, and
    /// shows no sign of the end of it: each key is given half a second to be late, and a second to have its effect.
    fn press_until(&self, key: &str, what: &str, is_so: impl Fn(&str) -> bool) {
        let mut looks = 0_u32;
        self.wait(what, || {
            if looks % 100 == 50 {
                self.pty.send(key.as_bytes());
            }
            looks += 1;
            is_so(&self.pty.screen())
        });
    }

    /// Sends a prompt, without waiting for what comes of it.
    pub(crate) fn send(&self, text: &str) {
        self.submit(text);
    }

    /// Types without sending.
    pub(crate) fn type_text(&self, text: &str) {
        self.pty.send(text.as_bytes());
        self.wait_text(text);
    }

    /// Rubs out so many characters.
    pub(crate) fn clear(&self, count: usize) {
        self.pty.send(&b"\x7f".repeat(count));
        self.wait_text("Ask Codex to do anything");
    }

    pub(crate) fn wait_working(&self) {
        self.wait_state("a working client", |states| {
            states.last() == Some(&"working")
        });
    }

    pub(crate) fn wait_blocked(&self) {
        self.wait_state("a dialog", |states| states.last() == Some(&"blocked"));
    }

    /// The terminal goes away.
    pub(crate) fn kill(mut self) {
        self.pty.signal(nix::sys::signal::Signal::SIGTERM);
        self.pty.wait_exit(LIMIT);
    }

    /// Sends a prompt and waits for the end of its turn.
    pub(crate) fn prompt(&self, text: &str) {
        let before = self.ends();
        self.submit(text);
        self.wait_state(&format!("the end of the turn of {text:?}"), |states| {
            count_ends(states) > before && is_rest(states)
        });
    }

    /// Sends a prompt, says yes to the dialog that it leads to, and waits for the end of its turn.
    pub(crate) fn prompt_allowing(&self, text: &str) {
        let before = self.ends();
        self.submit(text);
        self.wait_state("a dialog", |states| states.last() == Some(&"blocked"));
        let is_asked = |screen: &str| screen.contains("› 1. Yes");
        self.pty.wait_for("the dialog's answers", LIMIT, is_asked);
        self.press_until("y", "the end of the dialog", |screen| !is_asked(screen));
        self.wait_state("the end of the turn", |states| {
            count_ends(states) > before && is_rest(states)
        });
    }

    /// Sends a prompt and presses Esc while it is worked on.
    pub(crate) fn interrupt(&self, text: &str) {
        self.submit(text);
        self.wait_state("a working client", |states| {
            states.last() == Some(&"working")
        });
        let is_busy = |screen: &str| screen.contains("esc to interrupt");
        self.pty.wait_for("the way to interrupt", LIMIT, is_busy);
        self.pty.send(b"\x1b");
        self.wait_state("an interrupted client", is_rest);
    }

    /// Leaves the conversation for a new one by `/new`, and waits until the old one has gone from the screen.
    pub(crate) fn begin_anew(&self, last_prompt: &str) {
        self.submit("/new ");
        let is_asked = |screen: &str| screen.contains("Where should the new conversation run?");
        self.pty
            .wait_for("the question of the place", LIMIT, is_asked);
        self.press_until("\r", "an answered question", |screen| !is_asked(screen));
        self.wait_anew(last_prompt);
    }

    /// The same by `/clear`, which asks nothing.
    pub(crate) fn clear_away(&self, last_prompt: &str) {
        self.submit("/clear ");
        self.wait_anew(last_prompt);
    }

    fn wait_anew(&self, last_prompt: &str) {
        // The line of the model comes last; an Enter before it is lost.
        let is_new = |screen: &str| {
            !screen.contains(&format!("› {last_prompt}"))
                && screen.contains("gpt-rehearsal default")
        };
        self.pty.wait_for("a new conversation", LIMIT, is_new);
        self.wait_state("an idle client", is_rest);
    }

    /// Goes on in a fork of the conversation.
    pub(crate) fn fork(&self) {
        self.submit("/fork ");
        let is_asked = |screen: &str| screen.contains("Where should the forked conversation run?");
        self.pty
            .wait_for("the question of the place", LIMIT, is_asked);
        self.press_until("\r", "an answered question", |screen| !is_asked(screen));
        self.wait_text("Fork created. You can continue here.");
        self.wait_state("an idle client", is_rest);
    }

    /// Waits until this stands on the screen.
    pub(crate) fn wait_text(&self, text: &str) {
        self.pty
            .wait_for(text, LIMIT, |screen| screen.contains(text));
    }

    /// Waits until the last row says this.
    pub(crate) fn wait_row(&self, text: &str) {
        let says_so = |screen: &str| screen.lines().last().is_some_and(|row| row.contains(text));
        self.pty
            .wait_for(&format!("{text:?} in the last row"), LIMIT, says_so);
    }

    pub(crate) fn raw(&self) -> Vec<u8> {
        self.pty.raw()
    }

    /// Enters `/compact` as a person does, and waits until the client's own record tells of it.
    pub(crate) fn compact(&self) {
        let windows = self.desk.windows().len();
        let before = self.ends();
        self.submit("/compact ");
        self.wait_state("the end of the compaction", |states| {
            count_ends(states) > before && is_rest(states)
        });
        self.wait("a new window in the record", || {
            self.desk.windows().len() > windows
        });
    }

    /// Enters `/compact` where the model refuses it.
    pub(crate) fn fail_to_compact(&self) {
        let before = self.ends();
        self.submit("/compact ");
        self.wait_state("the end of the attempt", |states| {
            count_ends(states) > before && is_rest(states)
        });
    }

    /// Leaves with `/quit`; the exit code, and what the terminal shows after it.
    pub(crate) fn exit(mut self) -> (i32, String) {
        self.submit("/quit ");
        let code = self.pty.wait_exit(LIMIT);
        (code, self.pty.screen())
    }

    /// Pastes and presses Enter, which the client takes for one submission.
    fn submit(&self, text: &str) {
        self.pty
            .send(format!("\u{1b}[200~{text}\u{1b}[201~").as_bytes());
        let shown = squeeze(text);
        let has_it = |screen: &str| squeeze(screen).contains(&shown);
        self.pty.wait_for("the text in the composer", LIMIT, has_it);
        self.pty.send(b"\r");
    }

    fn ends(&self) -> usize {
        let raw = self.pty.raw();
        count_ends(&states(&String::from_utf8_lossy(&raw)))
    }

    fn wait_state(&self, what: &str, is_so: impl Fn(&[&str]) -> bool) {
        self.pty.wait_raw(what, LIMIT, |raw| {
            is_so(&states(&String::from_utf8_lossy(raw)))
        });
    }

    /// Looks again until it is so: the client's files tell nobody when they change.
    pub(crate) fn wait(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let start = instant();
        while !is_so() {
            assert!(
                start.elapsed() < LIMIT,
                "waited for {what}; the screen:\n{}\n---",
                self.pty.screen()
            );
            thread::park_timeout(Duration::from_millis(10));
        }
    }
}

/// The states that the client has reported, oldest first.
fn states(raw: &str) -> Vec<&str> {
    let reports = raw.split(REPORT).skip(1);
    reports
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
            rest.split_at(end.unwrap_or(rest.len())).0
        })
        .collect()
}

fn count_ends(states: &[&str]) -> usize {
    let is_end = |state: &&&str| matches!(**state, "done" | "error");
    states.iter().filter(is_end).count()
}

fn is_rest(states: &[&str]) -> bool {
    matches!(states.last(), Some(&("idle" | "done" | "error")))
}

fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the limits of a test are real time"
)]
fn instant() -> Instant {
    Instant::now()
}

#[test]
fn states_are_read_from_what_the_client_prints() {
    let raw = "x\u{1b}]7501;state=idle:app=codex\u{1b}\\y\u{1b}]7501;state=blocked:app=codex:kind=permission\u{7}\
        \u{1b}]7501;state=clear\u{7}";
    assert_eq!(states(raw), ["idle", "blocked", "clear"]);
}
