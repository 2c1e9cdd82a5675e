//! Whether what an adapter claims is what its recordings show: each goes through the production decoder, machine and reply.
//!
//! Pure. Recordings are compiled in. What only a running client can show (a briefing in the next request, a typed command that the
//! client takes) is shown here as far as harn's own part of it goes; `tests/real/` does the rest. Called by `command::adapter`.

use include_dir::{Dir, DirEntry, include_dir};
use serde::{Deserialize, Serialize};

use super::decode::{Decoded, decode};
use super::gauge::{self, Subject};
use super::manifest::{Dimension, Manifest, SignalKind, Support};
use super::recipe;
use super::reply::{Decision, reply};
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
    /// It was looked for and is not there.
    No(String),
    /// There is nothing to look at.
    Nothing(String),
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
        (Support::Partial, Seen::Yes(how)) => (Verdict::Partial, how),
        (Support::Unsupported, Seen::No(how)) => (Verdict::Unsupported, how),
        (Support::Unknown, Seen::Nothing(how)) => (Verdict::Unknown, how),
        (_, Seen::Nothing(how)) => (Verdict::Skipped, how),
        (Support::Unsupported | Support::Unknown, Seen::Yes(how))
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
        Dimension::PreSignal => signal(manifest, recordings, |signal| {
            matches!(signal, Signal::CompactionAnnounced { .. })
        }),
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
        return Seen::No(format!("not decoded: {}", broken.join(", ")));
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
    let (inputs, _) = inputs(manifest, recordings);
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
    let session = SessionId::new("");
    let mut readings = 0_usize;
    for folder in ["fixtures/transcript/", "fixtures/rollout/"] {
        for (_, bytes) in recordings.below(folder) {
            for line in bytes.split(|byte| *byte == b'\n') {
                let own = session_of(line).unwrap_or_else(|| session.clone());
                let subject = Subject {
                    session: &own,
                    model: None,
                };
                let parsed = (gauge.line)(line, subject);
                readings += usize::from(matches!(parsed.fact, Some(Fact::Reading(_))));
            }
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
            Some(None) => return Seen::No(format!("not read: {path}")),
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
    let mut boundaries = 0_usize;
    for folder in ["fixtures/transcript/", "fixtures/rollout/"] {
        for (_, bytes) in recordings.below(folder) {
            for line in bytes.split(|byte| *byte == b'\n') {
                let own = session_of(line).unwrap_or_else(|| SessionId::new(""));
                let record = (recipe.record)(line, &own);
                boundaries += usize::from(matches!(record, Some(Record::Boundary { .. })));
            }
        }
    }
    if boundaries > 0 {
        Seen::Yes(format!(
            "a recipe for {}, and {boundaries} recorded compactions that it takes for proof",
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
    signal(manifest, recordings, |signal| {
        matches!(
            signal,
            Signal::SessionStarted {
                source: StartSource::Resume
            }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::manifest::Basis;
    use crate::adapter::registry;

    #[test]
    fn nothing_that_is_claimed_drifts_from_what_the_recordings_show() {
        for manifest in registry::all() {
            let lines = replay(&manifest, &Recordings::of(&manifest));
            let drift: Vec<_> = lines
                .iter()
                .filter(|line| line.verdict == Verdict::Drift)
                .collect();
            assert_eq!(drift, Vec::<&Line>::new(), "{}", manifest.id);
            assert_eq!(lines.len(), manifest.claims.len(), "{}", manifest.id);
        }
    }

    #[test]
    fn a_claim_that_was_changed_and_a_recording_that_is_gone_are_drift() {
        let verdict = |manifest: &Manifest, recordings: &Recordings, dimension| {
            let lines = replay(manifest, recordings);
            lines
                .into_iter()
                .find(|line| line.dimension == dimension)
                .map(|line| line.verdict)
        };
        for id in ["claude-code", "codex"] {
            let mut manifest = registry::load(id).unwrap();
            let recordings = Recordings::of(&manifest);
            for dimension in Dimension::ALL {
                let honest = manifest.claims[&dimension].support;
                let claim = manifest.claims.get_mut(&dimension).unwrap();
                claim.support = match honest {
                    Support::Unsupported => Support::Supported,
                    Support::Supported | Support::Partial | Support::Unknown => {
                        Support::Unsupported
                    }
                };
                assert_eq!(
                    verdict(&manifest, &recordings, dimension),
                    Some(Verdict::Drift),
                    "{id} {dimension:?}"
                );
                manifest.claims.get_mut(&dimension).unwrap().support = honest;
            }
            let fewer = Recordings::of(&manifest).without("PreCompact");
            assert_eq!(
                verdict(&manifest, &fewer, Dimension::PreSignal),
                Some(Verdict::Drift)
            );
        }
    }

    /// A verified claim has evidence, and what it names is there.
    #[test]
    fn no_claim_is_verified_without_evidence() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        for manifest in registry::all() {
            for (dimension, claim) in &manifest.claims {
                let is_shown = claim.basis != Basis::Verified || !claim.evidence.is_empty();
                assert!(is_shown, "{} {dimension:?}", manifest.id);
                for evidence in &claim.evidence {
                    let below = if evidence.starts_with("fixtures/") {
                        root.join("adapters").join(manifest.id.as_str())
                    } else {
                        root.to_owned()
                    };
                    assert!(below.join(evidence).exists(), "{}: {evidence}", manifest.id);
                }
            }
            let is_verified = manifest
                .claims
                .values()
                .any(|claim| claim.basis == Basis::Verified);
            assert_eq!(is_verified, manifest.verified.is_some(), "{}", manifest.id);
        }
    }
}
