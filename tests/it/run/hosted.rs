//! What these tests share: a hosted shell script, and waiting for what no descriptor tells of.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::support::{Pty, TestEnv};

/// Far beyond any sound run.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A terminal with `harn run -- sh -c <script>` in it.
pub(super) fn hosted(env: &TestEnv, script: &str) -> Pty {
    Pty::spawn(hosting(env, script), 24, 80)
}

pub(super) fn hosting(env: &TestEnv, script: &str) -> Command {
    env.harn(["run", "--overlay", "off", "--", "/bin/sh", "-c", script])
}

/// The number after `key:` on the screen, once it is there.
pub(super) fn number(pty: &Pty, key: &str) -> i32 {
    let find = |screen: &str| -> Option<i32> {
        let (_, rest) = screen.split_once(&format!("{key}:"))?;
        let (digits, _) = rest.split_once(';')?;
        digits.parse().ok()
    };
    pty.wait_for(&format!("{key}:<number>;"), LIMIT, |screen| {
        find(screen).is_some()
    });
    find(&pty.screen()).unwrap()
}

/// Waits for what no descriptor tells of.
#[expect(
    clippy::disallowed_methods,
    reason = "the limits of a test are real time"
)]
pub(crate) fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {limit:?}");
        thread::park_timeout(Duration::from_millis(2));
    }
}

pub(crate) fn is_gone(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)
}

pub(crate) fn content(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}
