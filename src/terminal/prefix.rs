//! The prefix key: with the overlay row on, it makes the next key an action of harn's. Pure.
//!
//! Nothing is held back: a key that comes in pieces goes to the program. Inside a paste there is no prefix. Pressed twice it
//! goes to the program.

use std::fmt;
use std::str::FromStr;

use super::keys::{self, ALT, CTRL, Code, Key, SHIFT, Token};

/// A key that no adapter's client binds; the recorded key lists are tested against it.
pub const DEFAULT_PREFIX: &str = "ctrl+^";

/// What the user may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Compact,
    Checkpoint,
    Toggle,
    Note,
    Help,
}

/// A key with Ctrl or Alt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    character: char,
    modifiers: u8,
}

/// The text names no usable key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no prefix key; name one such as \"ctrl+^\" or \"alt+h\", or \"none\"")]
pub struct PrefixError(String);

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = || PrefixError(text.to_owned());
        let (modifier, key) = text.split_once('+').ok_or_else(wrong)?;
        let modifiers = match modifier.to_ascii_lowercase().as_str() {
            "ctrl" => CTRL,
            "alt" => ALT,
            _ => return Err(wrong()),
        };
        let mut characters = key.chars();
        let character = characters.next().ok_or_else(wrong)?.to_ascii_lowercase();
        // What Ctrl makes of these is another key.
        let is_taken = modifiers == CTRL && matches!(character, 'i' | 'm' | '[' | 'h');
        let is_key = character.is_ascii_graphic() && characters.next().is_none();
        if !is_key || is_taken || (modifiers == CTRL && character.is_ascii_digit()) {
            return Err(wrong());
        }
        Ok(Self {
            character,
            modifiers,
        })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modifier = if self.modifiers == CTRL {
            "ctrl"
        } else {
            "alt"
        };
        write!(f, "{modifier}+{}", self.character)
    }
}

impl Prefix {
    fn is(self, key: Key) -> bool {
        let Code::Char(typed) = key.code else {
            return false;
        };
        if typed.to_ascii_lowercase() == self.character {
            let ignored = if self.base().is_some() { SHIFT } else { 0 };
            return key.modifiers & !ignored == self.modifiers;
        }
        // The protocols name the unshifted key.
        self.base() == Some(typed) && key.modifiers & !SHIFT == self.modifiers
    }

    /// The key below, where the character takes Shift on most keyboards.
    fn base(self) -> Option<char> {
        Some(match self.character {
            '^' => '6',
            '_' => '-',
            '@' => '2',
            _ => return None,
        })
    }
}

#[derive(Debug)]
pub(super) struct PrefixKeys {
    prefix: Prefix,
    is_armed: bool,
    is_pasting: bool,
    /// Its release is harn's too.
    swallowed: Option<Code>,
    /// The start of a key that has been passed on already.
    tail: Vec<u8>,
}

/// What became of a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// For the program; `None` is all of it.
    pub(super) passed: Option<Vec<u8>>,
    pub(super) actions: Vec<Action>,
}

/// Longest unfinished key that is remembered.
const TAIL_LIMIT: usize = 256;

impl PrefixKeys {
    pub(super) fn new(prefix: Prefix) -> Self {
        Self {
            prefix,
            is_armed: false,
            is_pasting: false,
            swallowed: None,
            tail: Vec::new(),
        }
    }

    pub(super) fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Whether the next key is an action.
    pub(super) fn is_armed(&self) -> bool {
        self.is_armed
    }

    pub(super) fn take(&mut self, input: &[u8]) -> Taken {
        let before = self.tail.len();
        let mut bytes = std::mem::take(&mut self.tail);
        bytes.extend_from_slice(input);
        let mut passed = Vec::with_capacity(input.len());
        let mut actions = Vec::new();
        let mut at = 0;
        while let Some(rest) = bytes.get(at..)
            && let Some((count, token)) = keys::token(rest)
        {
            // What began in an earlier read is the program's.
            let is_whole = at >= before;
            let is_passed = self.take_token(token, is_whole, &mut actions);
            let end = at + count;
            if is_passed {
                passed.extend_from_slice(bytes.get(at.max(before)..end).unwrap_or_default());
            }
            at = end;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        passed.extend_from_slice(bytes.get(at.max(before)..).unwrap_or_default());
        if rest.len() <= TAIL_LIMIT {
            self.tail.extend_from_slice(rest);
        }
        let is_all = passed.len() == input.len();
        Taken {
            passed: (!is_all).then_some(passed),
            actions,
        }
    }

    /// Whether the token goes to the program.
    fn take_token(&mut self, token: Token, is_whole: bool, actions: &mut Vec<Action>) -> bool {
        let key = match token {
            Token::PasteStart => {
                self.is_pasting = true;
                return true;
            }
            Token::PasteEnd => {
                self.is_pasting = false;
                return true;
            }
            Token::Report => return true,
            Token::Key(key) => key,
        };
        if self.is_pasting || !is_whole || key.code == Code::Modifier {
            return true;
        }
        if key.is_release {
            let is_ours = self.swallowed == Some(key.code);
            if is_ours {
                self.swallowed = None;
            }
            return !is_ours;
        }
        self.swallowed = None;
        if !self.is_armed {
            self.is_armed = self.prefix.is(key);
            self.swallowed = self.is_armed.then_some(key.code);
            return !self.is_armed;
        }
        self.is_armed = false;
        if self.prefix.is(key) {
            return true;
        }
        self.swallowed = Some(key.code);
        actions.extend(action(key));
        false
    }
}

fn action(key: Key) -> Option<Action> {
    match (key.code, key.modifiers & !SHIFT) {
        (Code::Char('c'), 0) => Some(Action::Compact),
        (Code::Char('k'), 0) => Some(Action::Checkpoint),
        (Code::Char('o'), 0) => Some(Action::Toggle),
        (Code::Char('n'), 0) => Some(Action::Note),
        (Code::Char('?' | 'h' | '/'), 0) => Some(Action::Help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> PrefixKeys {
        PrefixKeys::new(text.parse().unwrap())
    }

    fn all(actions: &[Action]) -> Taken {
        Taken {
            passed: None,
            actions: actions.to_vec(),
        }
    }

    fn some(passed: &[u8], actions: &[Action]) -> Taken {
        Taken {
            passed: Some(passed.to_vec()),
            actions: actions.to_vec(),
        }
    }

    #[test]
    fn prefix_is_known_in_each_encoding() {
        for bytes in [
            &b"\x1e"[..],
            b"\x1b[54;5u",
            b"\x1b[54:94;6u",
            b"\x1b[94;5u",
            b"\x1b[27;6;94~",
            b"\x1b[27;5;54~",
        ] {
            let mut keys = keys("ctrl+^");
            assert_eq!(keys.take(bytes), some(b"", &[]), "{bytes:?}");
            assert!(keys.is_armed(), "{bytes:?}");
            assert_eq!(keys.take(b"k"), some(b"", &[Action::Checkpoint]));
        }
        let mut keys = keys("alt+h");
        assert_eq!(keys.take(b"a\x1bhob"), some(b"ab", &[Action::Toggle]));
    }

    #[test]
    fn pressed_twice_it_goes_to_the_program() {
        assert_eq!(keys("ctrl+^").take(b"x\x1e\x1ey"), some(b"x\x1ey", &[]));
    }

    #[test]
    fn releases_of_swallowed_keys_are_swallowed() {
        let mut keys = keys("ctrl+^");
        let bytes =
            b"\x1b[54;5u\x1b[54;5:3u\x1b[57442;5:3u\x1b[110u\x1b[110;1:3u\x1b[97u\x1b[97;1:3u";
        assert_eq!(
            keys.take(bytes),
            some(b"\x1b[57442;5:3u\x1b[97u\x1b[97;1:3u", &[Action::Note])
        );
    }

    #[test]
    fn nothing_is_held_and_a_paste_has_no_prefix() {
        let mut keys = keys("ctrl+^");
        assert_eq!(keys.take(b"\x1b"), all(&[]));
        assert_eq!(keys.take(b"\x1b[20"), all(&[]));
        assert_eq!(keys.take(b"0~a\x1ec"), all(&[]));
        assert_eq!(keys.take(b"\x1e\x1b[201~"), all(&[]));
        assert_eq!(keys.take(b"\x1eq"), some(b"", &[]));
        assert_eq!(keys.take(b"q"), all(&[]));
    }

    #[test]
    fn names_of_keys_are_read_and_printed() {
        for name in ["ctrl+^", "alt+h", "ctrl+q"] {
            assert_eq!(name.parse::<Prefix>().unwrap().to_string(), name);
        }
        for name in [
            "", "q", "ctrl+", "ctrl+i", "ctrl+[", "shift+a", "ctrl+ab", "ctrl+6",
        ] {
            assert!(name.parse::<Prefix>().is_err(), "{name}");
        }
    }
}
