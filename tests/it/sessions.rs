//! `harn sessions`: what stands in the list, and what broken things look like in it.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::run::hosted::{LIMIT, wait_until};
use crate::session::Session;
use crate::support::{Pty, TestEnv};

pub(crate) fn list(env: &TestEnv) -> Vec<Value> {
    let output = env.run(env.harn(["sessions", "--json"]), b"");
    assert_eq!((output.code, output.err()), (0, String::new()));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    document["sessions"].as_array().unwrap().clone()
}

fn state_dirs(env: &TestEnv) -> Vec<PathBuf> {
    let context = env.project().join(".harnery/context");
    let mut dirs: Vec<PathBuf> = fs::read_dir(context)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    dirs.sort();
    dirs
}

#[expect(clippy::disallowed_methods, reason = "breaks a file on purpose")]
fn overwrite(path: PathBuf, text: &str) {
    fs::write(path, text).unwrap();
}

#[test]
fn nothing_known_is_said_and_is_an_empty_list() {
    let env = TestEnv::new();
    assert_eq!(list(&env), Vec::<Value>::new());
    let output = env.run(env.harn(["sessions"]), b"");
    assert!(output.out().starts_with("no session is known"));
}

#[test]
fn a_session_is_listed_with_what_is_known_of_it_and_null_for_the_rest() {
    let env = TestEnv::new();
    env.git_init();
    Session::new(&env).work_and_announce();
    let mut rows = list(&env);
    let age = rows[0]["last_event_age_ms"].take();
    let at = rows[0]["last_event_at"].take();
    assert!(age.is_u64() && at.is_string());
    assert_eq!(
        rows,
        [json!({
            "session": "s1", "run": null, "name": null, "adapter": "claude-code",
            "project": env.project(), "branch": "main", "state": "open", "phase": "checkpointed",
            "generation": 1, "compactions": 0, "context": null,
            "last_event_at": null, "last_event_age_ms": null,
            "attempt": {"id": "a1", "stage": "announced"}, "warnings": [],
        })]
    );
    let text = env.run(env.harn(["sessions"]), b"").out();
    assert!(
        text.starts_with("state  harness      session  project"),
        "{text}"
    );
}

#[test]
fn retired_lost_foreign_and_damaged_entries_are_lines_with_their_reason() {
    let env = TestEnv::new();
    for id in ["ended", "damaged", "theirs", "newer", "gone"] {
        Session::named(&env, id).quiet("SessionStart", &json!({"source": "startup"}));
    }
    Session::named(&env, "ended").quiet("SessionEnd", &json!({"reason": "other"}));
    let of = |id: &str| {
        let mut matching = state_dirs(&env).into_iter().filter(|dir| {
            fs::read_to_string(dir.join("state.json")).is_ok_and(|text| text.contains(id))
        });
        matching.next().unwrap()
    };
    let (damaged, theirs, newer, gone) = (of("damaged"), of("theirs"), of("newer"), of("gone"));
    overwrite(damaged.join("state.json"), "{\"format\":\"harn-st");
    overwrite(theirs.join("state.json"), "{\"schema_version\":1}");
    overwrite(
        newer.join("state.json"),
        "{\"format\":\"harn-state/99\",\"content\":{}}",
    );
    fs::remove_dir_all(gone).unwrap();
    let index = env.state().join("harn/index");
    overwrite(index.join("aaaa.json"), "\0\0\0");
    let rows = list(&env);
    let told: Vec<(String, String)> = rows
        .iter()
        .map(|row| {
            let name = row["session"].as_str().or(row["name"].as_str()).unwrap();
            (name.to_owned(), row["state"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        ("damaged", "open"),
        ("aaaa", "unreadable"),
        ("gone", "unreadable"),
        ("newer", "unreadable"),
        ("theirs", "foreign"),
        ("ended", "retired"),
    ];
    assert_eq!(
        told,
        expected.map(|(name, state)| (name.to_owned(), state.to_owned()))
    );
    let warning = |row: usize| rows[row]["warnings"][0].as_str().unwrap();
    assert_eq!(warning(0), "the state file is damaged");
    assert!(warning(1).starts_with("the index entry is damaged"));
    assert_eq!(warning(2), "the session's state directory is gone");
    assert!(warning(3).ends_with("written by a newer harn (format 99)"));
    assert!(warning(4).ends_with("belongs to another tool"));
}

#[test]
fn a_session_whose_run_is_gone_crashed() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let state = state_dirs(&env)[0].join("state.json");
    let text = fs::read_to_string(&state).unwrap();
    overwrite(state, &text.replace("\"run\":null", "\"run\":\"r1\""));
    let rows = list(&env);
    assert_eq!(
        (&rows[0]["state"], &rows[0]["run"]),
        (&json!("crashed"), &json!("r1"))
    );
}

#[test]
fn a_log_of_a_gigabyte_costs_no_more_than_its_end() {
    let env = TestEnv::new();
    let session = Session::new(&env);
    session.quiet("SessionStart", &json!({"source": "startup"}));
    let log = state_dirs(&env)[0].join("events.ndjson");
    // A hole reads as zeros: one damaged line of a gigabyte.
    let file = fs::OpenOptions::new().write(true).open(log).unwrap();
    file.set_len(1 << 30).unwrap();
    let rows = list(&env);
    assert_eq!(rows[0]["state"], "open");
}

#[test]
fn an_owned_run_is_listed_while_it_lives() {
    let env = TestEnv::new();
    let run = env.harn(["run", "--name", "mine", "--", "demo"]);
    let mut pty = Pty::spawn(run, 50, 100);
    wait_until("the run's session", LIMIT, || {
        list(&env)
            .iter()
            .any(|row| row["state"] == "owned" && row["session"].is_string())
    });
    let row = &list(&env)[0];
    assert_eq!(
        (&row["name"], &row["adapter"]),
        (&json!("mine"), &json!("demo"))
    );
    assert!(row["branch"].is_string() && row["run"].is_string(), "{row}");
    pty.signal(Signal::SIGTERM);
    pty.wait_exit(LIMIT);
    assert!(list(&env).iter().all(|row| row["state"] != "owned"));
}

#[test]
fn a_narrow_terminal_shows_each_warning_whole_on_lines_that_fit() {
    let env = TestEnv::new();
    Session::new(&env).quiet("SessionStart", &json!({"source": "startup"}));
    overwrite(state_dirs(&env)[0].join("state.json"), "{");
    for cols in [80, 60, 40] {
        let mut pty = Pty::spawn(env.harn(["sessions"]), 24, cols);
        assert_eq!(pty.wait_exit(LIMIT), 0);
        let raw = String::from_utf8(pty.raw()).unwrap();
        let lines: Vec<&str> = raw.lines().collect();
        let [titles, row, .., last] = lines.as_slice() else {
            panic!("{raw}");
        };
        assert!(
            titles.starts_with("state") && row.starts_with("open"),
            "{raw}"
        );
        assert_eq!(*last, "  ! the state file is damaged");
        assert!(
            lines.iter().all(|line| line.chars().count() <= cols.into()),
            "{raw}"
        );
    }
}
