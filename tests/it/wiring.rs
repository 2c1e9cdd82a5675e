//! How harn's hooks get into one run, seen from a client that only writes down how it was started.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Output, TestEnv};

/// Writes down its arguments, its environment and the settings it was given.
const CLIENT: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then
    echo asked >>"$here/versions"
    cat "$here/version"
    exit 0
fi
: >"$here/args"
for arg in "$@"; do printf '%s\n' "$arg" >>"$here/args"; done
env >"$here/env"
if [ "$1" = --settings ]; then
    cp "$2" "$here/settings.json"
    stat -c '%a' "$2" >"$here/mode" 2>/dev/null || stat -f '%Lp' "$2" >"$here/mode"
fi
exit 7
"#;

struct Client {
    env: TestEnv,
}

impl Client {
    fn new(version: &str) -> Self {
        let env = TestEnv::new();
        let program = env.write("bin/claude", CLIENT);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        env.write("bin/version", version);
        Self { env }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.env.project().join("bin").join(name)
    }

    fn run(&self, options: &[&str], args: &[&str]) -> Output {
        let program = self.at("claude");
        let program = program.to_str().unwrap();
        let line = [&["run"], options, &["--", program], args].concat();
        self.env.run(self.env.harn(line), b"")
    }

    fn args(&self) -> Vec<String> {
        lines(&self.at("args"))
    }

    fn settings(&self) -> Value {
        serde_json::from_slice(&fs::read(self.at("settings.json")).unwrap()).unwrap()
    }

    fn variable(&self, name: &str) -> Option<String> {
        let prefix = format!("{name}=");
        lines(&self.at("env"))
            .iter()
            .find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
    }

    fn runs(&self) -> Vec<PathBuf> {
        let runs = self.env.state().join("harn/runs");
        fs::read_dir(runs).map_or_else(
            |_| Vec::new(),
            |entries| entries.map(|entry| entry.unwrap().path()).collect(),
        )
    }
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_run_gets_one_private_settings_file_that_is_gone_afterwards() {
    let client = Client::new("2.1.197 (Claude Code)\n");
    let output = client.run(&[], &["-c", "hi there"]);
    assert_eq!((output.code, output.err()), (7, String::new()));
    let args = client.args();
    assert_eq!(
        (args[0].as_str(), &args[2..]),
        ("--settings", &["-c".to_owned(), "hi there".to_owned()][..])
    );
    assert_eq!(lines(&client.at("mode")), ["600"]);
    assert!(!Path::new(&args[1]).exists());
    assert_eq!(client.runs(), Vec::<PathBuf>::new());
    let command = &client.settings()["hooks"]["PreCompact"][0]["hooks"][0]["command"];
    assert_eq!(
        *command,
        format!("{} hook claude-code PreCompact", client.env.bin().display())
    );
    assert!(client.variable("HARN_RUN_ID").is_some());
    assert_eq!(
        client.variable("CLAUDE_CODE_DISABLE_AGENT_VIEW").as_deref(),
        Some("1")
    );
}

#[test]
fn hook_commands_are_the_same_in_every_run() {
    let client = Client::new("2.1.197\n");
    client.run(&[], &[]);
    let first = client.settings();
    client.run(&["--name", "other"], &["-c"]);
    assert_eq!(client.settings(), first);
}

#[test]
fn the_version_is_asked_once_and_again_when_the_program_changes() {
    let client = Client::new("2.1.197\n");
    let events = || client.settings()["hooks"].as_object().unwrap().len();
    client.run(&[], &[]);
    client.run(&[], &[]);
    assert_eq!((lines(&client.at("versions")).len(), events()), (1, 13));
    client.env.write("bin/version", "no version at all\n");
    fs::File::options()
        .append(true)
        .open(client.at("claude"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    client.run(&[], &[]);
    assert_eq!((lines(&client.at("versions")).len(), events()), (2, 6));
}

#[test]
fn management_and_no_hooks_leave_the_arguments_alone() {
    let client = Client::new("2.1.197\n");
    client.run(&[], &["mcp", "list"]);
    assert_eq!(client.args(), ["mcp", "list"]);
    assert_eq!(client.variable("HARN_RUN_ID"), None);
    client.run(&["--no-hooks"], &["hi"]);
    assert_eq!(client.args(), ["hi"]);
}

#[test]
fn settings_that_cannot_be_merged_are_passed_on_untouched_with_a_word() {
    let client = Client::new("2.1.197\n");
    let output = client.run(&[], &["--settings", "{oops", "hi"]);
    assert_eq!(client.args(), ["--settings", "{oops", "hi"]);
    assert_eq!(output.code, 7);
    assert!(
        output
            .err()
            .starts_with("harn: hooks are not wired: the settings passed are not valid JSON")
    );
    assert_eq!(client.runs(), Vec::<PathBuf>::new());
}

#[test]
fn disabled_harn_is_a_plain_host() {
    let mut client = Client::new("2.1.197\n");
    client.env.set("HARN_DISABLE", "1");
    assert_eq!(client.run(&[], &["hi"]).code, 7);
    assert_eq!(client.args(), ["hi"]);
}

#[test]
fn what_the_user_set_is_not_set_again() {
    let mut client = Client::new("2.1.197\n");
    client.env.set("CLAUDE_CODE_DISABLE_AGENT_VIEW", "0");
    client.run(&[], &[]);
    assert_eq!(
        client.variable("CLAUDE_CODE_DISABLE_AGENT_VIEW").as_deref(),
        Some("0")
    );
}

#[test]
fn a_killed_run_is_swept_by_the_next_one() {
    let client = Client::new("2.1.197\n");
    let stray = client
        .env
        .state()
        .join("harn/runs/0190a5a0-0000-7000-8000-000000000000");
    fs::create_dir_all(&stray).unwrap();
    fs::File::create(stray.join("settings.json")).unwrap();
    client.run(&[], &[]);
    assert_eq!(client.runs(), Vec::<PathBuf>::new());
}

#[test]
fn an_adapter_can_be_named_and_an_unknown_one_is_a_usage_error() {
    let client = Client::new("2.1.197\n");
    let output = client.run(&["--adapter", "nobody"], &[]);
    assert_eq!(output.code, 64);
    assert!(
        output
            .err()
            .starts_with("harn: there is no adapter \"nobody\"\nhint: adapters: claude-code")
    );
    fs::rename(client.at("claude"), client.at("other")).unwrap();
    let program = client.at("other");
    let line = [
        "run",
        "--adapter",
        "claude-code",
        "--",
        program.to_str().unwrap(),
        "x",
    ];
    assert_eq!(client.env.run(client.env.harn(line), b"").code, 7);
    assert_eq!(client.args()[0], "--settings");
}

#[test]
fn inside_a_run_the_program_runs_directly() {
    let client = Client::new("2.1.197\n");
    let inner = client.env.write(
        "bin/outer/claude",
        format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nexec {} run -- {} inner\n",
            client.env.bin().display(),
            client.at("claude").display()
        ),
    );
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
    let output = client
        .env
        .run(client.env.harn(["run", "--", inner.to_str().unwrap()]), b"");
    assert_eq!(output.code, 7);
    assert_eq!(client.args(), ["inner"]);
    assert!(
        output.err().starts_with("harn: already inside run "),
        "{}",
        output.err()
    );
}
