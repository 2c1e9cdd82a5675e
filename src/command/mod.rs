//! The commands, one file each: the only place that wires IO to logic, and the only one that prints.

mod briefing;
mod capsules;
mod checkpoint;
mod choose;
mod clock;
mod context;
mod delivery;
mod dispatch;
mod doctor;
mod effect;
mod events;
mod gauge;
mod hook;
mod install;
mod installed;
mod log_file;
mod note;
mod overlay;
mod own;
mod owner;
mod packaging;
mod place;
mod report;
mod retention;
mod run;
mod session;
mod sheet;
mod statusline;
mod stdin;
mod telemetry;
mod twice;
mod uninstall;
mod verify;
mod witness;

pub use dispatch::main;
