//! The overlay row: the last row of the user's terminal is harn's, the program has all rows above it.
//!
//! `filter` edits the program's output where it would reach the row, and says when the row may be drawn; `cursor` and `pen`
//! follow what it needs to know for that; `sequence` reads one escape sequence. `line` is the content, `pane` decides what is
//! shown and when, `board` is where other threads post it. No clock; the bridge and the host are the callers.

mod board;
mod cursor;
mod filter;
mod line;
mod pane;
mod pen;
mod report;
mod sequence;
#[cfg(test)]
mod tests;

pub use board::{Board, Notice, Poster, board};
pub(super) use filter::{Face, Filter};
pub use line::{Line, Part, Tone};
pub(super) use pane::Pane;
pub use pane::{Overlay, Show};
