//! Runs commands for the agent: hooks, the status line, the user's shell commands. Each on a thread of its own.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::clock::Clock;
use super::hook::{Handler, Ran};

const HOOK_LIMIT_S: u64 = 600;
const STATUS_LIMIT_S: u64 = 5;
const SHELL_LIMIT_S: u64 = 60;
/// The hooks of the session's end.
pub(super) const END_LIMIT: Duration = Duration::from_millis(1_500);
/// The same when a signal or a closed terminal ends the demo: it has to be gone before it is killed.
pub(super) const HURRIED_END_LIMIT: Duration = Duration::from_millis(500);
/// What still runs at the end may finish in this time, and so may the output of what was killed.
const GRACE: Duration = Duration::from_millis(300);
const LIMIT_BYTES: u64 = 1024 * 1024;
const POLL: Duration = Duration::from_millis(2);

/// What came of a command.
#[derive(Debug)]
pub(super) enum Done {
    Hooks { id: u64, runs: Vec<Ran> },
    Shell { id: u64, output: Vec<String> },
    StatusLine(Vec<String>),
}

#[derive(Debug)]
pub(super) struct Runner {
    cwd: PathBuf,
    env: Vec<(&'static str, String)>,
    done_tx: Sender<Done>,
    done_rx: Receiver<Done>,
    wake_tx: UnixStream,
    wake_rx: UnixStream,
    running: Running,
}

/// The commands that run, each by its process group; one that was reaped is not among them.
#[derive(Debug, Default, Clone)]
struct Running(Arc<(Mutex<Vec<Pid>>, Condvar)>);

impl Running {
    fn groups(&self) -> MutexGuard<'_, Vec<Pid>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a command as the leader of a group of its own.
    fn start(&self, command: &mut Command) -> io::Result<Child> {
        let mut groups = self.groups();
        let child = command.process_group(0).spawn()?;
        groups.extend(group(&child));
        Ok(child)
    }

    /// Its status once it has ended. A group is taken off in the moment in which its number becomes free.
    fn reap(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        let mut groups = self.groups();
        let status = child.try_wait()?;
        if status.is_some() {
            groups.retain(|other| Some(*other) != group(child));
            self.0.1.notify_all();
        }
        Ok(status)
    }

    /// Gives all of them this time, and whether they have ended.
    fn wait(&self, limit: Duration) -> bool {
        let waited = self
            .0
            .1
            .wait_timeout_while(self.groups(), limit, |groups| !groups.is_empty());
        waited.is_ok_and(|(_, waited)| !waited.timed_out())
    }

    fn kill(&self) {
        for group in self.groups().iter() {
            kill(*group);
        }
    }
}

fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().map(Pid::from_raw)
}

fn kill(group: Pid) {
    if let Err(error) = killpg(group, Signal::SIGKILL) {
        tracing::debug!(%error, "a command goes on");
    }
}

impl Drop for Runner {
    /// Nothing it has started writes anywhere after it.
    fn drop(&mut self) {
        if !self.running.wait(GRACE) {
            self.running.kill();
            self.running.wait(GRACE);
        }
    }
}

impl Runner {
    pub(super) fn new(cwd: PathBuf, env: Vec<(&'static str, String)>) -> io::Result<Self> {
        let (done_tx, done_rx) = channel();
        let (wake_tx, wake_rx) = UnixStream::pair()?;
        wake_tx.set_nonblocking(true)?;
        wake_rx.set_nonblocking(true)?;
        Ok(Self {
            cwd,
            env,
            done_tx,
            done_rx,
            wake_tx,
            wake_rx,
            running: Running::default(),
        })
    }

    /// Readable when `take` has something.
    pub(super) fn wake(&self) -> &UnixStream {
        &self.wake_rx
    }

    pub(super) fn take(&mut self) -> Vec<Done> {
        let mut bytes = [0; 64];
        while self.wake_rx.read(&mut bytes).is_ok_and(|count| count > 0) {}
        self.done_rx.try_iter().collect()
    }

    /// All hooks of one event.
    pub(super) fn hooks(&self, id: u64, handlers: Vec<Handler>, payload: String) {
        let (calls, running) = (self.calls(handlers), self.running.clone());
        self.spawn(move || Done::Hooks {
            id,
            runs: side_by_side(&running, calls, &payload, Duration::from_secs(HOOK_LIMIT_S)),
        });
    }

    pub(super) fn status_line(&self, handler: &Handler, payload: String) {
        let command = self.command(&handler.command);
        let name = handler.command.clone();
        let running = self.running.clone();
        self.spawn(move || {
            let limit = Duration::from_secs(STATUS_LIMIT_S);
            let ran = run(&running, command, &name, &payload, limit);
            let text = if ran.code == Some(0) {
                ran.stdout
            } else {
                String::new()
            };
            Done::StatusLine(text.lines().take(3).map(str::to_owned).collect())
        });
    }

    pub(super) fn shell(&self, id: u64, command: String) {
        let mut shell = self.command(&format!("{{ {command}\n}} 2>&1"));
        shell.env("PATH", path_with_own_directory());
        let running = self.running.clone();
        self.spawn(move || {
            let limit = Duration::from_secs(SHELL_LIMIT_S);
            let ran = run(&running, shell, &command, "", limit);
            let mut output: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
            match ran.code {
                Some(0) => {}
                Some(code) => output.push(format!("exit code {code}")),
                None => output.push("ended".into()),
            }
            Done::Shell { id, output }
        });
    }

    /// Runs hooks to their end, here and now, all of them in this time.
    pub(super) fn hooks_now(&self, handlers: Vec<Handler>, payload: &str, limit: Duration) {
        side_by_side(&self.running, self.calls(handlers), payload, limit);
    }

    fn calls(&self, handlers: Vec<Handler>) -> Vec<(Command, Handler)> {
        handlers
            .into_iter()
            .map(|handler| (self.command(&handler.command), handler))
            .collect()
    }

    fn command(&self, command: &str) -> Command {
        let mut sh = Command::new("/bin/sh");
        sh.arg("-c").arg(command).current_dir(&self.cwd);
        for (name, value) in &self.env {
            sh.env(name, value);
        }
        sh
    }

    fn spawn(&self, work: impl FnOnce() -> Done + Send + 'static) {
        let done_tx = self.done_tx.clone();
        let Ok(mut wake_tx) = self.wake_tx.try_clone() else {
            return;
        };
        thread::spawn(move || {
            // A demo that is gone hears of nothing.
            if done_tx.send(work()).is_ok() && wake_tx.write_all(b"x").is_err() {
                tracing::debug!("the demo has been woken already");
            }
        });
    }
}

/// So that `! harn …` finds this very harn.
fn path_with_own_directory() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(std::path::Path::parent);
    let dirs = own
        .map(PathBuf::from)
        .into_iter()
        .chain(std::env::split_paths(&path));
    std::env::join_paths(dirs).unwrap_or(path)
}

/// Runs hooks at the same time, each in its own limit and none in more than this one.
fn side_by_side(
    running: &Running,
    calls: Vec<(Command, Handler)>,
    payload: &str,
    most: Duration,
) -> Vec<Ran> {
    thread::scope(|scope| {
        let threads: Vec<_> = calls
            .into_iter()
            .map(|(command, handler)| {
                scope.spawn(move || {
                    let own = handler.timeout.map_or(most, Duration::from_secs);
                    run(running, command, &handler.command, payload, own.min(most))
                })
            })
            .collect();
        let runs = threads.into_iter().flat_map(thread::ScopedJoinHandle::join);
        runs.collect()
    })
}

/// Runs a command in a process group of its own; one that takes too long is ended with all it has started.
fn run(running: &Running, mut command: Command, name: &str, input: &str, limit: Duration) -> Ran {
    let mut ran = Ran {
        command: name.to_owned(),
        code: None,
        stdout: String::new(),
        stderr: String::new(),
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match running.start(&mut command) {
        Ok(child) => child,
        Err(error) => {
            ran.stderr = error.to_string();
            return ran;
        }
    };
    let stdin = child.stdin.take();
    let input = input.to_owned();
    // A hook that does not read its input may break the pipe: its right.
    thread::spawn(move || stdin.is_some_and(|mut stdin| stdin.write_all(input.as_bytes()).is_ok()));
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    ran.code = wait(running, &mut child, limit, || {
        stdout.is_finished() && stderr.is_finished()
    });
    ran.stdout = printed(stdout);
    ran.stderr = printed(stderr);
    ran
}

fn reader(pipe: Option<impl io::Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe
            && let Err(error) = pipe.take(LIMIT_BYTES).read_to_end(&mut bytes)
        {
            tracing::debug!(%error, "a command's output is cut off");
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Empty when something that the command has left behind still holds the pipe.
fn printed(reader: thread::JoinHandle<String>) -> String {
    if !reader.is_finished() {
        return String::new();
    }
    reader.join().unwrap_or_default()
}

/// Waits until a command has ended and `is_read`; kills it at the limit, and gives its output `GRACE` more.
fn wait(
    running: &Running,
    child: &mut Child,
    limit: Duration,
    is_read: impl Fn() -> bool,
) -> Option<i32> {
    let clock = Clock::start();
    let mut status = None;
    let mut is_killed = false;
    loop {
        if status.is_none() {
            status = running
                .reap(child)
                .inspect_err(|error| tracing::debug!(%error, "a command cannot be waited for"))
                .ok()?;
        }
        let waited = Duration::from_millis(clock.ms());
        match status {
            Some(status) if is_read() || waited >= limit + GRACE => return status.code(),
            None if waited >= limit && !is_killed => {
                is_killed = true;
                group(child).map(kill).unwrap_or_default();
            }
            Some(_) | None => thread::sleep(POLL),
        }
    }
}
