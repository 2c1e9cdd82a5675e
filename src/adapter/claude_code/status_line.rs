//! What the client tells its status line, and which status line is the user's own.
//!
//! Pure. The counts of the last reply are taken; the totals are of the whole session and never used.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::transcript::{SIZES, UsageWire};
use crate::adapter::gauge::{Settings, StatusLine, StatusReport};
use crate::adapter::own;
use crate::event::{SessionId, Tokens};
use crate::telemetry::number::{Count, Decimal, Part, Words};
use crate::telemetry::sample::Formula;
use crate::telemetry::{Percent, Reading, SampleSource};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StatusWire {
    session_id: Words,
    model: Part<ModelWire>,
    workspace: Part<WorkspaceWire>,
    context_window: Part<WindowWire>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelWire {
    id: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WorkspaceWire {
    project_dir: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WindowWire {
    context_window_size: Count,
    current_usage: Part<UsageWire>,
    used_percentage: Decimal,
}

/// The report in one payload; none where it names no session.
pub(super) fn parse(bytes: &[u8]) -> Option<StatusReport> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let wire: StatusWire = serde_json::from_slice(bytes).ok()?;
    let session = wire.session_id.0.filter(|id| !id.is_empty())?;
    let window = wire.context_window.0.unwrap_or_default();
    let size = window.context_window_size.0.filter(|size| *size > 0);
    Some(StatusReport {
        session: SessionId::new(session),
        project: wire.workspace.0.and_then(|it| it.project_dir.0),
        reading: Reading {
            used: window.current_usage.0.and_then(UsageWire::context),
            window: size.map(Tokens),
            window_guess: None,
            sizes: SIZES,
            percent: window.used_percentage.0.and_then(Percent::new),
            formula: Formula::Plain,
            is_estimate: false,
            model: wire.model.0.and_then(|model| model.id.0),
            source: SampleSource::Statusline,
            at: None,
        },
    })
}

/// The value of `statusLine` in settings.
pub(super) fn in_settings(value: Option<&Value>) -> Option<StatusLine> {
    let mut rest = value?.as_object()?.clone();
    if rest.remove("type").is_some_and(|kind| kind != "command") {
        return None;
    }
    let command = rest.remove("command")?.as_str()?.trim().to_owned();
    // An installed bridge stands for what it stands in front of.
    let command = match own::bridge(&command, "claude-code") {
        Some(bridge) => bridge.then?,
        None => command,
    };
    (!command.is_empty()).then_some(StatusLine { command, rest })
}

/// The user's status line in force: project local before project before user.
pub(super) fn effective(settings: &Settings<'_>) -> Option<StatusLine> {
    effective_of(settings, "user,project,local")
}

/// The same where the client was told which settings to read, as `--setting-sources` names them.
pub(super) fn effective_of(settings: &Settings<'_>, sources: &str) -> Option<StatusLine> {
    layers(settings)
        .iter()
        .filter(|(origin, _)| sources.split(',').any(|it| origin.starts_with(it.trim())))
        .filter_map(|(_, path)| read(settings, path))
        .find_map(|layer| in_settings(layer.get("statusLine")))
}

/// The settings files of a session, strongest first.
pub(super) fn layers(settings: &Settings<'_>) -> Vec<(&'static str, PathBuf)> {
    let folder = settings.project.join(".claude");
    let mut layers = vec![
        ("local settings", folder.join("settings.local.json")),
        ("project settings", folder.join("settings.json")),
    ];
    let user = (settings.var)("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| (settings.var)("HOME").map(|home| PathBuf::from(home).join(".claude")));
    layers.extend(user.map(|folder| ("user settings", folder.join("settings.json"))));
    layers
}

pub(super) fn read(settings: &Settings<'_>, path: &Path) -> Option<Value> {
    let bytes = (settings.read)(path)?;
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
#[path = "status_line_tests.rs"]
mod tests;
