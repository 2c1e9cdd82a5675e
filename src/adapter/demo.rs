//! The built-in demo agent: what its manifest cannot say. It writes the records of Claude Code and has no settings files.

use super::claude_code;
use super::gauge::{Gauge, Knobs};

/// How its context is read.
pub(super) const GAUGE: Gauge = Gauge {
    own_status_line: |_| None,
    knobs: |_| Knobs {
        knobs: Vec::new(),
        threshold: None,
    },
    ..claude_code::GAUGE
};
