//! The commands, one file each: the only place that wires IO to logic, and the only one that prints.

mod briefing;
mod capsules;
mod checkpoint;
mod choose;
mod clock;
mod compact;
mod context;
mod delivery;
mod dispatch;
mod doctor;
mod effect;
mod events;
mod gauge;
mod hook;
mod log_file;
mod managed;
mod note;
mod overlay;
mod owner;
mod packaging;
mod place;
mod report;
mod retention;
mod run;
mod session;
mod statusline;
mod stdin;
mod survivor;
mod telemetry;
mod verify;
mod witness;

pub use dispatch::main;
