//! The demo agent's command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::compaction::Manner;

/// The built-in demo agent.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub struct Options {
    /// Whose habits to imitate
    #[arg(long, value_enum, default_value = "claude")]
    pub(super) like: Like,

    /// The transcript's format; follows --like
    #[arg(long, value_enum)]
    pub(super) transcript: Option<Like>,

    /// Hooks and status line, as JSON or in a file
    #[arg(long, value_name = "FILE OR JSON")]
    pub(super) settings: Option<String>,

    /// Act out this script instead of the story
    #[arg(long, value_name = "FILE")]
    pub(super) script: Option<PathBuf>,

    /// Wait for keys; play nothing
    #[arg(long)]
    pub(super) no_story: bool,

    /// Times as fast
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) speed: u32,

    /// How compactions end
    #[arg(long, value_enum, default_value = "ok", value_name = "HOW")]
    pub(super) compact: Manner,

    /// There is no /compact
    #[arg(long)]
    pub(super) no_compact: bool,

    /// Know the keys that submit or compact and that no dialog takes
    #[arg(long)]
    pub(super) submit_keys: bool,

    /// Leave the scratch directory behind
    #[arg(long)]
    pub(super) keep: bool,

    /// Answer this prompt and end
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    pub(super) print: Option<String>,
}

/// A family of habits: Enter and paste, order of compaction hooks, marks on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Like {
    Claude,
    Codex,
}
