//! One measurement of a session's context, and what it rests on.

use serde::{Deserialize, Serialize};

use super::Percent;
use crate::event::{CompactionTrigger, Timestamp, Tokens};

/// Where a measurement came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleSource {
    Statusline,
    Transcript,
}

/// How much a measurement is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Tokens and window are the harness's own report.
    Reported,
    /// The harness's own estimate, not yet confirmed by a reply of the model.
    Estimated,
    /// The tokens are reported, the window is harn's guess: may inform, never block.
    Inferred,
    /// There is no number.
    Unknown,
}

/// How the size of the window is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowBasis {
    Reported,
    /// From the model's name, or because more was used than the reported window holds.
    Inferred,
    Unknown,
}

/// What a source says of one moment, before it is merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// None: the source knows of no request yet. Zero: the source was reset.
    pub used: Option<Tokens>,
    pub window: Option<Tokens>,
    /// A guess by the model's name, for where no window is reported.
    pub window_guess: Option<Tokens>,
    /// Sizes that windows of this harness have, for one that turns out too small.
    pub sizes: &'static [u64],
    /// What the source itself calls the percentage.
    pub percent: Option<Percent>,
    pub formula: Formula,
    pub is_estimate: bool,
    pub model: Option<String>,
    pub source: SampleSource,
    /// When the harness wrote it; none where the source does not say.
    pub at: Option<Timestamp>,
}

/// How a harness makes a percentage of tokens and window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// Used of the whole window, rounded.
    Plain,
    /// The rest of a window of which a baseline is never counted, rounded, then turned round.
    AboveBaseline(u64),
}

impl Formula {
    /// The percentage used.
    pub fn percent(self, used: u64, window: u64) -> Option<Percent> {
        match self {
            Self::Plain => Percent::rounded(used, window),
            Self::AboveBaseline(_) if window == 0 => None,
            Self::AboveBaseline(baseline) if window <= baseline => Percent::new(100.0),
            Self::AboveBaseline(baseline) => {
                let room = window - baseline;
                let left = room.saturating_sub(used.saturating_sub(baseline));
                let left = Percent::rounded(left, room)?;
                Percent::new(100.0 - left.as_f64())
            }
        }
    }
}

/// A compaction in the harness's own record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    pub trigger: CompactionTrigger,
    pub before: Option<Tokens>,
    pub at: Option<Timestamp>,
}

/// What a line of a harness's record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    Reading(Reading),
    Boundary(Boundary),
    /// The model in use from here on, where usage lines do not name it.
    Model(String),
}

/// A merged measurement: the body of `context.sampled`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSample {
    /// None: the source was reset and nothing is known.
    pub used_tokens: Option<Tokens>,
    pub window_tokens: Option<Tokens>,
    pub window: WindowBasis,
    pub used_percent: Option<Percent>,
    pub source: SampleSource,
    pub confidence: Confidence,
    pub model: Option<String>,
    pub at: Timestamp,
    /// What else was said of the same moment and does not agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<Mismatch>,
}

/// A disagreement that was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mismatch {
    /// The source's own percentage is not that of its own tokens and window.
    Percent { said: Percent },
    /// More was used than the window reported.
    Window { said: Tokens },
    /// Another source said something else at about the same time.
    Source { other: SampleSource, said: Tokens },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_above_a_baseline_is_that_of_the_clients_own_line() {
        let left = |used| {
            let percent = Formula::AboveBaseline(12_000)
                .percent(used, 95_000)
                .unwrap();
            100 - percent.tenths() / 10
        };
        assert_eq!(
            [5_020, 20_020, 50_020, 79_020, 85_020].map(left),
            [100, 90, 54, 19, 12]
        );
        let small = Formula::AboveBaseline(12_000).percent(1, 12_000);
        assert_eq!(small, Percent::new(100.0));
    }
}
