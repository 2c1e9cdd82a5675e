//! A hosted demo agent with two turns behind it, and requests to it.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::demo::stage::{self, status, wait_status};
use crate::run::hosted::{LIMIT, wait_until};
use crate::support::{Pty, TestEnv};

/// Both ways of submitting: keys that only the composer knows, and Enter.
pub(super) const WAYS: [(&str, &[&str]); 2] = [("submit_key", &["--submit-keys"]), ("enter", &[])];

pub(super) struct Desk {
    pub(super) env: TestEnv,
    pub(super) pty: Pty,
}

impl Desk {
    /// The agent after two turns, at its prompt.
    pub(super) fn talked(options: &[&str]) -> Self {
        Self::with(TestEnv::new(), options)
    }

    pub(super) fn with(env: TestEnv, options: &[&str]) -> Self {
        let desk = Self::started(env, options);
        desk.say("one");
        desk.say("two");
        desk
    }

    pub(super) fn started(env: TestEnv, options: &[&str]) -> Self {
        let pty = stage::waiting(&env, options);
        wait_until("the prompt", LIMIT, || {
            ["idle", "shell"].contains(&status(&env).as_str())
        });
        Self { env, pty }
    }

    /// Runs the agent with harn's own options, too.
    pub(super) fn ruled(env: TestEnv, harn: &[&str], options: &[&str]) -> Self {
        let mut command = env.harn(["run"]);
        command
            .args(harn)
            .args(["--", "demo", "--no-story", "--speed", "20"]);
        command.args(options);
        let pty = Pty::spawn(command, 30, 100);
        pty.wait_text("❯");
        wait_status(&env, "idle");
        let desk = Self { env, pty };
        if !harn.contains(&"--no-hooks") {
            wait_until("the session", LIMIT, || desk.count("session.started") > 0);
        }
        desk
    }

    /// One turn, to its end.
    pub(super) fn say(&self, text: &str) {
        let count = self.count("turn.stopped");
        self.send(text);
        wait_until("the end of the turn", LIMIT, || {
            self.count("turn.stopped") > count
        });
        wait_until("the prompt", LIMIT, || {
            ["idle", "shell"].contains(&status(&self.env).as_str())
        });
    }

    /// A prompt, submitted; a paste, because an Enter so soon after typed keys is one of a burst to some.
    pub(super) fn send(&self, text: &str) {
        self.pty
            .send(format!("\x1b[200~{text}\x1b[201~").as_bytes());
        self.pty.wait_text(text);
        self.pty.send(b"\r");
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.env.harn(["compact", "--json"]);
        command.args(args);
        command
    }

    /// The exit code and the document.
    pub(super) fn compact(&self, args: &[&str]) -> (i32, Value) {
        let output = self.env.run(self.command(args), b"");
        assert_eq!(output.err(), "");
        (output.code, serde_json::from_str(&output.out()).unwrap())
    }

    /// Asks, and goes on at once.
    pub(super) fn asking(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The events of the one session, oldest first.
    pub(super) fn events(&self) -> Vec<Value> {
        let logs = stage::files(&self.env.root());
        let log = logs.iter().find(|path| path.ends_with("events.ndjson"));
        let text = log.and_then(|log| std::fs::read_to_string(log).ok());
        let text = text.unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(super) fn count(&self, kind: &str) -> usize {
        self.events()
            .iter()
            .filter(|event| event["type"] == kind)
            .count()
    }

    /// The types of events that tell of managed compactions.
    pub(super) fn managed(&self) -> Vec<String> {
        let kinds = self
            .events()
            .into_iter()
            .map(|event| event["type"].as_str().unwrap().to_owned());
        kinds
            .filter(|kind| kind.starts_with("compaction."))
            .collect()
    }

    pub(super) fn wait_managed(&self, kind: &str) -> Value {
        wait_until(kind, LIMIT, || self.count(kind) > 0);
        let mut events = self.events();
        events.retain(|event| event["type"] == kind);
        events.pop().unwrap()
    }
}

/// What must not change from one run to the next.
pub(super) fn kinds(document: &Value) -> Vec<String> {
    let evidence = document["evidence"].as_array().unwrap();
    evidence
        .iter()
        .map(|item| item["kind"].as_str().unwrap().to_owned())
        .collect()
}

pub(super) fn outcome(document: &Value) -> (&str, &str) {
    let reason = document["reason"].as_str().unwrap_or_default();
    (document["outcome"].as_str().unwrap(), reason)
}
