//! The axis of time: what the clock did to it, and which gaps are drawn short so that the rest can be seen.

use super::series::Series;
use crate::event::Timestamp;
use crate::text::age;

/// Shorter gaps are drawn as long as they are.
const LEAST_GAP_MS: u64 = 6 * 3_600_000;
/// A gap is drawn short when it is so many times longer than all the rest together.
const GAP_TIMES: u64 = 4;

/// Time from left to right, in milliseconds that are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    begin: u64,
    /// Drawn from end to end; never 0.
    pub(super) length: u64,
    gaps: Vec<Gap>,
    /// Of what is drawn.
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

/// One that is drawn short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    from: u64,
    to: u64,
    drawn: u64,
}

impl Axis {
    /// None where there is nothing to draw.
    pub(super) fn of(series: &Series) -> Option<Self> {
        let points = series.points.iter().map(|it| (it.elapsed_ms, it.at));
        let marks = series.marks.iter().map(|it| (it.elapsed_ms, it.at));
        let mut times: Vec<(u64, Timestamp)> = points.chain(marks).collect();
        times.sort_by_key(|(elapsed, _)| *elapsed);
        let ((begin, from), (end, to)) = (*times.first()?, *times.last()?);
        let gaps = gaps(&times);
        let saved: u64 = gaps.iter().map(|gap| gap.to - gap.from - gap.drawn).sum();
        Some(Self {
            begin,
            length: (end - begin - saved).max(1),
            gaps,
            from,
            to,
        })
    }

    /// Where a time stands; nothing stands within a gap.
    pub(super) fn place(&self, elapsed: u64) -> u64 {
        let before = self.gaps.iter().filter(|gap| gap.to <= elapsed);
        let saved: u64 = before.map(|gap| gap.to - gap.from - gap.drawn).sum();
        elapsed.saturating_sub(self.begin).saturating_sub(saved)
    }

    /// Where the short gaps begin and end.
    pub(super) fn breaks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.gaps
            .iter()
            .map(|gap| (self.place(gap.to) - gap.drawn, self.place(gap.to)))
    }

    /// What has to be said of the axis, for people.
    pub(super) fn notes(&self, series: &Series) -> Vec<String> {
        let lengths = || self.gaps.iter().map(|gap| gap.to - gap.from);
        let mut notes = Vec::new();
        if let (Some(least), Some(most)) = (lengths().min(), lengths().max()) {
            let count = self.gaps.len();
            notes.push(if count == 1 {
                format!("≈  {} between two events, drawn short", age(most))
            } else {
                let (least, most) = (age(least), age(most));
                let lengths = if least == most {
                    most
                } else {
                    format!("{least} to {most}")
                };
                format!("≈  {count} gaps of {lengths} between events, drawn short")
            });
        }
        let setback = age(series.setback_ms);
        match series.setbacks {
            0 => {}
            1 => notes.push(format!("the clock went back once, by {setback}")),
            count => notes.push(format!(
                "the clock went back {count} times, by up to {setback}"
            )),
        }
        notes
    }
}

/// What has to be said of the time of a series.
pub fn notes(series: &Series) -> Vec<String> {
    Axis::of(series).map_or_else(Vec::new, |axis| axis.notes(series))
}

/// As many of the longest gaps as are out of all proportion to what remains.
fn gaps(times: &[(u64, Timestamp)]) -> Vec<Gap> {
    let ends = times.iter().zip(times.iter().skip(1));
    let mut gaps: Vec<Gap> = ends
        .map(|((from, _), (to, _))| Gap {
            from: *from,
            to: *to,
            drawn: 0,
        })
        .collect();
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap.to - gap.from));
    let mut rest: u64 = gaps.iter().map(|gap| gap.to - gap.from).sum();
    let (mut short, mut left) = (0, 0);
    for (number, gap) in gaps.iter().enumerate() {
        let length = gap.to - gap.from;
        rest -= length;
        if rest == 0 || length < LEAST_GAP_MS {
            break;
        }
        if length > rest.saturating_mul(GAP_TIMES) {
            (short, left) = (number + 1, rest);
        }
    }
    gaps.truncate(short);
    let share = left / (2 * short.max(1) as u64);
    for gap in &mut gaps {
        gap.drawn = share.min(left / 10).max(1);
    }
    gaps.sort_by_key(|gap| gap.from);
    gaps
}
