//! The control socket: whose it is, and what it refuses.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::desk::Desk;
use crate::demo::stage::wait_status;
use crate::run::hosted::LIMIT;
use crate::support::TestEnv;

fn socket(desk: &Desk) -> PathBuf {
    let dir = desk.env.runtime().join("harn");
    let mut entries = std::fs::read_dir(dir).unwrap();
    entries.next().unwrap().unwrap().path()
}

fn answer(desk: &Desk, request: &[u8]) -> Value {
    let mut stream = UnixStream::connect(socket(desk)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(request).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_socket_is_the_users_own() {
    let desk = Desk::started(TestEnv::new(), &[]);
    let path = socket(&desk);
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn what_is_no_request_is_an_error_and_types_nothing() {
    let desk = Desk::started(TestEnv::new(), &[]);
    let long = format!(
        "{{\"schema\":1,\"request\":\"compact\",\"focus\":\"{}\"}}\n",
        "x".repeat(9_000)
    );
    let requests: [(&[u8], &str); 8] = [
        (b"hello\n", "no such request"),
        (
            b"{\"schema\":1,\"request\":\"type\",\"text\":\"rm\"}\n",
            "no such request",
        ),
        (
            b"{\"schema\":2,\"request\":\"compact\"}\n",
            "schema 2 is not known",
        ),
        (
            b"{\"schema\":1,\"request\":\"compact\",\"text\":\"x\"}\n",
            "no such request",
        ),
        (
            b"{\"schema\":1,\"request\":\"compact\",\"focus\":\"a\\nb\"}\n",
            "the focus is one line",
        ),
        (b"\xff\xfe\n", "no such request"),
        (long.as_bytes(), "the request is longer than 4096 bytes"),
        // Nothing more comes, and the connection stays open.
        (b"{\"schema\":1,", "the request did not come in time"),
    ];
    for (request, why) in requests {
        let told = answer(&desk, request);
        let error = told["error"].as_str().unwrap();
        assert!(error.starts_with(why), "{error}");
    }
    let screen = desk.pty.screen();
    assert!(
        screen.lines().any(|line| line.trim_end() == "❯"),
        "{screen}"
    );
    assert_eq!(desk.managed(), [""; 0]);
}

#[test]
fn a_long_state_directory_has_no_socket_and_the_session_runs_all_the_same() {
    let mut env = TestEnv::new();
    env.set("XDG_RUNTIME_DIR", "/nonexistent");
    let long = env.root().join("x".repeat(90));
    std::fs::create_dir(&long).unwrap();
    env.set("HARN_STATE_DIR", long.to_str().unwrap());
    let desk = Desk::with(env, &[]);
    wait_status(&desk.env, "idle");
    assert!(
        String::from_utf8_lossy(&desk.pty.raw()).contains("longer than the 104 bytes"),
        "{}",
        desk.pty.screen()
    );
    let (code, document) = desk.compact(&[]);
    assert_eq!((code, &document["outcome"]), (3, &json!("refused")));
}
