//! The user's own state directory, and the rooms in it.
//!
//! The base (`XDG_STATE_HOME`, or the directory that `HARN_STATE_DIR` names) is the user's choice, links and all; every step
//! below it is taken without following one.

use std::path::Path;

use super::dir::{Dir, DirError};
use super::layout::{Layout, project_key};

pub const INDEX: &str = "index";
pub const RUNS: &str = "runs";
pub const LOG: &str = "log";
/// Control sockets, where there is no runtime directory.
pub const SOCKETS: &str = "sock";
const PROJECTS: &str = "projects";
/// harn's directory below `XDG_STATE_HOME`.
const OWN: &str = "harn";

/// Opens the state directory, making it where it is missing.
pub fn ensure(layout: &Layout) -> Result<Dir, DirError> {
    let base = Dir::ensure_trusted(&layout.base)?;
    if layout.gathered {
        Ok(base)
    } else {
        base.ensure(OWN)
    }
}

/// Opens the state directory if there is one.
pub fn open(layout: &Layout) -> Result<Option<Dir>, DirError> {
    let base = Dir::open_trusted(&layout.base);
    existing(if layout.gathered {
        base
    } else {
        base.and_then(|base| base.child(OWN))
    })
}

/// One room of the state directory, made where it is missing.
pub fn ensure_room(layout: &Layout, room: &str) -> Result<Dir, DirError> {
    ensure(layout)?.ensure(room)
}

/// One room of the state directory if there is one.
pub fn open_room(layout: &Layout, room: &str) -> Result<Option<Dir>, DirError> {
    match open(layout)? {
        Some(home) => existing(home.child(room)),
        None => Ok(None),
    }
}

/// Holds `context/` of a project that keeps its state with the user.
pub fn ensure_project(layout: &Layout, project: &Path) -> Result<Dir, DirError> {
    let home = ensure(layout)?;
    if layout.gathered {
        return Ok(home);
    }
    home.ensure(PROJECTS)?.ensure(&project_key(project))
}

/// `ensure_project`, making nothing.
pub fn open_project(layout: &Layout, project: &Path) -> Result<Dir, DirError> {
    let base = Dir::open_trusted(&layout.base)?;
    if layout.gathered {
        return Ok(base);
    }
    base.child(OWN)?
        .child(PROJECTS)?
        .child(&project_key(project))
}

fn existing(opened: Result<Dir, DirError>) -> Result<Option<Dir>, DirError> {
    match opened {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
