//! The real Codex, alone and under harn.

mod alone;
mod desk;
mod run;
mod session;
