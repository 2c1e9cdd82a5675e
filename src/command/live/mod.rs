//! `harn adapter bench --live`: an installed client, unowned, with harn's own installed hooks, through a session in which it
//! compacts, at a scripted model on loopback. What was seen is kept with version and date.

mod judge;
mod machine;

use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use self::judge::Rehearsed;
use self::machine::{Halt, Machine};
use super::session;
use super::{clock, dispatch};
use crate::adapter::conformance::{Line, Verdict};
use crate::adapter::manifest::Manifest;
use crate::event::Timestamp;
use crate::rehearsal::drive::Drive;
use crate::store::{Layout, attested};
use crate::supervisor::version;
use crate::terminal::Signals;

/// More than the log of such a session ever is, in bytes.
const LOG_BYTES: u64 = 4 * 1024 * 1024;

/// One rehearsal that came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attested {
    pub(super) program: String,
    pub(super) version: Option<String>,
    pub(super) at: Timestamp,
    /// The harn that did it.
    pub(super) harn: String,
    pub(super) result: Outcome,
    pub(super) dimensions: Vec<Line>,
}

/// Whether all is as claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    AsClaimed,
    Drift,
}

/// What became of the rehearsal of one adapter.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(super) enum Live {
    Ran(Attested),
    Skipped { reason: String, hint: &'static str },
    Failed { reason: String },
}

impl Live {
    pub(super) fn is_bad(&self) -> bool {
        match self {
            Self::Ran(attested) => attested.result == Outcome::Drift,
            Self::Skipped { .. } => false,
            Self::Failed { .. } => true,
        }
    }
}

/// Rehearses one client after the other.
pub(super) struct Stage<'a> {
    layout: &'a Layout,
    signals: Signals,
}

impl<'a> Stage<'a> {
    pub(super) fn open(layout: &'a Layout) -> anyhow::Result<Self> {
        Ok(Self {
            layout,
            signals: Signals::watch(&[Signal::SIGCHLD])?,
        })
    }

    /// Drives the client of an adapter and keeps what was seen. An error is the signal that harn is to end by.
    pub(super) fn rehearse(&mut self, manifest: &Manifest) -> Result<Live, Signal> {
        let id = &manifest.id;
        let found = manifest.programs.iter().find_map(|name| {
            let path = which::which(name).ok()?;
            Some((name, path))
        });
        let Some((name, path)) = found.filter(|_| manifest.launch.builtin.is_none()) else {
            return Ok(Live::Skipped {
                reason: "no client of it is installed".to_owned(),
                hint: "put it on PATH",
            });
        };
        let version = version::of(self.layout, &path).map(|it| it.to_string());
        let shown = version.as_deref().unwrap_or("of unknown version");
        dispatch::progress(&format!("{id}: {} {shown}", path.display()));
        let dimensions = match self.session(manifest, &path) {
            Ok(dimensions) => dimensions,
            Err(Halt::Interrupted(signal)) => return Err(signal),
            Err(halt) => {
                return Ok(Live::Failed {
                    reason: halt.to_string(),
                });
            }
        };
        let Some(dimensions) = dimensions else {
            return Ok(Live::Skipped {
                reason: "harn cannot drive it without a screen".to_owned(),
                hint: "drive it by hand",
            });
        };
        let is_drift = dimensions.iter().any(|it| it.verdict == Verdict::Drift);
        let attested = Attested {
            program: name.clone(),
            version,
            at: clock::now(),
            harn: env!("CARGO_PKG_VERSION").to_owned(),
            result: if is_drift {
                Outcome::Drift
            } else {
                Outcome::AsClaimed
            },
            dimensions,
        };
        if let Err(error) = attested::write(self.layout, id.as_str(), attested.clone()) {
            tracing::warn!(%error, "what was seen is not kept");
            dispatch::complain(&format!("what was seen is not kept: {error}"), None);
        }
        Ok(Live::Ran(attested))
    }

    fn session(&mut self, manifest: &Manifest, client: &Path) -> Result<Option<Vec<Line>>, Halt> {
        let id = &manifest.id;
        let machine = Machine::new()?;
        let Some(drive) = machine.with_place(|place| Drive::start(id, place)) else {
            return Ok(None);
        };
        let drive = drive.map_err(std::io::Error::other)?;
        for (path, text) in &drive.files {
            machine::write(path, text)?;
        }
        dispatch::progress(&format!("{id}: installing hooks in a scratch home"));
        let own: PathBuf = std::env::current_exe()?;
        let mut install = machine.command(&own)?;
        install.args(["install", id.as_str()]);
        machine.run(install, &mut self.signals)?;
        for (turn, args) in drive.turns.iter().enumerate() {
            let count = drive.turns.len();
            dispatch::progress(&format!("{id}: turn {} of {count}", turn + 1));
            machine.with_place(|place| drive.prepare(turn, place));
            let mut command = machine.command(client)?;
            command.args(args).envs(drive.variables.iter().cloned());
            machine.run(command, &mut self.signals)?;
        }
        let layout = machine.layout().map_err(std::io::Error::other)?;
        let entries = session::of_project(&layout, &machine.project());
        let entries = entries.map_err(std::io::Error::other)?;
        let events = entries
            .iter()
            .flat_map(|entry| session::newest_events(&layout, entry, LOG_BYTES));
        let rehearsed = Rehearsed {
            events: events.collect(),
            requests: drive.log().all(),
            reported_tokens: drive.reported_tokens.clone(),
        };
        judge::is_complete(&rehearsed).map_err(std::io::Error::other)?;
        Ok(Some(judge::judge(manifest, &rehearsed)))
    }
}
