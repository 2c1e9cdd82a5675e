//! Settings of the client that move its automatic compaction.
//!
//! Pure. Only the user's own config file; flags and profiles of a running session are not seen.

use std::path::PathBuf;

use crate::adapter::gauge::{Knobs, Settings};
use crate::event::Tokens;
use crate::telemetry::meter::Knob;

const LIMIT_KEY: &str = "model_auto_compact_token_limit";
const KEYS: [&str; 2] = [LIMIT_KEY, "model_context_window"];

/// Finds the settings in the user's config.
pub(super) fn knobs(settings: &Settings<'_>) -> Knobs {
    let folder = (settings.var)("CODEX_HOME")
        .map(PathBuf::from)
        .or_else(|| (settings.var)("HOME").map(|home| PathBuf::from(home).join(".codex")));
    let config = folder
        .and_then(|folder| (settings.read)(&folder.join("config.toml")))
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| text.parse::<toml::Table>().ok())
        .unwrap_or_default();
    let number = |key: &str| u64::try_from(config.get(key)?.as_integer()?).ok();
    Knobs {
        knobs: KEYS
            .iter()
            .filter_map(|key| {
                Some(Knob {
                    name: (*key).to_owned(),
                    value: number(key)?.to_string(),
                    origin: "user settings".to_owned(),
                })
            })
            .collect(),
        threshold: number(LIMIT_KEY).map(Tokens),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_limit_is_the_threshold() {
        let found = |text: &str| {
            knobs(&Settings {
                var: &|name| (name == "CODEX_HOME").then(|| OsString::from("/c")),
                read: &|path| {
                    (path == Path::new("/c/config.toml")).then(|| text.as_bytes().to_vec())
                },
                project: Path::new("/p"),
                run: None,
            })
        };
        let told = found("model_auto_compact_token_limit = 80000\n[other]\nx = 1\n");
        assert_eq!(
            (told.threshold, told.knobs.len()),
            (Some(Tokens(80_000)), 1)
        );
        assert_eq!(
            found("model_auto_compact_token_limit = -1"),
            Knobs::default()
        );
        assert_eq!(found("[["), Knobs::default());
    }
}
