//! `harn compact`: finds the run, asks it, prints how it ended.

use std::io::{ErrorKind, IsTerminal as _, Write as _};

use super::dispatch::{complain, say, say_json};
use super::{overlay, place};
use crate::adapter::recipe;
use crate::cli::CompactArgs;
use crate::compaction::{Focus, FocusReport, Origin, Outcome, Settled, Timing, TokenCounts};
use crate::event::SCHEMA;
use crate::exit::Exit;
use crate::store::Layout;
use crate::supervisor::control::{self, RequestKind, RequestWire};
use crate::supervisor::run::{self, Live, RunDir};
use crate::text::one_line;

/// The longest wait, in seconds: a day.
const WAIT_S: u64 = 24 * 3_600;

pub(super) fn run(args: &CompactArgs) -> anyhow::Result<Exit> {
    let focus = match args.focus.as_deref().map(str::parse::<Focus>).transpose() {
        Ok(focus) => focus,
        Err(error) => {
            complain(&error, Some("give one line of at most 200 characters"));
            return Ok(Exit::Usage);
        }
    };
    if args.wait > WAIT_S {
        complain(&"--wait takes at most 86400 seconds", None);
        return Ok(Exit::Usage);
    }
    let layout = place::layout()?;
    let live = match find(&layout, args.run.as_deref())? {
        Found::One(live) => *live,
        Found::None(reason) => return report(&refused(None, focus.as_ref(), reason), args, None),
        Found::Several(runs) => {
            let names: Vec<String> = runs.iter().map(name_of).collect();
            let what = format!("several runs could be meant:\n  {}", names.join("\n  "));
            complain(&what, Some("name one with --run ID"));
            return Ok(Exit::Usage);
        }
    };
    let settled = ask(&live, focus.as_ref(), args);
    let fresh = recipe::recipe(&live.run.adapter, &[]).map(|recipe| recipe.fresh);
    report(&settled, args, fresh)
}

enum Found {
    One(Box<Live>),
    /// Nobody could be asked, and why.
    None(String),
    Several(Vec<Live>),
}

/// The run that was named, that this is called in, or the only one of this project.
fn find(layout: &Layout, named: Option<&str>) -> anyhow::Result<Found> {
    let runs = run::live(layout)?;
    if let Some(named) = named {
        let meant =
            |live: &Live| live.run.id.as_str() == named || live.run.name.as_deref() == Some(named);
        return Ok(pick(
            runs.into_iter().filter(meant).collect(),
            format!("no live run {}", one_line(named)),
        ));
    }
    if let Some(hint) = place::run_hint() {
        let found = runs.iter().find(|live| live.run.id == hint);
        if let Some(live) = found {
            return Ok(Found::One(Box::new(live.clone())));
        }
        let is_there = RunDir::open(layout, &hint)?.is_some();
        let reason = if is_there {
            "the harn that hosts this session is gone"
        } else {
            "this session's run is over"
        };
        return Ok(Found::None(reason.to_owned()));
    }
    let project = place::project_at(&std::env::current_dir()?);
    let is_here = |live: &Live| live.run.project.as_deref() == Some(project.as_path());
    let reason = "no session here is hosted by harn: a hook cannot compact, only a person at the keyboard or `harn run` can";
    Ok(pick(
        runs.into_iter().filter(is_here).collect(),
        reason.to_owned(),
    ))
}

fn pick(mut runs: Vec<Live>, otherwise: String) -> Found {
    match runs.len() {
        0 => Found::None(otherwise),
        1 => Found::One(Box::new(runs.remove(0))),
        _ => Found::Several(runs),
    }
}

fn name_of(live: &Live) -> String {
    let name = live.run.name.as_deref().map(one_line);
    let name = name.map_or_else(String::new, |name| format!(" ({name})"));
    format!("{} {}{name}", live.run.id, live.run.adapter)
}

fn ask(live: &Live, focus: Option<&Focus>, args: &CompactArgs) -> Settled {
    let Some(socket) = &live.run.socket else {
        return without_socket(live, focus);
    };
    let request = RequestWire {
        schema: SCHEMA,
        request: RequestKind::Compact,
        focus: focus.map(|focus| focus.as_str().to_owned()),
        wait_ms: args.wait.saturating_mul(1_000),
    };
    let is_shown = !args.json && std::io::stderr().is_terminal();
    let mut progress = |text: &str| {
        if is_shown && writeln!(std::io::stderr(), "{}", one_line(text)).is_err() {
            tracing::debug!("progress is not shown");
        }
    };
    match control::ask(socket, &request, &mut progress) {
        Ok(Ok(settled)) => *settled,
        Ok(Err(why)) => refused(Some(live), focus, why),
        Err(error) => {
            // What a sandbox says; the socket is this very user's.
            let is_sandboxed = error.kind() == ErrorKind::PermissionDenied;
            let is_gone =
                [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&error.kind());
            let reason = match (is_sandboxed, is_gone) {
                (true, _) => "sandboxed: this process may not connect to harn's socket",
                (_, true) => "the harn that hosts the session is gone",
                (false, false) => return broken(live, focus, &error),
            };
            refused(Some(live), focus, reason.to_owned())
        }
    }
}

/// The run ended while the request was open: nothing tells what became of it.
fn broken(live: &Live, focus: Option<&Focus>, error: &std::io::Error) -> Settled {
    Settled {
        outcome: Outcome::Unconfirmed,
        ..refused(
            Some(live),
            focus,
            format!("the run does not answer: {error}"),
        )
    }
}

/// A harness without the command has its work saved; a run without a terminal has nobody who types.
fn without_socket(live: &Live, focus: Option<&Focus>) -> Settled {
    let has_recipe = recipe::recipe(&live.run.adapter, &[]).is_some();
    let session = live.speaker.as_ref().map(|speaker| &speaker.session);
    if let (false, Some(session)) = (has_recipe, session) {
        let saved = overlay::save_checkpoint(session);
        return Settled {
            outcome: Outcome::Skipped,
            ..refused(
                Some(live),
                focus,
                format!("this agent has no command for it; {saved}"),
            )
        };
    }
    let reason =
        "the run takes no requests: it has no terminal of its own, or runs without harn's hooks";
    refused(Some(live), focus, reason.to_owned())
}

fn refused(live: Option<&Live>, focus: Option<&Focus>, reason: String) -> Settled {
    let is_inside = place::run_hint().is_some();
    Settled {
        schema: SCHEMA,
        run: live.map(|live| live.run.id.clone()),
        session: live.and_then(|live| live.speaker.as_ref().map(|it| it.session.clone())),
        attempt: None,
        outcome: Outcome::Refused,
        reason: Some(reason),
        origin: if is_inside {
            Origin::Agent
        } else {
            Origin::Terminal
        },
        focus: focus.map(|focus| FocusReport {
            text: focus.as_str().to_owned(),
            applied: false,
        }),
        evidence: Vec::new(),
        tokens: TokenCounts::default(),
        generation: None,
        timing_ms: Timing::default(),
        handoff: None,
    }
}

fn report(settled: &Settled, args: &CompactArgs, fresh: Option<&str>) -> anyhow::Result<Exit> {
    let exit = match settled.outcome {
        Outcome::Confirmed | Outcome::Pending => Exit::Ok,
        Outcome::Skipped | Outcome::Refused | Outcome::Cancelled => Exit::NotDone,
        Outcome::Unconfirmed => Exit::Unconfirmed,
        Outcome::Failed | Outcome::Misfired => Exit::Failed,
    };
    let said = if args.json {
        say_json(settled)
    } else {
        say(&text(settled))
    }?;
    if said != Exit::Ok {
        return Ok(said);
    }
    if let (false, Some(hint)) = (args.json, hint(settled, fresh)) {
        writeln!(std::io::stderr(), "hint: {hint}")?;
    }
    Ok(exit)
}

fn text(settled: &Settled) -> String {
    let head = match settled.outcome {
        Outcome::Confirmed => "compacted: confirmed by the agent's own record",
        Outcome::Pending => "asked; the outcome is told by `harn events`",
        Outcome::Skipped
        | Outcome::Refused
        | Outcome::Failed
        | Outcome::Cancelled
        | Outcome::Misfired
        | Outcome::Unconfirmed => settled.outcome.word(),
    };
    let reason = settled.reason.as_deref().map(one_line);
    let unused = settled.focus.as_ref().filter(|focus| !focus.applied);
    let lines = [
        Some(reason.map_or_else(|| head.to_owned(), |reason| format!("{head}: {reason}"))),
        settled
            .generation
            .map(|generation| format!("checkpoint {generation} was saved before it")),
        settled
            .tokens
            .before
            .filter(|_| settled.outcome == Outcome::Confirmed)
            .map(|before| format!("{} tokens were in use before it", before.0)),
        unused.map(|focus| format!("the focus was not used: {}", one_line(&focus.text))),
        settled
            .handoff
            .as_ref()
            .map(|path| format!("hand-over written: {path}")),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    lines.join("\n")
}

fn hint(settled: &Settled, fresh: Option<&str>) -> Option<String> {
    if let (Some(path), Some(fresh)) = (&settled.handoff, fresh) {
        let path = shlex::try_quote(path).ok()?.into_owned();
        return Some(format!(
            "a fresh session with the work: {fresh} \"$(cat {path})\""
        ));
    }
    let reason = settled.reason.as_deref()?;
    if reason.starts_with("sandboxed") {
        return Some("run `harn compact` in a terminal outside the agent".to_owned());
    }
    if reason.starts_with("no session here") {
        return Some(
            "host the agent with `harn run -- <agent>`, or type its own command".to_owned(),
        );
    }
    None
}
