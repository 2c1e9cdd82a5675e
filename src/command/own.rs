//! How others are to call this very binary.

use std::io;
use std::path::{Path, PathBuf};

/// harn's path, quoted for `sh`. The name on PATH is preferred where it is this very binary: it survives an upgrade.
pub(super) fn command() -> io::Result<String> {
    let own = std::env::current_exe()?;
    let path = on_path(&own).unwrap_or(own);
    let path = path.to_str().ok_or_else(|| {
        let text = "harn's own path is no text that could stand in settings";
        io::Error::new(io::ErrorKind::InvalidData, text)
    })?;
    let quoted = shlex::try_quote(path).map_err(io::Error::other)?;
    Ok(quoted.into_owned())
}

fn on_path(own: &Path) -> Option<PathBuf> {
    let found = which::which("harn").ok()?;
    let found = std::path::absolute(found).ok()?;
    match (found.canonicalize(), own.canonicalize()) {
        (Ok(theirs), Ok(ours)) if theirs == ours => Some(found),
        _ => None,
    }
}
