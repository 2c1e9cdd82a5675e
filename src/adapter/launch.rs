//! What a harness's command line means, and how harn's hooks get into one run of it.
//!
//! Which way the hooks take is the adapter's own business; the user's files are never written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::gauge::Settings;
use super::manifest::{Manifest, Version, WiringKind};
use super::{claude_code, codex};

/// A run about to start.
#[expect(missing_debug_implementations, reason = "holds a closure")]
pub struct Request<'a> {
    pub manifest: &'a Manifest,
    /// Of the program itself; none: not known.
    pub version: Option<&'a Version>,
    /// The manifest's leading flags that the program lists in its help.
    pub leading_flags: &'a [String],
    /// As the user typed them.
    pub args: &'a [OsString],
    pub cwd: &'a Path,
    /// Where a generated file may be put.
    pub file: &'a Path,
    /// The hook's command line for `sh`, by native event; the same in every run.
    pub command: &'a dyn Fn(&str) -> String,
    /// The status-line bridge's command line for `sh`.
    pub status_line: &'a str,
    /// The settings around the run.
    pub settings: &'a Settings<'a>,
}

/// What to start instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    pub args: Vec<OsString>,
    /// Content of the generated file, if this harness needs one.
    pub file: Option<Vec<u8>>,
    /// The status line that the user passed, and that the bridge has replaced; empty: there is none, whatever the
    /// settings files hold.
    pub status_line: Option<String>,
    /// The run knows a key that submits and that only the composer knows.
    pub has_submit_key: bool,
}

/// Why a run cannot be wired. The run itself goes on as the user typed it.
#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    #[error("cannot read the settings {path}: {source}", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the settings passed are not valid JSON: {0}")]
    Json(serde_json::Error),
    #[error("{0} of the settings passed has an unexpected shape")]
    Shape(&'static str),
}

/// Whether this command line starts a session at all.
pub fn starts_session(manifest: &Manifest, args: &[OsString]) -> bool {
    let launch = &manifest.launch;
    let is_one_of =
        |arg: &OsString, words: &[String]| words.iter().any(|word| arg == word.as_str());
    if args
        .first()
        .is_some_and(|first| is_one_of(first, &launch.management))
    {
        return false;
    }
    !args
        .iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| is_one_of(arg, &launch.information_flags))
}

/// Whether this command line takes one turn and ends.
pub fn is_unattended(manifest: &Manifest, args: &[OsString]) -> bool {
    let words = &manifest.launch.unattended;
    args.first()
        .is_some_and(|first| words.iter().any(|word| first == word.as_str()))
}

/// Whether this command line leaves the leading flags their place.
pub fn takes_leading_flags(manifest: &Manifest, args: &[OsString]) -> bool {
    let excluded = &manifest.launch.leading_unless;
    let is_excluded = |arg: &OsString| {
        let arg = arg.to_str().unwrap_or_default();
        let flag = arg.split_once('=').map_or(arg, |(flag, _)| flag);
        excluded.iter().any(|it| it == flag)
    };
    !args.iter().take_while(|arg| *arg != "--").any(is_excluded)
}

/// The arguments behind the leading flags, without any hooks.
pub fn lead(leading_flags: &[String], args: &[OsString]) -> Vec<OsString> {
    let leading = leading_flags.iter().map(OsString::from);
    leading.chain(args.iter().cloned()).collect()
}

/// Wires harn's hooks into the run.
pub fn wire(request: &Request<'_>) -> Result<Wiring, WiringError> {
    match request.manifest.launch.wiring {
        WiringKind::SettingsFile => claude_code::wire(request),
        WiringKind::SessionFlags => codex::wire(request),
        WiringKind::None => Ok(Wiring {
            args: request.args.to_vec(),
            file: None,
            status_line: None,
            has_submit_key: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::registry;

    #[test]
    fn management_and_information_start_no_session() {
        let manifest = registry::load("claude-code").unwrap();
        let starts = |line: &str| {
            let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            starts_session(&manifest, &args)
        };
        let verdicts = [
            "mcp list",
            "--version",
            "-p hi -h",
            "",
            "-c",
            "fix the mcp",
            "-p -- --help",
        ]
        .map(|line| (line, starts(line)));
        assert_eq!(
            verdicts,
            [
                ("mcp list", false),
                ("--version", false),
                ("-p hi -h", false),
                ("", true),
                ("-c", true),
                ("fix the mcp", true),
                ("-p -- --help", true),
            ]
        );
    }

    #[test]
    fn resumed_and_unattended_runs_are_sessions_and_errands_are_not() {
        let manifest = registry::load("codex").unwrap();
        let starts = |line: &str| {
            let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            starts_session(&manifest, &args)
        };
        let sessions = ["", "exec hi", "e hi", "resume --last", "fork", "review"];
        assert_eq!(sessions.map(starts), [true; 6]);
        let errands = [
            "login",
            "mcp list",
            "app-server",
            "--version",
            "exec --help",
            "agents",
            "queue x",
        ];
        assert_eq!(errands.map(starts), [false; 7]);
    }

    #[test]
    fn leading_flags_stay_away_from_what_excludes_them() {
        let manifest = registry::load("codex").unwrap();
        let takes = |line: &str| {
            let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            takes_leading_flags(&manifest, &args)
        };
        let verdicts = [
            "",
            "exec hi",
            "-- --remote",
            "--remote unix://",
            "resume --remote=unix://x",
            "--no-daemon",
        ];
        assert_eq!(verdicts.map(takes), [true, true, true, false, false, false]);
    }
}
