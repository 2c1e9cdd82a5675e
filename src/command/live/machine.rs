//! A scratch machine: a home, a project under git, a cleared environment, and processes that end with it.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::super::{clock, place};
use crate::process;
use crate::rehearsal::drive::{NOTES, Place};
use crate::repo;
use crate::scratch::{self, Scratch};
use crate::store::Layout;
use crate::store::layout::NoHome;
use crate::terminal::Signals;

const KIND: &str = "bench";
/// One process of a client has so much time.
const LIMIT: Duration = Duration::from_mins(2);
/// Between two looks whether what was killed is gone, and how many there are.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 200;
/// Of what a client printed, so much of the end is told.
const SAID_CHARS: usize = 200;

/// Why a process did not come to a good end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Halt {
    #[error("interrupted")]
    Interrupted(Signal),
    #[error("it did not end within {} s", LIMIT.as_secs())]
    Late,
    #[error("it ended with {code}: {said}")]
    Ended { code: i32, said: String },
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub(super) struct Machine {
    scratch: Scratch,
}

impl Machine {
    pub(super) fn new() -> io::Result<Self> {
        scratch::sweep(KIND);
        let machine = Self {
            scratch: Scratch::create(KIND, false)?,
        };
        for dir in ["home", "project", "tmp", "run"] {
            make_dir(&machine.root().join(dir))?;
        }
        write(&machine.project().join(NOTES.0), NOTES.1)?;
        if let Err(error) = repo::create(&machine.project(), &[NOTES], "The notes") {
            tracing::warn!(reason = error.reason(), "no scratch repository");
        }
        Ok(machine)
    }

    fn root(&self) -> &Path {
        self.scratch.root()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(super) fn with_place<T>(&self, take: impl FnOnce(Place<'_>) -> T) -> T {
        let (home, project) = (self.home(), self.project());
        take(Place {
            home: &home,
            project: &project,
        })
    }

    /// Where harn keeps things on this machine.
    pub(super) fn layout(&self) -> Result<Layout, NoHome> {
        let home = self.home();
        Layout::from_env(|name| (name == "HOME").then(|| home.clone().into_os_string()))
    }

    /// A program in this machine's own environment, with nothing to read and a file to print to.
    pub(super) fn command(&self, program: &Path) -> io::Result<Command> {
        let out = File::create(self.printed())?;
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(place::var("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.home())
            .env("TMPDIR", self.root().join("tmp"))
            .env("XDG_RUNTIME_DIR", self.root().join("run"))
            .env("TERM", "dumb")
            .env("LANG", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .current_dir(self.project())
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            // A key typed at harn is harn's alone.
            .process_group(0);
        Ok(command)
    }

    fn printed(&self) -> PathBuf {
        self.root().join("printed")
    }

    /// Runs to a good end; what is left of its process group ends with it.
    pub(super) fn run(&self, mut command: Command, signals: &mut Signals) -> Result<(), Halt> {
        let mut child = command.spawn()?;
        let ended = wait(&mut child, signals);
        let group = i32::try_from(child.id()).map(Pid::from_raw);
        if let Err(error) = group.map_or(Ok(()), |group| killpg(group, Signal::SIGKILL)) {
            tracing::trace!(%error, "nothing of the client is left");
        }
        if ended.is_err() {
            child.wait()?;
        }
        let status = ended?;
        if status.success() {
            return Ok(());
        }
        let code = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Err(Halt::Ended {
            code,
            said: self.said(),
        })
    }

    fn said(&self) -> String {
        let mut bytes = Vec::new();
        let file = File::open(self.printed());
        if let Err(error) = file.and_then(|mut file| file.read_to_end(&mut bytes)) {
            return error.to_string();
        }
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        crate::text::shorten(&crate::text::one_line(last.unwrap_or_default()), SAID_CHARS)
    }
}

/// Whatever was started for this machine ends with it, children that left their group too.
impl Drop for Machine {
    fn drop(&mut self) {
        let home = self.home();
        for _ in 0..LOOKS {
            let left = process::started_with("HOME", &home.to_string_lossy());
            if left.is_empty() {
                return;
            }
            for one in left {
                let pid = i32::try_from(one.pid).map(Pid::from_raw);
                if let Err(error) = pid.map_or(Ok(()), |pid| kill(pid, Signal::SIGKILL)) {
                    tracing::debug!(%error, "it has ended by itself");
                }
            }
            std::thread::sleep(LOOK);
        }
        tracing::warn!("something of the rehearsed client goes on");
    }
}

pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        make_dir(dir)?;
    }
    File::create(path)?.write_all(text.as_bytes())
}

fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(dir)
}

/// Until it ends, its time is up, or somebody wants harn to end.
fn wait(child: &mut Child, signals: &mut Signals) -> Result<ExitStatus, Halt> {
    let began = clock::instant();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let left = LIMIT.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(Halt::Late);
        }
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(signals.fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Halt::Io(error.into())),
        }
        let ending = signals
            .take()
            .into_iter()
            .find(|it| it.signal != Signal::SIGCHLD);
        if let Some(received) = ending {
            return Err(Halt::Interrupted(received.signal));
        }
    }
}
