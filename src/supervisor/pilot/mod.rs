//! Managed compactions of an owned run: joins the terminal, the session's log and record, and the machine.
//!
//! A thread beside the byte path (`pilot`) that sleeps until somebody asks. Each look (`world`) gathers what the machine wants to
//! know; `ear` is fed by the byte path and never waits; `record` reads what the harness writes of itself. Whatever fails here,
//! the session goes on as on a plain host. Started by `command::run`.

mod ear;
mod pilot;
mod record;
mod world;

pub use ear::{Ear, Hearing};
pub use pilot::{Answer, Call, Means, Message, Pilot, Rules, Setup};
