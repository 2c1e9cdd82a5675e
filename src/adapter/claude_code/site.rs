//! Where the client's settings files are.

use std::path::PathBuf;

use super::keys;
use crate::adapter::site::{Around, Scope, Sheets, Site, user_folder};

/// Comments and trailing commas make the client drop a settings file without a word; a byte order mark does not (measured
/// on 2.1.197).
pub(in crate::adapter) const SITE: Site = Site {
    sheets,
    has_status_line: true,
    keys: key_bindings,
    takes_byte_order_mark: true,
    off_key: Some("disableAllHooks"),
};

fn sheets(scope: Scope, around: &Around<'_>) -> Option<Sheets> {
    let json = match scope {
        Scope::User => user_folder(around, "CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
        Scope::Project => around.project.join(".claude/settings.json"),
        Scope::Local => around.project.join(".claude/settings.local.json"),
    };
    Some(Sheets { json, toml: None })
}

fn key_bindings(around: &Around<'_>) -> Option<PathBuf> {
    keys::file(around.var)
}
