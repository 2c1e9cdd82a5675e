//! Continuity of one session: state, machine, capsule, drift, briefing.
//!
//! Pure: nothing here reads a clock, a file or the repository. `adapter::decode` makes the signals, `crate::repo` fills
//! a `RepoState`, `command/` carries out the effects.

pub mod briefing;
pub mod byte_path;
pub mod capsule;
pub mod drift;
#[cfg(test)]
mod drift_tests;
pub mod mask;
pub mod signal;
pub mod snapshot;
pub mod state;
pub mod step;

pub use byte_path::BytePath;
pub use capsule::Capsule;
pub use drift::Drift;
pub use snapshot::{DirtyPath, Head, RepoSnapshot, RepoState};
pub use state::State;
