//! The version of an installed client and the flags it knows, asked once per program file.
//!
//! `--version` takes a client a tenth of a second or more; the answers are kept by path, modification time and size.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use serde::{Deserialize, Serialize};

use crate::adapter::manifest::Version;
use crate::store::dir::{Dir, DirError, Durability};
use crate::store::format::{self, Read};
use crate::store::home;
use crate::store::layout::Layout;

const CACHE_FILE: &str = "versions.json";
const LIMIT_BYTES: u64 = 256 * 1024;
/// A client that takes longer is taken for one of unknown version.
const PATIENCE: Duration = Duration::from_secs(5);
const PRINTED_LIMIT_BYTES: u64 = 32 * 1024;
const POLL: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    modified_ns: i128,
    size: u64,
    printed: Option<String>,
    /// The long flags that its help lists; none: not asked yet.
    #[serde(default)]
    flags: Option<Vec<String>>,
}

/// What the program says its version is; `None` when it does not say.
pub fn of(layout: &Layout, program: &Path) -> Option<Version> {
    let known = known(layout, program, |known| {
        let is_news = known.printed.is_none();
        if is_news {
            known.printed = ask(program, "--version");
        }
        is_news && known.printed.is_some()
    })?;
    Version::find_in(&known.printed?)
}

/// The long flags that the program's help lists; none when it does not tell.
pub fn flags(layout: &Layout, program: &Path) -> Vec<String> {
    let known = known(layout, program, |known| {
        let is_news = known.flags.is_none();
        if is_news {
            known.flags = ask(program, "--help").map(|help| flags_in(&help));
        }
        is_news && known.flags.is_some()
    });
    known.and_then(|known| known.flags).unwrap_or_default()
}

fn flags_in(help: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words = help.split(|c: char| !is_part(c));
    let mut flags: Vec<String> = words
        .filter(|word| word.len() > 2 && word.starts_with("--"))
        .map(str::to_owned)
        .collect();
    flags.sort();
    flags.dedup();
    flags
}

/// What is kept of this very file, after `learn` has filled in what it wants of it and said whether that is news.
fn known(layout: &Layout, program: &Path, learn: impl FnOnce(&mut Known) -> bool) -> Option<Known> {
    let real = program.canonicalize().ok()?;
    let meta = real.metadata().ok()?;
    let modified_ns = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    let key = real.to_string_lossy().into_owned();
    let dir = home::ensure(layout);
    let mut cache = dir
        .as_ref()
        .ok()
        .and_then(|dir| read(dir).ok())
        .unwrap_or_default();
    let kept = cache
        .remove(&key)
        .filter(|known| (known.modified_ns, known.size) == (modified_ns, meta.size()));
    let mut known = kept.unwrap_or(Known {
        modified_ns,
        size: meta.size(),
        printed: None,
        flags: None,
    });
    if learn(&mut known) {
        cache.insert(key, known.clone());
        if let Err(error) = dir.and_then(|dir| write(&dir, &cache)) {
            tracing::debug!(%error, "what the client told of itself is not kept");
        }
    }
    Some(known)
}

fn read(dir: &Dir) -> Result<BTreeMap<String, Known>, DirError> {
    let bytes = dir.read(CACHE_FILE, LIMIT_BYTES)?.unwrap_or_default();
    Ok(match format::VERSIONS.read(&bytes) {
        Read::Ours(cache) => cache,
        Read::Foreign | Read::Newer(_) | Read::Damaged(_) => BTreeMap::new(),
    })
}

fn write(dir: &Dir, cache: &BTreeMap<String, Known>) -> Result<(), DirError> {
    match format::VERSIONS.write(cache) {
        Ok(bytes) => dir.replace(CACHE_FILE, &bytes, Durability::Atomic),
        Err(error) => Err(DirError::Io {
            what: "write",
            path: dir.path().join(CACHE_FILE),
            source: io::Error::other(error),
        }),
    }
}

/// Runs `program <flag>` without a terminal and with a limit; what it prints stays below a pipe's capacity.
fn ask(program: &Path, flag: &str) -> Option<String> {
    let mut child = Command::new(program)
        .arg(flag)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut waited = Duration::ZERO;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if waited < PATIENCE => {
                std::thread::sleep(POLL);
                waited += POLL;
            }
            Ok(None) | Err(_) => {
                if let Err(error) = child.kill().and_then(|()| child.wait().map(drop)) {
                    tracing::debug!(%error, "a client that did not tell its version goes on");
                }
                return None;
            }
        }
    };
    status.success().then(|| printed(child.stdout.take()?))?
}

/// What was printed until now; something that the client has left behind may hold the pipe for as long as it likes.
fn printed(stdout: ChildStdout) -> Option<String> {
    fcntl(&stdout, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
    let mut bytes = Vec::new();
    match stdout.take(PRINTED_LIMIT_BYTES).read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => None,
        Ok(_) | Err(_) => String::from_utf8(bytes).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_a_client_leaves_behind_does_not_hold_its_answer_up() {
        let dir = tempfile::tempdir().unwrap();
        let (client, gate) = (dir.path().join("client"), dir.path().join("gate"));
        // Its child keeps the pipe until the answer was taken; without that it speaks up in the end.
        let script = format!(
            "(for i in $(seq 500); do test -e {} && exit; sleep 0.01; done; echo late) &\necho 1.2.3\n",
            gate.display()
        );
        let mut file = File::create_new(&client).unwrap();
        file.write_all(script.as_bytes()).unwrap();
        let answer = ask(Path::new("/bin/sh"), client.to_str().unwrap());
        assert_eq!(answer.as_deref(), Some("1.2.3\n"));
        File::create_new(&gate).unwrap();
    }

    #[test]
    fn flags_are_the_long_words_of_a_help() {
        let help = "Options:\n  -c, --config <key=value>\n      see `--enable`.\n  -- --no-daemon\n --config=x";
        assert_eq!(flags_in(help), ["--config", "--enable", "--no-daemon"]);
    }
}
