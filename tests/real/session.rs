//! Plays the person at the client's terminal: types, waits for what the client itself shows and records, leaves.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use harn::rehearsal::{Entry, Kind};
use nix::sys::termios::{InputFlags, LocalFlags, OutputFlags};
use serde_json::Value;

use super::record::{boundaries, turns};
use super::sandbox::{SESSION, Sandbox};
use super::support::Pty;

/// Far beyond any sound run; only a fault reaches it.
pub(crate) const LIMIT: Duration = Duration::from_secs(40);
pub(crate) const ROWS: u16 = 40;
pub(crate) const COLS: u16 = 140;

/// What a person can be asked on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Nothing,
    /// The dialog that asks before a tool runs; the person says yes.
    Permission,
}

pub(crate) struct Session<'a> {
    sandbox: &'a Sandbox,
    pty: Pty,
}

impl<'a> Session<'a> {
    /// Starts the client, or harn with it, and waits for its prompt box.
    pub(crate) fn start(sandbox: &'a Sandbox, mut command: Command) -> Self {
        command.args(["--session-id", SESSION]);
        let session = Self {
            sandbox,
            pty: Pty::spawn(command, ROWS, COLS),
        };
        session.wait_box("an empty prompt box", "");
        session.wait("the client says it is idle", || session.is_idle());
        session
    }

    /// Sends a prompt and waits for the end of its turn.
    pub(crate) fn prompt(&self, text: &str) {
        self.prompt_asked(text, Asked::Nothing);
    }

    pub(crate) fn prompt_asked(&self, text: &str, asked: Asked) {
        let turns = || turns(&self.sandbox.transcript(SESSION));
        let before = turns();
        self.submit(text);
        let carries = |entry: &Entry| entry.kind == Kind::Main && has_prompt(entry, text);
        let arrived = self
            .sandbox
            .log()
            .wait_until(LIMIT, |all| all.iter().any(carries));
        if arrived.is_none() {
            self.give_up(&format!("a request with {text:?}"));
        }
        if asked == Asked::Permission {
            let has_dialog =
                |screen: &str| screen.contains("❯ 1. Yes") && screen.contains("Esc to");
            self.pty.wait_for("a permission dialog", LIMIT, has_dialog);
            self.pty.send(b"\r");
        }
        self.wait("the end of the turn", || turns() > before && self.is_idle());
        self.wait_box("an empty prompt box after the turn", "");
    }

    /// Types `/compact` as a person does, and waits until the client's own record tells of it.
    pub(crate) fn compact(&self) {
        let count = || boundaries(&self.sandbox.transcript(SESSION)).len();
        let before = count();
        self.submit("/compact");
        self.wait("a boundary in the transcript", || {
            count() > before && self.is_idle()
        });
        self.wait_box("an empty prompt box after the compaction", "");
    }

    /// Waits until this stands on the screen.
    pub(crate) fn wait_screen(&self, text: &str) {
        self.pty
            .wait_for(text, LIMIT, |screen| screen.contains(text));
    }

    /// Types without sending.
    pub(crate) fn draft(&self, text: &str) {
        self.pty.send(text.as_bytes());
        self.wait_box("what was typed in the prompt box", text);
    }

    /// Types a prompt and sends it, without waiting for what comes of it.
    pub(crate) fn send(&self, text: &str) {
        self.submit(text);
    }

    /// A turn that leaves a command running in the background.
    pub(crate) fn prompt_in_background(&self, command: &str) {
        let input = serde_json::json!({"command": command, "description": "wait", "run_in_background": true});
        self.submit(&format!("@tool=Bash {input}"));
        self.pty.wait_for("a background task", LIMIT, |_| {
            self.status().is_some_and(|status| status == "shell")
        });
    }

    pub(crate) fn wait_text(&self, text: &str) {
        self.pty
            .wait_for(text, LIMIT, |screen| screen.contains(text));
    }

    pub(crate) fn wait_no_text(&self, text: &str) {
        let what = format!("no {text:?}");
        self.pty
            .wait_for(&what, LIMIT, |screen| !screen.contains(text));
    }

    pub(crate) fn wait_busy(&self) {
        self.wait("a busy client", || self.status().as_deref() == Some("busy"));
    }

    /// Waits until harn has recorded this of the session.
    pub(crate) fn wait_event(&self, kind: &str) {
        self.wait(kind, || {
            let events = self.sandbox.events(SESSION);
            events.iter().any(|event| event["type"] == kind)
        });
    }

    /// The terminal goes away.
    pub(crate) fn kill(mut self) {
        self.pty.signal(nix::sys::signal::Signal::SIGTERM);
        self.pty.wait_exit(LIMIT);
    }

    pub(crate) fn press(&self, bytes: &[u8]) {
        self.pty.send(bytes);
    }

    /// Waits until the record tells of this many compactions and the prompt box holds this.
    pub(crate) fn wait_compacted(&self, count: usize, held: &str) {
        let boundaries = || boundaries(&self.sandbox.transcript(SESSION)).len();
        self.wait("a boundary in the transcript", || {
            boundaries() >= count && self.is_idle()
        });
        self.wait_box("the prompt box after the compaction", held);
    }

    /// Waits until this many turns of the person's have ended.
    pub(crate) fn wait_turn(&self, count: usize) {
        let turns = || turns(&self.sandbox.transcript(SESSION));
        self.wait("the end of the turn", || turns() >= count && self.is_idle());
        self.wait_box("an empty prompt box after the turn", "");
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

    pub(crate) fn resize(&self, rows: u16) {
        self.pty.resize(rows, COLS);
    }

    /// Leaves with `/exit`; the exit code, as a shell shows it.
    pub(crate) fn exit(mut self) -> Left {
        self.submit("/exit");
        let code = self.pty.wait_exit(LIMIT);
        let termios = self.pty.termios();
        let local = LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
        let is_cooked = termios.local_flags.contains(local)
            && termios.input_flags.contains(InputFlags::ICRNL)
            && termios.output_flags.contains(OutputFlags::OPOST);
        Left {
            code,
            is_cooked,
            modes: modes_left(&self.pty.raw()),
        }
    }

    fn submit(&self, text: &str) {
        self.pty.send(text.as_bytes());
        self.wait_box("what was typed in the prompt box", text);
        self.pty.send(b"\r");
    }

    fn wait_box(&self, what: &str, text: &str) {
        self.pty.wait_for(what, LIMIT, |screen| holds(screen, text));
    }

    /// What the client's status file says. A very short turn leaves no trace there, so it never proves that one ended.
    fn is_idle(&self) -> bool {
        self.status().as_deref() == Some("idle")
    }

    fn status(&self) -> Option<String> {
        let dir = fs::read_dir(self.sandbox.env.home().join(".claude/sessions"));
        dir.into_iter().flatten().flatten().find_map(|entry| {
            let text = fs::read(entry.path()).unwrap_or_default();
            let status: Value = serde_json::from_slice(&text).ok()?;
            let word = status["status"].as_str()?;
            (status["sessionId"] == SESSION).then(|| word.to_owned())
        })
    }

    /// Looks again until it is so: the client's files tell nobody when they change.
    fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        let start = instant();
        while !is_so() {
            if start.elapsed() > LIMIT {
                self.give_up(what);
            }
            thread::park_timeout(Duration::from_millis(10));
        }
    }

    fn give_up(&self, what: &str) -> ! {
        let kinds: Vec<_> = self
            .sandbox
            .log()
            .all()
            .iter()
            .map(|e| (e.kind, e.end))
            .collect();
        panic!(
            "waited for {what}; requests {kinds:?}; the screen:\n{}\n---",
            self.pty.screen()
        );
    }
}

/// How a session ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) code: i32,
    /// The terminal is in the line mode it started in.
    pub(crate) is_cooked: bool,
    /// Private modes still on, and margins still set; a fresh terminal has none but the cursor.
    pub(crate) modes: BTreeSet<String>,
}

impl Left {
    /// Status 0 and nothing left switched on.
    pub(crate) fn clean() -> Self {
        Self {
            code: 0,
            is_cooked: true,
            modes: BTreeSet::new(),
        }
    }
}

/// The last row as a person sees it while these bytes arrive: after every few of them that end outside an update.
pub(crate) fn shown_rows(raw: &[u8]) -> Vec<String> {
    let size = |count| std::num::NonZeroU16::new(count).unwrap();
    let mut parser = vt100::Parser::new(size(ROWS), size(COLS), 0);
    let mut seen = Vec::new();
    let mut end = 0;
    for chunk in raw.chunks(61) {
        parser.process(chunk);
        end += chunk.len();
        if is_updating(&raw[..end]) {
            continue;
        }
        let row = parser.screen().rows(0, COLS).nth(usize::from(ROWS) - 1);
        seen.push(row.unwrap_or_default());
    }
    seen
}

/// Whether the terminal holds back what it shows.
fn is_updating(raw: &[u8]) -> bool {
    let last = |part: &[u8]| raw.windows(part.len()).rposition(|window| window == part);
    last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
}

fn has_prompt(entry: &Entry, text: &str) -> bool {
    let prompts = harn::rehearsal::messages::human_prompts(&entry.body);
    prompts
        .last()
        .is_some_and(|prompt| prompt.lines().any(|line| line == text))
}

/// Whether the prompt box holds this text and no other.
pub(crate) fn holds(screen: &str, text: &str) -> bool {
    prompt_box(screen).is_some_and(|held| held == squeeze(text))
}

/// The text between the last two rules of the screen, without blanks; `None` while there is no prompt box.
fn prompt_box(screen: &str) -> Option<String> {
    let lines: Vec<&str> = screen.lines().collect();
    let is_rule = |line: &&str| line.starts_with("──────────");
    let end = lines.iter().rposition(&is_rule)?;
    let start = lines[..end].iter().rposition(is_rule)?;
    let held = squeeze(&lines[start + 1..end].concat());
    held.strip_prefix('❯').map(str::to_owned)
}

fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// What `CSI ? n h` switched on and no `CSI ? n l` off again, the cursor off, and margins that are not the whole screen.
fn modes_left(raw: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(raw);
    let mut left = BTreeSet::new();
    for sequence in text.split("\u{1b}[").skip(1) {
        let end = |c: char| !matches!(c, '0'..='9' | ';' | '?');
        let Some((parameters, rest)) = sequence.find(end).map(|at| sequence.split_at(at)) else {
            continue;
        };
        let last = rest.chars().next();
        match (parameters.strip_prefix('?'), last) {
            (Some(modes), Some(last @ ('h' | 'l'))) => {
                for mode in modes.split(';') {
                    let is_changed = (last == 'h') != (mode == "25");
                    if is_changed {
                        left.insert(mode.to_owned())
                    } else {
                        left.remove(mode)
                    };
                }
            }
            (None, Some('r')) if parameters.is_empty() => drop(left.remove("margins")),
            (None, Some('r')) => drop(left.insert("margins".to_owned())),
            _ => {}
        }
    }
    left
}

#[expect(
    clippy::disallowed_methods,
    reason = "the limits of a test are real time"
)]
fn instant() -> Instant {
    Instant::now()
}

#[test]
fn the_prompt_box_is_what_stands_between_the_last_two_rules() {
    let rule = "─".repeat(20);
    let screen = format!("❯ old\n{rule}\n❯\u{a0}/com pact\n  more\n{rule}\n  ? for shortcuts");
    assert_eq!(prompt_box(&screen).as_deref(), Some("/compactmore"));
    assert_eq!(
        prompt_box(&format!("{rule}\n Create file\n ❯ 1. Yes")),
        None
    );
}

#[test]
fn modes_that_were_not_switched_back_are_seen() {
    let raw = b"\x1b[?25l\x1b[?2004h\x1b[?1004;2031h\x1b[1;9r..\x1b[?1004l\x1b[?25h\x1b[0m";
    let left = ["2004", "2031", "margins"].map(str::to_owned);
    assert_eq!(modes_left(raw), BTreeSet::from(left));
    assert_eq!(
        modes_left(b"\x1b[?25l\x1b[?25h\x1b[2;3r\x1b[r"),
        BTreeSet::new()
    );
}
