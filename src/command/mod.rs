//! The commands, one file each: the only place that wires IO to logic, and the only one that prints.

mod briefing;
mod checkpoint;
mod choose;
mod clock;
mod context;
mod dispatch;
mod hook;
mod log_file;
mod place;
mod run;
mod session;
mod statusline;
mod stdin;
mod telemetry;

pub use dispatch::main;
