//! One session of the demo agent: the loop that joins terminal, clock, commands and files with the pure agent.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::agent::{Agent, Effect, Setup};
use super::clock::Clock;
use super::director::{Director, Story};
use super::entry::Entry;
use super::hook::{self, HookCall, Place, Settings};
use super::key::Decoder;
use super::options::{Like, Options};
use super::record::{At, Ids, Record};
use super::runner::{Done, END_LIMIT, HURRIED_END_LIMIT, Runner};
use super::scratch::{self, Scratch};
use super::script::{Script, ScriptError};
use super::surface::{self, Surface, TICK_MS};
use super::{claude_record, codex_record, signs, tty};
use crate::terminal::Signals;

/// An ESC alone is a key once this long nothing has followed it.
const ESCAPE_MS: u64 = 40;
const CLAUDE_WINDOW: u64 = 200_000;

/// Why the demo cannot play.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error("{step}: {source}")]
    Io {
        step: &'static str,
        source: io::Error,
    },
    #[error("cannot read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the settings are not valid: {0}")]
    Settings(serde_json::Error),
    #[error("the script {path}", path = path.display())]
    Script { path: PathBuf, source: ScriptError },
}

fn at(step: &'static str) -> impl FnOnce(io::Error) -> DemoError {
    move |source| DemoError::Io { step, source }
}

/// Plays the agent to its end; returns its exit code.
pub fn run(options: &Options) -> Result<u8, DemoError> {
    let settings = settings(options)?;
    let director = director(options, settings.count())?;
    // Watched until the scratch directory is gone: a terminal that closes is told of more than once.
    let mut signals = Signals::watch(&[Signal::SIGWINCH]).map_err(at("watch signals"))?;
    scratch::sweep();
    let scratch = Scratch::create(options.keep).map_err(at("make a scratch directory"))?;
    let mut session = Session::new(options, settings, director, scratch)?;
    let code = session.play(&mut signals);
    session.end(&code);
    code
}

fn settings(options: &Options) -> Result<Settings, DemoError> {
    let Some(passed) = &options.settings else {
        return Ok(Settings::default());
    };
    let text = if passed.trim_start().starts_with('{') {
        passed.clone()
    } else {
        read(PathBuf::from(passed))?
    };
    serde_json::from_str(&text).map_err(DemoError::Settings)
}

fn director(options: &Options, hooks: usize) -> Result<Director, DemoError> {
    if let Some(path) = &options.script {
        let script = Script::parse(&read(path.clone())?);
        return script
            .map(Director::Script)
            .map_err(|source| DemoError::Script {
                path: path.clone(),
                source,
            });
    }
    if options.no_story || options.print.is_some() || !tty::is_present() {
        return Ok(Director::Nobody);
    }
    Ok(Director::Story(Story::new(
        u64::from(options.speed),
        hooks > 0,
    )))
}

fn read(path: PathBuf) -> Result<String, DemoError> {
    std::fs::read_to_string(&path).map_err(|source| DemoError::Read { path, source })
}

/// The transcript's format.
#[derive(Debug)]
enum Writer {
    Claude(claude_record::Writer),
    Codex(codex_record::Writer),
}

struct Session {
    agent: Agent,
    surface: Surface,
    // Before the directory its commands stand in.
    runner: Runner,
    settings: Settings,
    writer: Writer,
    place: Place,
    clock: Clock,
    signs: signs::Shown,
    scratch: Scratch,
}

impl Session {
    fn new(
        options: &Options,
        settings: Settings,
        director: Director,
        scratch: Scratch,
    ) -> Result<Self, DemoError> {
        let id = uuid::Uuid::now_v7();
        let project = scratch.project();
        let place = Place {
            session: id.to_string(),
            transcript: scratch.transcript(&id.to_string()).display().to_string(),
            cwd: project.display().to_string(),
        };
        let env = vec![
            ("DEMO_SESSION_ID", place.session.clone()),
            ("DEMO_PROJECT_DIR", place.cwd.clone()),
        ];
        let ids = Ids::new(id.as_u128());
        let window = match options.like {
            Like::Claude => CLAUDE_WINDOW,
            // Ninety-five of a hundred, as there.
            Like::Codex => CLAUDE_WINDOW / 100 * 95,
        };
        let writer = match options.transcript.unwrap_or(options.like) {
            Like::Claude => Writer::Claude(claude_record::Writer::new(ids)),
            Like::Codex => Writer::Codex(codex_record::Writer::new(ids, window)),
        };
        let setup = Setup {
            like: options.like,
            speed: u64::from(options.speed),
            window,
            manner: options.compact,
            has_compact: !options.no_compact,
            has_submit_keys: options.submit_keys,
            hooks: settings.count(),
            project: place.cwd.clone(),
        };
        let hooks = settings.count();
        let is_story = matches!(director, Director::Story(_));
        let mut agent = Agent::new(setup, director, id.as_u128());
        let surface = Surface::open(options.print.as_deref()).map_err(at("hold the terminal"))?;
        if surface.is_for_people() {
            greet(&mut agent, &scratch, hooks, is_story);
        }
        Ok(Self {
            agent,
            surface,
            runner: Runner::new(project, env).map_err(at("make a pipe"))?,
            settings,
            writer,
            place,
            clock: Clock::start(),
            signs: signs::Shown::default(),
            scratch,
        })
    }

    fn play(&mut self, signals: &mut Signals) -> Result<u8, DemoError> {
        let mut decoder = Decoder::default();
        loop {
            self.agent.advance(self.clock.ms());
            if let Some(code) = self.carry_out()? {
                return Ok(code);
            }
            self.show()?;
            if self.surface.is_done(&mut self.agent) {
                return Ok(0);
            }
            // What was just decided is carried out first: nothing would wake the loop for it.
            if !self.agent.effects.is_empty() {
                continue;
            }
            let timeout = self.timeout(&decoder);
            let [input, wake, signal] =
                wait(&self.surface, &self.runner, signals, timeout).map_err(at("wait"))?;
            if signal {
                for received in signals.take() {
                    if received.signal == Signal::SIGWINCH {
                        self.surface.resized(&self.agent);
                    } else {
                        return Ok(128 + u8::try_from(received.signal as i32).unwrap_or(0));
                    }
                }
            }
            if input
                && !self
                    .surface
                    .hear(&mut self.agent, &mut decoder, self.clock.ms())
                    .map_err(at("read"))?
            {
                // The terminal is gone, and with it the user.
                return Ok(129);
            }
            if !input && decoder.is_waiting() {
                self.agent.press(&decoder.flush(), self.clock.ms());
            }
            if wake {
                self.hear_commands();
            }
        }
    }

    fn timeout(&self, decoder: &Decoder) -> Option<u64> {
        let now = self.clock.ms();
        let mut times: Vec<u64> = self.agent.wake_at().into_iter().collect();
        if self.agent.is_busy() && self.surface.is_screen() {
            times.push(now + TICK_MS);
        }
        if decoder.is_waiting() {
            times.push(now + ESCAPE_MS);
        }
        times.into_iter().min().map(|at| at.saturating_sub(now))
    }

    fn hear_commands(&mut self) {
        self.agent.now = self.clock.ms();
        for done in self.runner.take() {
            match done {
                Done::Hooks { id, runs } => self.agent.hooks_ended(id, &runs),
                Done::Shell { id, output } => self.agent.shell_ended(id, output),
                Done::StatusLine(lines) => self.agent.status_line = lines,
            }
        }
    }

    /// Carries the agent's effects out; an exit code when it leaves.
    fn carry_out(&mut self) -> Result<Option<u8>, DemoError> {
        for effect in std::mem::take(&mut self.agent.effects) {
            match effect {
                Effect::Hook { id, call } => self.tell_hooks(id, &call),
                Effect::Record(record) => self.record(&record)?,
                Effect::Write { path, text } => {
                    self.scratch
                        .write(path, &text)
                        .map_err(at("write a file"))?;
                }
                Effect::Shell { id, command } => self.runner.shell(id, command),
                Effect::StatusLine => {
                    if let Some(handler) = self.settings.status_line() {
                        let told = signs::status_line(&self.agent, &self.place);
                        self.runner.status_line(handler, told.to_string());
                    }
                }
                Effect::Suspend => self.surface.suspend(&self.agent).map_err(at("suspend"))?,
                Effect::Repaint => self.surface.resized(&self.agent),
                Effect::Exit(code) => return Ok(Some(code)),
            }
        }
        Ok(None)
    }

    fn tell_hooks(&mut self, id: u64, call: &HookCall) {
        let handlers = self.settings.handlers(call.event, call.tool());
        if handlers.is_empty() {
            self.agent.hooks_ended(id, &[]);
            self.agent.advance(self.clock.ms());
            return;
        }
        let payload = hook::payload(&self.place, self.agent.prompt_id(), call);
        self.runner.hooks(id, handlers, payload.to_string());
    }

    fn record(&mut self, record: &Record) -> Result<(), DemoError> {
        let at_ = At {
            session: self.place.session.clone(),
            prompt_id: self.agent.prompt_id().map(str::to_owned),
            cwd: self.place.cwd.clone(),
            time: Clock::time_of_day().to_string(),
        };
        let lines: Vec<Value> = match &mut self.writer {
            Writer::Claude(writer) => writer.lines(record, &at_),
            Writer::Codex(writer) => writer.lines(record, &at_),
        };
        let session = &self.place.session;
        self.scratch
            .append(session, &lines)
            .map_err(at("write the transcript"))
    }

    fn show(&mut self) -> Result<(), DemoError> {
        let told = self
            .signs
            .changes(&self.agent, &self.place.session, self.surface.is_screen());
        if let Some(status) = &told.status {
            self.scratch
                .write_status(status)
                .map_err(at("write the status file"))?;
        }
        self.surface
            .show(&self.agent, &told.bytes)
            .map_err(at("draw"))
    }

    /// The last hooks, while everything they may look at is still there.
    fn end(&mut self, code: &Result<u8, DemoError>) {
        let reason = if matches!(code, Ok(0)) {
            "prompt_input_exit"
        } else {
            "other"
        };
        self.surface.close(&self.agent);
        let call = HookCall::new("SessionEnd", json!({ "reason": reason }));
        let payload = hook::payload(&self.place, None, &call);
        let handlers = self.settings.handlers(call.event, None);
        let limit = match code {
            Ok(code) if *code <= 128 => END_LIMIT,
            // A signal, or a terminal that is gone.
            Ok(_) | Err(_) => HURRIED_END_LIMIT,
        };
        self.runner.hooks_now(handlers, &payload.to_string(), limit);
        if self.surface.is_for_people() && code.is_ok() {
            let kept = if self.scratch.is_kept() {
                "stays where it is"
            } else {
                "is gone again"
            };
            surface::say(&format!("Bye. The scratch repository {kept}."));
        }
    }
}

fn greet(agent: &mut Agent, scratch: &Scratch, hooks: usize, is_story: bool) {
    agent.print(Entry::Title(
        "Demo agent: scripted, no account, no network".into(),
    ));
    let kind = if scratch.has_repository {
        "scratch repository"
    } else {
        "scratch directory"
    };
    agent.print(Entry::Info(format!(
        "{kind}: {} (removed when you leave)",
        scratch.project().display()
    )));
    let wired = match hooks {
        0 => "No hooks: nobody looks after this session.".to_owned(),
        count => format!("{count} hooks are wired."),
    };
    let next = if is_story {
        " A story begins in a moment; Enter starts it now, any other key stops it."
    } else {
        ""
    };
    agent.print(Entry::Info(format!("{wired}{next}")));
}

/// Which of input, commands and signals have something.
fn wait(
    surface: &Surface,
    runner: &Runner,
    signals: &Signals,
    timeout_ms: Option<u64>,
) -> io::Result<[bool; 3]> {
    let stdin = io::stdin();
    let fds: [BorrowedFd<'_>; 3] = [runner.wake().as_fd(), signals.fd(), stdin.as_fd()];
    let mut polled: Vec<PollFd<'_>> = fds
        .into_iter()
        .take(if surface.is_listening() { 3 } else { 2 })
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    let timeout = match timeout_ms {
        Some(ms) => PollTimeout::try_from(ms.min(60_000)).unwrap_or(PollTimeout::MAX),
        None => PollTimeout::NONE,
    };
    match poll(&mut polled, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let is_ready = |at: usize| polled.get(at).and_then(PollFd::any).unwrap_or(false);
    Ok([is_ready(2), is_ready(0), is_ready(1)])
}
