//! Finds the pinned clients.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Set to `required`, a missing client is a failure.
const REQUIRED: (&str, &str) = ("HARN_REAL_CLIENTS", "required");

/// Set to a folder with other versions in its `node_modules`, these are driven instead of the pinned ones.
const ELSEWHERE: &str = "HARN_REAL_CLIENTS_DIR";

fn packages() -> PathBuf {
    let pinned = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real");
    let home = std::env::var_os(ELSEWHERE).map_or_else(pinned, PathBuf::from);
    home.join("node_modules")
}

/// The folder of the programs.
pub(crate) fn bin_dir() -> PathBuf {
    packages().join(".bin")
}

/// The named client, or `None` after a line on stderr that says which test is skipped.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = bin_dir().join(name);
    if path.exists() {
        return Some(path);
    }
    let is_required = std::env::var_os(REQUIRED.0).as_deref() == Some(OsStr::new(REQUIRED.1));
    assert!(
        !is_required,
        "{} is missing; run `npm ci` in tests/real",
        path.display()
    );
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Written straight to the descriptor: the harness of the tests hides what a passing test prints.
    writeln!(
        std::io::stderr(),
        "skipped {test}: no {name} (`npm ci` in tests/real brings it)"
    )
    .unwrap();
    None
}

/// The program that npm's `codex` runs.
pub(crate) fn native_codex() -> PathBuf {
    let packages = packages().join("@openai");
    let below = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let vendors = below(&packages).into_iter().map(|it| it.join("vendor"));
    let targets = vendors.flat_map(|vendor| below(&vendor));
    let mut programs = targets.map(|target| target.join("bin/codex"));
    programs
        .find(|program| program.is_file())
        .expect("the native client beside npm's launcher")
}
