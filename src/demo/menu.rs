//! Slash commands and the menu that opens over a draft that begins with `/`.
//!
//! Pure. The menu is looked up once per batch of keys, never between two keys that came together: an Enter in the same
//! batch finds no menu, one that comes later takes the highlighted row. Both are habits of the real clients.

use super::options::Like;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Ask,
    Background,
    Compact,
    Context,
    Exit,
    Help,
    Model,
    Question,
    Review,
    Story,
}

/// Name and description; the first that fits a draft is the menu's first row.
const COMMANDS: [(&str, &str, Command); 10] = [
    (
        "compact",
        "summarize the conversation to make room",
        Command::Compact,
    ),
    ("context", "show how full the context is", Command::Context),
    ("story", "play the story, or go on with it", Command::Story),
    ("ask", "run something that needs permission", Command::Ask),
    ("question", "be asked a question", Command::Question),
    (
        "background",
        "start a task that reports back by itself",
        Command::Background,
    ),
    ("model", "choose a model", Command::Model),
    (
        "review-changes",
        "look at the changes, the compact way",
        Command::Review,
    ),
    ("help", "what can be done here", Command::Help),
    ("exit", "leave", Command::Exit),
];

/// A row of the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) command: Command,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Menu {
    pub(super) rows: Vec<Row>,
    pub(super) selected: usize,
}

impl Menu {
    pub(super) fn is_open(&self) -> bool {
        !self.rows.is_empty()
    }

    pub(super) fn close(&mut self) {
        *self = Self::default();
    }

    pub(super) fn step(&mut self, forward: bool) {
        let count = self.rows.len().max(1);
        let by = if forward { 1 } else { count - 1 };
        self.selected = (self.selected + by) % count;
    }

    pub(super) fn selected(&self) -> Option<Row> {
        self.rows.get(self.selected).copied()
    }

    /// The rows for this draft, best first.
    pub(super) fn look_up(&mut self, draft: &str, has_compact: bool) {
        let rows = match draft.strip_prefix('/') {
            Some(word) if !word.contains(char::is_whitespace) => matches(word, has_compact),
            Some(_) | None => Vec::new(),
        };
        if rows != self.rows {
            self.selected = 0;
            self.rows = rows;
        }
    }
}

fn rows(has_compact: bool) -> impl Iterator<Item = Row> {
    COMMANDS
        .iter()
        .map(|(name, about, command)| Row {
            name,
            about,
            command: *command,
        })
        .filter(move |row| has_compact || row.command != Command::Compact)
}

/// Names that begin with the word; where there are none, names and descriptions that hold it.
fn matches(word: &str, has_compact: bool) -> Vec<Row> {
    let named: Vec<Row> = rows(has_compact)
        .filter(|row| row.name.starts_with(word))
        .collect();
    if !named.is_empty() {
        return named;
    }
    rows(has_compact)
        .filter(|row| row.name.contains(word) || row.about.contains(word))
        .collect()
}

/// What a submitted draft is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Submitted {
    Prompt(String),
    Command { command: Command, focus: String },
    Unknown(String),
}

/// Reads a draft the way the client does.
pub(super) fn read(draft: &str, like: Like, has_compact: bool) -> Submitted {
    let Some(line) = draft.trim().strip_prefix('/') else {
        return Submitted::Prompt(draft.to_owned());
    };
    let (name, focus) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let focus = focus.trim();
    match rows(has_compact).find(|row| row.name == name) {
        // There a command takes no words: with some it is a prompt like any other.
        Some(_) if like == Like::Codex && !focus.is_empty() => Submitted::Prompt(draft.to_owned()),
        Some(row) => Submitted::Command {
            command: row.command,
            focus: focus.to_owned(),
        },
        None => Submitted::Unknown(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(draft: &str, has_compact: bool) -> Vec<&'static str> {
        let mut menu = Menu::default();
        menu.look_up(draft, has_compact);
        menu.rows.iter().map(|row| row.name).collect()
    }

    #[test]
    fn without_the_command_the_first_row_is_another_one() {
        assert_eq!(names("/com", true), ["compact"]);
        assert_eq!(names("/compact", false), ["review-changes"]);
        assert_eq!(names("/compact keep it", true), [""; 0]);
        assert_eq!(names("words", true), [""; 0]);
    }

    #[test]
    fn a_focus_is_an_argument_or_makes_a_prompt() {
        let line = "/compact keep the notes";
        assert_eq!(
            read(line, Like::Claude, true),
            Submitted::Command {
                command: Command::Compact,
                focus: "keep the notes".into()
            }
        );
        assert_eq!(
            read(line, Like::Codex, true),
            Submitted::Prompt(line.into())
        );
        assert_eq!(
            read("/compact", Like::Claude, false),
            Submitted::Unknown("compact".into())
        );
        assert_eq!(
            read("draft/compact", Like::Claude, true),
            Submitted::Prompt("draft/compact".into())
        );
    }
}
