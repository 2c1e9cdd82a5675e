//! The context measurement, as `harn context status` shows it: the number with its source, its age, and what is known of
//! the harness's own threshold.

use serde::Serialize;

use crate::continuity::State;
use crate::event::{Timestamp, Tokens};
use crate::telemetry::meter::{Knob, source_word};
use crate::telemetry::sample::Mismatch;
use crate::telemetry::{Absent, Confidence, Meter, Percent, SampleSource, WindowBasis};
use crate::text::{age, one_line, short_tokens};

/// The `context` object of the contract.
#[derive(Debug, Serialize)]
pub(super) struct ContextWire {
    used_tokens: Option<Tokens>,
    window_tokens: Option<Tokens>,
    used_percent: Option<Percent>,
    source: Option<SampleSource>,
    confidence: Confidence,
    age_ms: Option<u64>,
    stale: bool,
}

impl ContextWire {
    /// None where nothing was ever measured.
    pub(super) fn of(
        meter: &Meter,
        last_event_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Self> {
        let last = meter.last.as_ref()?;
        Some(match &meter.current {
            Some(sample) => Self {
                used_tokens: sample.used_tokens,
                window_tokens: sample.window_tokens,
                used_percent: sample.used_percent,
                source: Some(sample.source),
                confidence: sample.confidence,
                age_ms: meter.seen_at().map(|at| now.ms_since(at)),
                stale: meter.is_stale(last_event_at),
            },
            None => Self {
                used_tokens: None,
                window_tokens: last.window_tokens,
                used_percent: None,
                source: None,
                confidence: Confidence::Unknown,
                age_ms: None,
                stale: false,
            },
        })
    }
}

/// Where the number comes from and what it is worth, beside the contract's object.
#[derive(Debug, Serialize)]
pub(super) struct MeterWire<'a> {
    /// Why there is no number.
    unknown: Option<Absent>,
    window: WindowBasis,
    model: Option<&'a str>,
    mismatch: Option<&'a Mismatch>,
    knobs: &'a [Knob],
    /// What the settings are known to mean; never a promise.
    configured_threshold_tokens: Option<Tokens>,
    automatic: Option<AutomaticWire>,
}

/// Automatic compactions that were seen with this model.
#[derive(Debug, Serialize)]
struct AutomaticWire {
    least_tokens: Tokens,
    most_tokens: Tokens,
    seen: usize,
}

impl<'a> MeterWire<'a> {
    pub(super) fn of(state: &'a State) -> Self {
        let meter = &state.context;
        let sample = meter.current.as_ref().or(meter.last.as_ref());
        let model = sample.and_then(|sample| sample.model.as_deref());
        Self {
            unknown: meter.current.is_none().then_some(meter.absent),
            window: sample.map_or(WindowBasis::Unknown, |sample| sample.window),
            model,
            mismatch: sample.and_then(|sample| sample.mismatch.as_ref()),
            knobs: &meter.aside.knobs,
            configured_threshold_tokens: meter.aside.threshold,
            automatic: meter
                .automatic_range(model)
                .map(|(least_tokens, most_tokens, seen)| AutomaticWire {
                    least_tokens,
                    most_tokens,
                    seen,
                }),
        }
    }
}

/// The lines for people.
pub(super) fn context_lines(state: &State, now: Timestamp) -> Vec<String> {
    let mut lines = vec![format!("context     {}", number(state, now))];
    let wire = MeterWire::of(state);
    if let Some(mismatch) = wire.mismatch {
        lines.push(format!("            {}", mismatch_text(mismatch)));
    }
    let settings: Vec<String> = wire
        .knobs
        .iter()
        .map(|knob| {
            format!(
                "{}={} ({})",
                one_line(&knob.name),
                one_line(&knob.value),
                one_line(&knob.origin)
            )
        })
        .collect();
    if !settings.is_empty() {
        let means = wire
            .configured_threshold_tokens
            .map_or_else(String::new, |it| {
                format!(
                    "; by these, compaction is to be expected near {}",
                    short_tokens(it)
                )
            });
        lines.push(format!("settings    {}{means}", settings.join(", ")));
    }
    if let Some(seen) = wire.automatic {
        let times = if seen.seen == 1 { "once" } else { "times" };
        let count = if seen.seen == 1 {
            times.to_owned()
        } else {
            format!("{} {times}", seen.seen)
        };
        let range = if seen.least_tokens == seen.most_tokens {
            short_tokens(seen.least_tokens)
        } else {
            format!(
                "{} to {}",
                short_tokens(seen.least_tokens),
                short_tokens(seen.most_tokens)
            )
        };
        lines.push(format!(
            "automatic   compacted by itself at {range} ({count})"
        ));
    }
    lines
}

/// The number in one line.
pub(super) fn number(state: &State, now: Timestamp) -> String {
    let meter = &state.context;
    let Some((sample, used)) = meter
        .current
        .as_ref()
        .and_then(|sample| Some((sample, sample.used_tokens?)))
    else {
        return match (meter.absent, &meter.last) {
            (Absent::Compacted, _) => "unknown (compacted)".to_owned(),
            (Absent::Reset, _) => "unknown (reset)".to_owned(),
            (Absent::NotReported, _) => "unknown".to_owned(),
        };
    };
    let window = match (sample.window_tokens, sample.window) {
        (Some(window), WindowBasis::Reported) => format!(" of {}", window.0),
        (Some(window), WindowBasis::Inferred | WindowBasis::Unknown) => {
            format!(" of {} (window inferred)", window.0)
        }
        (None, _) => " of an unknown window".to_owned(),
    };
    let percent = sample
        .used_percent
        .map_or_else(String::new, |percent| format!(", {percent}%"));
    let worth = match sample.confidence {
        Confidence::Reported | Confidence::Inferred => "",
        Confidence::Estimated => ", the harness's own estimate",
        Confidence::Unknown => ", unknown",
    };
    let seen = meter
        .seen_at()
        .map_or_else(String::new, |at| format!(", {} ago", age(now.ms_since(at))));
    let stale = if meter.is_stale(state.session.last_event_at) {
        " (stale)"
    } else {
        ""
    };
    format!(
        "{}{window}{percent}; {}{worth}{seen}{stale}",
        used.0,
        source_word(sample.source)
    )
}

fn mismatch_text(mismatch: &Mismatch) -> String {
    match mismatch {
        Mismatch::Percent { said } => {
            format!("the harness itself says {said}%, which its own tokens contradict")
        }
        Mismatch::Window { said } => {
            format!(
                "the harness says {} is the window, and more is used",
                said.0
            )
        }
        Mismatch::Source { other, said } => {
            format!(
                "the {} said {} at the same time",
                source_word(*other),
                said.0
            )
        }
    }
}
