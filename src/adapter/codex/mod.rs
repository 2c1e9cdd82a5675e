//! Codex CLI: what its manifest cannot say.

mod knobs;
mod rollout;

use super::gauge::Gauge;

/// How its context is read.
pub(super) const GAUGE: Gauge = Gauge {
    line: rollout::parse,
    is_main: rollout::is_main,
    status_line: None,
    own_status_line: |_| None,
    knobs: knobs::knobs,
};
