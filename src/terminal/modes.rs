//! Which terminal modes the program has on, and the bytes that undo them when it died without doing so itself. Pure.
//!
//! Only what was seen switched on is undone, so a program that cleans up leaves nothing to do. Follows the output after it was
//! passed on; any chunking gives the same result. Strings (titles, links, images) are skipped, their content is nobody's
//! mode. The keyboard-protocol stack is counted for the main and the alternate screen each, as terminals keep it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Private modes that stay behind when set, and are harmless to reset: cursor keys, mouse reports in their kinds and
/// encodings, focus reports, wheel-as-arrows, bracketed paste, synchronised output, colour and size reports.
const SET_STAYS: [u16; 15] = [
    1, 9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004, 2026, 2031,
];
const SIZE_REPORTS: u16 = 2048;
/// Private modes that stay behind when reset: wrapping and the cursor.
const RESET_STAYS: [u16; 2] = [7, 25];
/// The ways onto the alternate screen.
const ALTERNATE: [u16; 3] = [47, 1047, 1049];

/// Longest parameter text that is looked at; no real one comes near.
const PARAMETERS_LIMIT: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Ground,
    Escape,
    /// After ESC and one of `(`, `)`, ` `, `#`: one more byte.
    EscapeArgument,
    Sequence,
    /// Inside OSC, DCS, APC, PM or SOS.
    Text,
    TextEscape,
}

/// A keyboard-protocol stack: the flags that were pushed, and those that were set without pushing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Keyboard {
    pushed: Vec<u16>,
    flags: u16,
}

/// Pushes kept; terminals keep fewer.
const PUSHES_LIMIT: usize = 64;

#[derive(Debug)]
pub(super) struct Modes {
    place: Place,
    parameters: Vec<u8>,
    set: BTreeSet<u16>,
    reset: BTreeSet<u16>,
    /// The mode that switched to the alternate screen.
    alternate: Option<u16>,
    keyboards: [Keyboard; 2],
    key_modifiers: u16,
    cursor_shape: u16,
    /// Things that one fixed sequence undoes.
    touched: u8,
}

/// What one fixed sequence each undoes; bits of `touched`, in the order in which they are undone.
const RENDITION: u8 = 1;
const KEY_MODIFIERS: u8 = 2;
const KEYPAD: u8 = 4;
const CURSOR_SHAPE: u8 = 8;
const REGION: u8 = 16;
const UNDO: [(u8, &[u8]); 5] = [
    (RENDITION, b"\x1b[0m"),
    (KEY_MODIFIERS, b"\x1b[>4;0m"),
    (KEYPAD, b"\x1b>"),
    (CURSOR_SHAPE, b"\x1b[0 q"),
    // A reset region also sends the cursor home.
    (REGION, b"\x1b7\x1b[r\x1b8"),
];

impl Modes {
    pub(super) fn new() -> Self {
        Self {
            place: Place::Ground,
            parameters: Vec::new(),
            set: BTreeSet::new(),
            reset: BTreeSet::new(),
            alternate: None,
            keyboards: [Keyboard::default(), Keyboard::default()],
            key_modifiers: 0,
            cursor_shape: 0,
            touched: 0,
        }
    }

    pub(super) fn observe(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.place == Place::Ground {
                let Some(at) = self.skip(rest) else {
                    return;
                };
                self.place = Place::Escape;
                rest = rest.get(at + 1..).unwrap_or_default();
                continue;
            }
            let Some((&byte, after)) = rest.split_first() else {
                return;
            };
            if self.place == Place::Sequence {
                let count = rest
                    .iter()
                    .take_while(|byte| (0x20..0x40).contains(*byte))
                    .count();
                let (taken, after) = rest.split_at_checked(count).unwrap_or_default();
                let room = PARAMETERS_LIMIT.saturating_sub(self.parameters.len());
                self.parameters
                    .extend_from_slice(taken.get(..room).unwrap_or(taken));
                rest = after;
                if count > 0 {
                    continue;
                }
            }
            self.take(byte);
            rest = after;
        }
    }

    /// Most of what there is, in one go: text, and whole sequences that change no mode. Where the first other one begins.
    fn skip(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut from = 0;
        loop {
            let rest = bytes.get(from..)?;
            let at = from + memchr::memchr(0x1b, rest)?;
            let Some([0x1b, b'[', parameters @ ..]) = bytes.get(at..) else {
                return Some(at);
            };
            let count = parameters
                .iter()
                .take_while(|byte| (b'0'..=b';').contains(*byte))
                .count();
            match parameters.get(count) {
                Some(b'm') => {
                    let is_plain = matches!(parameters, [b'm', ..] | [b'0', b'm', ..]);
                    self.touch(RENDITION, !is_plain);
                }
                Some(0x40..=0x7e) if parameters.get(count) != Some(&b'r') => {}
                _ => return Some(at),
            }
            from = at + count + 3;
        }
    }

    fn take(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Text | Place::TextEscape, 0x07 | 0x18 | 0x1a)
            | (Place::TextEscape, b'\\')
            | (Place::Escape | Place::EscapeArgument | Place::Sequence, 0x18 | 0x1a) => {
                Place::Ground
            }
            (Place::Text, 0x1b) => Place::TextEscape,
            // An escape that does not end the text begins something new.
            (Place::Escape | Place::TextEscape, _) => self.take_escape(byte),
            (Place::Text, _) => Place::Text,
            (Place::EscapeArgument | Place::Sequence, 0x1b) => Place::Escape,
            (Place::EscapeArgument | Place::Ground, _) => Place::Ground,
            (Place::Sequence, 0x40..=0x7e) => {
                self.take_sequence(byte);
                Place::Ground
            }
            (Place::Sequence, _) => {
                if self.parameters.len() < PARAMETERS_LIMIT {
                    self.parameters.push(byte);
                }
                Place::Sequence
            }
        };
    }

    fn take_escape(&mut self, byte: u8) -> Place {
        match byte {
            b'[' => {
                self.parameters.clear();
                Place::Sequence
            }
            b']' | b'P' | b'_' | b'^' | b'X' => Place::Text,
            b'(' | b')' | b' ' | b'#' => Place::EscapeArgument,
            0x1b => Place::Escape,
            b'c' => {
                *self = Self::new();
                Place::Ground
            }
            b'=' => {
                self.touch(KEYPAD, true);
                Place::Ground
            }
            b'>' => {
                self.touch(KEYPAD, false);
                Place::Ground
            }
            _ => Place::Ground,
        }
    }

    fn take_sequence(&mut self, last: u8) {
        let parameters = std::mem::take(&mut self.parameters);
        match (parameters.split_first(), last) {
            (Some((b'?', numbers)), b'h') => each(numbers, |mode| self.set_mode(mode)),
            (Some((b'?', numbers)), b'l') => each(numbers, |mode| self.reset_mode(mode)),
            (Some((b'>', flags)), b'u') => {
                let keyboard = self.keyboard();
                if keyboard.pushed.len() < PUSHES_LIMIT {
                    keyboard.pushed.push(number(flags).unwrap_or(0));
                }
            }
            (Some((b'<', count)), b'u') => {
                let count = number(count).unwrap_or(1).max(1);
                let keyboard = self.keyboard();
                let left = keyboard.pushed.len().saturating_sub(usize::from(count));
                keyboard.pushed.truncate(left);
            }
            (Some((b'=', flags)), b'u') => {
                let first = flags.split(|byte| *byte == b';').next();
                self.keyboard().flags = first.and_then(number).unwrap_or(0);
            }
            (Some((b'>', b"4")), b'm') => self.touch(KEY_MODIFIERS, false),
            (Some((b'>', [b'4', b';', value @ ..])), b'm') => {
                self.key_modifiers = number(value).unwrap_or(0);
                self.touch(KEY_MODIFIERS, self.key_modifiers != 0);
            }
            (Some((b'?' | b'>' | b'<' | b'=', _)), _) => {}
            (first, b'r') => self.touch(REGION, first.is_some()),
            (Some((_, [.., b' '])), b'q') => {
                self.cursor_shape = parameters
                    .split_last()
                    .and_then(|(_, shape)| number(shape))
                    .unwrap_or(0);
                self.touch(CURSOR_SHAPE, self.cursor_shape != 0);
            }
            (first, b'm') => {
                let is_plain = first.is_none() || parameters == b"0";
                self.touch(RENDITION, !is_plain);
            }
            // A soft reset undoes all but the screen and what it never knew of.
            (Some((b'!', [])), b'p') => {
                self.touched = 0;
                self.reset.clear();
            }
            _ => {}
        }
        self.parameters = parameters;
    }

    fn touch(&mut self, what: u8, is_on: bool) {
        if is_on {
            self.touched |= what;
        } else {
            self.touched &= !what;
        }
    }

    fn set_mode(&mut self, mode: u16) {
        if ALTERNATE.contains(&mode) {
            self.alternate = Some(mode);
        } else if RESET_STAYS.contains(&mode) {
            self.reset.remove(&mode);
        } else if SET_STAYS.contains(&mode) || mode == SIZE_REPORTS {
            self.set.insert(mode);
        }
    }

    fn reset_mode(&mut self, mode: u16) {
        if ALTERNATE.contains(&mode) {
            self.alternate = None;
        } else if RESET_STAYS.contains(&mode) {
            self.reset.insert(mode);
        } else {
            self.set.remove(&mode);
        }
    }

    fn keyboard(&mut self) -> &mut Keyboard {
        let [main, alternate] = &mut self.keyboards;
        if self.alternate.is_some() {
            alternate
        } else {
            main
        }
    }

    /// What gives the terminal back as the program found it; empty when nothing is left on.
    pub(super) fn undo(&self) -> Vec<u8> {
        let mut text = String::new();
        // A text or sequence that was cut off would swallow what follows: CAN ends it.
        if self.place != Place::Ground {
            text.push('\x18');
        }
        // An open synchronised update hides everything else.
        if self.set.contains(&2026) {
            text.push_str("\x1b[?2026l");
        }
        let [main, alternate] = &self.keyboards;
        if let Some(mode) = self.alternate {
            push_keyboard(&mut text, alternate);
            push_mode(&mut text, mode, 'l');
        }
        push_keyboard(&mut text, main);
        for mode in self.set.iter().rev().filter(|mode| **mode != 2026) {
            push_mode(&mut text, *mode, 'l');
        }
        for mode in &self.reset {
            push_mode(&mut text, *mode, 'h');
        }
        let mut bytes = text.into_bytes();
        for (what, undo) in UNDO {
            if self.touched & what != 0 {
                bytes.extend_from_slice(undo);
            }
        }
        bytes
    }

    /// Whether the program is on the alternate screen.
    pub(super) fn is_alternate(&self) -> bool {
        self.alternate.is_some()
    }

    /// What sets everything again that `undo` took back, as far as it is a mode: colours and region the program sets as it
    /// paints.
    pub(super) fn redo(&self) -> Vec<u8> {
        let mut text = String::new();
        let [main, alternate] = &self.keyboards;
        push_keyboard_again(&mut text, main);
        if let Some(mode) = self.alternate {
            push_mode(&mut text, mode, 'h');
            push_keyboard_again(&mut text, alternate);
        }
        for mode in self.set.iter().filter(|mode| **mode != 2026) {
            push_mode(&mut text, *mode, 'h');
        }
        for mode in &self.reset {
            push_mode(&mut text, *mode, 'l');
        }
        if self.touched & KEY_MODIFIERS != 0 {
            write!(text, "\x1b[>4;{}m", self.key_modifiers).unwrap_or_default();
        }
        if self.touched & KEYPAD != 0 {
            text.push_str("\x1b=");
        }
        if self.touched & CURSOR_SHAPE != 0 {
            write!(text, "\x1b[{} q", self.cursor_shape).unwrap_or_default();
        }
        text.into_bytes()
    }
}

/// The keyboard's stack as it was before it was undone.
fn push_keyboard_again(text: &mut String, keyboard: &Keyboard) {
    if keyboard.flags != 0 {
        write!(text, "\x1b[={}u", keyboard.flags).unwrap_or_default();
    }
    for flags in &keyboard.pushed {
        write!(text, "\x1b[>{flags}u").unwrap_or_default();
    }
}

/// Takes back everything that is followed here, seen or not: for a terminal whose program and host are both gone.
pub(super) fn undo_all() -> Vec<u8> {
    // A string left open would swallow the rest, and an open update would hide it.
    let mut text = String::from("\x18\x1b\\\x1b[?2026l");
    // Each screen has a keyboard stack of its own, and the alternate one is out of reach once it is left.
    text.push_str("\x1b[<99u\x1b[=0u\x1b[?1049l\x1b[<99u\x1b[=0u");
    for mode in SET_STAYS.into_iter().chain([SIZE_REPORTS, 6, 69]) {
        push_mode(&mut text, mode, 'l');
    }
    for mode in RESET_STAYS {
        push_mode(&mut text, mode, 'h');
    }
    // Insert mode and line drawing are followed by nobody, and break as much.
    text.push_str("\x1b[4l\x1b(B\x0f");
    let mut bytes = text.into_bytes();
    for (_, undo) in UNDO {
        bytes.extend_from_slice(undo);
    }
    bytes
}

fn push_mode(text: &mut String, mode: u16, end: char) {
    write!(text, "\x1b[?{mode}{end}").unwrap_or_default();
}

fn push_keyboard(text: &mut String, keyboard: &Keyboard) {
    if !keyboard.pushed.is_empty() {
        write!(text, "\x1b[<{}u", keyboard.pushed.len()).unwrap_or_default();
    }
    if keyboard.flags != 0 {
        text.push_str("\x1b[=0u");
    }
}

fn each(numbers: &[u8], mut take: impl FnMut(u16)) {
    numbers
        .split(|byte| *byte == b';')
        .filter_map(number)
        .for_each(&mut take);
}

fn number(digits: &[u8]) -> Option<u16> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn undo_of(bytes: &[u8]) -> String {
        let mut modes = Modes::new();
        modes.observe(bytes);
        String::from_utf8(modes.undo()).unwrap()
    }

    #[test]
    fn what_a_killed_program_left_on_is_undone_in_an_order_that_works() {
        let left =
            b"\x1b[?1049h\x1b[?2004h\x1b[?1003h\x1b[?1006h\x1b[?1004h\x1b[>1u\x1b[?25l\x1b[?2026h";
        let expected =
            "\x1b[?2026l\x1b[<1u\x1b[?1049l\x1b[?2004l\x1b[?1006l\x1b[?1004l\x1b[?1003l\x1b[?25h";
        assert_eq!(undo_of(left), expected);
    }

    /// Alone, each of them leaves one thing to do, and nothing once the program has done it.
    #[test]
    fn each_thing_a_program_switches_on_is_undone_by_itself() {
        let mut cases: Vec<(String, String)> = SET_STAYS
            .into_iter()
            .chain([SIZE_REPORTS])
            .map(|mode| (format!("\x1b[?{mode}h"), format!("\x1b[?{mode}l")))
            .collect();
        cases.extend(RESET_STAYS.map(|mode| (format!("\x1b[?{mode}l"), format!("\x1b[?{mode}h"))));
        cases.extend(ALTERNATE.map(|mode| (format!("\x1b[?{mode}h"), format!("\x1b[?{mode}l"))));
        let others = [
            ("\x1b[>1u", "\x1b[<1u"),
            ("\x1b[=5;1u", "\x1b[=0u"),
            ("\x1b[>4;2m", "\x1b[>4;0m"),
            ("\x1b[1;20r", "\x1b7\x1b[r\x1b8"),
            ("\x1b[5 q", "\x1b[0 q"),
            ("\x1b=", "\x1b>"),
            ("\x1b[38;2;1;2;3m", "\x1b[0m"),
        ];
        cases.extend(others.map(|(on, off)| (on.to_owned(), off.to_owned())));
        assert_eq!(cases.len(), 28);
        for (on, off) in cases {
            assert_eq!(undo_of(on.as_bytes()), off, "{on:?}");
            assert_eq!(undo_of(format!("{on}{off}").as_bytes()), "", "{on:?}");
        }
    }

    #[test]
    fn program_that_cleans_up_leaves_nothing_to_undo() {
        let clean = b"\x1b[?1049;25h\x1b[?1;7l\x1b[?7h\x1b[>5u\x1b[>1u\x1b[<2u\x1b[>4;2m\x1b[>4m\x1b[2;9r\x1b[r\
            \x1b[5 q\x1b[0 q\x1b=\x1b>\x1b[31mred\x1b[m\x1b[?1049l text \x1b]0;title\x07\x1b(B";
        assert_eq!(undo_of(clean), "");
    }

    #[test]
    fn pushes_are_counted_for_each_screen() {
        assert_eq!(
            undo_of(b"\x1b[>1u\x1b[>3u\x1b[?1049h\x1b[>1u\x1b[>1u\x1b[>1u\x1b[<u"),
            "\x1b[<2u\x1b[?1049l\x1b[<2u"
        );
        assert_eq!(undo_of(b"\x1b[>1u\x1b[<9u\x1b[=1u"), "\x1b[=0u");
    }

    #[test]
    fn content_of_strings_is_no_mode() {
        assert_eq!(
            undo_of(b"\x1b]0;[?1003h\x07\x1bP[?1003h\x1b\\\x1b_[?25l\x1b\\"),
            ""
        );
    }

    #[test]
    fn string_that_was_cut_off_is_ended_first() {
        assert_eq!(undo_of(b"\x1b[?25l\x1b]0;half a tit"), "\x18\x1b[?25h");
    }

    #[test]
    fn what_was_undone_for_a_stop_can_be_set_again() {
        let left = b"\x1b[>1u\x1b[?1049h\x1b[>5u\x1b[>1u\x1b[?2004h\x1b[?25l\x1b[>4;2m\x1b[3 q\x1b=\x1b[?2026h";
        let mut modes = Modes::new();
        modes.observe(left);
        assert_eq!(
            String::from_utf8(modes.redo()).unwrap(),
            "\x1b[>1u\x1b[?1049h\x1b[>5u\x1b[>1u\x1b[?2004h\x1b[?25l\x1b[>4;2m\x1b=\x1b[3 q"
        );
        let before = modes.undo();
        modes.observe(&before);
        modes.observe(
            b"\x1b[>1u\x1b[?1049h\x1b[>5u\x1b[>1u\x1b[?2004h\x1b[?25l\x1b[>4;2m\x1b=\x1b[3 q",
        );
        assert_eq!(modes.undo(), before.strip_prefix(b"\x1b[?2026l").unwrap());
    }

    #[test]
    fn hard_reset_forgets_everything() {
        assert_eq!(undo_of(b"\x1b[?1003h\x1b[>1u\x1b[31m\x1bc"), "");
    }

    #[test]
    fn region_and_colours_are_undone_without_moving_the_cursor() {
        assert_eq!(
            undo_of(b"\x1b[1;20r\x1b[38;2;1;2;3m"),
            "\x1b[0m\x1b7\x1b[r\x1b8"
        );
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_undo(
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                &b"\x1b[?1049h"[..], b"\x1b[?1003h", b"\x1b[?25l", b"\x1b[>1u", b"\x1b[<u", b"\x1b]0;t",
                b"\x07", b"\x1b\\", b"text", b"\x1b", b"[", b"\x1b[31m", b"\x18", b"\xff\x9b", b"\x1b[?1049l",
            ]), 0..24),
            cut in 1_usize..9,
        ) {
            let bytes = pieces.concat();
            let mut whole = Modes::new();
            whole.observe(&bytes);
            let mut cut_up = Modes::new();
            for chunk in bytes.chunks(cut) {
                cut_up.observe(chunk);
            }
            prop_assert_eq!(whole.undo(), cut_up.undo());
        }

        #[test]
        fn undo_leaves_nothing_to_undo(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut modes = Modes::new();
            modes.observe(&bytes);
            let undo = modes.undo();
            modes.observe(&undo);
            prop_assert_eq!(modes.undo(), b"");
        }
    }
}
