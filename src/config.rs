//! The user's config file, `$XDG_CONFIG_HOME/harn/config.toml`.
//!
//! Never read from the repository an agent works in. An unknown key is an error with its line and column; a hook goes on
//! with the defaults then.

use serde::Deserialize;

/// Everything a user can set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub capture: Capture,
    pub overlay: OverlayChoice,
    /// The key before an action with the overlay row on, or "none".
    pub prefix: Option<String>,
    pub state: StateHome,
    pub retention: Retention,
    pub statusline: Statusline,
}

/// harn in the place of a harness's status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Statusline {
    /// Whether harn shows a segment of its own where the user has no status line.
    pub segment: bool,
}

impl Default for Statusline {
    fn default() -> Self {
        Self { segment: true }
    }
}

/// What harn shows of itself while it hosts a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlayChoice {
    #[default]
    Row,
    Title,
    Off,
}

/// How long things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Newest checkpoints kept of a session, at least one.
    pub capsules: u64,
    /// Days without an event after which a session is forgotten.
    pub days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            capsules: 20,
            days: 30,
        }
    }
}

/// What is kept of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// False: no words of a prompt and none of an answer are stored.
    pub prompts: bool,
}

impl Default for Capture {
    fn default() -> Self {
        Self { prompts: true }
    }
}

/// Where session state lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateHome {
    #[default]
    Project,
    User,
}

/// The file's text is no valid config.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(#[from] toml::de::Error);

impl Config {
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Ok(toml::from_str(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_has_its_default() {
        assert_eq!(Config::parse("").unwrap(), Config::default());
        let config = Config::parse("state = \"user\"\n[capture]\nprompts = false\n").unwrap();
        assert_eq!(
            (config.state, config.capture.prompts),
            (StateHome::User, false)
        );
    }

    #[test]
    fn an_unknown_key_is_an_error_that_says_where() {
        let error = Config::parse("\nstat = \"user\"\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("line 2, column 1") && error.contains("stat"),
            "{error}"
        );
    }
}
