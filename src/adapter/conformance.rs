//! Whether what an adapter claims is what its recordings show: each goes through the production decoder, machine and reply.
//!
//! Pure. Recordings are compiled in. What only a running client can show (a briefing in the next request, a typed command that the
//! client takes) is shown here as far as harn's own part of it goes; `tests/real/` does the rest. Called by `command::adapter`.

use std::collections::BTreeMap;

use include_dir::{Dir, DirEntry, include_dir};
use serde::{Deserialize, Serialize};

use super::decode::{Decoded, decode};
use super::gauge::{self, Subject};
use super::manifest::{Dimension, Manifest, SignalKind, Support};
use super::recipe;
use super::reply::{Decision, reply};
use super::report::ReportScanner;
use crate::compaction::Record;
use crate::continuity::State;
use crate::continuity::signal::{HookInput, Signal};
use crate::continuity::step::{Effect, step};
use crate::event::{SessionId, StartSource, Timestamp};
use crate::telemetry::Fact;

static ADAPTERS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/adapters");

/// What replaying showed of one dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// It is there, and how it was seen.
    Yes(String),
    /// Some of it is there, and what is missing was seen as well.
    Partly(String),
    /// It was looked for and is not there.
    No(String),
    /// There is nothing to look at.
    Nothing(String),
    /// A recording cannot be read as what it should be: whatever is claimed, nothing bears it out.
    Broken(String),
}

/// How a claim stands to what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Supported,
    Partial,
    Unsupported,
    Unknown,
    /// There was nothing to look at.
    Skipped,
    /// The claim is not what was seen.
    Drift,
}

/// One line of the bench.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub dimension: Dimension,
    pub claimed: Support,
    pub verdict: Verdict,
    /// What was seen, for people.
    pub seen: String,
}

/// Recordings of one adapter, by path below its folder.
pub struct Recordings {
    files: Vec<(String, &'static [u8])>,
}

impl std::fmt::Debug for Recordings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recordings({})", self.files.len())
    }
}

impl Recordings {
    /// Those that are compiled in. A built-in agent that writes another's records is looked at through that one's.
    pub fn of(manifest: &Manifest) -> Self {
        let folder = if manifest.launch.builtin.is_some() {
            "claude-code"
        } else {
            manifest.id.as_str()
        };
        let mut files = Vec::new();
        if let Some(dir) = ADAPTERS.get_dir(format!("{folder}/fixtures")) {
            collect(dir, folder, &mut files);
        }
        Self { files }
    }

    #[cfg(test)]
    pub(crate) fn with(mut self, path: &str, bytes: Vec<u8>) -> Self {
        self.files.retain(|(known, _)| known != path);
        self.files.push((path.to_owned(), bytes.leak()));
        self
    }

    #[cfg(test)]
    pub(crate) fn without(mut self, part: &str) -> Self {
        self.files.retain(|(path, _)| !path.contains(part));
        self
    }

    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// Whether there is a recording of this name, or a folder of them.
    pub fn has(&self, path: &str) -> bool {
        self.files
            .iter()
            .any(|(known, _)| known == path || known.starts_with(&format!("{path}/")))
    }

    fn below(&self, folder: &str) -> impl Iterator<Item = (&str, &'static [u8])> {
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(folder))
            .map(|(path, bytes)| (path.as_str(), *bytes))
    }
}

fn collect(dir: &'static Dir<'static>, folder: &str, files: &mut Vec<(String, &'static [u8])>) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(dir) => collect(dir, folder, files),
            DirEntry::File(file) => {
                let path = file.path().strip_prefix(folder).unwrap_or(file.path());
                files.push((path.display().to_string(), file.contents()));
            }
        }
    }
}

/// Replays everything and holds it against the claims, dimension by dimension.
pub fn replay(manifest: &Manifest, recordings: &Recordings) -> Vec<Line> {
    Dimension::ALL
        .into_iter()
        .map(|dimension| {
            let seen = look(manifest, recordings, dimension);
            reconcile(dimension, manifest.support(dimension), seen)
        })
        .collect()
}

/// A claim against what was seen.
pub fn reconcile(dimension: Dimension, claimed: Support, seen: Seen) -> Line {
    let (verdict, seen) = match (claimed, seen) {
        (Support::Supported, Seen::Yes(how)) => (Verdict::Supported, how),
        (Support::Partial, Seen::Partly(how)) => (Verdict::Partial, how),
        (Support::Partial, Seen::Yes(how)) => {
            let what = "claimed in part, and nothing recorded shows what is missing";
            (Verdict::Drift, format!("{what}: {how}"))
        }
        (Support::Unsupported, Seen::No(how)) => (Verdict::Unsupported, how),
        (Support::Unknown, Seen::Nothing(how)) => (Verdict::Unknown, how),
        (_, Seen::Broken(how)) => (Verdict::Drift, how),
        (_, Seen::Nothing(how)) => (Verdict::Skipped, how),
        (Support::Unsupported | Support::Unknown, Seen::Yes(how) | Seen::Partly(how))
        | (Support::Supported, Seen::Partly(how))
        | (Support::Supported | Support::Partial | Support::Unknown, Seen::No(how)) => {
            (Verdict::Drift, how)
        }
    };
    Line {
        dimension,
        claimed,
        verdict,
        seen,
    }
}

fn look(manifest: &Manifest, recordings: &Recordings, dimension: Dimension) -> Seen {
    match dimension {
        Dimension::Telemetry => telemetry(manifest, recordings),
        Dimension::PreSignal => pre_signal(manifest, recordings),
        Dimension::PostSignal => signal(manifest, recordings, is_post),
        Dimension::Injection => injection(manifest, recordings),
        Dimension::TriggerOwned => trigger(manifest, recordings),
        Dimension::TriggerUnowned => {
            Seen::No("harn types into no session that it does not host".into())
        }
        Dimension::Focus => match recipe::recipe(&manifest.id, &[]) {
            Some(recipe) if recipe.manner.takes_focus => {
                Seen::Yes("the recipe types the words behind the command".into())
            }
            Some(_) => Seen::No("the recipe types no words behind the command".into()),
            None => Seen::No("no recipe".into()),
        },
        Dimension::Resume => resume(manifest, recordings),
    }
}

/// Recorded payloads, decoded, and the names of those that cannot be; an event that harn does not listen to is none.
fn inputs(manifest: &Manifest, recordings: &Recordings) -> (Vec<(String, HookInput)>, Vec<String>) {
    #[derive(serde::Deserialize)]
    struct RecordingWire {
        stdin: Box<serde_json::value::RawValue>,
    }
    let mut found = Vec::new();
    let mut broken = Vec::new();
    for (path, bytes) in recordings.below("fixtures/hook/") {
        let name = path.rsplit('/').next().unwrap_or(path);
        let native = name.split('.').next().unwrap_or(name);
        let Some(spec) = manifest.event(native) else {
            continue;
        };
        let recording = serde_json::from_slice::<RecordingWire>(bytes).ok();
        let decoded =
            recording.and_then(|it| decode(manifest, spec, it.stdin.get().as_bytes()).ok());
        match decoded {
            Some(Decoded::Input(input)) => found.push((name.to_owned(), *input)),
            Some(Decoded::Ignored(_)) => {}
            None => broken.push(name.to_owned()),
        }
    }
    (found, broken)
}

/// Where the harness's own records of sessions are.
const RECORDS: [&str; 2] = ["fixtures/transcript/", "fixtures/rollout/"];
/// Operating system commands of several sessions: seconds, number, text.
const TIMELINES: &str = "fixtures/osc-timelines.json";

/// Session records that are not whole: a line that is no JSON, or no end of the last line.
fn broken_records(recordings: &Recordings) -> Vec<String> {
    let is_whole = |bytes: &[u8]| {
        let Some(lines) = bytes.strip_suffix(b"\n") else {
            return false;
        };
        let mut lines = lines.split(|byte| *byte == b'\n');
        lines.all(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
    };
    let all = RECORDS.iter().flat_map(|folder| recordings.below(folder));
    all.filter(|(_, bytes)| !is_whole(bytes))
        .map(|(path, _)| path.to_owned())
        .collect()
}

fn broken(names: &[String]) -> Option<Seen> {
    (!names.is_empty()).then(|| Seen::Broken(format!("broken recordings: {}", names.join(", "))))
}

/// What the recipe makes of the recorded sessions.
fn records(manifest: &Manifest, recordings: &Recordings) -> Vec<Record> {
    let Some(recipe) = recipe::recipe(&manifest.id, &[]) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (_, bytes) in RECORDS.iter().flat_map(|folder| recordings.below(folder)) {
        for line in bytes.split(|byte| *byte == b'\n') {
            let own = session_of(line).unwrap_or_else(|| SessionId::new(""));
            found.extend((recipe.record)(line, &own));
        }
    }
    found
}

/// Announcements; where compactions that failed are recorded, too, an announcement is not one.
fn pre_signal(manifest: &Manifest, recordings: &Recordings) -> Seen {
    let seen = signal(manifest, recordings, |signal| {
        matches!(signal, Signal::CompactionAnnounced { .. })
    });
    let failed = records(manifest, recordings)
        .iter()
        .filter(|it| matches!(it, Record::Reply(_)))
        .count();
    match seen {
        Seen::Yes(how) if failed > 0 => Seen::Partly(format!(
            "{how}; {failed} recorded attempts came to nothing, so an announcement is no compaction"
        )),
        Seen::Yes(how) => Seen::Yes(how),
        other @ (Seen::Partly(_) | Seen::No(_) | Seen::Nothing(_) | Seen::Broken(_)) => other,
    }
}

/// What the recorded operating system commands say of the client's state, read by the scanner that runs use.
fn timelines(manifest: &Manifest, recordings: &Recordings) -> Result<Option<String>, String> {
    let Some(report) = &manifest.report else {
        return Ok(None);
    };
    let Some((_, bytes)) = recordings.below(TIMELINES).next() else {
        return Err("it reports its state, and no report is recorded".to_owned());
    };
    let timelines: BTreeMap<String, Vec<(f64, String, String)>> =
        serde_json::from_slice(bytes).map_err(|error| format!("{TIMELINES}: {error}"))?;
    let mut count = 0_usize;
    for (number, text) in timelines.values().flatten().map(|(_, it, text)| (it, text)) {
        let mut read = 0_usize;
        let mut scanner = ReportScanner::new(report.osc);
        scanner.push(
            format!("\x1b]{number};{text}\x1b\\").as_bytes(),
            &mut |_| read += 1,
        );
        let is_report = *number == report.osc.to_string();
        if read != usize::from(is_report) {
            return Err(format!("{TIMELINES}: {number};{text} is read {read} times"));
        }
        count += read;
    }
    if count == 0 {
        return Err(format!("{TIMELINES}: no report in it"));
    }
    Ok(Some(format!("{count} recorded reports of its state")))
}

fn is_post(signal: &Signal) -> bool {
    matches!(
        signal,
        Signal::CompactionReported { .. }
            | Signal::SessionStarted {
                source: StartSource::Compact
            }
    )
}

fn signal(manifest: &Manifest, recordings: &Recordings, is_it: impl Fn(&Signal) -> bool) -> Seen {
    let (inputs, broken) = inputs(manifest, recordings);
    if !broken.is_empty() {
        return Seen::Broken(format!("not decoded: {}", broken.join(", ")));
    }
    let names: Vec<String> = inputs
        .iter()
        .filter(|(_, input)| is_it(&input.signal))
        .map(|(name, _)| name.clone())
        .collect();
    match (names.is_empty(), manifest.events.is_empty()) {
        (false, _) => Seen::Yes(format!("decoded from {}", names.join(", "))),
        (true, true) => Seen::No("no event is wired".into()),
        (true, false) if inputs.is_empty() => Seen::Nothing("no recordings".into()),
        (true, false) => Seen::No("no recorded payload is one".into()),
    }
}

/// A recorded compaction through the machine: a checkpoint, then one briefing in a reply that the event takes.
fn injection(manifest: &Manifest, recordings: &Recordings) -> Seen {
    if manifest.events.is_empty() {
        return Seen::No("no event is wired".into());
    }
    let (inputs, broken) = inputs(manifest, recordings);
    if !broken.is_empty() {
        return Seen::Broken(format!("not decoded: {}", broken.join(", ")));
    }
    if inputs.is_empty() {
        return Seen::Nothing("no recordings".into());
    }
    let announced = inputs
        .iter()
        .find(|(_, input)| matches!(input.signal, Signal::CompactionAnnounced { .. }));
    let started = inputs.iter().find(|(_, input)| {
        let compact = Signal::SessionStarted {
            source: StartSource::Compact,
        };
        input.signal == compact
    });
    let (Some((_, announced)), Some((_, started))) = (announced, started) else {
        return Seen::No("no recorded compaction has both its signals".into());
    };
    let mut started = started.clone();
    started.turn.clone_from(&announced.turn);
    started.session.clone_from(&announced.session);
    let mut state = State::default();
    let mut has_checkpoint = false;
    let mut has_briefing = false;
    for input in [announced, &started] {
        for effect in step(&state, input) {
            match effect {
                Effect::Record(body) => state.apply(&body, Timestamp::from_unix_ms(0)),
                Effect::Checkpoint { .. } => has_checkpoint = true,
                Effect::Brief { .. } => has_briefing = true,
                Effect::Roll { .. }
                | Effect::PromoteRolling
                | Effect::RememberRequest(_)
                | Effect::RememberSummary(_) => {}
            }
        }
    }
    let spec = manifest
        .events
        .iter()
        .find(|spec| spec.signal == SignalKind::SessionStarted);
    let printed = spec.map(|spec| reply(spec, &Decision::Context("briefing".into())));
    let is_printed = printed.is_some_and(|bytes| {
        serde_json::from_slice::<serde_json::Value>(&bytes).is_ok_and(|document| {
            document
                .pointer("/hookSpecificOutput/additionalContext")
                .is_some()
        })
    });
    match (has_checkpoint, has_briefing, is_printed) {
        (true, true, true) => Seen::Yes(
            "a recorded compaction makes a checkpoint and one briefing in the reply's shape".into(),
        ),
        (checkpoint, briefing, printed) => Seen::No(format!(
            "checkpoint {checkpoint}, briefing {briefing}, reply {printed}"
        )),
    }
}

/// Lines of the harness's own records that hold a measurement.
fn telemetry(manifest: &Manifest, recordings: &Recordings) -> Seen {
    let Some(gauge) = gauge::gauge(&manifest.id) else {
        return Seen::Nothing("no reader".into());
    };
    if let Some(broken) = broken(&broken_records(recordings)) {
        return broken;
    }
    let mut readings = 0_usize;
    for (path, bytes) in RECORDS.iter().flat_map(|folder| recordings.below(folder)) {
        let before = readings;
        for line in bytes.split(|byte| *byte == b'\n') {
            let own = session_of(line).unwrap_or_else(|| SessionId::new(""));
            let subject = Subject {
                session: &own,
                model: None,
            };
            let parsed = (gauge.line)(line, subject);
            readings += usize::from(matches!(parsed.fact, Some(Fact::Reading(_))));
        }
        let is_named = manifest
            .claims
            .get(&Dimension::Telemetry)
            .is_some_and(|claim| claim.evidence.iter().any(|it| it == path));
        if is_named && readings == before {
            return Seen::Broken(format!(
                "no measurement in {path}, which is named as evidence"
            ));
        }
    }
    let mut lines = 0_usize;
    for (path, bytes) in recordings.below("fixtures/statusline/") {
        #[derive(serde::Deserialize)]
        struct LineWire {
            stdin: Option<Box<serde_json::value::RawValue>>,
        }
        let recorded = serde_json::from_slice::<LineWire>(bytes).ok();
        let stdin = recorded.and_then(|it| it.stdin);
        let bytes = stdin.as_ref().map_or(bytes, |it| it.get().as_bytes());
        match gauge.status_line.map(|parse| parse(bytes)) {
            Some(None) => return Seen::Broken(format!("not read: {path}")),
            Some(Some(_)) => lines += 1,
            None => {}
        }
    }
    if readings > 0 {
        Seen::Yes(format!(
            "{readings} measurements in recorded transcripts, {lines} status lines read"
        ))
    } else {
        Seen::No("no measurement in any recorded transcript".into())
    }
}

fn session_of(line: &[u8]) -> Option<SessionId> {
    #[derive(serde::Deserialize)]
    struct OwnerWire {
        #[serde(rename = "sessionId")]
        session: String,
    }
    let owner: OwnerWire = serde_json::from_slice(line).ok()?;
    Some(SessionId::new(owner.session))
}

/// A recipe, and recorded compactions that its reader takes for the proof.
fn trigger(manifest: &Manifest, recordings: &Recordings) -> Seen {
    let Some(recipe) = recipe::recipe(&manifest.id, &[]) else {
        return Seen::No("harn knows no way to type its command".into());
    };
    if let Some(broken) = broken(&broken_records(recordings)) {
        return broken;
    }
    let reports = match timelines(manifest, recordings) {
        Ok(reports) => reports.map_or_else(String::new, |it| format!("; {it}")),
        Err(why) => return Seen::Broken(why),
    };
    let boundaries = records(manifest, recordings)
        .iter()
        .filter(|it| matches!(it, Record::Boundary { .. }))
        .count();
    if boundaries > 0 {
        Seen::Yes(format!(
            "a recipe for {}, and {boundaries} recorded compactions that it takes for proof{reports}",
            recipe.manner.command
        ))
    } else {
        Seen::No("a recipe, but no recorded compaction that would prove one".into())
    }
}

fn resume(manifest: &Manifest, recordings: &Recordings) -> Seen {
    if manifest.launch.builtin.is_some() {
        return Seen::No("it ends with its run".into());
    }
    let starts = |wanted: StartSource| {
        signal(
            manifest,
            recordings,
            move |signal| matches!(signal, Signal::SessionStarted { source } if *source == wanted),
        )
    };
    match (starts(StartSource::Resume), starts(StartSource::Fork)) {
        (Seen::Yes(how), Seen::Yes(fork)) => Seen::Yes(format!("{how}; a fork, too: {fork}")),
        (Seen::Yes(how), _) => Seen::Partly(format!("{how}; no recorded start tells of a fork")),
        (seen, _) => seen,
    }
}

#[cfg(test)]
#[path = "conformance_tests.rs"]
mod tests;
