//! Owned runs: their records, and which sessions are theirs.

pub mod ownership;
pub mod run;
pub mod version;
