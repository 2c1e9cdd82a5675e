//! `harn run`: the host of a program, seen from the user's terminal and from pipes.

mod bytes;
mod ending;
mod families;
pub(crate) mod hosted;
mod job;
mod meter;
mod overlay;
mod plain;
mod size;
