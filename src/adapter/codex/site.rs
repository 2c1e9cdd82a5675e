//! Where the client's settings files are.

use std::path::{Path, PathBuf};

use crate::adapter::site::{Around, Policy, Scope, Sheets, Site, user_folder};

/// The client warns at every start of a folder that has hooks in both files, and drops a `hooks.json` that is not plain
/// JSON from its first byte to its last (measured on 0.171.0).
pub(in crate::adapter) const SITE: Site = Site {
    sheets,
    has_status_line: false,
    keys: no_keys,
    takes_byte_order_mark: false,
    off_key: None,
    toml_switch: Some(("features", "hooks")),
    policy: Policy {
        files: &[
            "/etc/codex/requirements.toml",
            "/etc/codex/managed_config.toml",
        ],
        folder: None,
        bars,
    },
};

const MANAGED_ONLY_KEY: &str = "allow_managed_hooks_only";
/// The feature without which no hook runs.
const FEATURE: &str = "features.hooks";
const REQUIRED_FEATURE: &str = "feature_requirements.hooks";

/// The feature bars hooks in both files, the other keys in the requirements only (measured on 0.171.0).
fn bars(path: &Path, text: &str) -> Option<Vec<&'static str>> {
    let table: toml::Table = text.parse().ok()?;
    let is_requirement = path.ends_with("requirements.toml");
    let is_only = is_requirement && table.get(MANAGED_ONLY_KEY) == Some(&true.into());
    let is_off = |name: &str| {
        let features = table.get(name).and_then(toml::Value::as_table);
        features.and_then(|it| it.get("hooks")) == Some(&false.into())
    };
    let is_required_off = is_requirement && is_off("feature_requirements");
    let found = [
        (MANAGED_ONLY_KEY, is_only),
        (FEATURE, is_off("features")),
        (REQUIRED_FEATURE, is_required_off),
    ];
    Some(
        found
            .into_iter()
            .filter_map(|(key, is_so)| is_so.then_some(key))
            .collect(),
    )
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_the_users_hooks_from_running_is_named() {
        let table: [(&str, Option<&[&str]>); 6] = [
            ("", Some(&[])),
            (
                "allow_managed_hooks_only = false\n[features]\nhooks = true\n",
                Some(&[]),
            ),
            (
                "allow_managed_hooks_only = true\n",
                Some(&[MANAGED_ONLY_KEY]),
            ),
            ("[features]\nhooks = false\n", Some(&[FEATURE])),
            (
                "[feature_requirements]\nhooks = false\n",
                Some(&[REQUIRED_FEATURE]),
            ),
            ("[[", None),
        ];
        for (text, expected) in table {
            let told = bars(Path::new("/etc/codex/requirements.toml"), text);
            assert_eq!(told.as_deref(), expected, "{text}");
        }
        let managed = Path::new("/etc/codex/managed_config.toml");
        let both = "allow_managed_hooks_only = true\n[features]\nhooks = false\n";
        assert_eq!(bars(managed, both), Some(vec![FEATURE]));
    }
}
