//! The demo's own directory: a scratch repository and a home, gone when the demo is gone.
//!
//! Lies in the temporary directory as `harn-demo-<pid>-<start time>` (0700). A demo that was killed leaves it; the next one
//! sees from the name that its process is dead, and sweeps it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::process::{self, Process};
use crate::repo;

const PREFIX: &str = "harn-demo-";

/// The greeter, as the story finds it.
const FILES: [(&str, &str); 3] = [
    ("README.md", "# Greeter\n\n    sh greeter.sh you\n"),
    ("VERSION", "1.4.2\n"),
    (
        "greeter.sh",
        "#!/bin/sh\n# Says hello.\nprintf 'Hello, %s.\\n' \"${1:-world}\"\n",
    ),
];

#[derive(Debug)]
pub(super) struct Scratch {
    root: PathBuf,
    keep: bool,
    transcript: Option<File>,
    pub(super) has_repository: bool,
}

impl Scratch {
    pub(super) fn create(keep: bool) -> io::Result<Self> {
        let own = process::own().ok_or_else(|| io::Error::other("cannot tell the own process"))?;
        let base = std::env::temp_dir().canonicalize()?;
        let root = base.join(format!("{PREFIX}{}-{}", own.pid, own.started));
        DirBuilder::new().mode(0o700).create(&root)?;
        let mut scratch = Self {
            root,
            keep,
            transcript: None,
            has_repository: false,
        };
        for dir in [scratch.project(), scratch.sessions(), scratch.transcripts()] {
            DirBuilder::new().mode(0o700).recursive(true).create(dir)?;
        }
        for (name, text) in FILES {
            scratch.write(name, text)?;
        }
        match repo::create(&scratch.project(), &FILES, "The greeter") {
            Ok(()) => scratch.has_repository = true,
            Err(error) => tracing::warn!(reason = error.reason(), "no scratch repository"),
        }
        Ok(scratch)
    }

    pub(super) fn is_kept(&self) -> bool {
        self.keep
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.join("greeter")
    }

    fn sessions(&self) -> PathBuf {
        self.root.join("home/sessions")
    }

    fn transcripts(&self) -> PathBuf {
        self.root.join("home/projects/greeter")
    }

    pub(super) fn transcript(&self, session: &str) -> PathBuf {
        self.transcripts().join(format!("{session}.jsonl"))
    }

    /// Writes a file of the scratch repository.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = File::create(self.project().join(name))?;
        file.write_all(text.as_bytes())
    }

    /// Replaces the status file.
    pub(super) fn write_status(&self, status: &serde_json::Value) -> io::Result<()> {
        let path = self.sessions().join(format!("{}.json", std::process::id()));
        let temporary = path.with_extension("tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(status.to_string().as_bytes())?;
        fs::rename(temporary, path)
    }

    /// Appends lines to the transcript in one write.
    pub(super) fn append(&mut self, session: &str, lines: &[serde_json::Value]) -> io::Result<()> {
        let path = self.transcript(session);
        let file = match &mut self.transcript {
            Some(file) => file,
            None => self.transcript.insert(
                OpenOptions::new()
                    .append(true)
                    .create(true)
                    .mode(0o600)
                    .open(path)?,
            ),
        };
        let mut text = String::new();
        for line in lines {
            text.extend([line.to_string().as_str(), "\n"]);
        }
        file.write_all(text.as_bytes())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
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

/// Removes what demos left that were killed.
pub(super) fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(owner) else {
            continue;
        };
        let is_ours = fs::symlink_metadata(entry.path())
            .is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
        if is_ours && !process::is_alive(owner) {
            remove(&entry.path());
        }
    }
}

/// The process that a scratch directory was made by.
fn owner(name: &str) -> Option<Process> {
    let (pid, started) = name.strip_prefix(PREFIX)?.split_once('-')?;
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
        assert_eq!(owner("harn-demo-7-42"), Some(process));
        for other in [
            "harn-demo-7",
            "harn-demo-x-1",
            "harn-it-7-42",
            "harn-demo--",
        ] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
