//! How a real client is driven through a session without a screen: what its home holds, what it is started with, what the
//! scripted model answers.
//!
//! A start, a resumed second turn in whose middle the client compacts by itself, and a request after that. What harn makes of
//! it is looked at by `command::live`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::messages::{self, Messages};
use super::responses::{self, Responses};
use super::{RequestLog, Server, StartError};
use crate::event::HarnessId;

/// Never checked by any server.
const KEY: &str = "sk-ant-rehearsal-000000000000000000000000";
/// Tokens that the model reports in the first turn, in the one in which the client compacts, and after that.
const BEGUN: u64 = 30_000;
const FULL: u64 = 70_000;
const AFTER: u64 = 4_000;
/// A file of the scratch project, which the agent reads.
pub const NOTES: (&str, &str) = ("notes.txt", "first line\n");

/// Where it happens.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub home: &'a Path,
    pub project: &'a Path,
}

/// One client at its scripted model.
#[derive(Debug)]
pub struct Drive {
    model: Model,
    /// Files of its home and its project, before hooks are installed.
    pub files: Vec<(PathBuf, String)>,
    pub variables: Vec<(&'static str, String)>,
    /// Its arguments, a process each.
    pub turns: Vec<Vec<String>>,
    /// What harn's meter may say of the context: it is as late as the client's own record.
    pub reported_tokens: Vec<u64>,
}

#[derive(Debug)]
enum Model {
    Messages(Server<Messages>),
    Responses(Server<Responses>),
}

impl Drive {
    /// Starts the model for a client; `None` for one that cannot be driven so.
    pub fn start(id: &HarnessId, place: Place<'_>) -> Option<Result<Self, StartError>> {
        match id.as_str() {
            "claude-code" => Some(claude_code(place)),
            "codex" => Some(codex(place)),
            _ => None,
        }
    }

    /// What the client has asked for.
    pub fn log(&self) -> &RequestLog {
        match &self.model {
            Model::Messages(server) => server.log(),
            Model::Responses(server) => server.log(),
        }
    }

    /// Before the turn of this number, from 0.
    pub fn prepare(&self, turn: usize, place: Place<'_>) {
        if turn != 1 {
            return;
        }
        // The client compacts between a tool's result and the next request.
        match &self.model {
            Model::Messages(server) => {
                let file = place.project.join(NOTES.0);
                let call = ("Read".to_owned(), json!({"file_path": file}));
                let reply = messages::Reply::Tools(vec![call]);
                server.protocol().script(|it| it.replies.push_back(reply));
            }
            Model::Responses(server) => {
                let call = ("exec_command".to_owned(), json!({"cmd": "true"}));
                let reply = responses::Reply::Tools(vec![call]);
                server.protocol().script(|it| it.replies.push_back(reply));
            }
        }
    }
}

/// What both need: what still wants to leave the machine ends at a closed port.
fn closed_door() -> Vec<(&'static str, String)> {
    vec![
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
        ("NO_PROXY", "127.0.0.1".to_owned()),
    ]
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

fn claude_code(place: Place<'_>) -> Result<Drive, StartError> {
    const SESSION: &str = "11111111-1111-4111-8111-111111111111";
    const MODEL: &str = "claude-haiku-4-5";
    let server = Server::start(Messages::default())?;
    let after = Some(AFTER);
    server
        .protocol()
        .script(|it| it.summary.usage_after_tokens = after);
    let mut variables = closed_door();
    variables.extend([
        ("ANTHROPIC_BASE_URL", server.url()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
    ]);
    variables.extend(
        [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_DISABLE_AGENT_VIEW",
            "DISABLE_AUTOUPDATER",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_INSTALLATION_CHECKS",
            "DISABLE_TELEMETRY",
            "IS_SANDBOX",
        ]
        .map(|name| (name, "1".to_owned())),
    );
    let state = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY.get(KEY.len() - 20..)], "rejected": []},
        "projects": {place.project.to_string_lossy(): {"hasTrustDialogAccepted": true}},
    });
    // The least window that the client takes, so that it compacts by itself.
    let settings = json!({"autoCompactWindow": 100_000, "permissions": {"allow": ["Read"]}});
    let text = |value: &Value| format!("{value:#}\n");
    let (begun, full) = (
        format!("begin @usage={BEGUN}"),
        format!("go on @usage={FULL}"),
    );
    let turn = |flag: &str, prompt: &str| words(["-p", "--model", MODEL, flag, SESSION, prompt]);
    Ok(Drive {
        model: Model::Messages(server),
        files: vec![
            (place.home.join(".claude.json"), text(&state)),
            (place.home.join(".claude/settings.json"), text(&settings)),
        ],
        variables,
        turns: vec![turn("--session-id", &begun), turn("--resume", &full)],
        reported_tokens: vec![BEGUN, FULL, AFTER],
    })
}

fn codex(place: Place<'_>) -> Result<Drive, StartError> {
    let server = Server::start(Responses::default())?;
    let after = Some(AFTER);
    server
        .protocol()
        .script(|it| it.summary.usage_after_tokens = after);
    let mut variables = closed_door();
    variables.push(("REHEARSAL_KEY", "none".to_owned()));
    let project = Value::from(place.project.to_string_lossy());
    let config = format!(
        r#"model = "gpt-rehearsal"
model_provider = "rehearsal"
model_context_window = 100000
model_auto_compact_token_limit = 60000
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.rehearsal]
name = "rehearsal"
base_url = "{}/v1"
wire_api = "responses"
env_key = "REHEARSAL_KEY"
supports_websockets = false

[projects.{project}]
trust_level = "trusted"
"#,
        server.url()
    );
    let answer = responses::Script::default().output_tokens;
    // The home holds no hooks but harn's, and nobody is there to be asked about them.
    let head = ["--no-daemon", "exec", "--dangerously-bypass-hook-trust"];
    let (begun, full) = (
        format!("@usage={BEGUN} begin"),
        format!("@usage={FULL} go on"),
    );
    let turn = |rest: &[&str]| {
        words(head)
            .into_iter()
            .chain(rest.iter().map(|it| (*it).to_owned()))
            .collect()
    };
    Ok(Drive {
        model: Model::Responses(server),
        files: vec![(place.home.join(".codex/config.toml"), config)],
        variables,
        turns: vec![turn(&[&begun]), turn(&["resume", "--last", &full])],
        // It counts the answer, too.
        reported_tokens: [BEGUN, FULL, AFTER].map(|input| input + answer).into(),
    })
}
