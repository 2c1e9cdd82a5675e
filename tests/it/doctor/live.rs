//! What `harn doctor` says of runs: those that live, and those that left something.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::{findings, of_check, only, quiet};
use crate::support::{Pty, TestEnv};

const LIMIT: Duration = Duration::from_secs(20);

/// A run of the built-in agent, at its prompt.
fn demo(env: &TestEnv, more: &[&str]) -> Pty {
    let args = [&["run"], more, &["--", "demo"]].concat();
    let pty = Pty::spawn(env.harn(args), 24, 80);
    pty.wait_text("demo");
    pty
}

fn socket(env: &TestEnv) -> PathBuf {
    let entries = fs::read_dir(env.runtime().join("harn")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths
        .find(|path| path.extension().is_some_and(|it| it == "sock"))
        .unwrap()
}

#[test]
fn a_socket_is_fine_only_where_somebody_listens() {
    let env = quiet();
    let mut pty = demo(&env, &[]);
    let (code, report) = findings(&env);
    let sockets = of_check(&report, "socket");
    assert_eq!(code, 0, "{report}");
    assert!(
        sockets[0].1.ends_with("takes requests") && sockets.len() == 1,
        "{sockets:?}"
    );

    let path = socket(&env);
    fs::remove_file(&path).unwrap();
    let (code, report) = findings(&env);
    let (check, what) = only(&report, "wrong");
    assert_eq!((code, check.as_str()), (1, "socket"));
    assert!(
        what.ends_with(&format!("{} is gone", path.display())),
        "{what}"
    );

    // Bound, and its listener gone: the file alone says nothing.
    drop(UnixListener::bind(&path).unwrap());
    let (code, report) = findings(&env);
    let (check, what) = only(&report, "wrong");
    assert_eq!((code, check.as_str()), (1, "socket"));
    assert!(
        what.contains(&format!("nobody listens at {}", path.display())),
        "{what}"
    );
    pty.signal(Signal::SIGTERM);
    pty.wait_exit(LIMIT);
}

#[test]
fn what_a_killed_run_left_is_a_warning() {
    let env = quiet();
    let mut pty = demo(&env, &[]);
    pty.signal(Signal::SIGKILL);
    pty.wait_exit(LIMIT);
    let installed = env.run(env.harn(["install", "claude-code"]), b"");
    assert_eq!(installed.code, 0, "{}", installed.err());
    let (code, report) = findings(&env);
    let what = "1 runs ended without cleaning up".to_owned();
    assert_eq!(only(&report, "warn"), ("runs".to_owned(), what));
    assert_eq!(code, 0);
}
