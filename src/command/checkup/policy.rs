//! What an organisation's own settings say of hooks: no user's go before them.

use std::path::{Path, PathBuf};

use super::Findings;
use crate::adapter::site::{Policy, Site};
use crate::install::{self, Format};
use crate::store::foreign::Foreign;

/// Looks at the files of one harness that there are.
pub(super) fn look(site: Site, id: &str, found: &mut Findings) {
    for path in files(site.policy) {
        one(&path, site.policy, id, found);
    }
}

fn files(policy: Policy) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = policy.files.iter().map(PathBuf::from).collect();
    let entries = policy.folder.and_then(|it| std::fs::read_dir(it).ok());
    let names = entries.into_iter().flatten().flatten();
    let mut more: Vec<PathBuf> = names
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    more.sort();
    files.extend(more);
    files
}

fn one(path: &Path, policy: Policy, id: &str, found: &mut Findings) {
    let shown = path.display();
    let bytes = match Foreign::read(path, None) {
        Ok(file) => file.bytes,
        Err(error) => {
            let hint = "ask whoever manages this machine whether it restricts hooks";
            found.warn("policy", error.to_string(), hint);
            return;
        }
    };
    let Some(bytes) = bytes else { return };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let Some(bars) = (policy.bars)(path, text) else {
        let hint = "ask whoever manages this machine; what it says of hooks is unknown";
        found.warn("policy", format!("{id}: {shown} cannot be read"), hint);
        return;
    };
    let is_toml = path.extension().is_some_and(|it| it == "toml");
    let format = if is_toml { Format::Toml } else { Format::Json };
    let holds_ours = install::hooks_in(format, text, id).is_ok_and(|it| !it.is_empty());
    if bars.is_empty() || holds_ours {
        let what = if holds_ours {
            "it runs harn's hooks itself"
        } else {
            "it lets hooks run"
        };
        found.ok("policy", format!("{id}: {shown}: {what}"));
        return;
    }
    found.wrong(
        "policy",
        format!(
            "{id}: {shown}: {}: no hook of yours runs",
            bars.join(" and ")
        ),
        "have harn's hooks put into the managed settings, or go on without checkpoints and briefings",
    );
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::super::{Finding, Level};
    use super::*;
    use crate::adapter::site::site;
    use crate::event::HarnessId;

    /// What is found in one file of this name and text.
    fn told(id: &str, name: &str, text: &[u8]) -> Vec<(Level, String, bool)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        File::create_new(&path).unwrap().write_all(text).unwrap();
        let mut found = Findings::default();
        let policy = site(&HarnessId::new(id)).unwrap().policy;
        one(&path, policy, id, &mut found);
        let place = format!("{}/", dir.path().display());
        let bare = |it: &Finding| (it.level, it.what.replace(&place, ""), it.hint.is_some());
        found.0.iter().map(bare).collect()
    }

    #[test]
    fn managed_settings_that_bar_the_users_hooks_are_wrong_and_say_by_which_key() {
        let table: [(&str, &str, &[u8], Level, &str); 7] = [
            (
                "claude-code",
                "m.json",
                br#"{"allowManagedHooksOnly": true}"#,
                Level::Wrong,
                "claude-code: m.json: allowManagedHooksOnly: no hook of yours runs",
            ),
            (
                "claude-code",
                "m.json",
                b"\xEF\xBB\xBF{\"disableAllHooks\": true}",
                Level::Wrong,
                "claude-code: m.json: disableAllHooks: no hook of yours runs",
            ),
            (
                "claude-code",
                "m.json",
                br#"{"allowManagedHooksOnly": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "harn hook claude-code Stop"}]}]}}"#,
                Level::Ok,
                "claude-code: m.json: it runs harn's hooks itself",
            ),
            (
                "claude-code",
                "m.json",
                b"{}",
                Level::Ok,
                "claude-code: m.json: it lets hooks run",
            ),
            (
                "claude-code",
                "m.json",
                b"{,}",
                Level::Warn,
                "claude-code: m.json cannot be read",
            ),
            (
                "codex",
                "requirements.toml",
                b"allow_managed_hooks_only = true\n",
                Level::Wrong,
                "codex: requirements.toml: allow_managed_hooks_only: no hook of yours runs",
            ),
            (
                "codex",
                "requirements.toml",
                b"model = \"x\"\n",
                Level::Ok,
                "codex: requirements.toml: it lets hooks run",
            ),
        ];
        for (id, name, text, level, what) in table {
            let has_hint = level != Level::Ok;
            assert_eq!(told(id, name, text), [(level, what.to_owned(), has_hint)]);
        }
    }

    #[test]
    fn a_policy_that_is_not_there_says_nothing_and_one_that_is_no_file_is_told() {
        let policy = site(&HarnessId::new("codex")).unwrap().policy;
        let dir = tempfile::tempdir().unwrap();
        let mut found = Findings::default();
        one(&dir.path().join("none"), policy, "codex", &mut found);
        assert_eq!(found.0, []);
        one(dir.path(), policy, "codex", &mut found);
        let levels: Vec<Level> = found.0.iter().map(|it| it.level).collect();
        assert_eq!(levels, [Level::Warn]);
    }
}
