//! Where the client's settings files are.

use std::path::PathBuf;

use crate::adapter::site::{Around, Scope, Sheets, Site, user_folder};

/// The client warns at every start of a folder that has hooks in both files, and drops a `hooks.json` that is not plain
/// JSON from its first byte to its last (measured on 0.171.0).
pub(in crate::adapter) const SITE: Site = Site {
    sheets,
    has_status_line: false,
    keys: no_keys,
    takes_byte_order_mark: false,
    off_key: None,
};

fn sheets(scope: Scope, around: &Around<'_>) -> Option<Sheets> {
    let folder = match scope {
        Scope::User => user_folder(around, "CODEX_HOME", ".codex")?,
        Scope::Project => around.project.join(".codex"),
        Scope::Local => return None,
    };
    Some(Sheets {
        json: folder.join("hooks.json"),
        toml: Some(folder.join("config.toml")),
    })
}

/// Its submit key is a flag of the run.
fn no_keys(_: &Around<'_>) -> Option<PathBuf> {
    None
}
