//! When harn's own bytes may go to the program, and what becomes of the user's keys meanwhile. Pure.
//!
//! One text at a time. Most are written at once and nothing is held. A text that has to be looked at before it is sent is
//! held: the user's keys wait behind it, for a limited time, until it is sent or taken back. Escape or Ctrl-C among them takes it
//! back at once. A paste is never split, nor a key.

use std::time::{Duration, Instant};

use super::keys::{self, CTRL, Code, Token};

/// What is asked of the byte path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typing {
    /// All at once; nothing is held.
    Write(Vec<u8>),
    /// Writes `text` and holds the user's keys until `Send` or `TakeBack`, or for so long; then `undo` is written.
    Hold {
        text: Vec<u8>,
        undo: Vec<u8>,
        limit: Duration,
    },
    /// Sends what is held.
    Send(Vec<u8>),
    TakeBack,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// The bytes are on their way, in order.
    Done,
    /// The user is in the middle of a key or a paste, or harn of another text.
    Busy,
    /// The time to hold keys was over, and the text has been taken back.
    TimeOver,
    /// The user pressed Escape or Ctrl-C, and the text has been taken back.
    Aborted,
    /// The program is stopped or gone.
    Gone,
}

/// Longest unfinished key that is waited for.
const PARTIAL_LIMIT: usize = 8192;
/// Keys that are held at most; a paste that is longer ends the hold.
const KEPT_LIMIT: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Typist {
    hold: Option<Hold>,
    /// How the last hold ended, where nobody was told yet.
    ended: Option<Typed>,
    is_pasting: bool,
    partial: Vec<u8>,
}

#[derive(Debug)]
struct Hold {
    until: Instant,
    undo: Vec<u8>,
    kept: Vec<u8>,
}

impl Typist {
    /// When the hold is over by itself.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.hold.as_ref().map(|hold| hold.until)
    }

    /// Takes an order; the bytes to write now, and the answer.
    pub(super) fn take(&mut self, order: Typing, now: Instant) -> (Vec<u8>, Typed) {
        let is_between_keys = !self.is_pasting && self.partial.is_empty();
        match (order, self.hold.take()) {
            (Typing::Write(bytes), None) if is_between_keys => (bytes, Typed::Done),
            (Typing::Hold { text, undo, limit }, None) if is_between_keys => {
                self.ended = None;
                self.hold = Some(Hold {
                    until: now + limit,
                    undo,
                    kept: Vec::new(),
                });
                (text, Typed::Done)
            }
            (Typing::Send(mut bytes), Some(hold)) => {
                if now >= hold.until {
                    return (Self::back(hold), Typed::TimeOver);
                }
                bytes.extend(hold.kept);
                (bytes, Typed::Done)
            }
            (Typing::TakeBack, Some(hold)) => (Self::back(hold), Typed::Done),
            (Typing::Send(_) | Typing::TakeBack, None) => {
                (Vec::new(), self.ended.take().unwrap_or(Typed::TimeOver))
            }
            (Typing::Write(_) | Typing::Hold { .. }, hold) => {
                self.hold = hold;
                (Vec::new(), Typed::Busy)
            }
        }
    }

    /// Looks at what the user sent; while holding, what is to be written in its place.
    pub(super) fn user(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let is_abort = self.follow(bytes);
        let hold = self.hold.as_mut()?;
        hold.kept.extend_from_slice(bytes);
        if !is_abort && hold.kept.len() <= KEPT_LIMIT {
            return Some(Vec::new());
        }
        let ended = if is_abort {
            Typed::Aborted
        } else {
            Typed::TimeOver
        };
        self.ended = Some(ended);
        self.hold.take().map(Self::back)
    }

    /// What is to be written because the time is over.
    pub(super) fn due(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.hold.as_ref().filter(|hold| now >= hold.until)?;
        self.give_up()
    }

    /// Takes the text back whatever it was waiting for.
    pub(super) fn give_up(&mut self) -> Option<Vec<u8>> {
        let hold = self.hold.take()?;
        self.ended = Some(Typed::TimeOver);
        Some(Self::back(hold))
    }

    fn back(hold: Hold) -> Vec<u8> {
        let mut bytes = hold.undo;
        bytes.extend(hold.kept);
        bytes
    }

    /// Follows pastes and unfinished keys; whether Escape or Ctrl-C was among them.
    fn follow(&mut self, bytes: &[u8]) -> bool {
        self.partial.extend_from_slice(bytes);
        let kept = std::mem::take(&mut self.partial);
        let mut rest = &kept[..];
        let mut is_abort = false;
        while let Some((count, token)) = keys::token(rest) {
            match token {
                Token::PasteStart => self.is_pasting = true,
                Token::PasteEnd => self.is_pasting = false,
                Token::Key(key) if !self.is_pasting && !key.is_release => {
                    is_abort |= matches!(
                        (key.code, key.modifiers),
                        (Code::Escape, 0) | (Code::Char('c'), CTRL)
                    );
                }
                Token::Key(_) | Token::Report => {}
            }
            rest = rest.get(count..).unwrap_or_default();
        }
        if rest.len() <= PARTIAL_LIMIT {
            self.partial.extend_from_slice(rest);
        }
        is_abort
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::clock;
    use super::*;

    const LIMIT: Duration = Duration::from_millis(500);

    fn holding() -> (Typist, Instant) {
        let mut typist = Typist::default();
        let now = clock::now();
        let order = Typing::Hold {
            text: b"/compact".to_vec(),
            undo: b"\x7f".repeat(8),
            limit: LIMIT,
        };
        assert_eq!(typist.take(order, now), (b"/compact".to_vec(), Typed::Done));
        (typist, now)
    }

    fn send() -> Typing {
        Typing::Send(b"\r".to_vec())
    }

    #[test]
    fn held_keys_follow_what_is_sent_in_their_order() {
        let (mut typist, now) = holding();
        assert_eq!(typist.user(b"ab"), Some(Vec::new()));
        assert_eq!(typist.user(b"c"), Some(Vec::new()));
        assert_eq!(typist.take(send(), now), (b"\rabc".to_vec(), Typed::Done));
        assert_eq!(typist.user(b"d"), None);
    }

    #[test]
    fn a_hold_ends_by_itself_and_then_nothing_is_sent() {
        let (mut typist, now) = holding();
        typist.user(b"ab");
        assert_eq!(typist.due(now), None);
        let back = [b"\x7f".repeat(8), b"ab".to_vec()].concat();
        assert_eq!(typist.due(now + LIMIT), Some(back));
        assert_eq!(typist.take(send(), now), (Vec::new(), Typed::TimeOver));
    }

    #[test]
    fn an_order_to_send_that_comes_too_late_takes_the_text_back() {
        let (mut typist, now) = holding();
        let taken = typist.take(send(), now + LIMIT);
        assert_eq!(taken, (b"\x7f".repeat(8), Typed::TimeOver));
    }

    #[test]
    fn escape_and_interrupt_take_the_text_back_at_once() {
        for key in [
            &b"\x1b"[..],
            b"\x03",
            b"\x1b[27u",
            b"\x1b[99;5u",
            b"x\x1b",
            b"\x1b[27;5;99~",
        ] {
            let (mut typist, now) = holding();
            let back = [b"\x7f".repeat(8), key.to_vec()].concat();
            assert_eq!(typist.user(key), Some(back), "{key:?}");
            assert_eq!(typist.take(send(), now), (Vec::new(), Typed::Aborted));
        }
        let (mut typist, _) = holding();
        assert_eq!(typist.user(b"\x1b[A\x1b[I\x1b[200~\x1b[201~"), Some(vec![]));
    }

    #[test]
    fn neither_a_paste_nor_a_key_is_split() {
        for open in [&b"\x1b[200~half"[..], b"\x1b[20", b"\xe4\xbd"] {
            let mut typist = Typist::default();
            assert_eq!(typist.user(open), None);
            let write = Typing::Write(b"x".to_vec());
            let taken = typist.take(write, clock::now());
            assert_eq!(taken, (Vec::new(), Typed::Busy), "{open:?}");
        }
        let mut typist = Typist::default();
        typist.user(b"\x1b[200~whole\x1b[201~");
        let taken = typist.take(Typing::Write(b"x".to_vec()), clock::now());
        assert_eq!(taken, (b"x".to_vec(), Typed::Done));
    }

    #[test]
    fn one_text_at_a_time() {
        let (mut typist, now) = holding();
        let taken = typist.take(Typing::Write(b"x".to_vec()), now);
        assert_eq!(taken, (Vec::new(), Typed::Busy));
        assert!(typist.next_at().is_some());
        let taken = typist.take(Typing::TakeBack, now);
        assert_eq!(taken, (b"\x7f".repeat(8), Typed::Done));
    }

    proptest! {
        /// Whatever happens, each key of the user's comes out once and in order.
        #[test]
        fn no_key_is_lost(chunks in proptest::collection::vec("[a-z\u{1b}\u{3}]{1,4}", 0..8), sent_at in 0_usize..8, late in any::<bool>()) {
            let (mut typist, now) = holding();
            let mut out = Vec::new();
            for (number, chunk) in chunks.iter().enumerate() {
                if number == sent_at {
                    let now = if late { now + LIMIT } else { now };
                    out.extend(typist.take(send(), now).0);
                }
                out.extend(typist.user(chunk.as_bytes()).unwrap_or_else(|| chunk.clone().into_bytes()));
            }
            out.extend(typist.due(now + LIMIT).unwrap_or_default());
            let users: Vec<u8> = out.into_iter().filter(|byte| !matches!(byte, b'\r' | 0x7f)).collect();
            prop_assert_eq!(users, chunks.concat().into_bytes());
        }
    }
}
