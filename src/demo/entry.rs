//! What has been said and done, as the screen shows it: the history above the composer.

/// One paragraph of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// The headline of the session.
    Title(String),
    User(String),
    Assistant(String),
    /// A tool and what it did.
    Tool {
        name: String,
        result: Vec<String>,
    },
    /// The story's own voice: what is going on and why.
    Note(String),
    /// A fact that matters: a briefing that arrived, a compaction that is done.
    Fact(String),
    /// By the way.
    Info(String),
    Error(String),
}
