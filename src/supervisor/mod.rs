//! Owned runs: their records, and which sessions are theirs.

pub mod follower;
pub mod ownership;
pub mod run;
pub mod status;
pub mod version;
