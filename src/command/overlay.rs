//! The overlay of a hosted program: whether there is one, what it says at first, and who keeps it up to date.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::dispatch::complain;
use super::{clock, place, telemetry};
use crate::cli::{self, RunArgs};
use crate::config::{Config, OverlayChoice};
use crate::event::SessionId;
use crate::supervisor::follower::{Followed, Follower, Means};
use crate::terminal::overlay::{Line, Notice, Overlay, Part, Poster, Show, Tone, board};
use crate::terminal::{Action, DEFAULT_PREFIX, HostEvent, Prefix, PrefixError};
use crate::text::one_line;

/// The overlay for the host, and the follower's handle for its listener.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) overlay: Option<Overlay>,
    follower: Option<Follower>,
    pub(super) poster: Option<Poster>,
}

impl Shown {
    /// Nothing is shown where that fails: the program runs all the same.
    pub(super) fn prepare(args: &RunArgs, program: &OsStr, followed: Option<Followed>) -> Self {
        let config = config();
        let Some(show) = wanted(args, &config, followed.is_some()) else {
            return Self::default();
        };
        let prefix = match prefix(&config) {
            Ok(prefix) => prefix,
            Err(error) => {
                complain(&error, Some("harn runs without a prefix key"));
                None
            }
        };
        let (poster, board) = match board() {
            Ok(ends) => ends,
            Err(error) => {
                tracing::warn!(%error, "no overlay");
                return Self::default();
            }
        };
        let first = first_line(program, followed.as_ref());
        let follower = followed.and_then(|followed| {
            let means = Means {
                now: clock::now,
                checkpoint: Box::new(save_checkpoint),
                record: Box::new(telemetry::reader(followed.layout.clone())),
            };
            Follower::start(followed, means, poster.clone())
                .inspect_err(|error| tracing::warn!(%error, "the overlay is not kept up to date"))
                .ok()
        });
        let overlay = Overlay {
            show,
            prefix,
            has_color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            board,
            poster: poster.clone(),
            first,
        };
        Self {
            overlay: Some(overlay),
            follower,
            poster: Some(poster),
        }
    }

    /// Passes on what the host tells; never waits.
    pub(super) fn hear(&self, event: HostEvent<'_>) {
        match (event, &self.follower) {
            (HostEvent::Output(_) | HostEvent::Input(_), Some(follower)) => follower.stir(),
            (HostEvent::Asked(action), Some(follower)) => follower.ask(action),
            (HostEvent::Asked(action), None) => self.decline(action),
            (
                HostEvent::Output(_)
                | HostEvent::Input(_)
                | HostEvent::Started { .. }
                | HostEvent::Resized(_)
                | HostEvent::Stopped
                | HostEvent::Continued
                | HostEvent::Ended(_),
                _,
            ) => {}
        }
    }

    /// A program without an adapter has no session to act on.
    fn decline(&self, action: Action) {
        let is_about_session = match action {
            Action::Compact | Action::Checkpoint | Action::Note => true,
            Action::Toggle | Action::Help => false,
        };
        if let Some(poster) = self.poster.as_ref().filter(|_| is_about_session) {
            let text = "no session: harn knows no harness in this program";
            let line = Line(vec![Part::new(text, Tone::Strong, 0)]);
            poster.post(Notice::Message(line));
        }
    }
}

fn config() -> Config {
    let Ok(layout) = place::layout() else {
        return Config::default();
    };
    place::config(&layout).unwrap_or_else(|error| {
        complain(&error, Some("harn goes on with the defaults"));
        Config::default()
    })
}

/// The command line decides, then the config, and that only for a harness harn knows.
fn wanted(args: &RunArgs, config: &Config, is_known: bool) -> Option<Show> {
    if std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        return None;
    }
    match (args.overlay, config.overlay) {
        (Some(cli::Overlay::Row), _) => Some(Show::Row),
        (Some(cli::Overlay::Title), _) => Some(Show::Title),
        (Some(cli::Overlay::Off), _) | (None, OverlayChoice::Off) => None,
        (None, OverlayChoice::Row) => is_known.then_some(Show::Row),
        (None, OverlayChoice::Title) => is_known.then_some(Show::Title),
    }
}

fn prefix(config: &Config) -> Result<Option<Prefix>, PrefixError> {
    match config.prefix.as_deref() {
        Some("none") => Ok(None),
        Some(name) => name.parse().map(Some),
        None => DEFAULT_PREFIX.parse().map(Some),
    }
}

fn first_line(program: &OsStr, followed: Option<&Followed>) -> Line {
    let name = Path::new(program).file_name().unwrap_or(program);
    match followed {
        Some(followed) => Line(vec![
            Part::new(format!("{} starting", followed.adapter), Tone::Strong, 0),
            Part::new("context ?", Tone::Plain, 3),
        ]),
        None => Line(vec![
            Part::new(one_line(&name.to_string_lossy()), Tone::Strong, 0),
            Part::new("no adapter", Tone::Quiet, 1),
        ]),
    }
}

/// A process of its own, so that nothing of it can touch the session that is hosted here.
pub(super) fn save_checkpoint(session: &SessionId) -> String {
    let run = || -> std::io::Result<(bool, String)> {
        let output = Command::new(std::env::current_exe()?)
            .args(["context", "checkpoint", "--session", session.as_str()])
            .stdin(Stdio::null())
            .output()?;
        let text = if output.status.success() {
            output.stdout
        } else {
            output.stderr
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok((output.status.success(), text))
    };
    match run() {
        Ok((true, text)) => {
            let first = text.lines().next().unwrap_or_default();
            // The path is long and the row is short.
            one_line(first.split_once(": ").map_or(first, |(head, _)| head))
        }
        Ok((false, text)) => one_line(text.lines().next().unwrap_or("checkpoint failed")),
        Err(error) => format!("checkpoint failed: {error}"),
    }
}
