//! The commands, one file each: the only place that wires IO to logic, and the only one that prints.

mod dispatch;
mod run;

pub use dispatch::main;
