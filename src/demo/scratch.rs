//! The demo's own directory: a scratch repository and a home, gone when the demo is gone.
//!
//! What a demo that was killed has left, the next one sweeps.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use crate::repo;
use crate::scratch;

const KIND: &str = "demo";

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
    room: scratch::Scratch,
    transcript: Option<File>,
    pub(super) has_repository: bool,
}

impl Scratch {
    pub(super) fn create(keep: bool) -> io::Result<Self> {
        let mut scratch = Self {
            room: scratch::Scratch::create(KIND, keep)?,
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
        self.room.is_kept()
    }

    pub(super) fn project(&self) -> PathBuf {
        self.room.root().join("greeter")
    }

    fn sessions(&self) -> PathBuf {
        self.room.root().join("home/sessions")
    }

    fn transcripts(&self) -> PathBuf {
        self.room.root().join("home/projects/greeter")
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

/// Removes what demos left that were killed.
pub(super) fn sweep() {
    scratch::sweep(KIND);
}
