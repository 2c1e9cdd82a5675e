//! `harn statusline <adapter>`: stands where a harness calls its status line.
//!
//! Takes the sample, then becomes the user's own status line: same standard input, environment, width, time limit and
//! process, so that its output and its end are the harness's to see, unchanged. Where the user has none, harn's own
//! segment is shown, or nothing. Never complains: a status line has no place for it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use super::dispatch::say;
use super::session::Session;
use super::{clock, log_file, place, telemetry};
use crate::adapter::gauge::{Gauge, StatusReport, gauge};
use crate::cli::StatuslineArgs;
use crate::continuity::State;
use crate::event::{EventSource, HarnessId, Timestamp};
use crate::exit::Exit;
use crate::store::Layout;
use crate::store::dir::Durability;
use crate::store::index;
use crate::supervisor::run::RunDir;
use crate::telemetry::Absent;
use crate::text::short_tokens;

/// A payload larger than this is no status.
const LIMIT_BYTES: u64 = 4 * 1024 * 1024;
/// What every pipe takes without a reader.
const PIPE_BYTES: usize = 16 * 1024;
/// Past this the user's status line no longer waits for harn.
const RECORD_LIMIT: Duration = Duration::from_millis(100);
/// A hook at work holds the session's lock; its own reading makes up for a sample that is lost here.
const PATIENCE: Duration = Duration::from_millis(20);
/// A repeated number is noted no more often than this, in milliseconds.
const CONFIRM_MS: u64 = 5_000;

pub(super) fn run(args: &StatuslineArgs) -> Exit {
    // Called by the status line that harn itself has called.
    if place::var(place::DEPTH).is_some() {
        return Exit::Ok;
    }
    let mut payload = Vec::new();
    let stdin = io::stdin().lock();
    if let Err(error) = stdin.take(LIMIT_BYTES).read_to_end(&mut payload) {
        tracing::debug!(%error, "no payload");
    }
    let adapter = HarnessId::new(&args.adapter);
    let Some(gauge) = gauge(&adapter) else {
        return Exit::Ok;
    };
    let layout = place::layout().ok();
    if let Some(layout) = &layout {
        let filter = place::var(place::LOG).and_then(|filter| filter.into_string().ok());
        log_file::begin(layout, filter.as_deref());
    }
    let report = gauge.status_line.and_then(|parse| parse(&payload));
    let own = match &args.then {
        Some(then) => Some(then.clone()),
        None => own_command(layout.as_ref(), gauge, report.as_ref()),
    };
    let state = match (&layout, report) {
        (Some(layout), Some(report)) if !place::is_disabled() => record(layout, adapter, report),
        _ => None,
    };
    match own {
        Some(command) => become_command(&command, payload),
        None => show(layout.as_ref(), state.as_ref()),
    }
}

/// The status line that harn stands in front of: what the user passed to this run, else what their settings name.
fn own_command(
    layout: Option<&Layout>,
    gauge: Gauge,
    report: Option<&StatusReport>,
) -> Option<String> {
    if let Some(command) = layout.and_then(passed) {
        // Empty: the client was told to read settings that have none.
        return Some(command).filter(|command| !command.is_empty());
    }
    let told = report.and_then(|report| report.project.as_ref().map(PathBuf::from));
    let project = told
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::current_dir().ok())?;
    (gauge.own_status_line)(&telemetry::settings(&project)).map(|line| line.command)
}

fn passed(layout: &Layout) -> Option<String> {
    let dir = RunDir::open(layout, &place::run_hint()?).ok()??;
    dir.status_line().ok()?
}

/// Records the sample, unless that takes too long.
fn record(layout: &Layout, adapter: HarnessId, report: StatusReport) -> Option<State> {
    let layout = layout.clone();
    let now = clock::now();
    let (done, wait) = sync_channel(1);
    std::thread::spawn(move || {
        let state = record_at(&layout, &adapter, &report, now);
        if done.send(state).is_err() {
            tracing::debug!("the status line did not wait");
        }
    });
    wait.recv_timeout(RECORD_LIMIT).ok()?
}

fn record_at(
    layout: &Layout,
    adapter: &HarnessId,
    report: &StatusReport,
    now: Timestamp,
) -> Option<State> {
    // A session is known from its first hook on.
    let entry = index::find(layout, &report.session).ok()??;
    if entry.adapter != *adapter {
        return None;
    }
    let seen = Session::view(layout, &entry).ok()?;
    let meter = &seen.state.context;
    let is_fresh = meter
        .seen_at()
        .is_none_or(|at| now.ms_since(at) < CONFIRM_MS);
    if meter.offer(&report.reading, now).is_none() && is_fresh {
        return Some(seen.state);
    }
    let mut session = match Session::open(layout, &entry, PATIENCE) {
        Ok(session) => session,
        Err(error) => {
            tracing::debug!(%error, "the sample is lost");
            return Some(seen.state);
        }
    };
    telemetry::record(&mut session, &report.reading, EventSource::Statusline, now);
    if let Err(error) = session.save(Durability::Atomic) {
        tracing::warn!(%error, "the state file is behind");
    }
    Some(session.state)
}

/// Runs the user's command in harn's place.
fn become_command(command: &str, payload: Vec<u8>) -> Exit {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).env(place::DEPTH, "1");
    if payload.len() > PIPE_BYTES {
        return wait_for(shell, payload);
    }
    let piped = io::pipe().and_then(|(reader, mut writer)| {
        writer.write_all(&payload)?;
        Ok(reader)
    });
    match piped {
        Ok(reader) => {
            let error = shell.stdin(reader).exec();
            tracing::warn!(%error, "the status line cannot be started");
            Exit::Failed
        }
        Err(error) => {
            tracing::warn!(%error, "no pipe for the status line");
            Exit::Failed
        }
    }
}

/// For a payload that no pipe holds at once.
fn wait_for(mut shell: Command, payload: Vec<u8>) -> Exit {
    let Ok(mut child) = shell.stdin(Stdio::piped()).spawn() else {
        return Exit::Failed;
    };
    let pipe = child.stdin.take();
    std::thread::spawn(move || {
        let written = pipe.map(|mut pipe| pipe.write_all(&payload));
        tracing::trace!(?written, "payload passed on");
    });
    match child.wait().map(|status| status.code()) {
        Ok(Some(code)) => Exit::Program(u8::try_from(code).unwrap_or(1)),
        Ok(None) | Err(_) => Exit::Failed,
    }
}

fn show(layout: Option<&Layout>, state: Option<&State>) -> Exit {
    let wanted = layout.is_some_and(|layout| place::config_or_default(layout).statusline.segment);
    let Some(state) = state.filter(|_| wanted) else {
        return Exit::Ok;
    };
    say(&segment(state)).unwrap_or(Exit::Ok)
}

/// harn's own status line.
fn segment(state: &State) -> String {
    let meter = &state.context;
    let sample = meter.current.as_ref();
    let context = match sample.and_then(|sample| Some((sample, sample.used_tokens?))) {
        Some((sample, used)) => {
            let of = sample
                .window_tokens
                .map_or_else(String::new, |window| format!("/{}", short_tokens(window)));
            let percent = sample
                .used_percent
                .map_or_else(String::new, |percent| format!(" {percent}%"));
            format!("{}{of}{percent}", short_tokens(used))
        }
        None if meter.absent == Absent::Compacted => "context unknown (compacted)".to_owned(),
        None => "context unknown".to_owned(),
    };
    let checkpoint = match state.generation {
        0 => String::new(),
        generation => format!(" · checkpoint {generation}"),
    };
    format!("harn {context}{checkpoint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventBody, Tokens};
    use crate::telemetry::{Confidence, ContextSample, Percent, SampleSource, WindowBasis};

    #[test]
    fn the_segment_says_what_is_known_and_no_more() {
        let at = Timestamp::from_unix_ms(1_000);
        let mut state = State::default();
        assert_eq!(segment(&state), "harn context unknown");
        let sample = ContextSample {
            used_tokens: Some(Tokens(84_120)),
            window_tokens: Some(Tokens(200_000)),
            window: WindowBasis::Reported,
            used_percent: Percent::new(42.0),
            source: SampleSource::Statusline,
            confidence: Confidence::Reported,
            model: None,
            at,
            mismatch: None,
        };
        state.apply(&EventBody::ContextSampled(sample), at);
        state.generation = 3;
        assert_eq!(segment(&state), "harn 84k/200k 42% · checkpoint 3");
        state.context.compacted(at);
        assert_eq!(
            segment(&state),
            "harn context unknown (compacted) · checkpoint 3"
        );
    }
}
