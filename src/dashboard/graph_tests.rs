//! A long story drawn at several sizes.

use super::*;
use crate::compaction::{Origin, Outcome};
use crate::dashboard::svg;
use crate::event::{
    CompactionTrigger, Event, EventBody, EventSource, HarnessId, SessionId, Timestamp,
};
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
    // Each keeps its own time, and has its place after the one before.
    assert_eq!(
        (series.points[0].elapsed_ms, series.points[1].elapsed_ms),
        (0, 0)
    );
    assert_eq!(
        super::super::notes(&series),
        ["the clock went back once, by 85 min"]
    );
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

/// Two hours of work with a leap into 2100 or from 1970 in the middle, whatever it is that the clock did.
fn leaping(odd_at: i64) -> Series {
    let climb = |from: i64| {
        (0..60_i64).map(move |minute| {
            let used = 20_000 + (from / 60 + minute).unsigned_abs() * 1_000;
            sample(from + minute * 60, Some(used))
        })
    };
    let mut events: Vec<Event> = climb(0).collect();
    events.push(started(odd_at, "a1", CompactionTrigger::Auto));
    events.push(sample(odd_at + 1, Some(79_000)));
    events.extend(climb(3_600));
    of(&events)
}

#[test]
fn a_clock_that_leaps_squeezes_nothing_and_is_said() {
    let canvas = Canvas { cols: 80, rows: 8 };
    for (name, year_at) in [("2100", 2_330_000_000), ("1970", -1_780_000_000)] {
        let series = leaping(year_at);
        let text = [draw(&series, canvas), super::super::notes(&series)].concat();
        insta::assert_snapshot!(format!("graph_{name}"), text.join("\n"));
        insta::assert_snapshot!(format!("graph_{name}_svg"), svg(&series, name));
    }
}

#[test]
fn a_pause_is_drawn_as_long_as_it_is_unless_nothing_else_could_be_seen() {
    let of_pause = |hours: i64| {
        let work = |from: i64| (0..60).map(move |minute| sample(from + minute * 60, Some(1_000)));
        of(&work(0).chain(work(hours * 3_600)).collect::<Vec<Event>>())
    };
    let told = [5, 8, 9, 90].map(|hours| super::super::notes(&of_pause(hours)).join(""));
    let short = ["8 h", "3 d"].map(|age| format!("≈  {age} between two events, drawn short"));
    assert_eq!(told, ["", "", &short[0], &short[1]]);
    let nights: Vec<Event> = [0, 40, 80]
        .iter()
        .flat_map(|hours| {
            [
                sample(hours * 3_600, Some(1)),
                sample(hours * 3_600 + 60, Some(1)),
            ]
        })
        .collect();
    let twice = ["≈  2 gaps of 39 h between events, drawn short"];
    assert_eq!(super::super::notes(&of(&nights)), twice);
    let many: Vec<Event> = (0..40).map(|day| sample(day * 86_400, Some(1))).collect();
    assert_eq!(super::super::notes(&of(&many)), Vec::<String>::new());
}

/// Left, top, right and bottom of each text, as a monospace font draws it.
fn label_boxes(document: &str) -> Vec<(String, [f64; 4])> {
    let number = |tag: &str, name: &str| -> Option<f64> {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    let of = |line: &str| {
        let (tag, rest) = line.strip_prefix("<text")?.split_once('>')?;
        let text = rest.strip_suffix("</text>")?;
        let text = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        let size = number(tag, "font-size").unwrap_or(12.0);
        let count = u16::try_from(text.chars().count()).ok()?;
        let width = f64::from(count) * size * 0.61;
        let (x, y) = (number(tag, "x")?, number(tag, "y")?);
        let left = if tag.contains("\"end\"") {
            x - width
        } else if tag.contains("\"middle\"") {
            x - width / 2.0
        } else {
            x
        };
        let edges = [left, y - size * 0.75, left + width, y + size * 0.2];
        Some((text, edges))
    };
    document.lines().filter_map(of).collect()
}

#[test]
fn no_two_labels_of_the_svg_overlap_and_none_leaves_the_picture() {
    let near = |count: i64, at: i64| {
        let mut events = vec![sample(0, Some(190_000))];
        for number in 0..count {
            let name = format!("m{number}");
            let reason = "a reason that goes on and on ".repeat(9);
            events.push(requested(at + number, &name));
            events.push(settled(at + number, &name, Outcome::Refused, Some(&reason)));
        }
        events.push(sample(18_000, Some(20_000)));
        of(&events)
    };
    insta::assert_snapshot!("graph_crowded_svg", svg(&near(7, 9_000), "crowded"));
    let mut low = near(1, 15_000);
    low.automatic = Some((Tokens(900), Tokens(1_000)));
    low.window = Some(Tokens(2_000));
    let all = [
        story(),
        near(64, 0),
        near(64, 9_000),
        near(64, 17_936),
        leaping(2_330_000_000),
        low,
    ];
    for series in all {
        let document = svg(&series, &"a title ".repeat(40));
        let (_, view) = document.split_once("viewBox=\"0 0 900 ").unwrap();
        let height: f64 = view.split_once('"').unwrap().0.parse().unwrap();
        let boxes = label_boxes(&document);
        assert!(boxes.len() > series.marks.len() * 2);
        for (place, (text, [left, top, right, bottom])) in boxes.iter().enumerate() {
            assert!(
                *left >= 0.0 && *top >= 0.0 && *right <= 900.0 && *bottom <= height,
                "{text} leaves the picture"
            );
            for (other, edges) in &boxes[..place] {
                let is_apart = *right <= edges[0]
                    || edges[2] <= *left
                    || *bottom <= edges[1]
                    || edges[3] <= *top;
                assert!(is_apart, "{text} lies on {other}");
            }
        }
    }
}
