//! harn keeps a coding agent's work state across context compactions.
//!
//! This file is the map and nothing else; `docs/architecture.md` tells how the rooms fit together.

pub mod rehearsal;
