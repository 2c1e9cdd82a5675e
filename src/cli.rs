//! The command line: clap types and nothing else. `command` gives them meaning.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Keeps a coding agent's work state across context compactions.
#[derive(Debug, Parser)]
#[command(name = "harn", version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Host a program in a PTY
    Run(RunArgs),
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// What harn shows of itself while the program runs
    #[arg(long, value_enum)]
    pub overlay: Option<Overlay>,

    /// The harness or program, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Overlay {
    Row,
    Title,
    Off,
}
