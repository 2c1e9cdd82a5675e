//! A generated repository of a given size, with a given number of edited files.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Files in one directory.
const PER_DIRECTORY: usize = 25;

pub(crate) struct Scratch {
    place: tempfile::TempDir,
    files: usize,
}

impl Scratch {
    pub(crate) fn new(files: usize) -> Result<Self> {
        let scratch = Self {
            place: tempfile::tempdir()?,
            files,
        };
        for number in 0..files {
            let text = format!("file {number}\n").repeat(20);
            write(&scratch.path(number), &text)?;
        }
        write(&scratch.root().join(".gitignore"), "*.log\n/build/\n")?;
        write(&scratch.root().join("build/out.o"), "ignored")?;
        scratch.git(&["init", "-q", "-b", "main"])?;
        scratch.git(&["add", "-A"])?;
        scratch.git(&[
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@example.org",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "-q",
            "-m",
            "generated",
        ])?;
        // git refreshes what is too young to be trusted, so that both start from a settled index.
        scratch.git(&["status", "--porcelain"])?;
        Ok(scratch)
    }

    pub(crate) fn root(&self) -> &Path {
        self.place.path()
    }

    /// Edits files spread over the whole tree until this many are dirty.
    pub(crate) fn dirty(&self, count: usize) -> Result<()> {
        for number in 0..count {
            let at = number * self.files / count.max(1);
            write(&self.path(at), &format!("edited {number}\n"))?;
        }
        Ok(())
    }

    pub(crate) fn status(&self) -> Command {
        let mut command = Command::new("git");
        command
            .args(["--no-optional-locks", "status", "--porcelain=v2", "-z"])
            .current_dir(self.root());
        command
    }

    fn path(&self, number: usize) -> PathBuf {
        let dir = number / PER_DIRECTORY;
        self.root()
            .join(format!("src/d{}/e{dir}/file{number}.rs", dir % 40))
    }

    fn git(&self, args: &[&str]) -> Result<()> {
        let output = Command::new("git")
            .args(args)
            .current_dir(self.root())
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let parent = path.parent().context("a file has a directory")?;
    fs::create_dir_all(parent)?;
    File::create(path)?.write_all(text.as_bytes())?;
    Ok(())
}
