//! Scripted model servers on loopback: a real client runs whole sessions against them, with no account and no network.
//!
//! They answer what a script says, log every request, and know nothing of harn's own state. `harn adapter bench --live`
//! and `tests/real` start them; nothing on a hook's path does.

mod answer;
mod directive;
pub mod drive;
mod log;
pub mod messages;
pub mod responses;
mod server;

pub use answer::{Answer, Chunk};
pub use log::{End, Entry, Kind, RequestLog};
pub use server::{Exchange, Protocol, Server, StartError};
