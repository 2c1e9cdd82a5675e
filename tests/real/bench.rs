//! `harn adapter bench --live` with the real clients.

use std::fs;

use serde_json::{Value, json};

use crate::client;
use crate::support::TestEnv;

/// Drives the client of one adapter, and holds what was seen, kept and left behind against this.
fn assert_attested(id: &str, program: &str, resume: &str) {
    if client::find(program).is_none() {
        return;
    }
    let mut env = TestEnv::new();
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        client::bin_dir().display()
    );
    env.set("PATH", path);
    let output = env.run(env.harn(["adapter", "bench", "--live", id, "--json"]), b"");
    let bench: Value = serde_json::from_str(&output.out()).unwrap();
    let live = &bench["adapters"][0]["live"];
    let verdicts: Vec<Value> = live["dimensions"]
        .as_array()
        .unwrap_or_else(|| panic!("{live}\n{}", output.err()))
        .iter()
        .map(|line| json!([line["dimension"], line["verdict"]]))
        .collect();
    let expected = json!([
        ["telemetry", "supported"],
        ["pre_signal", "partial"],
        ["post_signal", "supported"],
        ["injection", "supported"],
        ["trigger_owned", "skipped"],
        ["trigger_unowned", "unsupported"],
        ["focus", "skipped"],
        ["resume", resume],
    ]);
    assert_eq!(json!(verdicts), expected, "{live}");
    let version = &bench["adapters"][0]["installed"][0]["version"];
    let told = json!([
        live["outcome"],
        live["result"],
        live["program"],
        live["version"]
    ]);
    assert_eq!(told, json!(["ran", "as_claimed", program, version]));
    let steps: Vec<String> = output.err().lines().skip(1).map(str::to_owned).collect();
    let expected = [
        "installing hooks in a scratch home",
        "turn 1 of 2",
        "turn 2 of 2",
    ];
    assert_eq!(steps, expected.map(|step| format!("{id}: {step}")));
    assert_eq!(output.code, 0);

    let shown = env.run(env.harn(["adapter", "show", id]), b"").out();
    let date: String = live["at"].as_str().unwrap().chars().take(10).collect();
    let line = format!(
        "attested on {} {date}: supported",
        version.as_str().unwrap()
    );
    assert_eq!(
        shown.matches(&line).count(),
        if resume == "supported" { 4 } else { 3 },
        "{shown}"
    );

    // The person's own home holds what harn keeps of it, and nothing else; the scratch machine is gone.
    let mut left = Vec::new();
    crate::kept::walk(env.home(), &mut |path| {
        left.push(path.strip_prefix(env.home()).unwrap().display().to_string());
    });
    // Asked for its version, this client leaves a lock there by itself.
    left.retain(|path| !path.starts_with(".codex/tmp/"));
    left.sort();
    let own = ["attested.json", "versions.json"].map(|name| format!(".local/state/harn/{name}"));
    assert_eq!(left, own);
    assert_eq!(fs::read_dir(env.root().join("tmp")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(env.project()).unwrap().count(), 0);
    let scratch = format!("HOME={}/harn-bench-", env.root().join("tmp").display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let environs = entries.map(|it| fs::read(it.path().join("environ")).unwrap_or_default());
    let running = environs.filter(|it| String::from_utf8_lossy(it).contains(&scratch));
    assert_eq!(running.count(), 0);
}

#[test]
fn claude_code_is_driven_through_a_compaction_and_attested() {
    assert_attested("claude-code", "claude", "partial");
}

#[test]
fn codex_is_driven_through_a_compaction_and_attested() {
    assert_attested("codex", "codex", "supported");
}
