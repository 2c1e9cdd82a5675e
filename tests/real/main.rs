//! End to end with the real npm clients, each against a scripted model on loopback: no account, no network.
//!
//! The clients are pinned in `package.json` beside this file (`npm ci`). Without them these tests say so and pass; with
//! `HARN_REAL_CLIENTS=required` they fail. `.ci/run` runs them in a network namespace that has loopback only.

#![cfg(test)]

mod baseline;
mod bench;
mod claude_code;
mod client;
mod codex;
mod compact;
mod install;
mod kept;
mod keys;
mod overlay;
mod record;
mod sandbox;
mod session;
mod stop;
#[path = "../it/support/mod.rs"]
mod support;
mod telemetry;
