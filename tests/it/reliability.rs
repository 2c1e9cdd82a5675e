//! What must hold when many hooks run at once, are killed, or meet a file system that refuses.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::TestEnv;

/// Starts a hook and gives it its payload; does not wait.
fn start(env: &TestEnv, event: &str, fields: &Value) -> Child {
    let mut payload = json!({"session_id": "s1", "cwd": env.project()});
    for (key, value) in fields.as_object().unwrap() {
        payload[key] = value.clone();
    }
    let mut child = env
        .harn(["hook", "claude-code", event])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A hook that was killed by then reads no more.
    if let Err(error) = stdin.write_all(payload.to_string().as_bytes()) {
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    }
    drop(stdin);
    child
}

fn verify(env: &TestEnv) -> Value {
    let output = env.run(env.harn(["context", "verify", "--json"]), b"");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", output.err()))
}

/// How often a number stands in the log: once, or it is lost or doubled.
fn numbers(session: &Session<'_>) -> Vec<u64> {
    session
        .events()
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect()
}

#[test]
fn parallel_hooks_lose_no_event_and_no_capsule() {
    // Sixty-four at once, tools among them, where the machine is given to it: a tool's hook gives up after 0.3 s.
    let (parallel, rounds) = match std::env::var("HARN_TEST_ROUNDS") {
        Ok(rounds) => (64, rounds.parse().unwrap()),
        Err(_) => (16, 3),
    };
    let (plain, kind) = if parallel == 64 {
        ("PostToolUse", "tool.finished")
    } else {
        ("Stop", "turn.stopped")
    };
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    for round in 0..rounds {
        let children: Vec<Child> = (0..parallel)
            .map(|number| match number % 4 {
                0 => start(
                    &env,
                    "PreCompact",
                    &json!({"trigger": "auto", "prompt_id": format!("{round}/{number}")}),
                ),
                _ => start(
                    &env,
                    plain,
                    &json!({"tool_name": format!("{round}/{number}"), "prompt_id": format!("{round}/{number}")}),
                ),
            })
            .collect();
        for mut child in children {
            assert_eq!(child.wait().unwrap().code(), Some(0));
        }
    }
    // Whatever waited in the spool is carried out by the next one that holds the lock.
    session.quiet("SessionEnd", &json!({}));
    let events = session.events();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    let log = fs::read_to_string(env.state().join("harn/log/harn.log")).unwrap_or_default();
    assert_eq!(of(kind), rounds * parallel / 4 * 3, "{log}");
    assert_eq!(of("context.compaction.started"), rounds * parallel / 4);
    assert_eq!(of("context.checkpoint.created"), rounds * parallel / 4);
    let named: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["type"] == kind)
        .filter_map(|event| {
            event["data"]["tool"]
                .as_str()
                .or(event["data"]["turn"].as_str())
        })
        .collect();
    assert_eq!(named.len(), rounds * parallel / 4 * 3);
    let count = events.len() as u64;
    assert_eq!(numbers(&session), (1..=count).collect::<Vec<_>>());
    assert_eq!(verify(&env)["differences"], json!([]));
}

#[test]
fn killed_hooks_leave_every_file_old_or_new() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let kills = std::env::var("HARN_TEST_KILLS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(60);
    for number in 0..kills {
        let event = ["PreCompact", "UserPromptSubmit", "PostToolUse", "Stop"][number % 4];
        let fields = json!({"trigger": "auto", "prompt": "go", "prompt_id": format!("t{number}")});
        let mut child = start(&env, event, &fields);
        // Spreads the kills over the life of the process without a clock: by yielding more each time.
        for _ in 0..(number * 7919 % 97) * 8 {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    session.quiet("Stop", &json!({}));
    let state = fs::read(session.dir().join("state.json")).unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&state).unwrap()["format"],
        "harn-state/1"
    );
    for entry in fs::read_dir(session.dir().join("capsules"))
        .into_iter()
        .flatten()
    {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "json") {
            let capsule: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert_eq!(capsule["format"], "harn-capsule/1", "{}", path.display());
        }
    }
    // The next checkpoint sweeps what was half done.
    session.quiet(
        "PreCompact",
        &json!({"trigger": "auto", "prompt_id": "sweep"}),
    );
    for folder in [session.dir(), session.dir().join("capsules")] {
        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with('.'), "{name}");
        }
    }
    let told = numbers(&session);
    let unique: BTreeSet<u64> = told.iter().copied().collect();
    assert_eq!(unique.len(), told.len());
    session.quiet(
        "PreCompact",
        &json!({"trigger": "auto", "prompt_id": "last"}),
    );
    assert!(
        session
            .briefing()
            .is_none_or(|text| text.starts_with("[harn:g"))
    );
}

#[test]
fn a_full_disk_leaves_the_old_state_and_a_silent_hook() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    let before = fs::read(session.dir().join("state.json")).unwrap();
    // The limit stands for a full disk: no file of this process may grow beyond it.
    let mut shell = env.command("sh");
    let line = format!(
        "ulimit -f 0; trap '' XFSZ; exec {} hook claude-code PreCompact",
        env.bin().display()
    );
    shell.args(["-c", &line]);
    let payload =
        json!({"session_id": "s1", "cwd": env.project(), "prompt_id": "t9", "trigger": "auto"});
    let output = env.run(shell, payload.to_string().as_bytes());
    assert_eq!((output.code, output.out()), (0, String::new()));
    assert_eq!(fs::read(session.dir().join("state.json")).unwrap(), before);
    assert_eq!(
        fs::read_dir(session.dir().join("capsules"))
            .unwrap()
            .count(),
        1
    );
    assert!(session.briefing().unwrap().contains("> fix the parser"));
}

#[test]
fn files_and_directories_are_private_under_an_open_umask() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    for event in ["SessionStart", "UserPromptSubmit", "PreCompact"] {
        let mut shell = env.command("sh");
        let line = format!(
            "umask 000; exec {} hook claude-code {event}",
            env.bin().display()
        );
        shell.args(["-c", &line]);
        let payload =
            json!({"session_id": "s1", "cwd": env.project(), "prompt": "x", "prompt_id": "t"});
        assert_eq!(env.run(shell, payload.to_string().as_bytes()).code, 0);
    }
    for entry in fs::read_dir(session.dir()).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}", path.display());
    }
}

#[test]
fn verify_finds_what_somebody_changed() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    session.briefing().unwrap();
    assert_eq!(
        (
            verify(&env)["ok"].clone(),
            verify(&env)["differences"].clone()
        ),
        (json!(true), json!([]))
    );
    let path = session.dir().join("state.json");
    let state = fs::read_to_string(&path)
        .unwrap()
        .replace("\"compactions\":1", "\"compactions\":7");
    fs::File::create(&path)
        .unwrap()
        .write_all(state.as_bytes())
        .unwrap();
    fs::File::create(session.dir().join("capsules/000001.json"))
        .unwrap()
        .write_all(b"{")
        .unwrap();
    assert_eq!(
        verify(&env)["differences"],
        json!([
            "compactions: the log tells 1, the state file holds 7",
            "checkpoint 1 cannot be read",
        ])
    );
    assert_eq!(env.run(env.harn(["context", "verify"]), b"").code, 65);
}

/// Runs a script as root of a mount namespace of its own; false where none is to be had.
fn in_mount_namespace(env: &TestEnv, script: &str, stdin: &[u8]) -> Option<crate::support::Output> {
    for how in [&["-m"][..], &["-Urm"]] {
        let mut probe = env.command("unshare");
        probe
            .args(how)
            .args(["sh", "-c", "mount -t tmpfs none /mnt"]);
        if probe.output().is_ok_and(|output| output.status.success()) {
            let mut command = env.command("unshare");
            command.args(how).args(["sh", "-ec", script]);
            return Some(env.run(command, stdin));
        }
    }
    eprintln!("no mount namespace is to be had here: skipped");
    None
}

#[test]
fn a_full_or_read_only_project_leaves_the_old_state_and_status_says_so() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.work_and_announce();
    let harn = env.bin().display();
    let project = env.project().display();
    let payload =
        json!({"session_id": "s1", "cwd": env.project(), "prompt_id": "t9", "trigger": "auto"});
    let payload = payload.to_string();
    let compacted =
        json!({"session_id": "s1", "cwd": env.project(), "prompt_id": "t2", "source": "compact"});
    // A copy of the project on a file system of its own: then full, then read-only.
    let script = format!(
        "cp -a {project} copy.orig; mount -t tmpfs -o size=256k none {project}; cp -a copy.orig/. {project}/; cd {project}
         payload=$(cat)
         head -c 1000000 /dev/zero >filler 2>/dev/null || true
         printf %s \"$payload\" | {harn} hook claude-code PreCompact
         {harn} context status --json; rm filler
         mount -o remount,ro {project}
         printf %s \"$payload\" | {harn} hook claude-code PreCompact
         {harn} context status --json
         printf %s '{compacted}' | {harn} hook claude-code SessionStart"
    );
    let script = format!("cd {}; {script}", env.root().display());
    let Some(output) = in_mount_namespace(&env, &script, payload.as_bytes()) else {
        return;
    };
    assert_eq!(output.code, 0, "{}", output.err());
    let text = output.out();
    let (statuses, briefing) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(
        briefing.contains("[harn:g1:") && briefing.contains("> fix the parser"),
        "{briefing}"
    );
    let problems: Vec<String> = statuses
        .lines()
        .map(|line| {
            let status: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{text}"));
            status["problems"][0]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(problems.len(), 2, "{text}");
    assert!(
        problems[0].contains("nothing can be saved") && problems[0].contains("No space left"),
        "{problems:?}"
    );
    assert!(
        problems[1].contains("nothing can be saved") && problems[1].contains("Read-only"),
        "{problems:?}"
    );
}
