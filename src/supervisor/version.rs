//! The version of an installed client, asked once per program file.
//!
//! `--version` takes a client a tenth of a second or more; the answer is kept by path, modification time and size.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

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
const POLL: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    modified_ns: i128,
    size: u64,
    printed: String,
}

/// What the program says its version is; `None` when it does not say.
pub fn of(layout: &Layout, program: &Path) -> Option<Version> {
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
    if let Some(known) = cache.get(&key)
        && (known.modified_ns, known.size) == (modified_ns, meta.size())
    {
        return Version::find_in(&known.printed);
    }
    let printed = ask(program)?;
    let version = Version::find_in(&printed);
    cache.insert(
        key,
        Known {
            modified_ns,
            size: meta.size(),
            printed,
        },
    );
    if let Err(error) = dir.and_then(|dir| write(&dir, &cache)) {
        tracing::debug!(%error, "the client's version is not kept");
    }
    version
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
            source: std::io::Error::other(error),
        }),
    }
}

/// Runs `program --version` without a terminal and with a limit.
fn ask(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
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
    let mut printed = String::new();
    let mut stdout = child.stdout.take()?.take(4096);
    stdout.read_to_string(&mut printed).ok()?;
    status.success().then_some(printed)
}
