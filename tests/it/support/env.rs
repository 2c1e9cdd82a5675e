//! A hermetic place for one test: its own HOME, XDG directories and TMPDIR, a cleared environment, the built binary.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use tempfile::TempDir;

/// Where the system's programs are; the user's own PATH never reaches a test.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/homebrew/bin";

/// What a program left behind. `code` is what a shell would show: the exit code, or 128 + the signal that ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) code: i32,
}

impl Output {
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// The place; removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct TestEnv {
    root: TempDir,
    bin: PathBuf,
    home: PathBuf,
    project: PathBuf,
    runtime: PathBuf,
    vars: Vec<(String, String)>,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        // A short base: the control socket's path must stay below 104 bytes.
        let root = tempfile::Builder::new()
            .prefix("harn-it-")
            .tempdir_in("/tmp")
            .unwrap();
        let base = root.path().canonicalize().unwrap();
        let (home, project, runtime) = (base.join("home"), base.join("project"), base.join("run"));
        for dir in [&home, &project, &runtime, &base.join("tmp")] {
            fs::create_dir(dir).unwrap();
        }
        set_private(&runtime);
        Self {
            root,
            bin: PathBuf::from(env!("CARGO_BIN_EXE_harn")),
            home,
            project,
            runtime,
            vars: Vec::new(),
        }
    }

    /// Adds a variable to every command made after this.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.vars.push((name.to_owned(), value.into()));
    }

    /// The whole place (HOME, project and the rest are below it).
    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The directory in which commands start; empty, and no repository until [`TestEnv::git_init`].
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// `XDG_RUNTIME_DIR` (0700).
    pub(crate) fn runtime(&self) -> &Path {
        &self.runtime
    }

    /// `XDG_STATE_HOME`.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.join(".local/state")
    }

    /// `XDG_CONFIG_HOME`.
    pub(crate) fn config(&self) -> PathBuf {
        self.home.join(".config")
    }

    /// The built `harn`.
    pub(crate) fn bin(&self) -> &Path {
        &self.bin
    }

    /// Any program in this environment, started in the project directory.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", SYSTEM_PATH)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.config())
            .env("XDG_STATE_HOME", self.state())
            .env("XDG_DATA_HOME", self.home.join(".local/share"))
            .env("XDG_CACHE_HOME", self.home.join(".cache"))
            .env("XDG_RUNTIME_DIR", &self.runtime)
            .env("TMPDIR", self.root().join("tmp"))
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Test")
            .env("GIT_AUTHOR_EMAIL", "test@example.invalid")
            .env("GIT_COMMITTER_NAME", "Test")
            .env("GIT_COMMITTER_EMAIL", "test@example.invalid")
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
            .current_dir(&self.project);
        for (name, value) in &self.vars {
            command.env(name, value);
        }
        command
    }

    /// `harn` with these arguments.
    pub(crate) fn harn<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(self.bin());
        command.args(args);
        command
    }

    /// `git` in the project directory; panics when it fails, returns its output without the last newline.
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let mut command = self.command("git");
        command.args(args);
        let output = self.run(command, b"");
        assert_eq!(output.code, 0, "git: {}", output.err());
        output.out().trim_end().to_owned()
    }

    /// Makes the project a repository on branch `main` with one commit (`README`), and returns the commit id.
    pub(crate) fn git_init(&self) -> String {
        self.git(["init", "--quiet", "--initial-branch=main"]);
        self.write("README", "a project\n");
        self.git(["add", "README"]);
        self.git(["commit", "--quiet", "--message", "first"]);
        self.git(["rev-parse", "HEAD"])
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nobody else looks at a fixture yet"
    )]
    /// Writes a file below the project directory, with its folders.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs to the end with `stdin` as its input, no terminal anywhere.
    pub(crate) fn run(&self, mut command: Command, stdin: &[u8]) -> Output {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let spawned = command.spawn();
        let mut child =
            spawned.unwrap_or_else(|error| panic!("in {}: {error}", self.project.display()));
        let mut pipe = child.stdin.take().unwrap();
        let bytes = stdin.to_vec();
        // On its own thread: a program that prints before it reads must not lock up the test. A program that ends
        // without reading gives a broken pipe, which is its right.
        let writer = thread::spawn(move || pipe.write_all(&bytes).is_ok());
        let done = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Output {
            stdout: done.stdout,
            stderr: done.stderr,
            code: shell_code(done.status),
        }
    }
}

/// The status as a shell shows it.
pub(super) fn shell_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap())
}

fn set_private(dir: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
}
