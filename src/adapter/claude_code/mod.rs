//! Claude Code: what its manifest cannot say.

mod prompt;
mod wiring;

pub use prompt::prompt_origin;
pub use wiring::wire;
