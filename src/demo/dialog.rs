//! What stands between the user and the composer: permission, question, picker.
//!
//! Pure. Each of them takes Enter for the highlighted row, the first one at the start: that is the hazard they are for.

use super::key::Key;
use super::options::Like;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DialogKind {
    Permission,
    Question,
    Picker,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dialog {
    pub(super) kind: DialogKind,
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) options: Vec<String>,
    pub(super) selected: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The row's number.
    Chosen(usize),
    Cancelled,
}

/// The row of a permission dialog that says no.
pub(super) const NO: usize = 2;

impl Dialog {
    pub(super) fn permission(command: &str) -> Self {
        Self {
            kind: DialogKind::Permission,
            title: "Do you want to proceed?".into(),
            detail: command.to_owned(),
            options: vec![
                "Yes".into(),
                "Yes, and don't ask again for this command".into(),
                "No (esc)".into(),
            ],
            selected: 0,
        }
    }

    pub(super) fn question() -> Self {
        Self {
            kind: DialogKind::Question,
            title: "Which greeting is the default?".into(),
            detail: String::new(),
            options: vec!["Alpha".into(), "Beta".into(), "Gamma".into()],
            selected: 0,
        }
    }

    pub(super) fn picker() -> Self {
        Self {
            kind: DialogKind::Picker,
            title: "Select a model".into(),
            detail: String::new(),
            options: vec!["demo-large".into(), "demo-small".into()],
            selected: 0,
        }
    }

    pub(super) fn chosen(&self, row: usize) -> &str {
        self.options.get(row).map_or("", String::as_str)
    }

    /// The answer, once a key gives one. Pastes and unknown keys are swallowed.
    pub(super) fn press(&mut self, key: &Key, like: Like) -> Option<Answer> {
        let count = self.options.len();
        match key {
            Key::Enter => return Some(Answer::Chosen(self.selected)),
            Key::Esc | Key::Ctrl('c') => return Some(Answer::Cancelled),
            Key::Up => self.selected = (self.selected + count - 1) % count,
            Key::Down | Key::Tab => self.selected = (self.selected + 1) % count,
            Key::Char(c) => return self.press_char(*c, like),
            Key::NewLine
            | Key::Backspace
            | Key::Delete
            | Key::Left
            | Key::Right
            | Key::Home
            | Key::End
            | Key::F6
            | Key::Ctrl(_)
            | Key::Paste(_)
            | Key::Other => {}
        }
        None
    }

    fn press_char(&self, c: char, like: Like) -> Option<Answer> {
        if let Some(number) = c.to_digit(10) {
            let row = usize::try_from(number).ok()?.checked_sub(1)?;
            return (row < self.options.len()).then_some(Answer::Chosen(row));
        }
        // Letters choose at once there: the `p` of a typed `/compact` means "don't ask again".
        if like == Like::Codex && self.kind == DialogKind::Permission {
            return match c {
                'y' => Some(Answer::Chosen(0)),
                'p' => Some(Answer::Chosen(1)),
                'n' => Some(Answer::Chosen(NO)),
                _ => None,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(mut dialog: Dialog, text: &str, like: Like) -> Option<Answer> {
        let keys = super::super::key::Decoder::default().push(text.as_bytes());
        keys.iter().find_map(|key| dialog.press(key, like))
    }

    #[test]
    fn a_typed_command_and_enter_accepts() {
        for dialog in [
            Dialog::permission("rm"),
            Dialog::question(),
            Dialog::picker(),
        ] {
            assert_eq!(
                pressed(dialog, "/compact\r", Like::Claude),
                Some(Answer::Chosen(0))
            );
        }
    }

    #[test]
    fn one_letter_of_a_typed_command_is_enough_there() {
        let dialog = || Dialog::permission("rm");
        assert_eq!(
            pressed(dialog(), "/compact", Like::Codex),
            Some(Answer::Chosen(1))
        );
        let paste = "\x1b[200~/compact\x1b[201~";
        assert_eq!(pressed(dialog(), paste, Like::Codex), None);
        assert_eq!(pressed(dialog(), "\x1b[17~", Like::Codex), None);
    }

    #[test]
    fn arrows_and_digits_choose_other_rows() {
        assert_eq!(
            pressed(Dialog::question(), "\x1b[B\r", Like::Claude),
            Some(Answer::Chosen(1))
        );
        assert_eq!(
            pressed(Dialog::question(), "93", Like::Claude),
            Some(Answer::Chosen(2))
        );
    }
}
