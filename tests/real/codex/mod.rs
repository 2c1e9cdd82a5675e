//! The real Codex, alone and under harn.

mod desk;
mod run;
mod session;
