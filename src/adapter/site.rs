//! Where a harness keeps its user's settings, and what of harn can be put into them.
//!
//! Pure. What differs between harnesses lies in their own files; this one finds them by id.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{claude_code, codex};
use crate::event::HarnessId;

/// For whom settings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user, everywhere.
    User,
    /// Everybody in a project.
    Project,
    /// The user, in a project.
    Local,
}

/// Where to look.
#[expect(missing_debug_implementations, reason = "holds a closure")]
pub struct Around<'a> {
    pub var: &'a dyn Fn(&str) -> Option<OsString>,
    pub project: &'a Path,
}

/// The files of one scope that can hold hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheets {
    pub json: PathBuf,
    /// Read beside it; where this one has hooks already, the client wants all of them here.
    pub toml: Option<PathBuf>,
}

/// What can be put where.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// None: there is no such scope.
    pub sheets: fn(Scope, &Around<'_>) -> Option<Sheets>,
    /// The JSON settings can name a status line.
    pub has_status_line: bool,
    /// The file of key bindings, where keys can be bound to compact and submit.
    pub keys: fn(&Around<'_>) -> Option<PathBuf>,
    /// The client reads JSON behind a byte order mark.
    pub takes_byte_order_mark: bool,
    /// The key of the settings that turns all hooks off.
    pub off_key: Option<&'static str>,
    /// The switch of its TOML settings without which no hook runs: a table and a key.
    pub toml_switch: Option<(&'static str, &'static str)>,
    pub policy: Policy,
}

/// What an organisation says, before all of the user's own settings.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub files: &'static [&'static str],
    /// A folder of more of them, in JSON.
    pub folder: Option<&'static str>,
    /// The keys in the text of such a file by which hooks of the user's do not run; none: it cannot be read.
    pub bars: fn(&Path, &str) -> Option<Vec<&'static str>>,
}

/// The settings of a harness; none where harn has nothing that could be put there.
pub fn site(id: &HarnessId) -> Option<Site> {
    match id.as_str() {
        "claude-code" => Some(claude_code::SITE),
        "codex" => Some(codex::SITE),
        _ => None,
    }
}

/// A folder of the user's: what the variable names, else below their home.
pub(super) fn user_folder(around: &Around<'_>, variable: &str, below: &str) -> Option<PathBuf> {
    let given = (around.var)(variable)
        .filter(|it| !it.is_empty())
        .map(PathBuf::from);
    given.or_else(|| (around.var)("HOME").map(|home| PathBuf::from(home).join(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_has_its_file() {
        let vars = |name: &str| match name {
            "HOME" => Some(OsString::from("/h")),
            _ => None,
        };
        let around = Around {
            var: &vars,
            project: Path::new("/p"),
        };
        let files = |id: &str| {
            let site = site(&HarnessId::new(id)).unwrap();
            [Scope::User, Scope::Project, Scope::Local].map(|scope| {
                (site.sheets)(scope, &around).map(|sheets| sheets.json.display().to_string())
            })
        };
        let some = |path: &str| Some(path.to_owned());
        assert_eq!(
            files("claude-code"),
            [
                some("/h/.claude/settings.json"),
                some("/p/.claude/settings.json"),
                some("/p/.claude/settings.local.json")
            ]
        );
        assert_eq!(
            files("codex"),
            [
                some("/h/.codex/hooks.json"),
                some("/p/.codex/hooks.json"),
                None
            ]
        );
    }
}
