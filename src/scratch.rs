//! A directory that goes with its process.
//!
//! Lies in the temporary directory as `harn-<kind>-<pid>-<start time>` (0700). A process that was killed leaves it; the next
//! one of its kind sees from the name that it is dead, and sweeps it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::process::{self, Process};

/// Removed when it is dropped, unless it is to be kept.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    is_kept: bool,
}

impl Scratch {
    pub fn create(kind: &str, is_kept: bool) -> io::Result<Self> {
        let own = process::own().ok_or_else(|| io::Error::other("cannot tell the own process"))?;
        let base = std::env::temp_dir().canonicalize()?;
        let root = base.join(format!("{}{}-{}", prefix(kind), own.pid, own.started));
        DirBuilder::new().mode(0o700).create(&root)?;
        Ok(Self { root, is_kept })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn is_kept(&self) -> bool {
        self.is_kept
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_kept {
            remove(&self.root);
        }
    }
}

/// Something may still write there (a hook that was cut off): a second try takes that along.
fn remove(root: &Path) {
    if fs::remove_dir_all(root).is_err()
        && let Err(error) = fs::remove_dir_all(root)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, root = %root.display(), "the scratch directory stays");
    }
}

/// Removes what processes left that were killed.
pub fn sweep(kind: &str) {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|name| owner(kind, name)) else {
            continue;
        };
        let is_ours = fs::symlink_metadata(entry.path())
            .is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
        if is_ours && !process::is_alive(owner) {
            remove(&entry.path());
        }
    }
}

fn prefix(kind: &str) -> String {
    format!("harn-{kind}-")
}

/// The process that a scratch directory was made by.
fn owner(kind: &str, name: &str) -> Option<Process> {
    let (pid, started) = name.strip_prefix(&prefix(kind))?.split_once('-')?;
    Some(Process {
        pid: pid.parse().ok()?,
        started: started.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_process_and_other_names_tell_none() {
        let process = Process {
            pid: 7,
            started: 42,
        };
        assert_eq!(owner("demo", "harn-demo-7-42"), Some(process));
        for other in [
            "harn-demo-7",
            "harn-demo-x-1",
            "harn-it-7-42",
            "harn-demo--",
        ] {
            assert_eq!(owner("demo", other), None, "{other}");
        }
    }
}
