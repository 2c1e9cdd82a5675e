//! Whether the user has something half typed, told from the keys alone. Pure.
//!
//! Knows no composer, so it errs to one side: a draft that may be there is never called empty.

use super::keys::{self, CTRL, Code, Key, SHIFT, Token};

/// Longest unfinished key that is kept.
const PARTIAL_LIMIT: usize = 8192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draft {
    Empty,
    Present,
    /// Keys were pressed whose effect only the program knows.
    Unsure,
}

#[derive(Debug, Default)]
pub struct DraftTracker {
    state: State,
    is_pasting: bool,
    partial: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many characters, all typed at the end of one line.
    Typed(usize),
    /// Something, not counted.
    Some,
    Unsure,
}

impl Default for State {
    fn default() -> Self {
        Self::Typed(0)
    }
}

impl DraftTracker {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn draft(&self) -> Draft {
        match self.state {
            State::Typed(0) if !self.is_pasting => Draft::Empty,
            State::Typed(_) | State::Some => Draft::Present,
            State::Unsure => Draft::Unsure,
        }
    }

    /// Takes what the user's terminal sent to the program; whether the user pressed anything.
    pub fn observe(&mut self, bytes: &[u8]) -> bool {
        self.partial.extend_from_slice(bytes);
        let kept = std::mem::take(&mut self.partial);
        let mut rest = &kept[..];
        let mut is_pressed = false;
        while let Some((count, token)) = keys::token(rest) {
            is_pressed |= token != Token::Report;
            self.take(token);
            rest = rest.get(count..).unwrap_or_default();
        }
        if rest.len() <= PARTIAL_LIMIT {
            self.partial.extend_from_slice(rest);
        } else {
            self.state = State::Unsure;
        }
        is_pressed
    }

    fn take(&mut self, token: Token) {
        match token {
            Token::PasteStart => self.is_pasting = true,
            Token::PasteEnd => self.is_pasting = false,
            Token::Report => {}
            Token::Key(key) if key.is_release || key.code == Code::Modifier => {}
            Token::Key(_) if self.is_pasting => self.state = State::Some,
            Token::Key(key) => self.state = self.after(key),
        }
    }

    fn after(&self, key: Key) -> State {
        let state = self.state;
        match (key.code, key.modifiers & !SHIFT) {
            (Code::Enter, 0) if key.modifiers == 0 => State::Typed(0),
            // A new line of the same draft.
            (Code::Enter, _) | (Code::Char('j'), CTRL) => State::Some,
            (Code::Char(_), 0) => match state {
                State::Typed(count) => State::Typed(count + 1),
                State::Some | State::Unsure => State::Some,
            },
            (Code::Backspace, 0) => match state {
                State::Typed(count) => State::Typed(count.saturating_sub(1)),
                State::Some | State::Unsure => State::Unsure,
            },
            (Code::Backspace, _) | (Code::Char('u' | 'w'), CTRL) => match state {
                State::Typed(0) => state,
                State::Typed(_) | State::Some | State::Unsure => State::Unsure,
            },
            // Moves within what is there; with nothing there it may bring something back.
            (Code::Char('a' | 'e' | 'b' | 'f'), CTRL) => match state {
                State::Typed(0) | State::Unsure => state,
                State::Typed(_) | State::Some => State::Some,
            },
            (Code::Escape | Code::Other | Code::Modifier | Code::Tab | Code::Char(_), _) => {
                State::Unsure
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(bytes: &[u8]) -> Draft {
        let mut tracker = DraftTracker::new();
        tracker.observe(bytes);
        tracker.draft()
    }

    #[test]
    fn typed_text_is_a_draft_until_it_is_sent_or_rubbed_out() {
        assert_eq!(after(b""), Draft::Empty);
        assert_eq!(after(b"merge PR 10 only after"), Draft::Present);
        assert_eq!(after(b"ab\x7f\x7f"), Draft::Empty);
        assert_eq!(after(b"ab\r"), Draft::Empty);
        assert_eq!(after(b"ab\x1b[13;2u"), Draft::Present);
        assert_eq!(after(b"ab\x1b\r"), Draft::Present);
        assert_eq!(after(b"\x1b[97u\x1b[13u"), Draft::Empty);
        assert_eq!(after(b"\x1b[27;2;65~"), Draft::Present);
    }

    #[test]
    fn what_only_the_program_can_know_is_unsure() {
        for keys in [
            &b"\x1b[A"[..],
            b"ab\x1b",
            b"\x12",
            b"ab\x15",
            b"\t",
            b"ab\x1bOA",
            b"ab\x1b[D\x7f",
        ] {
            assert_eq!(after(keys), Draft::Unsure, "{keys:?}");
        }
        assert_eq!(after(b"\x1b[A\r"), Draft::Empty);
    }

    #[test]
    fn line_feeds_of_a_paste_send_nothing() {
        assert_eq!(after(b"\x1b[200~one\rtwo\r\x1b[201~"), Draft::Present);
        assert_eq!(after(b"\x1b[200~"), Draft::Present);
        assert_eq!(after(b"\x1b[200~one\x1b[201~\r"), Draft::Empty);
    }

    #[test]
    fn terminal_s_answers_are_not_typed() {
        assert_eq!(
            after(
                b"\x1b[?62c\x1b]11;rgb:00/00/00\x1b\\\x1b[24;80R\x1b[I\x1bP>|x\x1b\\\x1b[<35;1;1M"
            ),
            Draft::Empty
        );
    }

    proptest! {
        #[test]
        fn text_is_never_taken_for_nothing(text in "[a-z ]{1,12}", reports in 0_usize..3) {
            let mut bytes = b"\x1b[?62c".repeat(reports);
            bytes.extend_from_slice(text.as_bytes());
            bytes.extend_from_slice(&b"\x1b[I".repeat(reports));
            prop_assert_eq!(after(&bytes), Draft::Present);
        }

        #[test]
        fn any_bytes_in_any_chunks_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..64), cut in 1_usize..9) {
            let mut tracker = DraftTracker::new();
            for chunk in bytes.chunks(cut) {
                tracker.observe(chunk);
            }
            tracker.draft();
        }
    }
}
