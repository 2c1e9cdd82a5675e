//! Where the client's settings files are.

use std::path::{Path, PathBuf};

use super::keys;
use crate::adapter::site::{Around, Policy, Scope, Sheets, Site, user_folder};

/// Where an organisation puts settings that no user's go before.
pub(super) const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};
const MANAGED_FOLDER: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.d"
} else {
    "/etc/claude-code/managed-settings.d"
};
const OFF_KEY: &str = "disableAllHooks";
/// Only hooks of the organisation's run.
const MANAGED_ONLY_KEY: &str = "allowManagedHooksOnly";
/// On, or a list of what only plugins may bring.
const PLUGINS_ONLY_KEY: &str = "strictPluginOnlyCustomization";

/// Comments and trailing commas make the client drop a settings file without a word; a byte order mark does not (measured
/// on 2.1.197).
pub(in crate::adapter) const SITE: Site = Site {
    sheets,
    has_status_line: true,
    keys: key_bindings,
    takes_byte_order_mark: true,
    off_key: Some(OFF_KEY),
    toml_switch: None,
    policy: Policy {
        files: &[MANAGED],
        folder: Some(MANAGED_FOLDER),
        bars,
    },
};

/// Each was seen to keep every hook of the user's from running (measured on 2.1.197, in both places).
fn bars(_: &Path, text: &str) -> Option<Vec<&'static str>> {
    let settings: serde_json::Value = serde_json::from_str(text).ok()?;
    let is_on = |key: &str| settings.get(key) == Some(&true.into());
    let lists_hooks = settings
        .get(PLUGINS_ONLY_KEY)
        .and_then(serde_json::Value::as_array)
        .is_some_and(|surfaces| surfaces.contains(&"hooks".into()));
    let mut found: Vec<&'static str> = [OFF_KEY, MANAGED_ONLY_KEY, PLUGINS_ONLY_KEY]
        .into_iter()
        .filter(|key| is_on(key))
        .collect();
    found.extend(lists_hooks.then_some(PLUGINS_ONLY_KEY));
    Some(found)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_the_users_hooks_from_running_is_named() {
        let table: [(&str, Option<&[&str]>); 7] = [
            ("{}", Some(&[])),
            (
                r#"{"allowManagedHooksOnly": false, "disableAllHooks": "true"}"#,
                Some(&[]),
            ),
            (
                r#"{"allowManagedHooksOnly": true}"#,
                Some(&[MANAGED_ONLY_KEY]),
            ),
            (
                r#"{"disableAllHooks": true, "allowManagedHooksOnly": true}"#,
                Some(&[OFF_KEY, MANAGED_ONLY_KEY]),
            ),
            (
                r#"{"strictPluginOnlyCustomization": true}"#,
                Some(&[PLUGINS_ONLY_KEY]),
            ),
            (
                r#"{"strictPluginOnlyCustomization": ["skills", "hooks"]}"#,
                Some(&[PLUGINS_ONLY_KEY]),
            ),
            ("{,}", None),
        ];
        for (text, expected) in table {
            assert_eq!(
                bars(Path::new(MANAGED), text).as_deref(),
                expected,
                "{text}"
            );
        }
        assert_eq!(
            bars(
                Path::new(MANAGED),
                r#"{"strictPluginOnlyCustomization": ["skills"]}"#
            ),
            Some(Vec::new())
        );
    }
}
