//! The real Codex, alone and under harn.

mod alone;
mod compact;
mod desk;
mod install;
mod overlay;
mod run;
mod session;
