//! How long the hook before a compaction and the one after it take as whole processes, beside `git status` in the same run:
//! `cargo bench --bench checkpoint`. The bound is 1.25 times git's time and 3 ms.

#[path = "support/scratch.rs"]
mod scratch;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use scratch::Scratch;
use support::timing::{Contestant, Prepare, millis, percentile, samples};

const SIZES: [usize; 2] = [5_000, 50_000];
const DIRTY: [usize; 3] = [0, 10, 1_000];
const ROUNDS: usize = 21;

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn main() -> Result<ExitCode> {
    println!(
        "{:>7} {:>6} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6}  bound",
        "files", "dirty", "true ms", "git ms", "pre ms", "post ms", "pre/g", "post/g"
    );
    let mut all_within = true;
    for files in SIZES {
        let scratch = Scratch::new(files)?;
        for dirty in DIRTY {
            scratch.dirty(dirty)?;
            all_within &= row(&scratch, files, dirty)?;
        }
    }
    Ok(if all_within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn row(scratch: &Scratch, files: usize, dirty: usize) -> Result<bool> {
    // Every measured hook belongs to an attempt of its own, announced and reported in turn.
    let home = tempfile::tempdir().context("making a home")?;
    let session = Session {
        home: home.path(),
        project: scratch.root(),
    };
    let plain = |name, command| Contestant {
        name,
        command,
        input: None,
        prepare: None,
    };
    let mut contestants = [
        plain("true", Command::new("true")),
        plain("git", scratch.status()),
        session.hook("pre", "PreCompact"),
        session.hook("post", "SessionStart"),
    ];
    let times = samples(&mut contestants, ROUNDS)?;
    let times: Vec<_> = times.iter().map(|it| percentile(it, 50)).collect();
    let times: Vec<f64> = times.into_iter().map(millis).collect();
    let [base, git, pre, post] = times.as_slice() else {
        return Ok(false);
    };
    let is_within = [pre, post].iter().all(|hook| **hook <= git * 1.25 + 3.0);
    let bound = if is_within { "met" } else { "MISSED" };
    println!(
        "{files:>7} {dirty:>6} {base:>9.1} {git:>9.1} {pre:>9.1} {post:>9.1} {:>6.2} {:>6.2}  {bound}",
        pre / git,
        post / git
    );
    Ok(is_within)
}

/// A session of its own for one row.
struct Session<'a> {
    home: &'a Path,
    project: &'a Path,
}

impl Session<'_> {
    fn hook(&self, name: &'static str, event: &'static str) -> Contestant {
        let payload = self.home.join(format!("{event}.json"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_harn"));
        command
            .args(["hook", "claude-code", event])
            .current_dir(self.project)
            .env("HOME", self.home)
            // The state stays out of the measured repository.
            .env("HARN_STATE_DIR", self.home.join("state"))
            .env_remove("HARN_RUN_ID");
        let prepare = self.next_payload(event, payload.clone());
        Contestant {
            name,
            command,
            input: Some(payload),
            prepare: Some(prepare),
        }
    }

    /// Names a new turn each time; the two hooks of a round name the same.
    fn next_payload(&self, event: &'static str, path: PathBuf) -> Prepare {
        let project = self.project.to_owned();
        let mut turn = 0;
        Box::new(move || {
            turn += 1;
            let document = serde_json::json!({
                "session_id": "bench",
                "cwd": project,
                "hook_event_name": event,
                "prompt_id": format!("t{turn}"),
                "trigger": "auto",
                "source": "compact",
            });
            write(&path, &document.to_string())
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "nobody else reads the scratch file"
)]
fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).context("writing the payload")
}
