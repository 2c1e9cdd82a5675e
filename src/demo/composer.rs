//! The draft: text, cursor, and the editing keys.
//!
//! Pure. Knows nothing of menus, dialogs or what becomes of a draft.

use super::key::Key;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Composer {
    text: Vec<char>,
    cursor: usize,
    killed: Vec<char>,
    stash: Option<String>,
    /// `!` on an empty draft: what follows is a shell command.
    is_bash: bool,
}

impl Composer {
    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn is_bash(&self) -> bool {
        self.is_bash
    }

    pub(super) fn is_stashed(&self) -> bool {
        self.stash.is_some()
    }

    /// Characters before the cursor.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Takes the draft out; a stashed one comes back. Whether it was a shell command goes with it.
    pub(super) fn take(&mut self) -> (String, bool) {
        let taken = (self.text(), self.is_bash);
        self.clear();
        if let Some(stashed) = self.stash.take() {
            self.set(&stashed);
        }
        taken
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
        self.is_bash = false;
    }

    pub(super) fn set(&mut self, text: &str) {
        self.text = text.chars().collect();
        self.cursor = self.text.len();
    }

    pub(super) fn insert(&mut self, text: &str) {
        for c in text.chars() {
            self.insert_char(c);
        }
    }

    fn insert_char(&mut self, c: char) {
        if c == '!' && self.text.is_empty() && !self.is_bash {
            self.is_bash = true;
            return;
        }
        self.text.insert(self.cursor, c);
        self.cursor += 1;
    }

    /// An editing key; false: it is none.
    pub(super) fn edit(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert_char(*c),
            Key::Paste(text) => self.insert(text),
            Key::NewLine => self.insert_char('\n'),
            Key::Backspace => self.backspace(),
            Key::Delete => self.delete(),
            Key::Left => self.cursor = self.cursor.saturating_sub(1),
            Key::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            Key::Home | Key::Ctrl('a') => self.cursor = self.line_start(),
            Key::End | Key::Ctrl('e') => self.cursor = self.line_end(),
            Key::Ctrl('u') => self.kill(self.line_start(), self.cursor),
            Key::Ctrl('k') => self.kill(self.cursor, self.line_end()),
            Key::Ctrl('w') => self.kill(self.word_start(), self.cursor),
            Key::Ctrl('y') => {
                let killed: String = self.killed.iter().collect();
                self.insert(&killed);
            }
            Key::Ctrl(_)
            | Key::Enter
            | Key::Tab
            | Key::Up
            | Key::Down
            | Key::Esc
            | Key::F6
            | Key::Other => return false,
        }
        true
    }

    /// Puts the draft aside, or takes it back when there is none. A second stash is lost, as in the real client.
    pub(super) fn stash(&mut self) {
        if self.is_empty() {
            if let Some(stashed) = self.stash.take() {
                self.set(&stashed);
            }
        } else {
            self.stash = Some(self.text());
            self.clear();
        }
    }

    fn backspace(&mut self) {
        if self.cursor > 0 {
            self.cursor -= 1;
            self.text.remove(self.cursor);
        } else if self.text.is_empty() {
            self.is_bash = false;
        }
    }

    fn delete(&mut self) {
        if self.cursor < self.text.len() {
            self.text.remove(self.cursor);
        }
    }

    fn kill(&mut self, from: usize, to: usize) {
        self.killed = self.text.drain(from..to).collect();
        self.cursor = from;
    }

    fn before(&self) -> &[char] {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn line_start(&self) -> usize {
        self.before()
            .iter()
            .rposition(|c| *c == '\n')
            .map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let after = self.text.get(self.cursor..).unwrap_or_default();
        let length = after.iter().position(|c| *c == '\n');
        self.cursor + length.unwrap_or(after.len())
    }

    fn word_start(&self) -> usize {
        let before = self.before();
        let end = before.iter().rposition(|c| !c.is_whitespace());
        let Some(end) = end else { return 0 };
        before
            .iter()
            .take(end)
            .rposition(|c| c.is_whitespace())
            .map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[Key]) -> (String, usize) {
        let mut composer = Composer::default();
        for key in keys {
            composer.edit(key);
        }
        (composer.text(), composer.cursor())
    }

    fn keys(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn editing_happens_at_the_cursor() {
        let mut all = keys("one two");
        all.extend([Key::Ctrl('w'), Key::Home, Key::Char('>'), Key::End]);
        all.extend([Key::Ctrl('y'), Key::Left, Key::Backspace, Key::Delete]);
        assert_eq!(typed(&all), (">one t".into(), 6));
    }

    #[test]
    fn killing_takes_one_line_of_several() {
        let mut all = keys("one");
        all.push(Key::NewLine);
        all.extend(keys("two"));
        all.push(Key::Ctrl('u'));
        assert_eq!(typed(&all), ("one\n".into(), 4));
    }

    #[test]
    fn a_stash_comes_back_with_the_next_submit() {
        let mut composer = Composer::default();
        composer.insert("draft\nof two lines");
        composer.stash();
        assert!(composer.is_empty() && composer.is_stashed());
        composer.insert("/compact");
        assert_eq!(composer.take(), ("/compact".into(), false));
        assert_eq!(composer.text(), "draft\nof two lines");
    }

    #[test]
    fn an_exclamation_mark_is_bash_mode_only_on_an_empty_draft() {
        let mut composer = Composer::default();
        composer.insert("!/compact");
        assert_eq!(composer.take(), ("/compact".into(), true));
        composer.insert("wow!");
        assert_eq!(composer.take(), ("wow!".into(), false));
    }
}
