//! harn keeps a coding agent's work state across context compactions.
//!
//! This file is the map and nothing else; `docs/architecture.md` tells how the rooms fit together.

pub mod adapter;
pub mod cli;
pub mod command;
pub mod compaction;
pub mod config;
pub mod continuity;
pub mod dashboard;
pub mod demo;
pub mod event;
pub mod exit;
pub mod follow;
pub mod install;
pub mod process;
pub mod rehearsal;
pub mod repo;
pub mod scratch;
pub mod store;
pub mod supervisor;
pub mod telemetry;
pub mod terminal;
pub mod text;
pub mod watch;
