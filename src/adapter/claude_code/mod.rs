//! Claude Code: what its manifest cannot say.

pub mod keys;
mod knobs;
mod prompt;
mod recipe;
mod site;
mod status_line;
mod transcript;
mod wiring;

use super::gauge::Gauge;

pub(in crate::adapter) use recipe::RECIPE;

pub use prompt::prompt_origin;
pub use wiring::wire;

pub(super) use site::SITE;

/// How its context is read.
pub(super) const GAUGE: Gauge = Gauge {
    line: transcript::parse,
    is_main: transcript::is_main,
    is_held: None,
    status_line: Some(status_line::parse),
    own_status_line: status_line::effective,
    knobs: knobs::knobs,
};
