//! `harn run -- demo`: the built-in agent, hosted the way the real clients are.

mod ending;
mod hazard;
mod plain;
pub(crate) mod stage;
mod story;
