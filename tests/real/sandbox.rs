//! A person's machine with the client on it: HOME, a project under git, settings of their own, and the scripted model.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use harn::rehearsal::messages::Messages;
use harn::rehearsal::{RequestLog, Server};
use serde_json::{Map, Value, json};

use super::client;
use super::kept::{self, lines, walk};
use super::support::TestEnv;

/// Accepted as a key by the client because `~/.claude.json` names its end; no server ever checks it.
const KEY: &str = "sk-ant-rehearsal-000000000000000000000000";
const MODEL: &str = "claude-haiku-4-5";

/// The session id that tests give to the session they look at.
pub(crate) const SESSION: &str = "11111111-1111-4111-8111-111111111111";

pub(crate) struct Sandbox {
    pub(crate) env: TestEnv,
    server: Server<Messages>,
    head: String,
    /// What the person's own files hold, by path.
    own: Vec<(PathBuf, String)>,
}

impl Sandbox {
    /// `None` when the client is not installed; the test is then skipped.
    pub(crate) fn new() -> Option<Self> {
        client::find("claude")?;
        let mut env = TestEnv::new();
        let server = Server::start(Messages::default()).unwrap();
        for (name, value) in variables(&server.url()) {
            env.set(name, value);
        }
        let key_end = KEY.get(KEY.len() - 20..);
        let home = env.home().to_owned();
        let accepted = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [key_end], "rejected": []},
            "projects": {env.project().to_str().unwrap(): {"hasTrustDialogAccepted": true}},
        });
        env.write(home.join(".claude.json"), accepted.to_string());
        let allowed = json!({
            "hooks": hooks("project"),
            "permissions": {"allow": ["Read", "Edit", "Bash(claude:*)"]},
        });
        let own = [
            (
                home.join(".claude/settings.json"),
                json!({"hooks": hooks("user")}),
            ),
            (env.project().join(".claude/settings.json"), allowed),
        ]
        .map(|(path, settings)| (path, format!("{settings:#}\n")));
        for (path, text) in &own {
            env.write(path, text);
        }
        env.git_init();
        env.write("notes.txt", "first line\n");
        env.git(["add", "notes.txt", ".claude"]);
        env.git(["commit", "--quiet", "--message", "second"]);
        let head = env.git(["rev-parse", "HEAD"]);
        Some(Self {
            env,
            server,
            head,
            own: own.into(),
        })
    }

    pub(crate) fn model(&self) -> &Messages {
        self.server.protocol()
    }

    pub(crate) fn log(&self) -> &RequestLog {
        self.server.log()
    }

    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// The folders that everything in this environment looks for programs in.
    pub(crate) fn path() -> String {
        program_path()
    }

    /// The client itself.
    pub(crate) fn claude<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.env.command("claude");
        command.args(["--model", MODEL]).args(args);
        command
    }

    /// The client under harn.
    pub(crate) fn harn_claude<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.env.harn(["run", "--", "claude", "--model", MODEL]);
        command.args(args);
        command
    }

    /// Changes the client's own state file, before it starts.
    pub(crate) fn edit_state(&self, edit: impl FnOnce(&mut Value)) {
        let path = self.env.home().join(".claude.json");
        let mut state = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        edit(&mut state);
        self.env.write(path, state.to_string());
    }

    /// Puts harn's hooks into the project's local settings, where every session in it finds them.
    pub(crate) fn install_hooks(&self) {
        let harn = self.env.bin().display();
        let events = [
            "SessionStart",
            "UserPromptSubmit",
            "Stop",
            "PreCompact",
            "SessionEnd",
        ];
        let entry = |event: &str| {
            let command = format!("'{harn}' hook claude-code {event}");
            let hook = json!({"type": "command", "command": command, "timeout": 10});
            (event.to_owned(), json!([{"hooks": [hook]}]))
        };
        let hooks: Map<String, Value> = events.into_iter().map(entry).collect();
        let settings = json!({"hooks": hooks}).to_string();
        self.env.write(".claude/settings.local.json", settings);
    }

    /// What the hooks of the person's settings wrote, in order: `user:PreCompact` and the like.
    pub(crate) fn hooks_ran(&self) -> Vec<String> {
        let text = fs::read_to_string(self.env.home().join("hooks.log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The person's own files, where they are not what they were.
    pub(crate) fn changed_own_files(&self) -> Vec<PathBuf> {
        let is_changed = |(path, text): &&(PathBuf, String)| {
            fs::read_to_string(path).ok().as_deref() != Some(text.as_str())
        };
        self.own
            .iter()
            .filter(is_changed)
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Files anywhere on this machine that call harn's hook entry; transcripts, harn's records and its log apart.
    pub(crate) fn files_with_harn_hooks(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let records = [
            self.env.project().join(".harnery"),
            self.env.state().join("harn/log"),
        ];
        walk(&self.env.root(), &mut |path| {
            let is_record = path.extension().is_some_and(|end| end == "jsonl")
                || records.iter().any(|folder| path.starts_with(folder));
            let calls = || {
                let bytes = fs::read(path).unwrap_or_default();
                String::from_utf8_lossy(&bytes).contains("hook claude-code")
            };
            if !is_record && calls() {
                found.push(path.to_owned());
            }
        });
        found
    }

    /// The session's capsules, by file name.
    pub(crate) fn capsules(&self, session: &str) -> Vec<(String, Value)> {
        kept::capsules(&self.env, session)
    }

    /// The canonical events of a session.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        kept::events(&self.env, session)
    }

    /// The client's own transcript of a session.
    pub(crate) fn transcript(&self, session: &str) -> Vec<Value> {
        let project = self.env.project().to_str().unwrap();
        let folder: String = project
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let folder = self.env.home().join(".claude/projects").join(folder);
        lines(&folder.join(format!("{session}.jsonl")))
    }
}

/// Hooks that a person could have: each writes a line.
fn hooks(owner: &str) -> Value {
    let command = |event: &str| format!("echo {owner}:{event} >> \"$HOME/hooks.log\"");
    let entry = |event: &str, matcher: &str| json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command(event)}]}]);
    json!({
        "SessionStart": entry("SessionStart:compact", "compact"),
        "PreCompact": entry("PreCompact", ""),
    })
}

fn program_path() -> String {
    let clients = client::bin_dir();
    format!("{}:/usr/local/bin:/usr/bin:/bin", clients.display())
}

fn variables(url: &str) -> Vec<(&'static str, String)> {
    let path = program_path();
    let switched_on = [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_AGENT_VIEW",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_INSTALLATION_CHECKS",
        "DISABLE_TELEMETRY",
        "IS_SANDBOX",
    ];
    let mut all = vec![
        ("PATH", path),
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        // Where there is no namespace of its own, what still wants to leave the machine ends here.
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
        ("NO_PROXY", "127.0.0.1".to_owned()),
    ];
    all.extend(switched_on.map(|name| (name, "1".to_owned())));
    all
}
