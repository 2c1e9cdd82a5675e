//! JSON with comments, changed in place: where things stand in it, and how a child is added to an object or an array
//! or taken out again so that not a byte of anything else moves.
//!
//! Pure. The parser gives the places; the changes are splices of the text.

mod layout;
mod tree;

pub(super) use layout::{Style, add, compact, remove};
pub(super) use tree::{Child, Kind, Node, parse};
