//! From a command line to a command, and from its end to an exit code.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use serde::Serialize;

use super::adapter;
use super::{
    compact, context, doctor, events, hook, install, note, packaging, run, sessions, statusline,
    uninstall, watch,
};
use crate::cli::{Cli, Command, HookArgs};
use crate::demo;
use crate::exit::Exit;

/// The hint that goes with an error of harn's own making.
pub(super) const BUG: &str = "please report it; this is a bug";

/// The subcommand that harnesses call.
const HOOK_WORD: &str = "hook";

/// Everything the binary does; `args` begin with the program's own name.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let is_hook = args.get(1).is_some_and(|word| word == HOOK_WORD);
    let exit = answer(args);
    // To a harness, clap's and our own codes would mean something else ("block", "failed"). Hooks fail open.
    if is_hook {
        Exit::Ok.into()
    } else {
        exit.into()
    }
}

fn answer(args: Vec<OsString>) -> Exit {
    if let Some(call) = plain_hook(&args) {
        return guarded(|| hook::run(&call));
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            };
            // Nobody is there to read it; the code still tells.
            return if error.print().is_ok() {
                exit
            } else {
                Exit::Failed
            };
        }
    };
    guarded(|| dispatch(&cli))
}

/// A hook as harnesses call it: building the parser for it takes longer than most of what the hook does.
fn plain_hook(args: &[OsString]) -> Option<HookArgs> {
    let [_, word, adapter, event] = args else {
        return None;
    };
    let plain = |word: &OsString| {
        let word = word.to_str()?;
        (!word.is_empty() && !word.starts_with('-')).then(|| word.to_owned())
    };
    (word == HOOK_WORD).then_some(())?;
    Some(HookArgs {
        adapter: plain(adapter)?,
        event: plain(event)?,
    })
}

fn guarded(work: impl FnOnce() -> Exit) -> Exit {
    let ended = panic::catch_unwind(AssertUnwindSafe(work));
    ended.unwrap_or_else(|_| {
        // Where it happened has been printed, but perhaps to a screen that is gone by now.
        complain(&"internal error: harn panicked", Some(BUG));
        Exit::Internal
    })
}

fn dispatch(cli: &Cli) -> Exit {
    let done = match &cli.command {
        Command::Run(args) => return run::run(args),
        Command::Hook(args) => return hook::run(args),
        Command::Statusline(args) => return statusline::run(args),
        Command::Context(args) => context::run(args),
        Command::DemoAgent(options) => match demo::run(options) {
            Ok(code) => return Exit::Program(code),
            Err(error) => Err(error.into()),
        },
        Command::Adapter(args) => adapter::run(args),
        Command::Compact(args) => compact::run(args),
        Command::Note(args) => note::run(args),
        Command::Events(args) => events::run(args),
        Command::Sessions(args) => sessions::run(args),
        Command::Watch => watch::run(),
        Command::Install(args) => install::run(args),
        Command::Uninstall(args) => uninstall::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => packaging::completions(args),
        Command::Man => packaging::man(),
    };
    done.unwrap_or_else(|error| {
        complain(&format!("{error:#}"), None);
        Exit::Failed
    })
}

/// Prints text and a line feed.
pub(super) fn say(text: &str) -> anyhow::Result<Exit> {
    say_bytes(format!("{text}\n").as_bytes())
}

/// Prints bytes as they are.
pub(super) fn say_bytes(bytes: &[u8]) -> anyhow::Result<Exit> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Exit::Ok),
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
        Err(error) => Err(error).context("cannot print"),
    }
}

/// Prints one JSON document.
pub(super) fn say_json(document: &impl Serialize) -> anyhow::Result<Exit> {
    say(&serde_json::to_string(document)?)
}

/// One line for people who wait.
pub(super) fn progress(what: &str) {
    if let Err(error) = io::stderr().write_all(format!("{what}\n").as_bytes()) {
        tracing::debug!(%error, what, "standard error is closed");
    }
}

/// One line for what failed and why, one for what to do about it.
pub(super) fn complain(what: &dyn std::fmt::Display, hint: Option<&str>) {
    let mut text = format!("harn: {what}\n");
    if let Some(hint) = hint {
        text.push_str("hint: ");
        text.push_str(hint);
        text.push('\n');
    }
    if let Err(error) = io::stderr().write_all(text.as_bytes()) {
        tracing::debug!(%error, text, "standard error is closed");
    }
}
