//! Hosts a program in a PTY: bytes, sizes, signals and an exit status, and nothing about what the bytes mean.
//!
//! The user's terminal and the PTY are two ends that one thread and one poll loop (`host`) join. The program runs below a
//! tiny `launcher` process, which leads the PTY's session and gives the program a foreground group of its own. Without a
//! terminal on both standard input and standard output there is no PTY at all (`direct`). Knows no harness and no session;
//! `command::run` is its caller and listens through an [`Observer`].

mod bridge;
mod clock;
mod direct;
mod draft;
pub mod exercise;
pub mod fault;
mod flow;
mod host;
mod keyboard;
mod keys;
mod ladder;
mod launch;
pub mod launcher;
mod link;
mod modes;
mod osc;
mod outcome;
mod outflow;
pub mod overlay;
mod panic;
mod prefix;
mod program;
mod pty;
mod reset;
mod screen;
mod signal;
mod size;
mod stage;
mod title;
mod tty;
mod typist;

pub use draft::{Draft, DraftTracker};
pub use host::{HostEvent, Observer};
pub use keyboard::{Desk, Keyboard, keyboard};
pub use osc::OscScanner;
pub use outcome::{HostError, Outcome};
pub use panic::contained;
pub use prefix::{Action, DEFAULT_PREFIX, Prefix, PrefixError};
pub use program::{Program, run};
pub use reset::reset;
pub use screen::{Cell, Model, Screen, ScreenFeed, screen};
pub(crate) use signal::Signals;
pub use signal::{Stop, deafly, spawn_deaf};
pub use size::Size;
pub use stage::{Heard, Listener, Stage};
pub use title::TitleScanner;
pub use tty::{columns, is_present};
pub use typist::{Typed, Typing};
