//! `harn run`: hosts a program; for a known harness, with harn's hooks wired into this one run.
//!
//! Whatever keeps the hooks from being wired is told in one line, and the program runs all the same.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::dispatch::complain;
use super::managed::{Managed, Parts};
use super::overlay::Shown;
use super::witness::{self, Witness};
use super::{clock, log_file, own, place, survivor, telemetry};
use crate::adapter::launch::{self, Request, WiringError};
use crate::adapter::manifest::{SessionLock, Version};
use crate::adapter::own::{bridge_line, hook_line};
use crate::adapter::recipe::{self, Recipe};
use crate::adapter::{Manifest, registry};
use crate::cli::RunArgs;
use crate::event::{RunId, Tokens};
use crate::exit::Exit;
use crate::process;
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::store::layout::NoHome;
use crate::supervisor::follower::Followed;
use crate::supervisor::pilot::Rules;
use crate::supervisor::run::{self, Live, Run, RunDir, Sight};
use crate::supervisor::version;
use crate::terminal::{self, Desk, HostError, HostEvent, Program};

pub(super) fn run(args: &RunArgs) -> Exit {
    let Some((word, rest)) = args.program.split_first() else {
        return Exit::Usage;
    };
    let manifest = match manifest(args, word) {
        Ok(manifest) => manifest,
        Err(error) => {
            let known: Vec<&str> = registry::ids().collect();
            complain(&error, Some(&format!("adapters: {}", known.join(", "))));
            return Exit::Usage;
        }
    };
    let start = match Start::new(manifest.as_ref(), word) {
        Ok(start) => start,
        Err(error) => {
            complain(&error, None);
            return Exit::Failed;
        }
    };
    if place::is_disabled() {
        return host(&start, rest, None, &mut Shown::default(), None);
    }
    if let Some(outer) = outer_run() {
        return pass_through(&start, rest, &outer);
    }
    let session = manifest.filter(|manifest| launch::starts_session(manifest, rest));
    let Some(manifest) = session else {
        let mut shown = Shown::prepare(args, word, None);
        return host(&start, rest, None, &mut shown, None);
    };
    match Owned::prepare(&manifest, &start.path, rest, args) {
        Ok(mut owned) => {
            owned.takes_requests = owned.recipe(&manifest, rest).is_some();
            let wired = owned.args.clone();
            let mut shown = Shown::prepare(args, word, owned.followed());
            let managed = owned.manage(&manifest, rest, args, &shown);
            host(&start, &wired, Some(owned), &mut shown, managed)
        }
        Err(error) => {
            complain(
                &format!("hooks are not wired: {error}"),
                Some("the program runs without checkpoints and briefings"),
            );
            let mut shown = Shown::prepare(args, word, None);
            host(&start, rest, None, &mut shown, None)
        }
    }
}

/// The program to start, and what stands before its own arguments.
#[derive(Debug)]
struct Start {
    path: OsString,
    first: Option<OsString>,
}

impl Start {
    /// A harness that is built in is harn itself; every other is the program the user named.
    fn new(manifest: Option<&Manifest>, word: &OsStr) -> Result<Self, OwnError> {
        let builtin = manifest
            .filter(|manifest| {
                manifest
                    .programs
                    .iter()
                    .any(|program| word == program.as_str())
            })
            .and_then(|manifest| manifest.launch.builtin.as_ref());
        Ok(match builtin {
            Some(first) => Self {
                path: std::env::current_exe().map_err(OwnError::OwnPath)?.into(),
                first: Some(first.into()),
            },
            None => Self {
                path: word.to_owned(),
                first: None,
            },
        })
    }

    fn args(&self, rest: &[OsString]) -> Vec<OsString> {
        self.first.iter().chain(rest).cloned().collect()
    }
}

/// The adapter named, or the one whose harness this program is.
fn manifest(args: &RunArgs, path: &OsStr) -> Result<Option<Manifest>, registry::RegistryError> {
    if let Some(id) = &args.adapter {
        return registry::load(id).map(Some);
    }
    let name = Path::new(path).file_name().and_then(OsStr::to_str);
    let known = name.and_then(registry::for_program);
    // A path names a program of the user's, whatever its name.
    Ok(known.filter(|manifest| manifest.launch.builtin.is_none() || name == path.to_str()))
}

/// The live run that this process is part of.
fn outer_run() -> Option<RunId> {
    let id = place::run_hint()?;
    let layout = place::layout().ok()?;
    let run = RunDir::open(&layout, &id).ok()??.read().ok()??;
    process::ancestors()
        .iter()
        .any(|seen| seen.process == run.host)
        .then_some(id)
}

/// Inside an owned session the program takes harn's place: no second PTY, no second wiring.
fn pass_through(start: &Start, args: &[OsString], outer: &RunId) -> Exit {
    complain(
        &format!("already inside run {outer}; running the program directly"),
        None,
    );
    let error = Command::new(&start.path).args(start.args(args)).exec();
    let name = Path::new(&start.path).display();
    if error.kind() == std::io::ErrorKind::NotFound {
        complain(&format!("{name}: not found"), None);
        return Exit::NotFound;
    }
    complain(&format!("{name}: cannot be executed: {error}"), None);
    Exit::NotExecutable
}

fn host(
    start: &Start,
    args: &[OsString],
    owned: Option<Owned>,
    shown: &mut Shown,
    managed: Option<(Managed, Desk)>,
) -> Exit {
    let env = owned.as_ref().map_or_else(Vec::new, Owned::env);
    let program = Program {
        path: Path::new(&start.path),
        args: &start.args(args),
        env: &env,
    };
    let mut owned = owned;
    let overlay = shown.overlay.take();
    let (mut managed, desk) = managed.unzip();
    let mut session = None;
    let ended = terminal::run(&program, overlay, desk, &mut |event| {
        shown.hear(event);
        if let HostEvent::Started { pid } = event {
            session = survivor::session_of(pid);
        }
        if let Some(managed) = &mut managed {
            managed.hear(event);
        }
        if let Some(owned) = &mut owned {
            owned.hear(event);
        }
    });
    if let Some(managed) = managed {
        managed.end();
    }
    if let Some(owned) = owned {
        owned.end(matches!(&ended, Ok(outcome) if outcome.code() == 0));
    }
    if let Some(session) = session {
        survivor::tell(session);
    }
    match ended {
        Ok(outcome) => Exit::Program(outcome.code()),
        Err(error) => explain(&error),
    }
}

fn explain(error: &HostError) -> Exit {
    let (exit, hint) = match error {
        HostError::NotFound(_) => (
            Exit::NotFound,
            Some("check the spelling, or give the program's path"),
        ),
        HostError::NotExecutable { .. } => (
            Exit::NotExecutable,
            Some("check the file's permissions and its first line"),
        ),
        HostError::Io { .. } | HostError::LauncherLost => (Exit::Failed, None),
    };
    complain(error, hint);
    exit
}

/// Why a run cannot be owned.
#[derive(Debug, thiserror::Error)]
enum OwnError {
    #[error(transparent)]
    Home(#[from] NoHome),
    #[error(transparent)]
    Store(#[from] DirError),
    #[error(transparent)]
    Wiring(#[from] WiringError),
    #[error("cannot tell the current directory: {0}")]
    Directory(std::io::Error),
    #[error("cannot tell harn's own path: {0}")]
    OwnPath(std::io::Error),
    #[error("cannot tell harn's own process")]
    OwnProcess,
}

/// A run that harn owns; its files go when it is dropped.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the run, and none excludes another"
)]
struct Owned {
    layout: Layout,
    dir: RunDir,
    run: Run,
    /// The arguments with what harn puts before them.
    args: Vec<OsString>,
    has_hooks: bool,
    /// The client was given a key that only its composer knows.
    has_submit_key: bool,
    takes_requests: bool,
    environment: Vec<(String, String)>,
    witness: Option<Witness>,
    /// The program takes one turn and ends.
    is_unattended: bool,
}

impl Owned {
    fn prepare(
        manifest: &Manifest,
        path: &OsStr,
        args: &[OsString],
        wanted: &RunArgs,
    ) -> Result<Self, OwnError> {
        let layout = place::layout()?;
        log_file::begin(
            &layout,
            place::var(place::LOG)
                .and_then(|filter| filter.into_string().ok())
                .as_deref(),
        );
        if let Err(error) = run::sweep(&layout) {
            tracing::warn!(%error, "old runs are not swept");
        }
        let id = RunId::new(uuid::Uuid::now_v7().to_string());
        let mut owned = Self {
            dir: RunDir::create(&layout, &id)?,
            run: Run {
                id,
                name: wanted.name.clone(),
                adapter: manifest.id.clone(),
                host: process::own().ok_or(OwnError::OwnProcess)?,
                client: None,
                started_at: clock::now(),
                project: std::env::current_dir()
                    .ok()
                    .map(|cwd| place::project_at(&cwd)),
                socket: None,
            },
            layout,
            args: Vec::new(),
            has_hooks: !wanted.no_hooks,
            has_submit_key: false,
            takes_requests: false,
            environment: owned_environment(manifest),
            witness: None,
            is_unattended: launch::is_unattended(manifest, args),
        };
        owned.dir.write(&owned.run)?;
        let client = Client::look_at(&owned.layout, manifest, path, args);
        if wanted.no_hooks {
            owned.args = launch::lead(&client.leading_flags, args);
        } else {
            owned.args = owned.wire(manifest, &client, args)?;
            owned.witness = owned.watch(manifest, &client)?;
        }
        Ok(owned)
    }

    /// Has somebody watch whether the hooks are seen.
    fn watch(&self, manifest: &Manifest, client: &Client) -> Result<Option<Witness>, OwnError> {
        let Some(dir) = RunDir::open(&self.layout, &self.run.id)? else {
            return Ok(None);
        };
        let lock = manifest.session_lock.as_ref();
        let is_held = |lock: &&SessionLock| client.version.as_ref() >= Some(&lock.since);
        Ok(Witness::start(manifest, lock.filter(is_held).cloned(), dir))
    }

    fn wire(
        &mut self,
        manifest: &Manifest,
        client: &Client,
        args: &[OsString],
    ) -> Result<Vec<OsString>, OwnError> {
        let cwd = std::env::current_dir().map_err(OwnError::Directory)?;
        let harn = own::command().map_err(OwnError::OwnPath)?;
        let wiring = launch::wire(&Request {
            manifest,
            version: client.version.as_ref(),
            leading_flags: &client.leading_flags,
            args,
            cwd: &cwd,
            file: &self.dir.settings_path(),
            command: &|event| hook_line(&harn, manifest.id.as_str(), event),
            status_line: &bridge_line(&harn, manifest.id.as_str(), None),
            settings: &telemetry::settings(&cwd),
        })?;
        self.has_submit_key = wiring.has_submit_key;
        if let Some(file) = &wiring.file {
            self.dir.write_settings(file)?;
        }
        if let Some(command) = &wiring.status_line {
            self.dir.write_status_line(command)?;
        }
        Ok(wiring.args)
    }

    /// Called on the byte path.
    fn hear(&mut self, event: HostEvent<'_>) {
        match event {
            HostEvent::Started { pid } => self.started(pid),
            HostEvent::Output(bytes) => {
                if let Some(witness) = &mut self.witness {
                    witness.output(bytes);
                }
            }
            HostEvent::Input(_)
            | HostEvent::Resized(_)
            | HostEvent::Stopped
            | HostEvent::Continued
            | HostEvent::Asked(_)
            | HostEvent::Ended(_) => {}
        }
    }

    /// Says what the user could not be told while the program had the terminal; the files go.
    fn end(mut self, is_success: bool) {
        let Some(witness) = self.witness.take() else {
            return;
        };
        let had_turn = witness.end() || (self.is_unattended && is_success);
        let seen = || {
            Ok::<_, DirError>(Live {
                run: self.run.clone(),
                speaker: self.dir.speaker()?,
                sight: self
                    .dir
                    .sight()?
                    .or_else(|| had_turn.then(|| Sight::at(clock::now()))),
            })
        };
        match seen() {
            Ok(live) => {
                for complaint in witness::complaints(&live) {
                    complain(&complaint, None);
                }
            }
            Err(error) => tracing::warn!(%error, "cannot tell whether hooks were seen"),
        }
    }

    /// What the overlay's follower has to know.
    fn followed(&self) -> Option<Followed> {
        Some(Followed {
            layout: self.layout.clone(),
            run: self.run.id.clone(),
            adapter: self.run.adapter.clone(),
            started_at: self.run.started_at,
            has_hooks: self.has_hooks,
            trust_hint: self
                .witness
                .as_ref()
                .map(|witness| witness.hint().to_owned()),
            agent: self.witness.as_ref().map(Witness::latest),
            project: std::env::current_dir().ok()?,
            takes_requests: self.takes_requests,
        })
    }

    /// Has somebody take requests for managed compactions, where the harness has a command for it and hooks tell of it.
    fn manage(
        &mut self,
        manifest: &Manifest,
        args: &[OsString],
        wanted: &RunArgs,
        shown: &Shown,
    ) -> Option<(Managed, Desk)> {
        let config = place::config_or_default(&self.layout).compact;
        let compact_at = wanted.compact_at.or(config.at);
        let recipe = self.recipe(manifest, args)?;
        let parts = Parts {
            layout: &self.layout,
            run: &self.run,
            manifest,
            recipe,
            has_launch_key: self.has_submit_key,
            rules: Rules {
                compact_at: compact_at.map(|count| Tokens(count.0)),
                continue_after: wanted.continue_after_compact || config.continue_after,
                allow_agent: config.allow_agent,
            },
            poster: shown.poster.clone(),
        };
        let (managed, desk) = Managed::start(&parts)
            .inspect_err(|error| {
                complain(
                    &format!("no managed compaction in this run: {error}"),
                    Some("the program runs all the same"),
                );
            })
            .ok()?;
        self.run.socket = Some(managed.socket().to_owned());
        if let Err(error) = self.dir.write(&self.run) {
            tracing::warn!(%error, "the run's record does not name its socket");
        }
        Some((managed, desk))
    }

    fn recipe(&self, manifest: &Manifest, args: &[OsString]) -> Option<Recipe> {
        let is_hosted = self.has_hooks && !self.is_unattended && terminal::is_present();
        recipe::recipe(&manifest.id, args).filter(|_| is_hosted)
    }

    /// The process the session lives in, or below.
    fn started(&mut self, pid: i32) {
        self.run.client = u32::try_from(pid)
            .ok()
            .and_then(process::see)
            .map(|seen| seen.process);
        if let (Some(client), Some(witness)) = (self.run.client, &self.witness) {
            witness.started(client);
        }
        if let Err(error) = self.dir.write(&self.run) {
            tracing::warn!(%error, "the run's record is out of date");
        }
    }

    fn env(&self) -> Vec<(OsString, Option<OsString>)> {
        let id = (
            OsString::from(place::RUN_ID),
            Some(OsString::from(self.run.id.as_str())),
        );
        let mut env = vec![id];
        for (name, value) in &self.environment {
            env.push((name.into(), Some(value.into())));
        }
        env
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Err(error) = run::remove(&self.layout, &self.run.id) {
            tracing::warn!(%error, "the run's files stay until the next sweep");
        }
    }
}

/// What the installed program tells of itself.
struct Client {
    version: Option<Version>,
    /// The manifest's leading flags that it knows.
    leading_flags: Vec<String>,
}

impl Client {
    fn look_at(layout: &Layout, manifest: &Manifest, path: &OsStr, args: &[OsString]) -> Self {
        let program = which::which(path).ok();
        let wanted = &manifest.launch.leading_flags;
        let is_wanted = !wanted.is_empty() && launch::takes_leading_flags(manifest, args);
        let known = program
            .as_ref()
            .filter(|_| is_wanted)
            .map_or_else(Vec::new, |path| version::flags(layout, path));
        let listed = wanted.iter().filter(|flag| known.contains(flag));
        Self {
            version: program.and_then(|path| version::of(layout, &path)),
            leading_flags: listed.cloned().collect(),
        }
    }
}

/// What an owned session needs, without what the user has set.
fn owned_environment(manifest: &Manifest) -> Vec<(String, String)> {
    let set = manifest.environment.owned.iter();
    set.filter(|(name, _)| std::env::var_os(name).is_none())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
