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
    pub compact: Compact,
    pub overlay: OverlayChoice,
    /// The key before an action with the overlay row on, or "none".
    pub prefix: Option<String>,
    pub state: StateHome,
    pub retention: Retention,
    pub statusline: Statusline,
}

/// Managed compactions of owned runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compact {
    /// Tokens in use from which harn asks by itself; none: never.
    pub at: Option<TokenCount>,
    /// After a confirmed compaction harn types one fixed line that goes on with the task.
    pub continue_after: bool,
    /// A process of the session itself may ask, too.
    pub allow_agent: bool,
}

/// An absolute number of tokens: `160000`, `"160k"`, `"0.5m"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "TokenCountWire")]
pub struct TokenCount(pub u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenCountWire {
    Number(u64),
    Text(String),
}

/// The text is no number of tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no number of tokens; write 160000 or 160k (percentages are not taken)")]
pub struct TokenCountError(String);

impl TryFrom<TokenCountWire> for TokenCount {
    type Error = TokenCountError;

    fn try_from(wire: TokenCountWire) -> Result<Self, TokenCountError> {
        match wire {
            TokenCountWire::Number(0) => Err(TokenCountError("0".into())),
            TokenCountWire::Number(count) => Ok(Self(count)),
            TokenCountWire::Text(text) => text.parse(),
        }
    }
}

impl std::str::FromStr for TokenCount {
    type Err = TokenCountError;

    fn from_str(text: &str) -> Result<Self, TokenCountError> {
        let wrong = || TokenCountError(text.to_owned());
        let lower = text.trim().to_ascii_lowercase();
        let (digits, unit, zeros) = match lower.strip_suffix(['k', 'm']) {
            Some(digits) if lower.ends_with('k') => (digits, 1_000, 3),
            Some(digits) => (digits, 1_000_000, 6),
            None => (lower.as_str(), 1, 0),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = !whole.is_empty()
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
        if !is_number || part.len() > zeros || (digits.contains('.') && part.is_empty()) {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_not_a_number| wrong())?;
        let part: u64 = format!("{part:0<zeros$}").parse().unwrap_or(0);
        let count = whole
            .checked_mul(unit)
            .and_then(|count| count.checked_add(part));
        count.filter(|count| *count > 0).map(Self).ok_or_else(wrong)
    }
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
    fn tokens_are_absolute_numbers() {
        let count = |text: &str| text.parse::<TokenCount>().ok().map(|count| count.0);
        assert_eq!(
            ["160000", "160k", "0.5M", "1m", "1.5k"].map(count),
            [160_000, 160_000, 500_000, 1_000_000, 1_500].map(Some)
        );
        for text in [
            "",
            "0",
            "80%",
            "-1",
            "1.",
            ".5k",
            "1.2345k",
            "k",
            "1e5",
            "99999999999999999999m",
        ] {
            assert_eq!(count(text), None, "{text}");
        }
        let config = Config::parse("[compact]\nat = \"160k\"\nallow_agent = true\n").unwrap();
        let expected = Compact {
            at: Some(TokenCount(160_000)),
            continue_after: false,
            allow_agent: true,
        };
        assert_eq!(config.compact, expected);
        let error = Config::parse("[compact]\nat = \"80%\"\n").unwrap_err();
        assert!(error.to_string().contains("no number of tokens"), "{error}");
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
