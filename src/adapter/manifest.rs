//! `adapter.toml`, typed: identity, verified version, native events, claims.
//!
//! Pure. A key that is not listed here is an error, and a test of the registry reads every manifest that is compiled
//! in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::HarnessId;

/// One adapter's facts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub schema: u32,
    pub id: HarnessId,
    /// The harness's name for people.
    pub name: String,
    /// Program names that start it, without a path.
    pub programs: Vec<String>,
    /// Names its processes go by.
    pub processes: Vec<String>,
    /// None: no version was looked at.
    pub verified: Option<Verified>,
    pub environment: Environment,
    pub launch: Launch,
    #[serde(rename = "event")]
    pub events: Vec<EventSpec>,
    pub tools: Tools,
    /// Set where the harness runs no hook before the user has vouched for it.
    pub trust: Option<Trust>,
    /// Set where the client reports its state in its output.
    pub report: Option<StateReport>,
    /// Set where the process of a session holds a lock of it.
    pub session_lock: Option<SessionLock>,
    pub claims: BTreeMap<Dimension, Claim>,
}

/// Which version the facts were taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    pub version: String,
    pub date: String,
}

/// Environment variables of the harness.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Hold the session id in hooks and tools.
    pub session: Vec<String>,
    /// Hold the project directory.
    pub project: Vec<String>,
    /// Set for owned sessions, unless the user has set them.
    pub owned: BTreeMap<String, String>,
}

/// What a command line means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// First arguments that start no session.
    pub management: Vec<String>,
    /// Flags that print something and exit.
    pub information_flags: Vec<String>,
    /// How harn's hooks get into one run.
    pub wiring: WiringKind,
    /// Flags put before the user's arguments, each only where the program's `--help` lists it.
    #[serde(default)]
    pub leading_flags: Vec<String>,
    /// Flags of the user's beside which the program refuses the leading ones.
    #[serde(default)]
    pub leading_unless: Vec<String>,
    /// First arguments of runs that take one turn and end.
    #[serde(default)]
    pub unattended: Vec<String>,
    /// The program is harn itself with this first argument; only the bare program name means it.
    pub builtin: Option<String>,
}

/// The way of harn's hooks into one run of a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WiringKind {
    /// A generated file behind `--settings`, hooks by event as Claude Code has them.
    SettingsFile,
    /// One `-c hooks.<Event>=...` for each event, as Codex has them.
    SessionFlags,
    /// Not at all.
    None,
}

/// A harness's own question whether harn's hooks may run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// What a person does to answer it, as it stands behind "hooks not seen: ".
    pub hint: String,
}

/// How a client reports its state: in operating system commands of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateReport {
    pub osc: u32,
}

/// A file that the process of a session holds open.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionLock {
    /// Name of the folder it lies in.
    pub folder: String,
    pub extension: String,
    /// The oldest version known to hold it.
    pub since: Version,
}

/// Which tools change files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    pub writing: Vec<String>,
}

/// One native hook event.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    pub native: String,
    pub signal: SignalKind,
    /// What harn declares as the hook's time limit, in seconds.
    pub timeout_s: u64,
    /// The oldest version known to know the event; none: all do.
    pub since: Option<Version>,
    /// The reply may carry text for the model.
    #[serde(default)]
    pub context: bool,
}

/// What a native event is to harn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    SessionStarted,
    SessionEnded,
    PromptSubmitted,
    TurnStopped,
    TurnFailed,
    TurnInterrupted,
    ToolStarted,
    ToolFinished,
    ToolFailed,
    PermissionRequested,
    AgentStarted,
    AgentStopped,
    CompactionAnnounced,
    CompactionReported,
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    Telemetry,
    PreSignal,
    PostSignal,
    Injection,
    /// A compaction that harn asks for, in a session that it hosts.
    TriggerOwned,
    /// The same, anywhere else.
    TriggerUnowned,
    /// Words for the summary.
    Focus,
    Resume,
}

impl Dimension {
    pub const ALL: [Self; 8] = [
        Self::Telemetry,
        Self::PreSignal,
        Self::PostSignal,
        Self::Injection,
        Self::TriggerOwned,
        Self::TriggerUnowned,
        Self::Focus,
        Self::Resume,
    ];

    /// As manifests and JSON write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Telemetry => "telemetry",
            Self::PreSignal => "pre_signal",
            Self::PostSignal => "post_signal",
            Self::Injection => "injection",
            Self::TriggerOwned => "trigger_owned",
            Self::TriggerUnowned => "trigger_unowned",
            Self::Focus => "focus",
            Self::Resume => "resume",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    Supported,
    Partial,
    Unsupported,
    Unknown,
}

/// How a claim is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    Verified,
    Documented,
    Declared,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub support: Support,
    pub basis: Basis,
    pub note: String,
    /// Recordings and tests that show it.
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// A version of a client: numbers between dots, compared number by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Version(Vec<u64>);

impl Version {
    /// The first dotted number of what `--version` printed.
    pub fn find_in(output: &str) -> Option<Self> {
        output.split_whitespace().find_map(|word| word.parse().ok())
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

/// The text holds no dotted number.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a version")]
pub struct VersionError(String);

impl std::str::FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text
            .trim_start_matches('v')
            .split('.')
            .map(str::parse)
            .collect::<Result<Vec<u64>, _>>();
        match numbers {
            Ok(numbers) if numbers.len() >= 2 => Ok(Self(numbers)),
            Ok(_) | Err(_) => Err(VersionError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl Manifest {
    pub fn event(&self, native: &str) -> Option<&EventSpec> {
        self.events.iter().find(|event| event.native == native)
    }

    /// The events that the running version is known to know.
    pub fn events_of(&self, version: Option<&Version>) -> impl Iterator<Item = &EventSpec> {
        self.events
            .iter()
            .filter(move |event| match (&event.since, version) {
                (None, _) => true,
                (Some(since), Some(version)) => version >= since,
                (Some(_), None) => false,
            })
    }

    pub fn support(&self, dimension: Dimension) -> Support {
        self.claims
            .get(&dimension)
            .map_or(Support::Unknown, |claim| claim.support)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number_and_are_found_in_what_clients_print() {
        let version = |text| Version::find_in(text).unwrap();
        assert!(version("2.1.197 (Claude Code)") > version("2.1.9 (Claude Code)"));
        assert!(version("codex-cli 0.171.0") < version("v1.0"));
        assert_eq!(Version::find_in("unknown 7 build-3"), None);
    }
}
