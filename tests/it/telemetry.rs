//! The context meter through the binary: hooks that read a transcript, the status-line bridge, `context status`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use harn::event::Timestamp;
use serde_json::{Value, json};

use crate::session::Session;
use crate::support::{Output, TestEnv};

fn status(env: &TestEnv) -> Value {
    let output = env.run(
        env.harn(["context", "status", "--session", "s1", "--json"]),
        b"",
    );
    assert_eq!((output.err(), output.code), (String::new(), 0));
    serde_json::from_str(&output.out()).unwrap()
}

fn used(env: &TestEnv) -> Value {
    status(env)["context"]["used_tokens"].clone()
}

/// Now, as a client writes it.
#[expect(clippy::disallowed_methods, reason = "a client reads the clock")]
fn moment() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_ms(i64::try_from(since.as_millis()).unwrap())
}

fn reply(session: &str, tokens: u64) -> String {
    let at = moment();
    let usage = json!({"input_tokens": 4, "cache_creation_input_tokens": tokens - 4, "cache_read_input_tokens": 0, "output_tokens": 37});
    let line = json!({"parentUuid": null, "isSidechain": false, "type": "assistant", "sessionId": session,
        "timestamp": at, "message": {"id": "m1", "model": "m-1", "usage": usage}});
    format!("{line}\n")
}

fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes.as_ref())
        .unwrap();
}

fn stop(session: &Session<'_>, transcript: &Path) {
    session.quiet("Stop", &json!({"transcript_path": transcript}));
}

fn sampled(session: &Session<'_>) -> Vec<Value> {
    let events = session.events();
    let is_sample = |event: &&Value| event["type"] == "context.sampled";
    events
        .iter()
        .filter(is_sample)
        .map(|event| event["data"]["used_tokens"].clone())
        .collect()
}

#[test]
fn a_hook_measures_by_the_transcript_and_records_only_what_changed() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let path = env.root().join("s1.jsonl");
    stop(&session, &path);
    assert_eq!(status(&env)["context"], Value::Null);
    // One message is several lines with one usage.
    append(&path, reply("s1", 15_004).repeat(3));
    stop(&session, &path);
    stop(&session, &path);
    let told = status(&env);
    let context = &told["context"];
    let fields = [
        "used_tokens",
        "window_tokens",
        "used_percent",
        "source",
        "confidence",
        "stale",
    ];
    assert_eq!(
        fields.map(|name| context[name].clone()),
        [
            json!(15_004),
            json!(200_000),
            json!(8),
            json!("transcript"),
            json!("inferred"),
            json!(false)
        ]
    );
    assert!(context["age_ms"].as_u64().unwrap() < 60_000);
    assert_eq!(context.as_object().unwrap().len(), 7);
    append(&path, reply("s1", 20_000));
    stop(&session, &path);
    assert_eq!(sampled(&session), [15_004, 20_000]);
}

#[test]
fn bad_input_costs_no_more_than_its_own_line() {
    let good = reply("s1", 50_000);
    let side = reply("s1", 1_502).replace("\"isSidechain\":false", "\"isSidechain\":true");
    let tails: [(&str, Vec<u8>); 12] = [
        ("nuls", [&[0; 300][..], b"\n"].concat()),
        (
            "nuls before a line",
            [&[0; 300][..], good.as_bytes()].concat(),
        ),
        ("glued", [br#"{"a":1}"#, good.as_bytes()].concat()),
        (
            "torn and glued",
            [br#"{"type":"user","message":{"con"#, good.as_bytes()].concat(),
        ),
        (
            "torn tail",
            br#"{"type":"assistant","sessionId":"s1","message":{"us"#.to_vec(),
        ),
        ("bom", [b"\xEF\xBB\xBF", good.as_bytes()].concat()),
        ("crlf", good.replace('\n', "\r\n").into_bytes()),
        ("side chain", side.into_bytes()),
        ("another session", reply("s2", 9_999).into_bytes()),
        (
            "odd numbers",
            reply("s1", 9_999)
                .replace("9995", "-9995")
                .replace("\"input_tokens\":4", "\"input_tokens\":1e308")
                .into_bytes(),
        ),
        (
            "nested garbage",
            [vec![b'['; 200_000], b"\n".to_vec()].concat(),
        ),
        (
            "an aborted reply",
            reply("s1", 4)
                .replace("\"input_tokens\":4", "\"input_tokens\":0")
                .into_bytes(),
        ),
    ];
    for (what, tail) in tails {
        let env = TestEnv::new();
        let session = Session::new(&env);
        let path = env.root().join("s1.jsonl");
        append(&path, &good);
        append(&path, tail);
        stop(&session, &path);
        assert_eq!(used(&env), 50_000, "{what}");
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_stops_nothing() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let path = env.root().join("s1.jsonl");
    append(&path, reply("s1", 50_000));
    stop(&session, &path);
    append(&path, vec![b'x'; 100 << 20]);
    append(&path, "\n");
    append(&path, reply("s1", 60_000));
    stop(&session, &path);
    assert_eq!(used(&env), 60_000);
    // Within the line that is not finished yet.
    append(&path, vec![b'y'; 100 << 20]);
    stop(&session, &path);
    append(&path, "\n");
    append(&path, reply("s1", 70_000));
    stop(&session, &path);
    assert_eq!(used(&env), 70_000);
}

#[test]
fn what_is_no_transcript_is_never_read() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let fifo = env.root().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let folder = env.root().join("s1/subagents");
    fs::create_dir_all(&folder).unwrap();
    let agent = folder.join("agent-1.jsonl");
    append(&agent, reply("s1", 1_502));
    for path in [
        fifo,
        env.root(),
        agent,
        PathBuf::from("/dev/zero"),
        env.root().join("none"),
    ] {
        stop(&session, &path);
        assert_eq!(status(&env)["context"], Value::Null, "{}", path.display());
    }
}

#[test]
fn a_transcript_that_is_replaced_or_gone_is_noticed() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    let path = env.root().join("s1.jsonl");
    append(&path, reply("s1", 50_000));
    stop(&session, &path);
    let other = env.root().join("new");
    append(&other, reply("s1", 60_000));
    fs::rename(&other, &path).unwrap();
    stop(&session, &path);
    assert_eq!(used(&env), 60_000);
    fs::remove_file(&path).unwrap();
    stop(&session, &path);
    assert_eq!(used(&env), 60_000);
}

/// The client's own record of a fork, as it was made on 2026-11-30: the first 27 lines are copies with their old times.
#[test]
fn what_a_fork_copied_is_measured_only_where_the_session_goes_on_with_it() {
    const FORK: &str = "99999999-2222-4333-8444-555555555555";
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("adapters/claude-code/fixtures/transcript/resume_continue_fork_clear.1.jsonl");
    let resumed = json!({"source": "resume"});
    let prompt = json!({"prompt": "on", "prompt_id": "t1"});
    for (event, fields, copied) in [
        ("UserPromptSubmit", &prompt, vec![]),
        ("SessionStart", &resumed, vec![json!(32_571)]),
    ] {
        let env = TestEnv::new();
        let session = Session::named(&env, FORK);
        let path = env.root().join(format!("{FORK}.jsonl"));
        append(&path, fs::read(&recorded).unwrap());
        let mut fields = fields.clone();
        fields["transcript_path"] = json!(path);
        session.quiet(event, &fields);
        assert_eq!(sampled(&session), copied, "{event}");
        append(&path, reply(FORK, 33_000));
        stop(&session, &path);
        let all = [copied, vec![json!(33_000)]].concat();
        assert_eq!(sampled(&session), all, "{event}");
    }
}

#[test]
fn a_compaction_ends_what_was_measured_before_it() {
    let env = TestEnv::new();
    env.git_init();
    let session = Session::new(&env);
    let path = env.root().join("s1.jsonl");
    let at = json!({"transcript_path": path});
    session.quiet(
        "UserPromptSubmit",
        &json!({"transcript_path": path, "prompt": "x", "prompt_id": "t1"}),
    );
    append(&path, reply("s1", 94_000));
    stop(&session, &path);
    session.quiet(
        "PreCompact",
        &json!({"transcript_path": path, "trigger": "auto", "prompt_id": "t2"}),
    );
    let capsule = fs::read(session.dir().join("capsules/000001.json")).unwrap();
    let capsule: Value = serde_json::from_slice(&capsule).unwrap();
    assert_eq!(capsule["context"]["used_tokens"], 94_000);
    let printed = session.send(
        "SessionStart",
        &json!({"transcript_path": path, "source": "compact", "prompt_id": "t2"}),
    );
    assert_eq!(printed.code, 0);
    let told = status(&env);
    assert_eq!(told["context"]["used_tokens"], Value::Null);
    assert_eq!(told["context"]["confidence"], "unknown");
    assert_eq!(told["meter"]["unknown"], "compacted");
    let text = env
        .run(env.harn(["context", "status", "--session", "s1"]), b"")
        .out();
    assert!(text.contains("context     unknown (compacted)"), "{text}");
    // The client's record follows, then a reply.
    let boundary = json!({"parentUuid": null, "type": "system", "subtype": "compact_boundary", "sessionId": "s1",
        "compactMetadata": {"trigger": "auto", "preTokens": 94_037}});
    append(&path, format!("{boundary}\n"));
    session.quiet("UserPromptSubmit", &at);
    assert_eq!(used(&env), Value::Null);
    append(&path, reply("s1", 94_000));
    stop(&session, &path);
    let told = status(&env);
    assert_eq!(told["context"]["used_tokens"], 94_000);
    assert_eq!(
        told["meter"]["automatic"],
        json!({"least_tokens": 94_037, "most_tokens": 94_037, "seen": 1})
    );
    let verify = env.run(env.harn(["context", "verify", "--session", "s1"]), b"");
    assert_eq!(
        (verify.out().contains("what they tell"), verify.code),
        (true, 0),
        "{}",
        verify.out()
    );
}

#[test]
fn what_one_session_learnt_of_a_model_is_shown_in_the_next() {
    let env = TestEnv::new();
    env.git_init();
    for (id, before) in [("s0", 150_000), ("s1", 160_000)] {
        let session = Session::named(&env, id);
        let path = env.root().join(format!("{id}.jsonl"));
        append(&path, reply(id, before));
        session.quiet(
            "SessionStart",
            &json!({"transcript_path": path, "source": "startup"}),
        );
        stop(&session, &path);
        let boundary = json!({"parentUuid": null, "type": "system", "subtype": "compact_boundary", "sessionId": id,
            "timestamp": moment(), "compactMetadata": {"trigger": "auto", "preTokens": before}});
        append(&path, format!("{boundary}\n"));
        append(&path, reply(id, 20_000));
        stop(&session, &path);
    }
    let range = json!({"least_tokens": 150_000, "most_tokens": 160_000, "seen": 2});
    assert_eq!(status(&env)["meter"]["automatic"], range);
    let text = env
        .run(env.harn(["context", "status", "--session", "s1"]), b"")
        .out();
    assert!(
        text.contains("compacted by itself at 150k to 160k (2 times)"),
        "{text}"
    );
}

/// A person with a status line of their own, and a bridge before it.
fn person(command: &str) -> TestEnv {
    let env = TestEnv::new();
    let settings = json!({"statusLine": {"type": "command", "command": command, "padding": 0}});
    env.write(
        env.home().join(".claude/settings.json"),
        settings.to_string(),
    );
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    env
}

fn payload(env: &TestEnv, used: &Value) -> String {
    json!({
        "session_id": "s1",
        "model": {"id": "m-1"},
        "workspace": {"project_dir": env.project()},
        "context_window": {"context_window_size": 200_000, "current_usage": used, "used_percentage": 42},
    })
    .to_string()
}

fn bridge(env: &TestEnv, payload: &str) -> Output {
    let mut command = env.harn(["statusline", "claude-code"]);
    command.env("COLUMNS", "77");
    env.run(command, payload.as_bytes())
}

#[test]
fn the_users_own_status_line_gets_the_same_input_and_its_output_and_end_are_kept() {
    let env = person("cat; printf '[%s]' \"$COLUMNS\"; printf '\\033[31mx'; echo oops >&2; exit 3");
    let payload = format!(" {}\n", payload(&env, &json!({"input_tokens": 84_000})));
    let output = bridge(&env, &payload);
    assert_eq!(output.out(), format!("{payload}[77]\u{1b}[31mx"));
    assert_eq!((output.err(), output.code), ("oops\n".to_owned(), 3));
    let told = status(&env);
    let fields = [
        "used_tokens",
        "window_tokens",
        "used_percent",
        "source",
        "confidence",
    ];
    assert_eq!(
        fields.map(|name| told["context"][name].clone()),
        [
            json!(84_000),
            json!(200_000),
            json!(42),
            json!("statusline"),
            json!("reported")
        ]
    );
    assert_eq!(told["meter"]["window"], "reported");
}

#[test]
fn a_project_status_line_goes_before_the_users_and_a_large_payload_is_passed_on() {
    let env = person("echo user");
    let line = json!({"statusLine": {"type": "command", "command": "wc -c"}});
    env.write(".claude/settings.json", line.to_string());
    let mut large = payload(&env, &Value::Null);
    large.push_str(&" ".repeat(200_000));
    assert_eq!(bridge(&env, &large).out().trim(), large.len().to_string());
    env.write(
        ".claude/settings.local.json",
        json!({"statusLine": {"type": "command", "command": "echo local"}}).to_string(),
    );
    assert_eq!(bridge(&env, &large).out(), "local\n");
}

#[test]
fn without_a_status_line_harn_shows_its_segment_unless_told_not_to() {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    let told = payload(&env, &json!({"input_tokens": 84_000}));
    assert_eq!(bridge(&env, &told).out(), "harn 84k/200k 42%\n");
    env.write(
        env.config().join("harn/config.toml"),
        "[statusline]\nsegment = false\n",
    );
    assert_eq!(bridge(&env, &told).out(), "");
    assert_eq!(sampled(&Session::new(&env)), [84_000]);
}

#[test]
fn a_status_line_that_calls_harn_does_not_run_itself_again() {
    let env = TestEnv::new();
    let harn = env.bin().display().to_string();
    let command = format!("'{harn}' statusline claude-code; echo once");
    let settings = json!({"statusLine": {"type": "command", "command": command}});
    env.write(
        env.home().join(".claude/settings.json"),
        settings.to_string(),
    );
    assert_eq!(bridge(&env, "{}").out(), "once\n");
}

#[test]
fn nothing_that_a_bridge_is_given_makes_it_complain() {
    let env = person("echo mine");
    for payload in [
        "",
        "{",
        "[]",
        "null",
        "\0\0",
        "{\"session_id\":7}",
        "{\"session_id\":\"unknown\"}",
    ] {
        let output = bridge(&env, payload);
        assert_eq!(
            (output.out(), output.err(), output.code),
            ("mine\n".to_owned(), String::new(), 0),
            "{payload:?}"
        );
    }
    let locked = Session::new(&env).dir().join("state.json");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let told = payload(&env, &json!({"input_tokens": 5}));
    assert_eq!(bridge(&env, &told).out(), "mine\n");
    assert!(fs::metadata(&locked).unwrap().size() > 0);
}
