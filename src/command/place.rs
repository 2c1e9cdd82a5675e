//! The surroundings of a command: environment, layout, config, and which project a directory belongs to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::adapter::Manifest;
use crate::config::{Config, ConfigError, StateHome};
use crate::event::{RunId, SessionId};
use crate::repo;
use crate::store::Layout;
use crate::store::layout::{NoHome, PROJECT_DIR};

pub(super) const RUN_ID: &str = "HARN_RUN_ID";
pub(super) const DISABLE: &str = "HARN_DISABLE";
pub(super) const DEPTH: &str = "HARN_DEPTH";
pub(super) const LOG: &str = "HARN_LOG";

/// A variable that is set to something.
pub(super) fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// `HARN_DISABLE=1`: hooks are silent, `run` is a plain host.
pub(super) fn is_disabled() -> bool {
    var(DISABLE).is_some_and(|value| value == "1")
}

pub(super) fn layout() -> Result<Layout, NoHome> {
    Layout::from_env(var)
}

/// The run this process says it is in; a hint, see `supervisor::ownership`.
pub(super) fn run_hint() -> Option<RunId> {
    var(RUN_ID)?.into_string().ok().map(RunId::new)
}

/// Why the config cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableConfig {
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} is not valid: {source}", path = path.display())]
    Parse { path: PathBuf, source: ConfigError },
}

/// The user's config; the defaults where there is no file.
pub(super) fn config(layout: &Layout) -> Result<Config, UnusableConfig> {
    let path = layout.config.clone();
    // A FIFO in its place would hold its reader up for ever.
    if std::fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        let source = std::io::Error::other("not a regular file");
        return Err(UnusableConfig::Read { path, source });
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => Config::parse(&text).map_err(|source| UnusableConfig::Parse { path, source }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
        Err(source) => Err(UnusableConfig::Read { path, source }),
    }
}

/// The config for those who must go on whatever it holds.
pub(super) fn config_or_default(layout: &Layout) -> Config {
    config(layout).unwrap_or_else(|error| {
        tracing::warn!(%error, "going on with the default config");
        Config::default()
    })
}

pub(super) fn keeps_state_with_user(config: &Config) -> bool {
    config.state == StateHome::User
}

/// The project of a session that stands in `cwd`: what the harness says, else the worktree, else the directory.
pub(super) fn project_of(manifest: &Manifest, cwd: &Path) -> PathBuf {
    manifest
        .environment
        .project
        .iter()
        .filter_map(|name| var(name).map(PathBuf::from))
        .find(|path| path.is_absolute() && path.is_dir())
        .unwrap_or_else(|| project_at(cwd))
}

pub(super) fn project_at(cwd: &Path) -> PathBuf {
    repo::worktree_root(cwd).unwrap_or_else(|| cwd.to_owned())
}

/// A session id that the harness put into this process's environment.
pub(super) fn session_hint(manifest: &Manifest) -> Option<SessionId> {
    manifest
        .environment
        .session
        .iter()
        .find_map(|name| var(name)?.into_string().ok())
        .map(SessionId::new)
}

/// Whether harn's directory is in the project's index; unknown counts as not.
pub(super) fn is_tracked(project: &Path) -> bool {
    repo::is_tracked(project, Path::new(PROJECT_DIR)).unwrap_or_else(|error| {
        tracing::debug!(%error, "cannot tell whether harn's directory is tracked");
        false
    })
}
