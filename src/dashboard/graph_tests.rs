//! A long story drawn at several sizes.

use super::*;
use crate::compaction::{Origin, Outcome};
use crate::dashboard::svg;
use crate::event::{CompactionTrigger, Event, EventBody, EventSource, HarnessId, SessionId};
use crate::telemetry::{Confidence, ContextSample, SampleSource, WindowBasis};

fn event(second: i64, body: EventBody) -> Event {
    Event {
        id: String::new(),
        seq: 1,
        at: Timestamp::from_unix_ms(1_780_000_000_000 + second * 1_000),
        session: SessionId::new("s1"),
        run: None,
        adapter: HarnessId::new("demo"),
        source: EventSource::Hook,
        body,
    }
}

fn sample(second: i64, used: Option<u64>) -> Event {
    let body = EventBody::ContextSampled(ContextSample {
        used_tokens: used.map(Tokens),
        window_tokens: Some(Tokens(200_000)),
        window: WindowBasis::Reported,
        used_percent: None,
        source: SampleSource::Statusline,
        confidence: Confidence::Reported,
        model: None,
        at: Timestamp::from_unix_ms(0),
        mismatch: None,
    });
    event(second, body)
}

fn boundary(second: i64, trigger: CompactionTrigger) -> Event {
    let body = EventBody::ContextBoundary {
        trigger,
        before_tokens: None,
        recorded_at: Timestamp::from_unix_ms(0),
    };
    event(second, body)
}

fn settled(second: i64, attempt: &str, outcome: Outcome, reason: Option<&str>) -> Event {
    let body = EventBody::ManagedSettled {
        attempt: attempt.to_owned(),
        origin: Origin::Terminal,
        outcome,
        reason: reason.map(str::to_owned),
        evidence: Vec::new(),
        generation: None,
    };
    event(second, body)
}

fn requested(second: i64, attempt: &str) -> Event {
    let body = EventBody::ManagedRequested {
        attempt: attempt.to_owned(),
        origin: Origin::Terminal,
        has_focus: false,
    };
    event(second, body)
}

fn completed(second: i64, attempt: &str, trigger: CompactionTrigger) -> Event {
    let body = EventBody::CompactionCompleted {
        attempt: attempt.to_owned(),
        trigger,
    };
    event(second, body)
}

fn started(second: i64, attempt: &str, trigger: CompactionTrigger) -> Event {
    let body = EventBody::CompactionStarted {
        attempt: attempt.to_owned(),
        turn: None,
        trigger,
    };
    event(second, body)
}

fn of(events: &[Event]) -> Series {
    let mut series = Series::default();
    for event in events {
        series.push(event);
    }
    series
}

/// Two automatic compactions, one by hand through harn that is confirmed, one that is refused.
fn story() -> Series {
    let climb = |from: i64, low: u64, high: u64| {
        (0..20_i64).map(move |step| {
            let used = low + (high - low) * step.unsigned_abs() / 19;
            sample(from + step * 30, Some(used))
        })
    };
    let mut events: Vec<Event> = climb(0, 18_000, 168_000).collect();
    events.push(started(600, "a1", CompactionTrigger::Auto));
    events.push(completed(620, "a1", CompactionTrigger::Auto));
    events.push(boundary(621, CompactionTrigger::Auto));
    events.extend(climb(660, 32_000, 155_000));
    events.push(boundary(1_260, CompactionTrigger::Auto));
    events.extend(climb(1_300, 30_000, 90_000));
    events.push(requested(1_900, "m1"));
    events.push(started(1_903, "a2", CompactionTrigger::Manual));
    events.push(completed(1_930, "a2", CompactionTrigger::Manual));
    events.push(boundary(1_931, CompactionTrigger::Manual));
    events.push(settled(1_932, "m1", Outcome::Confirmed, None));
    events.extend(climb(1_960, 25_000, 60_000));
    events.push(requested(2_600, "m2"));
    events.push(settled(
        2_660,
        "m2",
        Outcome::Refused,
        Some("still waiting: a <draft>\u{1b}[2J"),
    ));
    of(&events)
}

#[test]
fn the_graph_reads_the_same_at_several_sizes() {
    let series = story();
    for (cols, rows) in [(80, 12), (40, 6), (120, 20)] {
        let lines = draw(&series, Canvas { cols, rows });
        insta::assert_snapshot!(format!("graph_{cols}x{rows}"), lines.join("\n"));
    }
    let legend: Vec<String> = series.marks.iter().map(super::super::Mark::text).collect();
    insta::assert_snapshot!("graph_legend", legend.join("\n"));
}

#[test]
fn the_svg_holds_the_same_story() {
    insta::assert_snapshot!("graph_svg", svg(&story(), "session <s1>\u{1b} & co"));
}

#[test]
fn no_size_and_no_series_breaks_the_graph() {
    let series = story();
    for cols in 0..12 {
        for rows in 0..4 {
            for line in draw(&series, Canvas { cols, rows }) {
                assert!(line.chars().count() <= cols, "{cols}x{rows}: {line}");
            }
        }
    }
    let canvas = Canvas { cols: 30, rows: 3 };
    assert_eq!(draw(&Series::default(), canvas), Vec::<String>::new());
    let one = of(&[sample(5, Some(u64::MAX))]);
    assert_eq!(draw(&one, canvas).len(), 4);
    assert!(svg(&Series::default(), "t").contains("nothing was measured yet"));
}

#[test]
fn one_compaction_is_one_mark_however_much_was_heard_of_it() {
    let letters = |series: &Series| {
        series
            .marks
            .iter()
            .map(super::super::Mark::letter)
            .collect()
    };
    let told: String = letters(&story());
    assert_eq!(told, "AAMHM");
    let only_announced = of(&[started(0, "a1", CompactionTrigger::Manual)]);
    assert_eq!(
        only_announced.marks[0].text(),
        "harness: by hand, announced, never reported"
    );
    let open = of(&[
        requested(0, "m1"),
        completed(1, "a1", CompactionTrigger::Manual),
    ]);
    // The harness's word is no outcome of the attempt.
    assert_eq!(open.marks[0].text(), "managed (terminal): no outcome yet");
}

#[test]
fn a_clock_that_jumps_back_draws_on_and_memory_stays_bounded() {
    let mut series = of(&[sample(100, Some(1)), sample(-5_000, Some(2))]);
    assert_eq!(series.points[0].at, series.points[1].at);
    for second in 0..100_000_u64 {
        let used = if second == 70_000 { 190_000 } else { second };
        series.push(&sample(second.cast_signed(), Some(used)));
        series.push(&requested(second.cast_signed(), "m"));
    }
    assert!(series.points.len() <= 2_049 && series.marks.len() == 64);
    assert_eq!(series.top(), 200_000);
    let highest = series.points.iter().filter_map(|it| it.used_tokens).max();
    assert_eq!(highest, Some(Tokens(190_000)));
}
