//! Reads what harn keeps of a session in the project, and walks what lies on the machine.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::support::TestEnv;

/// Where harn keeps this session in the project.
fn context(env: &TestEnv, session: &str) -> PathBuf {
    let hash = Bytes::copy_from_slice(&Sha256::digest(session.as_bytes()));
    let key: String = format!("{hash:x}").chars().take(24).collect();
    env.project().join(".harnery/context").join(key)
}

/// The session's capsules, by file name.
pub(crate) fn capsules(env: &TestEnv, session: &str) -> Vec<(String, Value)> {
    let Ok(dir) = fs::read_dir(context(env, session).join("capsules")) else {
        return Vec::new();
    };
    let mut found: Vec<_> = dir
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (
                name,
                serde_json::from_slice(&fs::read(&path).unwrap()).unwrap(),
            )
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// The canonical events of a session.
pub(crate) fn events(env: &TestEnv, session: &str) -> Vec<Value> {
    lines(&context(env, session).join("events.ndjson"))
}

/// The whole lines of a file that may still be written to.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Visits each regular file below a folder.
pub(crate) fn walk(dir: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            walk(&entry.path(), visit);
        } else if kind.is_file() {
            visit(&entry.path());
        }
    }
}
