//! The overlay row: the last row of the user's terminal is harn's, the program has all rows above it.
//!
//! `filter` edits the program's output where it would reach the row, and says when the row may be drawn; `cursor` and `pen`
//! follow what it needs to know for that; `sequence` reads one escape sequence. All pure state machines over bytes: no
//! clock, no descriptor. The bridge is the caller.

mod cursor;
mod filter;
mod pen;
mod sequence;
#[cfg(test)]
mod tests;

pub(super) use filter::Filter;
