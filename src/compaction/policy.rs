//! When harn asks for a compaction by itself: the user's own mark, in absolute tokens.

use crate::event::Tokens;

/// Turns between two requests that nobody at the keyboard made.
pub(super) const TURNS_APART: u64 = 3;

/// What the rule says now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    Nothing,
    Compact,
    /// A compaction was not enough; the rule has stopped.
    StillFull,
}

/// `--compact-at`, and what came of it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    at: Tokens,
    asked_in_turn: Option<u64>,
    /// A compaction was confirmed, and no sample has come since.
    is_proving: bool,
    has_stopped: bool,
}

impl Policy {
    pub fn new(at: Tokens) -> Self {
        Self {
            at,
            asked_in_turn: None,
            is_proving: false,
            has_stopped: false,
        }
    }

    /// `used` is what the harness itself reported since its last compaction, and nothing else; `turn` counts the user's prompts.
    pub fn decide(&mut self, used: Option<Tokens>, turn: u64) -> Asking {
        let Some(used) = used.filter(|_| !self.has_stopped) else {
            return Asking::Nothing;
        };
        let is_full = used >= self.at;
        if std::mem::take(&mut self.is_proving) && is_full {
            self.has_stopped = true;
            return Asking::StillFull;
        }
        let is_soon = self
            .asked_in_turn
            .is_some_and(|asked| turn < asked.saturating_add(TURNS_APART));
        if !is_full || is_soon {
            return Asking::Nothing;
        }
        self.asked_in_turn = Some(turn);
        Asking::Compact
    }

    /// A compaction was confirmed, whoever asked for it.
    pub fn confirmed(&mut self) {
        self.is_proving = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_at_the_mark_and_not_again_within_three_turns() {
        let mut policy = Policy::new(Tokens(160_000));
        let mut ask = |used: u64, turn| policy.decide(Some(Tokens(used)), turn);
        assert_eq!(ask(159_999, 4), Asking::Nothing);
        assert_eq!(ask(160_000, 4), Asking::Compact);
        assert_eq!(ask(170_000, 4), Asking::Nothing);
        assert_eq!(ask(170_000, 6), Asking::Nothing);
        assert_eq!(ask(170_000, 7), Asking::Compact);
        assert_eq!(policy.decide(None, 90), Asking::Nothing);
    }

    #[test]
    fn stops_when_a_compaction_was_not_enough() {
        let mut policy = Policy::new(Tokens(1_000));
        assert_eq!(policy.decide(Some(Tokens(1_000)), 1), Asking::Compact);
        policy.confirmed();
        assert_eq!(policy.decide(None, 1), Asking::Nothing);
        assert_eq!(policy.decide(Some(Tokens(2_000)), 2), Asking::StillFull);
        assert_eq!(policy.decide(Some(Tokens(9_000)), 99), Asking::Nothing);
    }

    #[test]
    fn goes_on_after_a_compaction_that_was_enough() {
        let mut policy = Policy::new(Tokens(1_000));
        assert_eq!(policy.decide(Some(Tokens(1_000)), 1), Asking::Compact);
        policy.confirmed();
        assert_eq!(policy.decide(Some(Tokens(400)), 2), Asking::Nothing);
        assert_eq!(policy.decide(Some(Tokens(1_200)), 5), Asking::Compact);
    }
}
