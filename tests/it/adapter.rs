//! `harn adapter`: claims that are printed, and held against recordings and installed clients.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::TestEnv;

fn told(env: &TestEnv, args: &[&str]) -> (i32, Value) {
    let mut all = vec!["adapter"];
    all.extend(args);
    all.push("--json");
    let output = env.run(env.harn(all), b"");
    (output.code, serde_json::from_str(&output.out()).unwrap())
}

#[test]
fn every_adapter_is_listed_with_all_its_claims() {
    let env = TestEnv::new();
    let (code, list) = told(&env, &["list"]);
    assert_eq!((code, &list["schema"]), (0, &json!(1)));
    let adapters = list["adapters"].as_array().unwrap();
    let ids: Vec<&str> = adapters
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["claude-code", "codex", "demo", "cursor", "generic"]);
    for adapter in adapters {
        assert_eq!(adapter["claims"].as_array().unwrap().len(), 8, "{adapter}");
    }
    let output = env.run(env.harn(["adapter", "list"]), b"");
    assert!(
        output.out().lines().all(|line| line.chars().count() <= 80),
        "{}",
        output.out()
    );
}

#[test]
fn one_adapter_is_shown_with_its_evidence_and_an_unknown_one_is_a_usage_error() {
    let env = TestEnv::new();
    let (code, shown) = told(&env, &["show", "codex"]);
    assert_eq!(
        (code, &shown["id"], &shown["schema"]),
        (0, &json!("codex"), &json!(1))
    );
    let claims = shown["claims"].as_array().unwrap();
    let trigger = |dimension: &str| {
        let claim = claims
            .iter()
            .find(|claim| claim["dimension"] == dimension)
            .unwrap();
        (claim["support"].clone(), claim["basis"].clone())
    };
    assert_eq!(
        trigger("trigger_owned"),
        (json!("supported"), json!("verified"))
    );
    assert_eq!(
        trigger("trigger_unowned"),
        (json!("unsupported"), json!("verified"))
    );
    let output = env.run(env.harn(["adapter", "show", "codex"]), b"");
    assert!(
        output.out().lines().all(|line| line.chars().count() <= 80),
        "{}",
        output.out()
    );
    let output = env.run(env.harn(["adapter", "show", "nobody"]), b"");
    assert_eq!((output.code, output.out()), (64, String::new()));
    assert!(
        output.err().contains("hint: adapters: claude-code, codex"),
        "{}",
        output.err()
    );
}

fn put_client(env: &mut TestEnv, name: &str, says: &str) {
    let bin = env.root().join("bin");
    let path = env.write(
        bin.join(name),
        format!(
            "#!/bin/sh\necho \"$@\" >>'{}'\necho '{says}'\n",
            env.root().join("asked").display()
        ),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    env.set("PATH", format!("{}:/usr/bin:/bin", bin.display()));
}

#[test]
fn the_bench_finds_no_drift_and_asks_a_client_for_its_version_only() {
    let mut env = TestEnv::new();
    put_client(&mut env, "claude", "2.1.197 (Claude Code)");
    let (code, bench) = told(&env, &["bench"]);
    assert_eq!((code, &bench["ok"]), (0, &json!(true)), "{bench}");
    let adapters = bench["adapters"].as_array().unwrap();
    let verdicts = |id: &str| -> Vec<(String, String)> {
        let adapter = adapters.iter().find(|it| it["id"] == id).unwrap();
        let lines = adapter["dimensions"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        lines
            .iter()
            .map(|line| (text(&line["dimension"]), text(&line["verdict"])))
            .collect()
    };
    let expected = [
        ("telemetry", "supported"),
        ("pre_signal", "partial"),
        ("post_signal", "supported"),
        ("injection", "supported"),
        ("trigger_owned", "supported"),
        ("trigger_unowned", "unsupported"),
        ("focus", "supported"),
        ("resume", "partial"),
    ]
    .map(|(dimension, verdict)| (dimension.to_owned(), verdict.to_owned()));
    assert_eq!(verdicts("claude-code"), expected);
    let installed = &adapters[0]["installed"][0];
    assert_eq!(
        (&installed["version"], &installed["is_verified"]),
        (&json!("2.1.197"), &json!(true))
    );
    assert_eq!(
        fs::read_to_string(env.root().join("asked")).unwrap(),
        "--version\n"
    );
}

#[test]
fn a_missing_client_is_a_failure_only_where_it_is_required() {
    let mut env = TestEnv::new();
    env.set("PATH", "/usr/bin:/bin");
    let output = env.run(env.harn(["adapter", "bench"]), b"");
    assert_eq!(output.code, 0, "{}", output.err());
    let output = env.run(
        env.harn(["adapter", "bench", "codex", "--require-installed"]),
        b"",
    );
    assert_eq!(output.code, 1);
    assert_eq!(
        output.err(),
        "harn: no client of codex is installed\nhint: put it on PATH\n"
    );
}

#[test]
fn the_page_of_what_is_verified_says_what_the_registry_claims() {
    let page = include_str!("../../docs/harnesses.md");
    let env = TestEnv::new();
    for (id, heading) in [
        ("claude-code", "\n## Claude Code\n"),
        ("codex", "\n## Codex\n"),
    ] {
        let section = page.split(heading).nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let (_, shown) = told(&env, &["show", id]);
        for claim in shown["claims"].as_array().unwrap() {
            let [dimension, support] =
                ["dimension", "support"].map(|key| claim[key].as_str().unwrap());
            let row = format!("| {dimension} | {support}: ");
            assert!(section.contains(&row), "{id}: no row {row:?}");
        }
    }
}
