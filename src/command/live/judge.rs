//! What a rehearsed session showed, dimension by dimension. Pure.

use crate::adapter::conformance::{Line, Seen, reconcile};
use crate::adapter::manifest::{Dimension, Manifest, Support};
use crate::event::{CheckpointTrigger, Event, EventBody, EventSource, StartSource};
use crate::rehearsal::{Entry, Kind};
use crate::telemetry::Confidence;

/// What was left of it.
pub(super) struct Rehearsed {
    /// harn's own events, oldest first.
    pub(super) events: Vec<Event>,
    /// What the client asked the model.
    pub(super) requests: Vec<Entry>,
    /// What the model reported, turn by turn.
    pub(super) reported_tokens: Vec<u64>,
}

/// Whether the client came through a compaction to a request after it; why not.
pub(super) fn is_complete(rehearsed: &Rehearsed) -> Result<(), &'static str> {
    let summary = rehearsed.summary().ok_or("the client did not compact")?;
    let after = rehearsed.main_after(summary);
    after
        .map(drop)
        .ok_or("nothing was asked after the compaction")
}

/// Held against the claims.
pub(super) fn judge(manifest: &Manifest, rehearsed: &Rehearsed) -> Vec<Line> {
    let of = |dimension| {
        let claimed = manifest.support(dimension);
        let mut seen = look(rehearsed, dimension);
        // One session shows that it is there, not that nothing of it is missing.
        if let Seen::Yes(how) = &mut seen
            && claimed == Support::Partial
        {
            seen = Seen::Partly(std::mem::take(how));
        }
        reconcile(dimension, claimed, seen)
    };
    Dimension::ALL.into_iter().map(of).collect()
}

impl Rehearsed {
    fn summary(&self) -> Option<&Entry> {
        self.requests.iter().find(|it| it.kind == Kind::Summary)
    }

    fn main_after(&self, summary: &Entry) -> Option<&Entry> {
        let later = |it: &&Entry| it.n > summary.n && it.kind == Kind::Main;
        self.requests.iter().find(later)
    }

    /// The first event of a hook that is like this.
    fn heard(&self, is_it: impl Fn(&EventBody) -> bool) -> Option<&Event> {
        let by_hook = |it: &&Event| it.source == EventSource::Hook && is_it(&it.body);
        self.events.iter().find(by_hook)
    }
}

fn look(rehearsed: &Rehearsed, dimension: Dimension) -> Seen {
    match dimension {
        Dimension::Telemetry => telemetry(rehearsed),
        Dimension::PreSignal => pre_signal(rehearsed),
        Dimension::PostSignal => post_signal(rehearsed),
        Dimension::Injection => injection(rehearsed),
        Dimension::TriggerUnowned => trigger_unowned(rehearsed),
        Dimension::TriggerOwned => {
            Seen::Nothing("needs a session that harn hosts; not rehearsed".into())
        }
        Dimension::Focus => Seen::Nothing("goes with a typed compaction; not rehearsed".into()),
        Dimension::Resume => resume(rehearsed),
    }
}

fn telemetry(rehearsed: &Rehearsed) -> Seen {
    let samples = rehearsed.events.iter().filter_map(|it| {
        let EventBody::ContextSampled(sample) = &it.body else {
            return None;
        };
        // The client's own estimate is nobody's report.
        let is_report = sample.confidence != Confidence::Estimated;
        sample.used_tokens.filter(|_| is_report)
    });
    let told: Vec<u64> = samples.map(|it| it.0).collect();
    let reported = &rehearsed.reported_tokens;
    if !told.is_empty() && told.iter().all(|it| reported.contains(it)) {
        Seen::Yes(format!("harn read {told:?} tokens, as the model reported"))
    } else {
        Seen::No(format!(
            "the model reported {reported:?}, harn read {told:?}"
        ))
    }
}

fn pre_signal(rehearsed: &Rehearsed) -> Seen {
    let announced = rehearsed.heard(|it| matches!(it, EventBody::CompactionStarted { .. }));
    let saved = rehearsed.heard(|it| {
        let pre_compact = CheckpointTrigger::PreCompact;
        matches!(it, EventBody::CheckpointCreated { trigger, .. } if *trigger == pre_compact)
    });
    let summary = rehearsed.summary();
    match (announced, saved, summary) {
        (Some(announced), Some(_), Some(summary)) => {
            let asked_ms = summary
                .at
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |it| it.as_millis());
            let heard_ms = u128::try_from(announced.at.as_unix_ms()).unwrap_or(u128::MAX);
            if heard_ms <= asked_ms {
                Seen::Yes("announced before the summary was asked for, and checkpointed".into())
            } else {
                Seen::No("announced only after the summary was asked for".into())
            }
        }
        (Some(_), None, _) => Seen::No("announced, and not checkpointed".into()),
        (None, _, _) => Seen::No("no hook announced the compaction".into()),
        (Some(_), Some(_), None) => Seen::No("announced, and there was none".into()),
    }
}

fn post_signal(rehearsed: &Rehearsed) -> Seen {
    match rehearsed.heard(|it| matches!(it, EventBody::CompactionCompleted { .. })) {
        Some(_) => Seen::Yes("a hook reported the compaction".into()),
        None => Seen::No("no hook reported the compaction".into()),
    }
}

fn injection(rehearsed: &Rehearsed) -> Seen {
    let printed = rehearsed.events.iter().find_map(|it| {
        let EventBody::RecoveryInjected { tag, .. } = &it.body else {
            return None;
        };
        Some(tag.as_str())
    });
    let Some(tag) = printed else {
        return Seen::No("no briefing was printed".into());
    };
    let next = rehearsed
        .summary()
        .and_then(|summary| rehearsed.main_after(summary));
    match next.map(|it| it.body.to_string().matches(tag).count()) {
        Some(1) => Seen::Yes("the briefing stood in the very next request, once".into()),
        Some(0) => Seen::No("the briefing did not stand in the next request".into()),
        Some(count) => Seen::No(format!(
            "the briefing stood {count} times in the next request"
        )),
        None => Seen::No("nothing was asked after the compaction".into()),
    }
}

fn trigger_unowned(rehearsed: &Rehearsed) -> Seen {
    let is_typed = |it: &Event| {
        matches!(
            it.body,
            EventBody::ManagedTyped { .. } | EventBody::ManagedSubmitted { .. }
        )
    };
    if rehearsed.events.iter().any(is_typed) {
        Seen::Yes("harn typed into a session that it does not host".into())
    } else {
        Seen::No("the client compacted by itself; harn typed nothing".into())
    }
}

fn resume(rehearsed: &Rehearsed) -> Seen {
    let is_resume = |it: &EventBody| {
        let resume = StartSource::Resume;
        matches!(it, EventBody::SessionStarted { source, .. } if *source == resume)
    };
    let mut sessions: Vec<&str> = rehearsed
        .events
        .iter()
        .map(|it| it.session.as_str())
        .collect();
    sessions.dedup();
    match (rehearsed.heard(is_resume), sessions.len()) {
        (Some(_), 1) => Seen::Yes("a second process went on with the session".into()),
        (Some(_), count) => Seen::No(format!("resumed, and told under {count} ids")),
        (None, _) => Seen::No("no hook told of the resumed session".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    use serde_json::json;

    use super::*;
    use crate::adapter::conformance::Verdict;
    use crate::adapter::registry;
    use crate::event::{
        BriefingChannel, CompactionTrigger, HarnessId, SessionId, Timestamp, Tokens,
    };
    use crate::rehearsal::End;
    use crate::telemetry::{SampleSource, WindowBasis};

    const FULL: u64 = 70_000;

    fn event(ms: i64, body: EventBody) -> Event {
        Event {
            id: String::new(),
            seq: 0,
            at: Timestamp::from_unix_ms(ms),
            session: SessionId::new("s1"),
            run: None,
            adapter: HarnessId::new("claude-code"),
            source: EventSource::Hook,
            body,
        }
    }

    fn request(n: usize, kind: Kind, text: &str) -> Entry {
        Entry {
            n,
            at: UNIX_EPOCH + Duration::from_millis(n as u64 * 100),
            kind,
            method: "POST".to_owned(),
            path: "/".to_owned(),
            body: Arc::new(json!({"text": text})),
            end: Some(End::Done(200)),
        }
    }

    /// A session in which all went well; the summary is asked for at 300 ms.
    fn good() -> Rehearsed {
        let attempt = || "a1".to_owned();
        let sample = crate::telemetry::ContextSample {
            used_tokens: Some(Tokens(FULL)),
            window_tokens: None,
            window: WindowBasis::Unknown,
            used_percent: None,
            source: SampleSource::Transcript,
            confidence: Confidence::Reported,
            model: None,
            at: Timestamp::from_unix_ms(200),
            mismatch: None,
        };
        Rehearsed {
            events: vec![
                event(
                    150,
                    EventBody::SessionStarted {
                        source: StartSource::Resume,
                        model: None,
                        cwd: None,
                        transcript: None,
                    },
                ),
                event(200, EventBody::ContextSampled(sample)),
                event(
                    250,
                    EventBody::CompactionStarted {
                        attempt: attempt(),
                        turn: None,
                        trigger: CompactionTrigger::Auto,
                    },
                ),
                event(
                    250,
                    EventBody::CheckpointCreated {
                        generation: 1,
                        capsule: String::new(),
                        path: String::new(),
                        trigger: CheckpointTrigger::PreCompact,
                        bytes: 1,
                        truncated: Vec::new(),
                    },
                ),
                event(
                    350,
                    EventBody::CompactionCompleted {
                        attempt: attempt(),
                        trigger: CompactionTrigger::Auto,
                    },
                ),
                event(
                    350,
                    EventBody::RecoveryInjected {
                        attempt: attempt(),
                        generation: Some(1),
                        tag: "[harn:g1:7f]".to_owned(),
                        via: BriefingChannel::SessionStart,
                        chars: 10,
                        transcript_offset: None,
                    },
                ),
            ],
            requests: vec![
                request(1, Kind::Main, "begin"),
                request(2, Kind::Main, "go on"),
                request(3, Kind::Summary, "sum up"),
                request(4, Kind::Side, "[harn:g1:7f] a title"),
                request(5, Kind::Main, "[harn:g1:7f] the work"),
            ],
            reported_tokens: vec![30_000, FULL],
        }
    }

    fn drift(rehearsed: &Rehearsed) -> Vec<Dimension> {
        let lines = judge(&registry::load("claude-code").unwrap(), rehearsed);
        let of = lines.iter().filter(|it| it.verdict == Verdict::Drift);
        of.map(|it| it.dimension).collect()
    }

    #[test]
    fn what_is_missing_in_a_session_is_drift_of_its_dimension_and_of_no_other() {
        type Break = fn(&mut Rehearsed);
        assert_eq!(drift(&good()), []);
        let table: [(&[Dimension], Break); 10] = [
            (&[Dimension::Resume], |it| drop(it.events.remove(0))),
            (&[Dimension::Telemetry], |it| drop(it.events.remove(1))),
            (&[Dimension::Telemetry], |it| it.reported_tokens[1] += 1),
            (&[Dimension::PreSignal], |it| drop(it.events.remove(2))),
            (&[Dimension::PreSignal], |it| drop(it.events.remove(3))),
            (&[Dimension::PreSignal], |it| {
                it.events[2].at = Timestamp::from_unix_ms(301);
            }),
            (&[Dimension::PostSignal], |it| drop(it.events.remove(4))),
            (&[Dimension::Injection], |it| drop(it.events.remove(5))),
            (&[Dimension::Injection], |it| {
                it.requests[4] = request(5, Kind::Main, "the work");
            }),
            (&[Dimension::TriggerUnowned], |it| {
                it.events.push(event(
                    400,
                    EventBody::ManagedTyped {
                        attempt: "a1".to_owned(),
                    },
                ));
            }),
        ];
        for (expected, spoil) in table {
            let mut rehearsed = good();
            spoil(&mut rehearsed);
            assert_eq!(drift(&rehearsed), expected);
        }
        let mut twice = good();
        twice.requests[4] = request(5, Kind::Main, "[harn:g1:7f] [harn:g1:7f]");
        assert_eq!(drift(&twice), [Dimension::Injection]);
        let mut other = good();
        other.events[5].session = SessionId::new("s2");
        assert_eq!(drift(&other), [Dimension::Resume]);
    }

    #[test]
    fn a_session_without_a_compaction_or_a_request_after_it_shows_nothing() {
        assert_eq!(is_complete(&good()), Ok(()));
        let mut cut = good();
        cut.requests.truncate(4);
        assert_eq!(
            is_complete(&cut),
            Err("nothing was asked after the compaction")
        );
        cut.requests.truncate(2);
        assert_eq!(is_complete(&cut), Err("the client did not compact"));
    }
}
