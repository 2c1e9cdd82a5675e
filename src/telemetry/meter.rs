//! Which of all readings stands.
//!
//! Pure. `offer` decides whether a reading is news, `apply` folds the recorded event; the newest report wins, a
//! boundary ends every sample from before it, and after one a reading without a time of its own that repeats the last
//! number proves nothing.

use serde::{Deserialize, Serialize};

use super::sample::{
    Boundary, Confidence, ContextSample, Fact, Mismatch, Reading, SampleSource, WindowBasis,
};
use crate::event::{CompactionTrigger, Timestamp, Tokens};

/// Numbers from before a boundary that are remembered.
const ENDED_LIMIT: usize = 4;
/// Automatic compactions that are remembered.
const AUTOMATIC_LIMIT: usize = 16;
/// Two sources this close together speak of the same moment, in milliseconds.
const SAME_MOMENT_MS: u64 = 2_000;
/// A session that has been busy for longer than this since the sample has outrun it, in milliseconds.
const OUTRUN_MS: u64 = 600_000;

/// Why there is no number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absent {
    #[default]
    NotReported,
    /// Nothing was reported since a compaction.
    Compacted,
    /// The harness reported that it starts from nothing.
    Reset,
}

/// An automatic compaction that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Automatic {
    pub model: Option<String>,
    pub tokens: Tokens,
    pub window: Option<Tokens>,
}

/// A setting of the harness that moves its automatic compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knob {
    pub name: String,
    pub value: String,
    /// Where it was found: `environment`, or the kind of settings file.
    pub origin: String,
}

/// The window that the harness reported last, and for which model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownWindow {
    tokens: Tokens,
    basis: WindowBasis,
    model: Option<String>,
}

/// What no event tells: it lives in the state file alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Aside {
    /// When a source repeated what stands.
    pub confirmed_at: Option<Timestamp>,
    /// What the harness is set to, as far as it is known.
    pub knobs: Vec<Knob>,
    /// What these settings are known to mean.
    pub threshold: Option<Tokens>,
}

/// The context of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meter {
    /// What stands; none after a boundary until something new is reported.
    pub current: Option<ContextSample>,
    /// The newest number of all, ended or not.
    pub last: Option<ContextSample>,
    pub absent: Absent,
    pub boundary_at: Option<Timestamp>,
    pub automatic: Vec<Automatic>,
    pub aside: Aside,
    /// Older facts in the record were copied from another session.
    since: Option<Timestamp>,
    ended: Vec<Tokens>,
    window: Option<KnownWindow>,
    recorded_boundary_at: Option<Timestamp>,
    prompt_at: Option<Timestamp>,
    answered_prompt_at: Option<Timestamp>,
}

impl Meter {
    /// The sample to record, if the reading tells something new.
    pub fn offer(&self, reading: &Reading, now: Timestamp) -> Option<ContextSample> {
        let at = reading.at.unwrap_or(now).min(now);
        let used = reading.used?;
        if used == Tokens(0) {
            return self.offer_reset(reading, at);
        }
        if self.is_copied(reading.at) || self.is_from_before(used, reading.at, at) {
            return None;
        }
        let mut sample = self.merge(reading, used, at);
        let Some(current) = &self.current else {
            return Some(sample);
        };
        if current.at > at || is_same(current, &sample) {
            return None;
        }
        let is_other = current.source != sample.source;
        if let Some(said) = current.used_tokens
            && is_other
            && said != used
            && at.ms_since(current.at) <= SAME_MOMENT_MS
        {
            sample.mismatch.get_or_insert(Mismatch::Source {
                other: current.source,
                said,
            });
        }
        Some(sample)
    }

    /// Zero is never a measurement: a context holds at least its instructions.
    fn offer_reset(&self, reading: &Reading, at: Timestamp) -> Option<ContextSample> {
        let current = self.current.as_ref()?;
        (current.at <= at).then(|| ContextSample {
            used_tokens: None,
            window_tokens: reading.window.or(current.window_tokens),
            window: current.window,
            used_percent: None,
            source: reading.source,
            confidence: Confidence::Unknown,
            model: reading.model.clone(),
            at,
            mismatch: None,
        })
    }

    fn is_from_before(&self, used: Tokens, told_at: Option<Timestamp>, at: Timestamp) -> bool {
        let Some(boundary) = self.boundary_at else {
            return false;
        };
        match told_at {
            Some(_) => at <= boundary,
            None => at < boundary || self.current.is_none() && self.ended.contains(&used),
        }
    }

    fn merge(&self, reading: &Reading, used: Tokens, at: Timestamp) -> ContextSample {
        let (window, basis, mut mismatch) = self.window_for(reading, used);
        let computed = window.and_then(|window| reading.formula.percent(used.0, window.0));
        let used_percent = match (reading.percent, computed) {
            (Some(said), Some(computed)) if said.agrees(computed) => Some(said),
            (Some(said), computed) => {
                mismatch.get_or_insert(Mismatch::Percent { said });
                computed
            }
            (None, computed) => computed,
        };
        ContextSample {
            used_tokens: Some(used),
            window_tokens: window,
            window: basis,
            used_percent,
            source: reading.source,
            confidence: match basis {
                _ if reading.is_estimate => Confidence::Estimated,
                WindowBasis::Inferred => Confidence::Inferred,
                WindowBasis::Reported | WindowBasis::Unknown => Confidence::Reported,
            },
            model: reading.model.clone(),
            at,
            mismatch,
        }
    }

    /// The window with its provenance; one that holds less than is used is replaced by the next size there is.
    fn window_for(
        &self,
        reading: &Reading,
        used: Tokens,
    ) -> (Option<Tokens>, WindowBasis, Option<Mismatch>) {
        let known = self.window.as_ref().filter(|known| {
            reading.model.is_none()
                || is_same_model(known.model.as_deref(), reading.model.as_deref())
        });
        let (window, basis) = match (reading.window, known, reading.window_guess) {
            (Some(window), _, _) => (window, WindowBasis::Reported),
            (None, Some(known), _) => (known.tokens, known.basis),
            (None, None, Some(guess)) => (guess, WindowBasis::Inferred),
            (None, None, None) => return (None, WindowBasis::Unknown, None),
        };
        if window >= used {
            return (Some(window), basis, None);
        }
        let mismatch =
            (basis == WindowBasis::Reported).then_some(Mismatch::Window { said: window });
        match reading.sizes.iter().find(|size| **size >= used.0) {
            Some(size) => (Some(Tokens(*size)), WindowBasis::Inferred, mismatch),
            None => (None, WindowBasis::Unknown, mismatch),
        }
    }

    /// Takes what a record says without recording it: for somebody who only looks.
    pub fn take(&mut self, fact: &Fact, now: Timestamp) {
        match fact {
            Fact::Reading(reading) => match self.offer(reading, now) {
                Some(sample) => self.apply(&sample),
                None => self.confirm(reading, now),
            },
            Fact::Boundary(boundary) if self.is_news(boundary, now) => {
                let at = boundary.at.unwrap_or(now).min(now);
                self.boundary(boundary.trigger, boundary.before, at);
            }
            Fact::Boundary(_) | Fact::Model(_) => {}
        }
    }

    /// Takes note that a source repeated what stands; changes no number.
    pub fn confirm(&mut self, reading: &Reading, now: Timestamp) {
        let at = reading.at.unwrap_or(now).min(now);
        let stands = self
            .current
            .as_ref()
            .and_then(|current| current.used_tokens);
        if stands.is_some() && stands == reading.used {
            self.aside.confirmed_at = self.aside.confirmed_at.max(Some(at));
        }
    }

    /// When what stands was last reported.
    pub fn seen_at(&self) -> Option<Timestamp> {
        let current = self.current.as_ref()?;
        self.aside.confirmed_at.max(Some(current.at))
    }

    /// Whether a boundary in the harness's record is one that was not seen yet.
    pub fn is_news(&self, boundary: &Boundary, now: Timestamp) -> bool {
        let at = boundary.at.unwrap_or(now).min(now);
        !self.is_copied(boundary.at) && self.recorded_boundary_at.is_none_or(|seen| at > seen)
    }

    /// A new session begins here. A fork's record begins with that of the session it comes from: under the new id, with the old
    /// times.
    pub fn begin(&mut self, at: Timestamp) {
        self.since = Some(at);
    }

    fn is_copied(&self, at: Option<Timestamp>) -> bool {
        self.since.zip(at).is_some_and(|(since, at)| at < since)
    }

    /// Folds a recorded sample.
    pub fn apply(&mut self, sample: &ContextSample) {
        if sample.used_tokens.is_none() {
            self.end(sample.at, Absent::Reset);
            return;
        }
        if let Some(tokens) = sample.window_tokens
            && sample.window != WindowBasis::Unknown
        {
            self.window = Some(KnownWindow {
                tokens,
                basis: sample.window,
                model: sample.model.clone(),
            });
        }
        self.current = Some(sample.clone());
        self.last = Some(sample.clone());
    }

    /// The harness reported a compaction.
    pub fn compacted(&mut self, at: Timestamp) {
        self.end(at, Absent::Compacted);
    }

    /// The harness's own record holds a compaction.
    pub fn boundary(&mut self, trigger: CompactionTrigger, before: Option<Tokens>, at: Timestamp) {
        self.recorded_boundary_at = self.recorded_boundary_at.max(Some(at));
        let before = before.or(self.last.as_ref().and_then(|last| last.used_tokens));
        if trigger == CompactionTrigger::Auto
            && let Some(tokens) = before
        {
            let last = self.last.as_ref();
            self.automatic.push(Automatic {
                model: last.and_then(|last| last.model.clone()),
                tokens,
                window: last.and_then(|last| last.window_tokens),
            });
            let excess = self.automatic.len().saturating_sub(AUTOMATIC_LIMIT);
            self.automatic.drain(..excess);
        }
        self.end(at, Absent::Compacted);
    }

    fn end(&mut self, at: Timestamp, absent: Absent) {
        if let Some(current) = self.current.take_if(|current| current.at <= at) {
            self.aside.confirmed_at = None;
            self.ended.extend(current.used_tokens);
            let excess = self.ended.len().saturating_sub(ENDED_LIMIT);
            self.ended.drain(..excess);
        }
        self.boundary_at = self.boundary_at.max(Some(at));
        if self.current.is_none() {
            self.absent = absent;
        }
    }

    pub fn prompted(&mut self, at: Timestamp) {
        self.prompt_at = Some(at);
    }

    pub fn answered(&mut self) {
        self.answered_prompt_at = self.prompt_at;
    }

    /// Whether a turn has begun and ended, or much time of work has passed, since the sample was taken.
    pub fn is_stale(&self, last_event_at: Option<Timestamp>) -> bool {
        let Some(seen) = self.seen_at() else {
            return false;
        };
        let is_outlived = self.answered_prompt_at.is_some_and(|prompt| prompt > seen);
        is_outlived || last_event_at.is_some_and(|at| at.ms_since(seen) > OUTRUN_MS)
    }

    /// Tokens at which this model was compacted by itself: the least, the most, how often.
    pub fn automatic_range(&self, model: Option<&str>) -> Option<(Tokens, Tokens, usize)> {
        let seen: Vec<Tokens> = self
            .automatic
            .iter()
            .filter(|seen| is_same_model(seen.model.as_deref(), model))
            .map(|seen| seen.tokens)
            .collect();
        Some((*seen.iter().min()?, *seen.iter().max()?, seen.len()))
    }
}

fn is_same(one: &ContextSample, other: &ContextSample) -> bool {
    let told = |sample: &ContextSample| {
        (
            sample.used_tokens,
            sample.window_tokens,
            sample.window,
            sample.confidence,
        )
    };
    told(one) == told(other)
}

/// A name may carry the size of its window in brackets in one place and not in another.
fn is_same_model(one: Option<&str>, other: Option<&str>) -> bool {
    let stem =
        |name: Option<&str>| name.map(|name| name.split('[').next().unwrap_or(name).to_owned());
    stem(one) == stem(other)
}

/// Which sources a session has been measured by; for people.
pub fn source_word(source: SampleSource) -> &'static str {
    match source {
        SampleSource::Statusline => "status line",
        SampleSource::Transcript => "transcript",
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
