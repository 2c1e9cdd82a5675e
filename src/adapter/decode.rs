//! A harness's hook payload, turned into a `HookInput`.
//!
//! Pure. Every field is optional and of any type: a field that is not what it should be counts as absent, an unknown
//! one is skipped unread. What differs between harnesses is in their own files.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::manifest::{EventSpec, Manifest, SignalKind, WiringKind};
use super::{claude_code, codex};
use crate::continuity::signal::{HookInput, Signal};
use crate::event::{CompactionTrigger, PromptOrigin, SessionId, StartSource, TurnEnd, TurnId};

/// What a payload turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    Input(Box<HookInput>),
    /// Not for this adapter, or of no concern.
    Ignored(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the payload is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the payload names no session")]
    NoSession,
}

/// The fields harn reads, whatever the harness.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PayloadWire {
    session_id: Text,
    transcript_path: Text,
    cwd: Text,
    prompt_id: Text,
    turn_id: Text,
    permission_mode: Text,
    agent_id: Text,
    agent_type: Text,
    source: Text,
    model: Text,
    trigger: Text,
    custom_instructions: Text,
    prompt: Text,
    tool_name: Text,
    tool_use_id: Text,
    tool_input: ToolInput,
    last_assistant_message: Text,
    reason: Text,
    cursor_version: Presence,
}

/// Decodes one payload of the native event `spec`.
pub fn decode(manifest: &Manifest, spec: &EventSpec, bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let wire: PayloadWire = match serde_json::from_slice(bytes) {
        Ok(wire) => wire,
        // Invalid UTF-8 or a lone surrogate in somebody's text is no reason to lose the event.
        Err(_) => serde_json::from_str(&mended(bytes))?,
    };
    if wire.cursor_version.0 {
        return Ok(Decoded::Ignored("another harness runs this hook"));
    }
    let Some(session) = wire.session_id.0.clone().filter(|id| !id.is_empty()) else {
        return Err(DecodeError::NoSession);
    };
    let signal = signal(manifest, spec.signal, &wire);
    Ok(Decoded::Input(Box::new(HookInput {
        adapter: manifest.id.clone(),
        session: SessionId::new(session),
        cwd: wire.cwd.0,
        transcript: wire.transcript_path.0,
        turn: wire.prompt_id.0.or(wire.turn_id.0).map(TurnId::new),
        call: wire.tool_use_id.0.filter(|id| !id.is_empty()),
        agent: wire.agent_id.0,
        mode: wire.permission_mode.0,
        model: wire.model.0,
        signal,
        delivery: None,
        is_repeated: false,
    })))
}

fn signal(manifest: &Manifest, kind: SignalKind, wire: &PayloadWire) -> Signal {
    let tool = || {
        wire.tool_name
            .0
            .clone()
            .unwrap_or_else(|| "unknown".to_owned())
    };
    match kind {
        SignalKind::SessionStarted => Signal::SessionStarted {
            source: start_source(wire.source.0.as_deref()),
        },
        SignalKind::SessionEnded => Signal::SessionEnded {
            reason: wire.reason.0.clone(),
        },
        SignalKind::PromptSubmitted => {
            let text = wire.prompt.0.clone().unwrap_or_default();
            let origin = prompt_origin(manifest, &text);
            Signal::PromptSubmitted { text, origin }
        }
        SignalKind::TurnStopped => Signal::TurnStopped {
            end: TurnEnd::Completed,
            last_message: wire.last_assistant_message.0.clone(),
        },
        SignalKind::TurnFailed => Signal::TurnStopped {
            end: TurnEnd::Failed,
            last_message: None,
        },
        SignalKind::TurnInterrupted => Signal::TurnStopped {
            end: TurnEnd::Interrupted,
            last_message: None,
        },
        SignalKind::ToolStarted => Signal::ToolStarted { tool: tool() },
        SignalKind::ToolFinished => {
            let tool = tool();
            let wrote = if manifest.tools.writing.contains(&tool) {
                let below = |path: &String| in_directory(wire.cwd.0.as_deref(), path);
                wire.tool_input.paths.iter().map(below).collect()
            } else {
                Vec::new()
            };
            Signal::ToolFinished {
                tool,
                ok: true,
                wrote,
            }
        }
        SignalKind::ToolFailed => Signal::ToolFinished {
            tool: tool(),
            ok: false,
            wrote: Vec::new(),
        },
        SignalKind::PermissionRequested => Signal::PermissionRequested { tool: tool() },
        // The summarising agent of a compaction has no id of its own.
        SignalKind::AgentStarted | SignalKind::AgentStopped if wire.agent_id.0.is_none() => {
            Signal::Other
        }
        SignalKind::AgentStarted => Signal::AgentStarted {
            agent: wire.agent_id.0.clone().unwrap_or_default(),
            kind: wire.agent_type.0.clone().filter(|kind| !kind.is_empty()),
        },
        SignalKind::AgentStopped => Signal::AgentStopped {
            agent: wire.agent_id.0.clone().unwrap_or_default(),
        },
        SignalKind::CompactionAnnounced => Signal::CompactionAnnounced {
            trigger: compaction_trigger(wire.trigger.0.as_deref()),
            instructions: wire
                .custom_instructions
                .0
                .clone()
                .filter(|text| !text.is_empty()),
        },
        SignalKind::CompactionReported => Signal::CompactionReported {
            trigger: compaction_trigger(wire.trigger.0.as_deref()),
        },
    }
}

/// A harness that writes prompts itself marks them in its own way.
fn prompt_origin(manifest: &Manifest, text: &str) -> PromptOrigin {
    match manifest.launch.wiring {
        WiringKind::SettingsFile => claude_code::prompt_origin(text),
        WiringKind::SessionFlags | WiringKind::None => PromptOrigin::User,
    }
}

/// The path as seen from the session's directory.
fn in_directory(cwd: Option<&str>, path: &str) -> String {
    match cwd {
        Some(cwd) if !path.starts_with('/') => format!("{}/{path}", cwd.trim_end_matches('/')),
        Some(_) | None => path.to_owned(),
    }
}

fn start_source(word: Option<&str>) -> StartSource {
    match word {
        Some("startup") => StartSource::Startup,
        Some("resume") => StartSource::Resume,
        Some("clear") => StartSource::Clear,
        Some("compact") => StartSource::Compact,
        Some("fork") => StartSource::Fork,
        Some(_) | None => StartSource::Unknown,
    }
}

fn compaction_trigger(word: Option<&str>) -> CompactionTrigger {
    match word {
        Some("manual") => CompactionTrigger::Manual,
        Some("auto") => CompactionTrigger::Auto,
        Some(_) | None => CompactionTrigger::Unknown,
    }
}

/// The payload as text in which nothing offends a strict parser's idea of Unicode.
fn mended(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (escape, after) = match (surrogate(from), from.get(6..).and_then(surrogate)) {
            (Some(Half::High), Some(Half::Low)) => from.split_at(12),
            (Some(_), _) => ("\\ufffd", from.get(6..).unwrap_or_default()),
            (None, _) => {
                let next = from.chars().nth(1).map_or(0, char::len_utf8);
                from.split_at(1 + next)
            }
        };
        out.push_str(escape);
        rest = after;
    }
    out.push_str(rest);
    out
}

enum Half {
    High,
    Low,
}

/// Which half of a surrogate pair the escape at the head of `text` is, if it is one.
fn surrogate(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

/// A string; anything else counts as absent.
#[derive(Debug, Default)]
struct Text(Option<String>);

/// Whether the key is there with any value but null.
#[derive(Debug, Default)]
struct Presence(bool);

/// The paths among a tool's arguments; its other arguments are skipped unread.
#[derive(Debug, Default)]
struct ToolInput {
    paths: Vec<String>,
}

/// The paths of a command that is a patch; any other command names none.
#[derive(Debug, Default)]
struct Patch {
    paths: Vec<String>,
}

struct Lenient<T>(std::marker::PhantomData<T>);

/// What a lenient field makes of each JSON type.
trait FromAny: Sized + Default {
    fn from_text(_text: &str) -> Self {
        Self::default()
    }
    fn from_scalar() -> Self {
        Self::default()
    }
    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::from_scalar())
    }
}

impl FromAny for Text {
    fn from_text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl FromAny for Presence {
    fn from_text(_text: &str) -> Self {
        Self(true)
    }
    fn from_scalar() -> Self {
        Self(true)
    }
}

impl FromAny for Patch {
    fn from_text(text: &str) -> Self {
        let paths = codex::patched_paths(text);
        Self { paths }
    }
}

impl FromAny for ToolInput {
    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut paths = Vec::new();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match key.as_ref() {
                "file_path" | "notebook_path" => paths.extend(map.next_value::<Text>()?.0),
                "command" => paths.extend(map.next_value::<Patch>()?.paths),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Self { paths })
    }
}

impl<'de, T: FromAny> Visitor<'de> for Lenient<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }
    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_bool<E: de::Error>(self, _value: bool) -> Result<T, E> {
        Ok(T::from_scalar())
    }
    fn visit_i64<E: de::Error>(self, _value: i64) -> Result<T, E> {
        Ok(T::from_scalar())
    }
    fn visit_u64<E: de::Error>(self, _value: u64) -> Result<T, E> {
        Ok(T::from_scalar())
    }
    fn visit_f64<E: de::Error>(self, _value: f64) -> Result<T, E> {
        Ok(T::from_scalar())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::from_scalar())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

macro_rules! lenient {
    ($($name:ident),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Lenient(std::marker::PhantomData))
            }
        }
    )*};
}

lenient!(Text, Presence, Patch, ToolInput);

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
