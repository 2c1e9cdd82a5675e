//! What the outside can see of the agent besides its screen: status file, titles, OSC state, the status line's input.
//!
//! Pure. Each is told only when it changes.

use serde_json::{Value, json};

use super::agent::{Agent, Status};
use super::dialog::DialogKind;
use super::hook::Place;
use super::options::Like;

/// The busy title's mark changes this often.
const TITLE_MS: u64 = 960;
const TITLE: &str = "demo";

#[derive(Debug, Default)]
pub(super) struct Shown {
    status: Option<Value>,
    title: String,
    state: String,
}

/// What is new.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) status: Option<Value>,
    /// For the terminal.
    pub(super) bytes: String,
}

impl Shown {
    pub(super) fn changes(&mut self, agent: &Agent, session: &str, has_screen: bool) -> Changes {
        let mut changes = Changes::default();
        let status = status_file(agent.status(), session);
        if self.status.as_ref() != Some(&status) {
            self.status = Some(status.clone());
            changes.status = Some(status);
        }
        if !has_screen {
            return changes;
        }
        let title = title(agent);
        if title != self.title {
            changes.bytes.extend(["\x1b]0;", &title, "\x07"]);
            self.title = title;
        }
        let state = osc_state(agent);
        if agent.setup.like == Like::Codex && state != self.state {
            changes.bytes.extend(["\x1b]7501;state=", &state, "\x1b\\"]);
            self.state = state;
        }
        changes
    }
}

/// The bytes that take title and state back.
pub(super) fn farewell(like: Like) -> &'static str {
    match like {
        Like::Claude => "\x1b]0;\x07",
        Like::Codex => "\x1b]0;\x07\x1b]7501;state=clear:app=codex\x1b\\",
    }
}

fn status_file(status: Status, session: &str) -> Value {
    let (word, waiting_for) = match status {
        Status::Idle => ("idle", None),
        Status::Busy => ("busy", None),
        Status::Shell => ("shell", None),
        Status::Waiting(DialogKind::Permission) => ("waiting", Some("permission prompt")),
        Status::Waiting(DialogKind::Question | DialogKind::Picker) => {
            ("waiting", Some("dialog open"))
        }
    };
    let mut file = json!({"pid": std::process::id(), "sessionId": session, "status": word});
    if let (Value::Object(file), Some(waiting_for)) = (&mut file, waiting_for) {
        file.insert("waitingFor".into(), waiting_for.into());
    }
    file
}

/// Idle and every dialog look the same; only work turns.
fn title(agent: &Agent) -> String {
    let is_even = (agent.now / TITLE_MS).is_multiple_of(2);
    let mark = match agent.status() {
        Status::Busy if is_even => "⠂",
        Status::Busy => "⠐",
        Status::Idle | Status::Shell | Status::Waiting(_) => "✳",
    };
    format!("{mark} {TITLE}")
}

fn osc_state(agent: &Agent) -> String {
    let (word, kind) = match agent.status() {
        Status::Busy => ("working", ""),
        Status::Waiting(DialogKind::Permission) => ("blocked", ":kind=permission"),
        Status::Waiting(DialogKind::Question) => ("blocked", ":kind=question"),
        // A picker reports what was before it.
        Status::Idle | Status::Shell | Status::Waiting(DialogKind::Picker) => {
            (agent.ended.unwrap_or("idle"), "")
        }
    };
    format!("{word}:app=codex{kind}")
}

/// What the status line command reads.
pub(super) fn status_line(agent: &Agent, place: &Place) -> Value {
    let window = agent.setup.window;
    let used = agent.memory.used;
    // After a compaction the client says 0 until it knows better.
    let usage = used.or(agent.has_compacted().then_some(0)).map(|used| {
        json!({"input_tokens": used.min(200), "output_tokens": 20, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": used.saturating_sub(200)})
    });
    let percent = usage.as_ref().map(|_| agent.percent().unwrap_or(0));
    json!({
        "session_id": place.session, "transcript_path": place.transcript, "cwd": place.cwd,
        "model": {"id": "demo-large", "display_name": "Demo"},
        "workspace": {"current_dir": place.cwd, "project_dir": place.cwd, "added_dirs": []},
        "version": env!("CARGO_PKG_VERSION"),
        "context_window": {
            "total_input_tokens": used.unwrap_or(0), "total_output_tokens": 20,
            "context_window_size": window, "current_usage": usage,
            "used_percentage": percent, "remaining_percentage": percent.map(|percent| 100 - percent),
        },
        "exceeds_200k_tokens": false,
    })
}
