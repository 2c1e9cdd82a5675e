//! The size of a terminal, and when a change of it is passed on. Pure; time is an argument.

use std::time::{Duration, Instant};

/// Cells and pixels; pixels are 0 where the terminal does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub cols: u16,
    pub width_px: u16,
    pub height_px: u16,
}

impl Size {
    /// What a program gets to see: a terminal that does not know its size (serial lines, fresh containers) counts as 80x24.
    pub(super) fn or_usual(self) -> Self {
        Self {
            rows: if self.rows == 0 { 24 } else { self.rows },
            cols: if self.cols == 0 { 80 } else { self.cols },
            ..self
        }
    }
}

/// The least time between two resizes: one redraw of a program that re-emits its whole history at each of them.
const APART: Duration = Duration::from_millis(40);

/// Passes the first change on at once and the last of a storm for certain.
#[derive(Debug, Default)]
pub(super) struct ResizeGate {
    applied_at: Option<Instant>,
    due_at: Option<Instant>,
}

impl ResizeGate {
    /// The terminal said that its size changed.
    pub(super) fn changed(&mut self, now: Instant) {
        let free_at = self.applied_at.map_or(now, |at| at + APART);
        self.due_at = Some(free_at.max(now));
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.due_at
    }

    /// Whether the size is to be read and passed on now.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.due_at.is_some_and(|at| at <= now);
        if is_due {
            (self.applied_at, self.due_at) = (Some(now), None);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::clock;

    #[test]
    fn unknown_size_counts_as_80_by_24_and_known_parts_are_kept() {
        let of = |rows, cols| {
            Size {
                rows,
                cols,
                width_px: 7,
                height_px: 9,
            }
            .or_usual()
        };
        assert_eq!(
            of(0, 0),
            Size {
                rows: 24,
                cols: 80,
                width_px: 7,
                height_px: 9
            }
        );
        assert_eq!(
            of(1, 1),
            Size {
                rows: 1,
                cols: 1,
                width_px: 7,
                height_px: 9
            }
        );
    }

    #[test]
    fn first_change_is_due_at_once_and_a_storm_ends_with_one_more() {
        let begin = clock::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut gate = ResizeGate::default();
        assert_eq!((gate.next_at(), gate.take_due(begin)), (None, false));
        let mut applied = Vec::new();
        for ms in 0..=100 {
            // A change each millisecond up to the 90th.
            if ms <= 90 {
                gate.changed(at(ms));
            }
            if gate.take_due(at(ms)) {
                applied.push(ms);
            }
        }
        assert_eq!(applied, [0, 40, 80]);
        assert_eq!(gate.next_at(), Some(at(120)));
        assert!(gate.take_due(at(120)));
        assert_eq!(gate.next_at(), None);
    }
}
