//! Reads what a harness says of its context, and records what is news.
//!
//! Called by hooks and by the status-line bridge, both within their time. Whatever cannot be read is logged and leaves
//! the meter as it is: unknown is better than wrong.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::place;
use super::session::Session;
use crate::adapter::gauge::{Gauge, Settings, Subject, gauge};
use crate::event::{CompactionTrigger, EventBody, EventSource, SessionId, Timestamp};
use crate::follow::{FollowError, Follower, Limits, Order, Position};
use crate::process;
use crate::store::{Layout, index};
use crate::supervisor::follower::{Gained, Whose};
use crate::supervisor::run::{Run, RunDir};
use crate::supervisor::threshold;
use crate::telemetry::{Fact, Meter, Reading};

/// A transcript that takes longer to read than this is left for the next signal.
const READ_LIMIT: Duration = Duration::from_millis(150);
/// The same for a person who waits.
const VIEW_LIMIT: Duration = Duration::from_secs(2);
/// A settings file larger than this is nobody's.
const SETTINGS_LIMIT_BYTES: u64 = 1024 * 1024;

/// Looks at the session's transcript, and records what it says that is new.
pub(super) fn read_transcript(session: &mut Session, now: Timestamp) {
    let Some(found) = look(session, Limits::BRIEF, READ_LIMIT) else {
        return;
    };
    session.followed = found.position;
    for fact in found.facts {
        match fact {
            Fact::Reading(reading) => record(session, &reading, EventSource::Transcript, now),
            Fact::Boundary(boundary) => {
                if session.state.context.is_news(&boundary, now) {
                    let body = EventBody::ContextBoundary {
                        trigger: boundary.trigger,
                        before_tokens: boundary.before,
                        recorded_at: boundary.at.unwrap_or(now).min(now),
                    };
                    session.record(body, EventSource::Transcript, now);
                    learn(session, boundary.trigger);
                }
            }
            Fact::Model(_) => {}
        }
    }
}

/// Keeps for all sessions at how many tokens the harness has just compacted by itself.
fn learn(session: &Session, trigger: CompactionTrigger) {
    let automatic = session.state.context.automatic.last();
    let (CompactionTrigger::Auto, Some(automatic), Ok(layout)) =
        (trigger, automatic, place::layout())
    else {
        return;
    };
    if let Err(error) = threshold::learn(&layout, &session.adapter, automatic) {
        tracing::info!(%error, "an automatic compaction is not kept for other sessions");
    }
}

/// For somebody who only looks: what this user's other sessions have seen of the harness, with what this one has.
pub(super) fn recall(session: &mut Session, layout: &Layout) {
    let known = threshold::known(layout, &session.adapter);
    if !known.is_empty() {
        session.state.context.automatic = known;
    }
}

/// Looks at the transcript for somebody who only looks: hooks run before the harness has written the end of its turn.
pub(super) fn preview(session: &mut Session, now: Timestamp) {
    let Some(found) = look(session, Limits::PATIENT, VIEW_LIMIT) else {
        return;
    };
    for fact in &found.facts {
        session.state.context.take(fact, now);
    }
}

/// Reads a session's record on from where it was, for the overlay: called on a thread that may wait for the disk.
pub(super) fn reader(layout: Layout) -> impl FnMut(Whose<'_>) -> Option<Gained> + Send {
    let mut read: Option<Record> = None;
    move |whose| match whose {
        Whose::Session(session) => {
            if read.as_ref().and_then(|it| it.session.as_ref()) != Some(session) {
                read = Record::of(&layout, session);
            }
            read.as_mut().map(Record::read)
        }
        Whose::Silent(run) => {
            let gained = read.as_mut().map(Record::read);
            if gained.as_ref().is_some_and(|it| !it.facts.is_empty()) {
                return gained;
            }
            // The client may have gone on to another conversation; a record that is closed for a moment has not gone.
            let path = gained.as_ref().map(|it| it.path.clone());
            match Record::held_by(run) {
                Some(held) if Some(held.follower.path()) != path.as_deref() => {
                    read.insert(held).read().into()
                }
                Some(_) | None => gained,
            }
        }
    }
}

/// What a run's own record says of its context, where no hook has named a session.
pub(super) fn silent(run: &Run, now: Timestamp) -> Option<Meter> {
    let mut meter = Meter::default();
    for fact in Record::held_by(run)?.read().facts {
        meter.take(&fact, now);
    }
    Some(meter)
}

/// A session's record as it is followed.
struct Record {
    /// None where the record was found without a hook.
    session: Option<SessionId>,
    gauge: Gauge,
    model: Option<String>,
    follower: Follower,
}

impl Record {
    /// `None` while the session has named none.
    fn of(layout: &Layout, session: &SessionId) -> Option<Self> {
        let entry = index::find(layout, session).ok()??;
        let seen = Session::view(layout, &entry).ok()?;
        let gauge = gauge(&seen.adapter)?;
        let path = PathBuf::from(seen.state.session.transcript.as_ref()?);
        (path.is_absolute() && (gauge.is_main)(&path)).then(|| Self {
            session: Some(session.clone()),
            gauge,
            model: seen.state.session.model.clone(),
            follower: Follower::new(path, Limits::PATIENT, None),
        })
    }

    /// The newest conversation with the user that a process of this run's client holds open.
    fn held_by(run: &Run) -> Option<Self> {
        let gauge = gauge(&run.adapter)?;
        let is_held = gauge.is_held?;
        let is_session = |follower: &Follower| {
            let line = follower.first_line();
            line.is_ok_and(|line| line.is_some_and(|line| is_held(&line)))
        };
        let held = process::held_below(run.client?, gauge.is_main)?;
        let records = held.into_iter().map(|(_, path)| {
            let changed = std::fs::metadata(&path)
                .and_then(|meta| meta.modified())
                .ok();
            (changed, Follower::new(path, Limits::PATIENT, None))
        });
        let (_, follower) = records
            .filter(|(_, follower)| is_session(follower))
            .max_by_key(|(changed, _)| *changed)?;
        Some(Self {
            session: None,
            gauge,
            model: None,
            follower,
        })
    }

    fn read(&mut self) -> Gained {
        let model = self.model.as_deref();
        let nobody = SessionId::new("");
        let subject = Subject {
            session: self.session.as_ref().unwrap_or(&nobody),
            model,
        };
        let facts = match facts(&mut self.follower, self.gauge, subject) {
            Ok(facts) => named(facts, model),
            Err(FollowError::Missing { .. }) => Vec::new(),
            Err(error) => {
                tracing::debug!(%error, "the transcript is not read");
                Vec::new()
            }
        };
        Gained {
            path: self.follower.path().to_owned(),
            facts,
        }
    }
}

struct Found {
    facts: Vec<Fact>,
    position: Option<Position>,
}

/// Reads on a thread of its own: a file system that hangs must not take the checkpoint's time.
fn look(session: &Session, limits: Limits, time: Duration) -> Option<Found> {
    let gauge = gauge(&session.adapter)?;
    let path = PathBuf::from(session.state.session.transcript.as_ref()?);
    if !path.is_absolute() || !(gauge.is_main)(&path) {
        return None;
    }
    let mut follower = Follower::new(path, limits, session.followed);
    let id = session.id.clone();
    let model = session.state.session.model.clone();
    let (done, wait) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let subject = Subject {
            session: &id,
            model: model.as_deref(),
        };
        let facts = facts(&mut follower, gauge, subject).map(|facts| named(facts, subject.model));
        let sent = done.send(facts.map(|facts| Found {
            facts,
            position: follower.position(),
        }));
        if sent.is_err() {
            tracing::info!("the transcript took too long to read");
        }
    });
    match wait.recv_timeout(time) {
        Ok(Ok(found)) => Some(found),
        // Not written yet (a session begins without one), or too slow.
        Ok(Err(FollowError::Missing { .. })) | Err(_) => None,
        Ok(Err(error)) => {
            tracing::info!(%error, "the transcript is not read");
            None
        }
    }
}

/// Readings with the model they are of, where the record tells it on lines of its own.
fn named(mut facts: Vec<Fact>, model: Option<&str>) -> Vec<Fact> {
    let mut model = model.map(str::to_owned);
    for fact in &mut facts {
        match fact {
            Fact::Model(name) => model = Some(name.clone()),
            Fact::Reading(reading) if reading.model.is_none() => reading.model.clone_from(&model),
            Fact::Reading(_) | Fact::Boundary(_) => {}
        }
    }
    facts
}

/// The facts that are new, oldest first; of a run of readings only the last.
fn facts(
    follower: &mut Follower,
    gauge: Gauge,
    subject: Subject<'_>,
) -> Result<Vec<Fact>, FollowError> {
    let mut found = Vec::new();
    let mut damaged = 0_u64;
    let mut is_backwards = false;
    let progress = follower.poll(&mut |line, order| {
        let parsed = (gauge.line)(line, subject);
        damaged += u64::from(parsed.is_damaged);
        is_backwards |= order == Order::NewestFirst;
        let Some(fact) = parsed.fact else {
            return ControlFlow::Continue(());
        };
        let is_reading = matches!(fact, Fact::Reading(_));
        if is_reading && matches!(found.last(), Some(Fact::Reading(_))) {
            found.pop();
        }
        found.push(fact);
        // Nothing from before the newest reading can change what is shown.
        if is_reading && order == Order::NewestFirst {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if damaged > 0 || progress.oversized > 0 {
        tracing::info!(
            damaged,
            oversized = progress.oversized,
            "lines of the transcript were passed over"
        );
    }
    if is_backwards {
        found.reverse();
    }
    Ok(found)
}

/// Records a reading if it is news.
pub(super) fn record(
    session: &mut Session,
    reading: &Reading,
    source: EventSource,
    now: Timestamp,
) {
    match session.state.context.offer(reading, now) {
        Some(sample) => session.record(EventBody::ContextSampled(sample), source, now),
        None => session.state.context.confirm(reading, now),
    }
}

/// Takes note of the harness's own settings. Called from within the harness, whose environment tells.
pub(super) fn read_knobs(session: &mut Session) {
    let Some(gauge) = gauge(&session.adapter) else {
        return;
    };
    let project = session.project.clone();
    let run = session.run.as_ref().and_then(|run| {
        let dir = RunDir::open(&place::layout().ok()?, run).ok()??;
        Some(dir.settings_path())
    });
    let found = (gauge.knobs)(&Settings {
        run,
        ..settings(&project)
    });
    session.state.context.aside.knobs = found.knobs;
    session.state.context.aside.threshold = found.threshold;
}

/// The settings around this process, for a session of `project`.
pub(super) fn settings(project: &Path) -> Settings<'_> {
    Settings {
        var: &variable,
        read: &small_file,
        project,
        run: None,
    }
}

fn variable(name: &str) -> Option<OsString> {
    place::var(name)
}

fn small_file(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(SETTINGS_LIMIT_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
