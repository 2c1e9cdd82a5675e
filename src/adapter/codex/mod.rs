//! Codex CLI: what its manifest cannot say.

mod patch;

mod wiring;

pub use patch::patched_paths;
pub use wiring::wire;
