//! The command line: clap types and nothing else. `command` gives them meaning.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::demo;

/// Keeps a coding agent's work state across context compactions.
#[derive(Debug, Parser)]
#[command(
    name = "harn",
    version,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        harn run -- demo             see it work, without an account: a scripted agent and a short story\n  \
        harn run -- claude           work in Claude Code, with its state saved and given back\n  \
        harn context status          where the session stands\n  \
        harn context show            the newest checkpoint\n\n\
        Exit codes: 0 ok, 1 failed, 3 not done, 4 unconfirmed, 64 usage, 65 bad data, 70 a bug in harn."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Host a harness or any program in a PTY
    Run(RunArgs),
    /// Look at a session's continuity, or save a checkpoint
    Context(ContextArgs),
    /// The entry point of a harness's hooks: reads the payload from standard input
    #[command(
        after_help = "Always exits 0; prints one JSON document or nothing.\n\nExample:\n  \
        harn hook claude-code PreCompact < payload.json"
    )]
    Hook(HookArgs),
    /// The built-in agent that `harn run -- demo` hosts
    #[command(name = "demo-agent", hide = true)]
    DemoAgent(demo::Options),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    harn run -- demo\n  \
    harn run -- claude\n  \
    harn run -- claude --resume\n  \
    harn run --no-hooks -- claude\n  \
    echo 'explain main.rs' | harn run -- claude -p\n  \
    harn run -- vim README.md\n\n\
    Returns the program's own exit code, 128+n when signal n ended it, 127 when it is not found,\n\
    126 when it cannot be executed.")]
pub struct RunArgs {
    /// What harn shows of itself while the program runs
    #[arg(long, value_enum, default_value = "off")]
    pub overlay: Overlay,

    /// Wire no hooks: host the program and nothing else
    #[arg(long)]
    pub no_hooks: bool,

    /// A name for this run
    #[arg(long)]
    pub name: Option<String>,

    /// Treat the program as this harness, whatever its name
    #[arg(long, value_name = "ID")]
    pub adapter: Option<String>,

    /// The harness or program, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Overlay {
    /// Nothing: the program has the whole terminal
    Off,
}

#[derive(Debug, Args)]
pub struct HookArgs {
    /// The adapter, such as claude-code
    pub adapter: String,
    /// The harness's own name of the event
    pub event: String,
}

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        harn context status\n  \
        harn context status --json | jq .phase\n  \
        harn context checkpoint --note 'never use curl; use ./bin/api'\n  \
        harn context show 2\n\n\
        Without --session: the session of the run this is called in, the session that the harness names\n\
        in the environment, or the only live session of this project."
)]
pub struct ContextArgs {
    #[command(subcommand)]
    pub command: ContextCommand,
}

#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Phase, generation, last checkpoint, delivery of the last briefing
    Status(StatusArgs),
    /// Print a checkpoint; the newest without a generation
    Show(ShowArgs),
    /// Save a checkpoint now; always a new generation
    Checkpoint(CheckpointArgs),
}

/// Which session, and how to print.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The harness's own session id
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The checkpoint's generation
    pub generation: Option<u64>,

    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub struct CheckpointArgs {
    /// A must-keep note for this checkpoint and the next ones (500 characters at most)
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    #[command(flatten)]
    pub session: SessionArgs,
}
