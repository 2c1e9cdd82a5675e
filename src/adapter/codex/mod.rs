//! Codex CLI: what its manifest cannot say.

mod knobs;
mod patch;
mod recipe;
mod rollout;
mod site;
mod wiring;

use super::gauge::Gauge;

pub(in crate::adapter) use recipe::{RECIPE, SUBMIT_BYTES};

pub use patch::patched_paths;
pub use wiring::wire;

pub(super) use site::SITE;

/// How its context is read.
pub(super) const GAUGE: Gauge = Gauge {
    line: rollout::parse,
    is_main: rollout::is_main,
    is_held: Some(rollout::is_of_user),
    status_line: None,
    own_status_line: |_| None,
    knobs: knobs::knobs,
};
