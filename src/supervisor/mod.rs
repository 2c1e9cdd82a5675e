//! Owned runs: their records, and which sessions are theirs.

pub mod control;
pub mod follower;
pub mod ownership;
pub mod pilot;
pub mod run;
pub mod status;
pub mod threshold;
pub mod version;
