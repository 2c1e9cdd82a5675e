//! Used tokens over time with every compaction, folded from events into a bounded amount of memory.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Serialize;

use super::axis::Axis;
use crate::compaction::{Origin, Outcome};
use crate::event::{CompactionTrigger, Event, EventBody, Timestamp, Tokens};

/// Points kept; beyond them every other one goes, the higher of each two stays.
const POINTS: usize = 2_048;
/// Events that are written down at once may differ by less than this in either direction.
const SETBACK_MS: u64 = 10_000;
/// Compactions kept, newest last.
const MARKS: usize = 64;

/// One measurement; without a number: it was not known from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    pub at: Timestamp,
    /// Its place on the axis, which the clock cannot bend back.
    #[serde(skip)]
    pub elapsed_ms: u64,
    pub used_tokens: Option<Tokens>,
}

/// How far a harness's own compaction is known to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// It was announced, and nothing was heard of it since.
    Announced,
    /// The harness reported that it compacted.
    Reported,
    /// The harness's own record holds it.
    Recorded,
}

/// Whose compaction, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MarkKind {
    /// By the harness's own word.
    Harness {
        trigger: CompactionTrigger,
        seen: Seen,
    },
    /// Asked of harn; the outcome is that of `compaction.settled`, none as long as there is none.
    Managed {
        origin: Origin,
        outcome: Option<Outcome>,
        reason: Option<String>,
    },
}

/// One compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    pub at: Timestamp,
    /// Its place on the axis, which the clock cannot bend back.
    #[serde(skip)]
    pub elapsed_ms: u64,
    pub attempt: Option<String>,
    #[serde(flatten)]
    pub kind: MarkKind,
}

impl Mark {
    /// Its letter in a graph.
    pub fn letter(&self) -> char {
        match &self.kind {
            MarkKind::Harness { trigger, .. } => match trigger {
                CompactionTrigger::Auto => 'A',
                CompactionTrigger::Manual => 'H',
                CompactionTrigger::Unknown => '?',
            },
            MarkKind::Managed { .. } => 'M',
        }
    }

    /// Its line in the list below a graph.
    pub fn text(&self) -> String {
        match &self.kind {
            MarkKind::Harness { trigger, seen } => {
                let trigger = match trigger {
                    CompactionTrigger::Auto => "automatic",
                    CompactionTrigger::Manual => "by hand",
                    CompactionTrigger::Unknown => "trigger unknown",
                };
                let seen = match seen {
                    Seen::Announced => "announced, never reported",
                    Seen::Reported => "reported by the harness",
                    Seen::Recorded => "in the harness's record",
                };
                format!("harness: {trigger}, {seen}")
            }
            MarkKind::Managed {
                origin,
                outcome,
                reason,
            } => {
                let origin = match origin {
                    Origin::Terminal => "terminal",
                    Origin::Overlay => "overlay",
                    Origin::Policy => "policy",
                    Origin::Agent => "agent",
                };
                let outcome = outcome.map_or("no outcome yet", Outcome::word);
                let reason = reason
                    .as_deref()
                    .map_or_else(String::new, |it| format!(": {}", crate::text::one_line(it)));
                format!("managed ({origin}): {outcome}{reason}")
            }
        }
    }
}

/// The history of one session's context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    pub points: Vec<Point>,
    pub marks: Vec<Mark>,
    /// Compactions that are no longer kept.
    pub dropped_marks: u64,
    pub window: Option<Tokens>,
    /// Tokens at which this session was compacted by itself: the least and the most.
    pub automatic: Option<(Tokens, Tokens)>,
    /// So many samples make one point.
    stride: u64,
    held: u64,
    /// When the event before was, by its own word.
    last_at: Option<Timestamp>,
    /// The sum of all steps forward: time on the axis never goes back, whatever the clock did.
    elapsed_ms: u64,
    /// How often the clock went back, and how far at most.
    pub setbacks: u64,
    pub setback_ms: u64,
    /// A sample came since the newest of the harness's marks.
    is_past_mark: bool,
}

impl Series {
    /// Whether a line of a log can matter here, told from its bytes alone.
    pub fn wants(line: &[u8]) -> bool {
        // The type stands near the beginning of harn's own lines, and a quote within a word there is an escaped one.
        static KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"type\":\""));
        let head = line.get(..512).unwrap_or(line);
        let kind = KEY
            .find(head)
            .and_then(|place| head.get(place + KEY.needle().len()..))
            .unwrap_or_default();
        [&b"context."[..], b"compaction."]
            .iter()
            .any(|room| kind.starts_with(room))
    }

    /// Folds one event.
    pub fn push(&mut self, event: &Event) {
        let at = event.at;
        if let EventBody::ContextSampled(sample) = &event.body {
            self.window = sample.window_tokens.or(self.window);
            self.is_past_mark |= sample.used_tokens.is_some();
            self.point(at, sample.used_tokens);
        } else if let EventBody::CompactionStarted {
            attempt, trigger, ..
        } = &event.body
        {
            self.harness(at, Some(attempt), *trigger, Seen::Announced);
        } else if let EventBody::CompactionCompleted { attempt, trigger } = &event.body {
            self.harness(at, Some(attempt), *trigger, Seen::Reported);
            self.point(at, None);
        } else if let EventBody::ContextBoundary {
            trigger,
            before_tokens,
            ..
        } = &event.body
        {
            let before = before_tokens.or_else(|| self.known());
            if let (CompactionTrigger::Auto, Some(tokens)) = (trigger, before) {
                let (least, most) = self.automatic.unwrap_or((tokens, tokens));
                self.automatic = Some((least.min(tokens), most.max(tokens)));
            }
            self.harness(at, None, *trigger, Seen::Recorded);
            self.point(at, None);
        } else {
            self.managed(at, &event.body);
        }
    }

    fn known(&self) -> Option<Tokens> {
        self.points.iter().rev().find_map(|point| point.used_tokens)
    }

    fn managed(&mut self, at: Timestamp, body: &EventBody) {
        if let EventBody::ManagedRequested {
            attempt, origin, ..
        } = body
        {
            let kind = MarkKind::Managed {
                origin: *origin,
                outcome: None,
                reason: None,
            };
            self.mark(at, Some(attempt.clone()), kind);
        } else if let EventBody::ManagedSettled {
            attempt,
            origin,
            outcome,
            reason,
            ..
        } = body
        {
            let settled = MarkKind::Managed {
                origin: *origin,
                outcome: Some(*outcome),
                reason: reason.clone(),
            };
            let open = self.marks.iter_mut().rev().find(|mark| {
                mark.attempt.as_ref() == Some(attempt)
                    && matches!(mark.kind, MarkKind::Managed { .. })
            });
            match open {
                Some(mark) => mark.kind = settled,
                None => self.mark(at, Some(attempt.clone()), settled),
            }
        }
    }

    /// One compaction is announced, reported and recorded: one mark, however much of it was heard.
    fn harness(
        &mut self,
        at: Timestamp,
        attempt: Option<&String>,
        trigger: CompactionTrigger,
        seen: Seen,
    ) {
        let is_past = self.is_past_mark;
        let joined = self.marks.iter_mut().rev().find_map(|mark| {
            let MarkKind::Harness {
                trigger: known,
                seen: already,
            } = &mut mark.kind
            else {
                return None;
            };
            Some((&mut mark.attempt, known, already))
        });
        if let Some((its, known, already)) = joined {
            let is_same = match (attempt, &its) {
                (Some(attempt), Some(its)) => attempt == its,
                // The record speaks of what was heard last, unless the context was measured in between.
                _ => seen != *already && (!is_past || *already == Seen::Announced),
            };
            if is_same {
                if *known == CompactionTrigger::Unknown {
                    *known = trigger;
                }
                *already = seen.max(*already);
                if its.is_none() {
                    *its = attempt.cloned();
                }
                return;
            }
        }
        self.mark(at, attempt.cloned(), MarkKind::Harness { trigger, seen });
        self.is_past_mark = false;
    }

    fn mark(&mut self, at: Timestamp, attempt: Option<String>, kind: MarkKind) {
        let elapsed_ms = self.advance(at);
        self.marks.push(Mark {
            at,
            elapsed_ms,
            attempt,
            kind,
        });
        if self.marks.len() > MARKS {
            self.marks.remove(0);
            self.dropped_marks += 1;
        }
    }

    /// The place on the axis of what happened next.
    fn advance(&mut self, at: Timestamp) -> u64 {
        let last = self.last_at.replace(at).unwrap_or(at);
        self.elapsed_ms = self.elapsed_ms.saturating_add(at.ms_since(last));
        let back = last.ms_since(at);
        if back > SETBACK_MS {
            self.setbacks += 1;
            self.setback_ms = self.setback_ms.max(back);
        }
        self.elapsed_ms
    }

    fn point(&mut self, at: Timestamp, used_tokens: Option<Tokens>) {
        let point = Point {
            at,
            elapsed_ms: self.advance(at),
            used_tokens,
        };
        self.held += 1;
        match self.points.last_mut() {
            // Of those that make one point the highest stays; that it became unknown stays in any case.
            Some(last)
                if self.held < self.stride
                    && last.used_tokens.is_some()
                    && used_tokens.is_some() =>
            {
                *last = (*last).higher(point);
            }
            Some(last) if last.used_tokens.is_none() && used_tokens.is_none() => *last = point,
            _ => {
                self.points.push(point);
                self.held = 0;
            }
        }
        if self.points.len() > POINTS {
            self.points = self
                .points
                .chunks(2)
                .filter_map(|pair| pair.iter().copied().reduce(Point::higher))
                .collect();
            self.stride = self.stride.max(1) * 2;
        }
    }

    /// When it begins and ends, by the clock of each event.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        Axis::of(self).map(|axis| (axis.from, axis.to))
    }

    /// The top of the scale.
    pub fn top(&self) -> u64 {
        let used = self.points.iter().filter_map(|point| point.used_tokens);
        used.chain(self.window)
            .chain(self.automatic.map(|(_, most)| most))
            .map(|tokens| tokens.0)
            .max()
            .unwrap_or(0)
            .max(1)
    }
}

impl Point {
    fn higher(self, other: Self) -> Self {
        if other.used_tokens >= self.used_tokens {
            other
        } else {
            self
        }
    }
}
