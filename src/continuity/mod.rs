//! What survives a compaction: what a repository looked like, and how it drifted since.
//!
//! Pure: nothing here reads a clock, a file or the repository. `crate::repo` fills a [`RepoState`].

pub mod byte_path;
pub mod drift;
#[cfg(test)]
mod drift_tests;
pub mod snapshot;

pub use byte_path::{BytePath, printable};
pub use drift::Drift;
pub use snapshot::{DirtyPath, Head, RepoSnapshot, RepoState};
