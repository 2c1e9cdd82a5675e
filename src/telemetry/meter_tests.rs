use super::*;
use crate::telemetry::Percent;
use crate::telemetry::sample::Formula;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_ms(seconds * 1_000)
}

fn line(used: Option<u64>) -> Reading {
    Reading {
        used: used.map(Tokens),
        window: Some(Tokens(200_000)),
        window_guess: None,
        sizes: &[200_000, 1_000_000],
        percent: None,
        formula: Formula::Plain,
        is_estimate: false,
        model: Some("m-1".into()),
        source: SampleSource::Statusline,
        at: None,
    }
}

fn record(used: u64, seconds: i64) -> Reading {
    Reading {
        window: None,
        source: SampleSource::Transcript,
        at: Some(at(seconds)),
        ..line(Some(used))
    }
}

/// Offers, records; the tokens of the sample that was news.
fn feed(meter: &mut Meter, reading: &Reading, now: i64) -> Option<u64> {
    let sample = meter.offer(reading, at(now))?;
    meter.apply(&sample);
    sample.used_tokens.map(|used| used.0)
}

fn shown(meter: &Meter) -> Option<u64> {
    meter.current.as_ref()?.used_tokens.map(|used| used.0)
}

#[test]
fn only_what_changed_is_news() {
    let mut meter = Meter::default();
    assert_eq!(feed(&mut meter, &line(None), 1), None);
    assert_eq!(feed(&mut meter, &line(Some(40_000)), 2), Some(40_000));
    assert_eq!(feed(&mut meter, &line(Some(40_000)), 3), None);
    assert_eq!(feed(&mut meter, &record(40_000, 3), 4), None);
    assert_eq!(feed(&mut meter, &record(50_000, 5), 6), Some(50_000));
    assert_eq!(feed(&mut meter, &record(30_000, 4), 7), None);
}

#[test]
fn what_a_fork_copied_is_no_measurement_and_no_compaction_of_its_own() {
    let mut meter = Meter::default();
    meter.begin(at(100));
    let boundary = |seconds| Boundary {
        trigger: CompactionTrigger::Auto,
        before: Some(Tokens(150_000)),
        at: Some(at(seconds)),
    };
    assert!(!meter.is_news(&boundary(99), at(101)));
    assert_eq!(feed(&mut meter, &record(90_000, 99), 101), None);
    meter.take(&Fact::Boundary(boundary(99)), at(101));
    assert_eq!(meter.automatic, []);
    assert_eq!(feed(&mut meter, &record(91_000, 102), 103), Some(91_000));
    assert!(meter.is_news(&boundary(104), at(105)));
}

#[test]
fn a_number_from_before_a_boundary_is_never_shown_after_it() {
    let mut meter = Meter::default();
    feed(&mut meter, &line(Some(94_000)), 1);
    meter.compacted(at(10));
    assert_eq!((shown(&meter), meter.absent), (None, Absent::Compacted));
    for (reading, now) in [
        (line(Some(94_000)), 11),
        (line(None), 12),
        (line(Some(0)), 12),
        (record(94_000, 9), 13),
        (record(95_000, 10), 13),
    ] {
        assert_eq!(feed(&mut meter, &reading, now), None, "{reading:?}");
        assert_eq!((shown(&meter), meter.absent), (None, Absent::Compacted));
    }
    assert_eq!(feed(&mut meter, &line(Some(52_000)), 14), Some(52_000));
    assert_eq!(
        meter.last.as_ref().unwrap().used_percent,
        Percent::new(26.0)
    );
}

#[test]
fn a_reply_with_the_same_number_counts_when_its_own_time_is_later() {
    let mut meter = Meter::default();
    feed(&mut meter, &line(Some(94_000)), 1);
    meter.compacted(at(10));
    assert_eq!(feed(&mut meter, &record(94_000, 11), 12), Some(94_000));
}

#[test]
fn a_boundary_that_is_learnt_of_late_leaves_what_came_after_it() {
    let mut meter = Meter::default();
    feed(&mut meter, &record(90_000, 1), 1);
    meter.compacted(at(10));
    feed(&mut meter, &record(20_000, 12), 12);
    meter.boundary(CompactionTrigger::Manual, Some(Tokens(90_500)), at(9));
    assert_eq!(shown(&meter), Some(20_000));
}

#[test]
fn zero_without_a_known_boundary_ends_what_stood() {
    let mut meter = Meter::default();
    feed(&mut meter, &line(Some(94_000)), 1);
    let reset = meter.offer(&line(Some(0)), at(2)).unwrap();
    assert_eq!(
        (reset.used_tokens, reset.confidence),
        (None, Confidence::Unknown)
    );
    meter.apply(&reset);
    assert_eq!((shown(&meter), meter.absent), (None, Absent::Reset));
    assert_eq!(feed(&mut meter, &line(Some(0)), 3), None);
    assert_eq!(feed(&mut meter, &line(Some(94_000)), 4), None);
    assert_eq!(feed(&mut meter, &line(Some(9_000)), 5), Some(9_000));
}

#[test]
fn more_tokens_than_the_reported_window_holds_make_it_an_inferred_one() {
    let mut reading = line(Some(360_002));
    reading.percent = Percent::new(100.0);
    let sample = Meter::default().offer(&reading, at(1)).unwrap();
    assert_eq!(
        (
            sample.window_tokens,
            sample.window,
            sample.used_percent,
            sample.confidence,
            sample.mismatch
        ),
        (
            Some(Tokens(1_000_000)),
            WindowBasis::Inferred,
            Percent::new(36.0),
            Confidence::Inferred,
            Some(Mismatch::Window {
                said: Tokens(200_000)
            })
        )
    );
    reading.used = Some(Tokens(1_000_001));
    let sample = Meter::default().offer(&reading, at(1)).unwrap();
    assert_eq!(
        (sample.window_tokens, sample.used_percent, sample.window),
        (None, None, WindowBasis::Unknown)
    );
}

#[test]
fn a_percentage_that_its_own_tokens_contradict_is_recomputed_and_recorded() {
    let mut reading = line(Some(28_000));
    reading.percent = Percent::new(88.0);
    let sample = Meter::default().offer(&reading, at(1)).unwrap();
    assert_eq!(sample.used_percent, Percent::new(14.0));
    assert_eq!(
        sample.mismatch,
        Percent::new(88.0).map(|said| Mismatch::Percent { said })
    );
    reading.percent = Percent::new(14.2);
    let sample = Meter::default().offer(&reading, at(1)).unwrap();
    assert_eq!(
        (sample.used_percent, sample.mismatch),
        (Percent::new(14.2), None)
    );
}

#[test]
fn the_newest_of_two_sources_wins_and_their_difference_is_recorded() {
    let mut meter = Meter::default();
    feed(&mut meter, &line(Some(40_000)), 10);
    let sample = meter.offer(&record(41_000, 11), at(11)).unwrap();
    assert_eq!(
        sample.mismatch,
        Some(Mismatch::Source {
            other: SampleSource::Statusline,
            said: Tokens(40_000)
        })
    );
    let later = meter.offer(&record(41_000, 60), at(60)).unwrap();
    assert_eq!(later.mismatch, None);
}

#[test]
fn a_record_without_a_window_uses_the_one_reported_for_its_model() {
    let mut meter = Meter::default();
    let mut reported = line(Some(10_000));
    reported.window = Some(Tokens(1_000_000));
    reported.model = Some("m-1[1m]".into());
    feed(&mut meter, &reported, 1);
    let same = meter.offer(&record(20_000, 2), at(2)).unwrap();
    assert_eq!(
        (same.window_tokens, same.window),
        (Some(Tokens(1_000_000)), WindowBasis::Reported)
    );
    let mut other = record(20_000, 2);
    other.model = Some("m-2".into());
    let other = meter.offer(&other, at(2)).unwrap();
    assert_eq!(
        (other.window_tokens, other.window, other.used_percent),
        (None, WindowBasis::Unknown, None)
    );
    let mut guessed = record(20_000, 2);
    guessed.model = Some("m-2".into());
    guessed.window_guess = Some(Tokens(200_000));
    let guessed = meter.offer(&guessed, at(2)).unwrap();
    assert_eq!(
        (guessed.used_percent, guessed.confidence),
        (Percent::new(10.0), Confidence::Inferred)
    );
}

#[test]
fn a_sample_is_stale_once_a_later_turn_has_ended() {
    let mut meter = Meter::default();
    meter.prompted(at(1));
    feed(&mut meter, &record(10_000, 2), 3);
    meter.answered();
    assert!(!meter.is_stale(Some(at(3))));
    meter.prompted(at(10));
    assert!(!meter.is_stale(Some(at(10))));
    meter.answered();
    assert!(meter.is_stale(Some(at(11))));
    meter.confirm(&line(Some(10_000)), at(12));
    assert!(!meter.is_stale(Some(at(12))));
    assert!(meter.is_stale(Some(at(12 + 601))));
}

#[test]
fn automatic_compactions_are_learnt_as_a_range_by_model() {
    let mut meter = Meter::default();
    for (index, before) in [344_000, 331_000, 352_000].into_iter().enumerate() {
        let start = i64::try_from(index).unwrap() * 10;
        feed(&mut meter, &record(300_000, start), start);
        meter.boundary(CompactionTrigger::Auto, Some(Tokens(before)), at(start + 1));
    }
    meter.boundary(CompactionTrigger::Manual, Some(Tokens(10)), at(90));
    assert_eq!(
        meter.automatic_range(Some("m-1")),
        Some((Tokens(331_000), Tokens(352_000), 3))
    );
    assert_eq!(meter.automatic_range(Some("m-2")), None);
}
