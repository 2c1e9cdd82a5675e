//! A person's machine with Codex on it: configuration and hooks of their own, a project, and the scripted model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harn::rehearsal::responses::Responses;
use harn::rehearsal::{RequestLog, Server};
use serde_json::{Value, json};

use crate::client;
use crate::kept::{self, lines, walk};
use crate::support::TestEnv;

/// Which of the two programs people have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// npm's `codex`, which runs the native one under node.
    Launcher,
    Native,
}

/// Where its model is said to be: it decides who compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// The client asks the model for a summary.
    Local,
    /// The model's server compacts.
    Remote,
}

pub(crate) struct Desk {
    pub(crate) env: TestEnv,
    server: Server<Responses>,
    program: PathBuf,
    head: String,
    /// What the person's own files hold, by path.
    own: Vec<(PathBuf, String)>,
}

impl Desk {
    /// `None` when the client is not installed; the test is then skipped.
    pub(crate) fn new() -> Option<Self> {
        Self::with(Program::Native, Compaction::Local)
    }

    pub(crate) fn with(program: Program, compaction: Compaction) -> Option<Self> {
        let launcher = client::find("codex")?;
        let program = match program {
            Program::Launcher => launcher,
            Program::Native => client::native_codex(),
        };
        let mut env = TestEnv::new();
        let server = Server::start(Responses::default()).unwrap();
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            client::bin_dir().display()
        );
        for (name, value) in [
            ("PATH", path.as_str()),
            ("REHEARSAL_KEY", "none"),
            ("HTTPS_PROXY", "http://127.0.0.1:9"),
            ("NO_PROXY", "127.0.0.1"),
        ] {
            env.set(name, value);
        }
        let own = [
            (
                env.home().join(".codex/config.toml"),
                config(&server.url(), env.project(), compaction),
            ),
            (env.home().join(".codex/hooks.json"), hooks("user")),
            (env.project().join(".codex/hooks.json"), hooks("project")),
        ];
        for (path, text) in &own {
            env.write(path, text);
        }
        env.git_init();
        env.write("notes.txt", "first line\n");
        env.git(["add", "notes.txt", ".codex"]);
        env.git(["commit", "--quiet", "--message", "second"]);
        let head = env.git(["rev-parse", "HEAD"]);
        Some(Self {
            env,
            server,
            program,
            head,
            own: own.into(),
        })
    }

    /// More of the person's own configuration, before the client starts.
    pub(crate) fn add_config(&mut self, text: &str) {
        let (path, config) = &mut self.own[0];
        // Before the first table, or in one of its own at the end.
        config.push_str(text);
        self.env.write(path.clone(), config.clone());
    }

    pub(crate) fn model(&self) -> &Responses {
        self.server.protocol()
    }

    pub(crate) fn log(&self) -> &RequestLog {
        self.server.log()
    }

    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// The client itself, in the foreground only.
    pub(crate) fn codex<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.env.command(&self.program);
        command.arg("--no-daemon").args(args);
        command
    }

    /// The client under harn.
    pub(crate) fn harn_codex<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.env.harn(["run", "--"]);
        command.arg(&self.program).args(args);
        command
    }

    /// The records of conversations, oldest first: id and lines.
    pub(crate) fn rollouts(&self) -> Vec<(String, Vec<Value>)> {
        let mut paths = Vec::new();
        walk(&self.env.home().join(".codex/sessions"), &mut |path| {
            paths.push(path.to_owned());
        });
        paths.sort();
        let rollout = |path: &PathBuf| {
            let lines = lines(path);
            let id = lines.first()?["payload"]["id"].as_str()?.to_owned();
            Some((id, lines))
        };
        paths.iter().filter_map(rollout).collect()
    }

    /// The only conversation there is.
    pub(crate) fn session(&self) -> String {
        let rollouts = self.rollouts();
        assert_eq!(rollouts.len(), 1, "conversations");
        rollouts[0].0.clone()
    }

    /// The conversation that the person has, sub-agents' apart.
    pub(crate) fn main_session(&self) -> String {
        let rollouts = self.rollouts();
        let is_main = |lines: &[Value]| lines[0]["payload"]["source"] == "cli";
        let mut mains = rollouts.iter().filter(|(_, lines)| is_main(lines));
        mains.next().unwrap().0.clone()
    }

    /// The compactions that the records tell of, by window number.
    pub(crate) fn windows(&self) -> Vec<u64> {
        let rollouts = self.rollouts();
        let lines = rollouts.iter().flat_map(|(_, lines)| lines);
        lines
            .filter(|line| line["type"] == "compacted")
            .map(|line| line["payload"]["window_number"].as_u64().unwrap())
            .collect()
    }

    pub(crate) fn capsules(&self) -> Vec<(String, Value)> {
        kept::capsules(&self.env, &self.session())
    }

    pub(crate) fn event_types(&self) -> Vec<String> {
        self.event_types_of(&self.session())
    }

    /// What the conversation's starts were, in harn's events.
    pub(crate) fn starts(&self) -> Vec<String> {
        let events = kept::events(&self.env, &self.session());
        let starts = events
            .iter()
            .filter(|event| event["type"] == "session.started");
        starts
            .map(|event| event["data"]["source"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn event_types_of(&self, session: &str) -> Vec<String> {
        let events = kept::events(&self.env, session);
        events
            .iter()
            .map(|event| event["type"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Which hooks of the person's own files ran, sorted.
    pub(crate) fn hooks_ran(&self) -> Vec<String> {
        let text = fs::read_to_string(self.env.home().join("hooks.log")).unwrap_or_default();
        let mut ran: Vec<String> = text.lines().map(str::to_owned).collect();
        ran.sort();
        ran
    }

    /// What of the person's own files is not as it was. The client itself adds to the end of its configuration.
    pub(crate) fn changed_own_files(&self) -> Vec<String> {
        let mut changed = Vec::new();
        for (path, text) in &self.own {
            let now = fs::read_to_string(path).unwrap_or_default();
            let added = if path.ends_with("config.toml") {
                now.strip_prefix(text.as_str())
            } else {
                Some("").filter(|_| now == *text)
            };
            let is_the_clients = |line: &&str| {
                line.is_empty()
                    || [
                        "[tui",
                        "[hooks.state",
                        "trusted_hash",
                        "enabled",
                        "\"",
                        "screen_reader",
                    ]
                    .iter()
                    .any(|head| line.starts_with(head))
            };
            match added.map(|added| added.lines().find(|line| !is_the_clients(line))) {
                Some(None) => {}
                Some(Some(line)) => changed.push(format!("{}: {line}", path.display())),
                None => changed.push(path.display().to_string()),
            }
        }
        changed
    }

    /// Files of the person's in which harn's hooks stand.
    pub(crate) fn own_files_with_harn_hooks(&self) -> Vec<PathBuf> {
        let holds = |path: &PathBuf| {
            fs::read_to_string(path)
                .unwrap_or_default()
                .contains("hook codex")
        };
        let paths = self.own.iter().map(|(path, _)| path.clone());
        paths.filter(holds).collect()
    }

    /// Processes that still run for this person: their environment names this HOME. Only Linux tells.
    pub(crate) fn processes(&self) -> Vec<String> {
        let home = format!("HOME={}\0", self.env.home().display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let environ = read("environ");
            if String::from_utf8_lossy(&environ).contains(&home) {
                found.push(String::from_utf8_lossy(&read("cmdline")).replace('\0', " "));
            }
        }
        found
    }
}

/// Starts a program that the test ends itself.
pub(crate) fn background(mut command: Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn config(url: &str, project: &Path, compaction: Compaction) -> String {
    let name = match compaction {
        Compaction::Local => "rehearsal",
        Compaction::Remote => "OpenAI",
    };
    format!(
        r#"# my own words
model = "gpt-rehearsal"
model_provider = "rehearsal"
model_context_window = 100000
model_auto_compact_token_limit = 60000
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.rehearsal]
name = "{name}"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "REHEARSAL_KEY"
supports_websockets = false

[projects."{}"]
trust_level = "trusted"
"#,
        project.display()
    )
}

/// Hooks that a person could have: each writes a line.
fn hooks(owner: &str) -> String {
    let entry = |event: &str| {
        let command = format!("echo {owner}:{event} >> \"$HOME/hooks.log\"");
        json!([{"hooks": [{"type": "command", "command": command}]}])
    };
    let hooks = json!({"hooks": {"PreCompact": entry("PreCompact"), "Stop": entry("Stop")}});
    format!("{hooks:#}\n")
}
