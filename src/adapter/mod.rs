//! Adapters: what harn knows of each harness, and the translation both ways.
//!
//! Facts lie in `adapters/<id>/adapter.toml` and are compiled in; the first condition goes into `<harness>.rs` here.
//! `decode` turns a harness's JSON into a `Signal`, `reply` a decision into the harness's own JSON; both are pure. No
//! other room knows a harness by name.

pub mod claude_code;
pub mod codex;
pub mod conformance;
pub mod decode;
pub mod delivery;
mod demo;
pub mod document;
pub mod gauge;
pub mod launch;
pub mod manifest;
pub mod own;
pub mod recipe;
pub mod registry;
pub mod reply;
pub mod report;
pub mod site;

/// The chords by which a prompt is compacted and submitted, where a harness has them in a file.
pub use claude_code::keys as submit_keys;
pub use manifest::Manifest;
