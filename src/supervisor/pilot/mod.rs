//! Managed compactions of an owned run: joins the terminal, the session's log and record, and the machine.
//!
//! A thread beside the byte path (`flight`) that sleeps until somebody asks. Each look (`world`) gathers what the machine wants to
//! know; `ear` is fed by the byte path and never waits; `record` reads what the harness writes of itself. Whatever fails here,
//! the session goes on as on a plain host. Started by `command::run`.

mod desk;
mod ear;
mod flight;
mod record;
mod world;

pub use desk::{Answer, Call, HandOver, Means, Message, Pilot, Recording, Rules, Setup};
pub use ear::{Ear, Hearing};
