//! The agent's keys: what each of them means at this moment.

use super::agent::{Agent, Effect};
use super::director::{Director, Mode};
use super::entry::Entry;
use super::key::Key;
use super::menu::{self, Command, Submitted};
use super::options::Like;
use super::record::Record;
use super::turn;

/// So many plain characters in one batch are a paste to Claude: an Enter among them is a new line.
const PASTE_CHARS: usize = 64;
/// Codex: an Enter this soon after a burst of characters is part of the paste.
const BURST_MS: u64 = 10;
/// A second Ctrl-C or Ctrl-D within this time ends the agent.
const QUIT_MS: u64 = 1_500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Chat,
    /// Covers the composer; keys do not reach it.
    Transcript,
}

/// What has to be remembered of the keys before.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    pub(super) last_at: Option<u64>,
    burst_at: Option<u64>,
    quit: Option<(char, u64)>,
    has_prefix: bool,
}

impl Keyboard {
    /// While set, the same key again ends the agent.
    pub(super) fn quit_key(&self) -> Option<char> {
        self.quit.map(|(key, _)| key)
    }

    pub(super) fn quit_until(&self) -> Option<u64> {
        self.quit.map(|(_, until)| until)
    }
}

impl Agent {
    /// Keys that came together.
    pub(super) fn press(&mut self, keys: &[Key], now: u64) {
        self.now = now;
        self.forget_quit();
        let plain = keys
            .iter()
            .filter(|key| matches!(key, Key::Char(_)))
            .count();
        let is_burst = match self.setup.like {
            Like::Claude => plain >= PASTE_CHARS,
            Like::Codex => plain >= 2,
        };
        for key in keys {
            if *key == Key::Other {
                continue;
            }
            self.keyboard.last_at = Some(now);
            if self.take_over(key) {
                continue;
            }
            let is_pasted = match self.setup.like {
                Like::Claude => is_burst,
                Like::Codex => self.keyboard.burst_at.is_some_and(|at| now < at + BURST_MS),
            };
            if is_burst && matches!(key, Key::Char(_)) {
                self.keyboard.burst_at = Some(now);
            }
            self.press_one(key, is_pasted);
        }
        let draft = self.composer.text();
        let draft = if self.composer.is_bash() { "" } else { &draft };
        self.menu.look_up(draft, self.setup.has_compact);
    }

    pub(super) fn forget_quit(&mut self) {
        let now = self.now;
        self.keyboard.quit = self.keyboard.quit.filter(|(_, until)| now < *until);
    }

    /// The story ends where the user begins. True when the key was meant for the story.
    fn take_over(&mut self, key: &Key) -> bool {
        let now = self.now;
        let Director::Story(story) = &mut self.director else {
            return false;
        };
        match story.mode {
            Mode::Untouched if matches!(key, Key::Enter | Key::Char(' ')) => {
                story.play(now);
                true
            }
            Mode::Untouched => {
                story.pause();
                false
            }
            Mode::Playing => {
                if story.pause() {
                    self.composer.clear();
                }
                self.menu.close();
                self.print(Entry::Note(
                    "You have the keyboard. /story goes on with the story.".into(),
                ));
                matches!(key, Key::Enter | Key::Char(' ') | Key::Esc)
            }
            Mode::Paused => false,
        }
    }

    fn press_one(&mut self, key: &Key, is_pasted: bool) {
        self.ended = self.ended.map(|_| "idle");
        if self.dialog().is_some() {
            let like = self.setup.like;
            let answer = self
                .asked
                .as_mut()
                .and_then(|asked| asked.dialog.press(key, like));
            if let Some(answer) = answer {
                self.answered(&answer);
            }
            return;
        }
        if self.press_submit_key(key) {
            return;
        }
        if self.view == View::Transcript {
            if matches!(key, Key::Ctrl('o' | 'c') | Key::Esc | Key::Char('q')) {
                self.view = View::Chat;
            }
            return;
        }
        match key {
            Key::Enter if is_pasted => {
                self.composer.edit(&Key::NewLine);
            }
            Key::Enter => self.press_enter(),
            Key::Tab => self.press_tab(),
            Key::Up | Key::Down if self.menu.is_open() => self.menu.step(*key == Key::Down),
            Key::Up if self.composer.is_empty() => {
                if let Some((draft, _)) = self.queue.pop_back() {
                    self.composer.set(&draft);
                }
            }
            Key::Esc => self.press_esc(),
            Key::Ctrl('c') => self.press_ctrl_c(),
            Key::Ctrl('d') if self.composer.is_empty() => self.press_quit('d'),
            Key::Ctrl('o' | 't') => self.view = View::Transcript,
            Key::Ctrl('s') if self.setup.like == Like::Claude => self.composer.stash(),
            Key::Ctrl('z') => self.effects.push(Effect::Suspend),
            Key::Ctrl('l') => self.effects.push(Effect::Repaint),
            Key::Char(_)
            | Key::NewLine
            | Key::Backspace
            | Key::Delete
            | Key::Left
            | Key::Right
            | Key::Up
            | Key::Down
            | Key::Home
            | Key::End
            | Key::F6
            | Key::Ctrl(_)
            | Key::Paste(_)
            | Key::Other => {
                self.composer.edit(key);
            }
        }
    }

    /// Keys that submit or compact and that no dialog takes: bound by the user, not there by themselves.
    fn press_submit_key(&mut self, key: &Key) -> bool {
        if !self.setup.has_submit_keys {
            return false;
        }
        match (self.setup.like, key) {
            (Like::Claude, Key::Ctrl('x')) => self.keyboard.has_prefix = true,
            (Like::Claude, Key::Ctrl('y')) if std::mem::take(&mut self.keyboard.has_prefix) => {
                // In bash mode even this one runs in the shell.
                let is_bash = self.composer.is_bash();
                if is_bash {
                    self.composer.clear();
                }
                self.submit("/compact".into(), is_bash);
            }
            (Like::Claude, Key::Ctrl('r')) if std::mem::take(&mut self.keyboard.has_prefix) => {
                self.submit_draft();
            }
            // While the menu is open the key means nothing.
            (Like::Codex, Key::F6) if self.menu.is_open() => {}
            (Like::Codex, Key::F6) => self.submit_draft(),
            (Like::Claude | Like::Codex, _) => {
                self.keyboard.has_prefix = false;
                return false;
            }
        }
        true
    }

    fn press_enter(&mut self) {
        if let Some(row) = self.menu.selected() {
            self.composer.set(&format!("/{}", row.name));
        }
        self.submit_draft();
    }

    fn press_tab(&mut self) {
        if let Some(row) = self.menu.selected() {
            self.composer.set(&format!("/{} ", row.name));
        } else if self.setup.like == Like::Codex && self.is_busy() && !self.composer.is_empty() {
            let draft = self.composer.take();
            self.queue.push_back(draft);
        }
    }

    fn press_esc(&mut self) {
        let is_bash = self.composer.is_bash() && self.composer.is_empty();
        if self.menu.is_open() || is_bash {
            self.composer.clear();
        } else if self.is_busy() {
            self.interrupt();
        }
    }

    fn press_ctrl_c(&mut self) {
        if self.is_busy() && self.keyboard.quit.is_none() {
            self.interrupt();
            self.arm_quit('c');
        } else if !self.composer.is_empty() {
            self.composer.clear();
            self.arm_quit('c');
        } else {
            self.press_quit('c');
        }
    }

    fn press_quit(&mut self, key: char) {
        if self.keyboard.quit_key() == Some(key) {
            self.effects.push(Effect::Exit(0));
        } else {
            self.arm_quit(key);
        }
    }

    fn arm_quit(&mut self, key: char) {
        self.keyboard.quit = Some((key, self.now + QUIT_MS));
    }

    fn submit_draft(&mut self) {
        if self.composer.is_empty() {
            return;
        }
        let (draft, is_bash) = self.composer.take();
        self.menu.close();
        self.submit(draft, is_bash);
    }

    /// A draft has left the composer, or the queue.
    pub(super) fn submit(&mut self, draft: String, is_bash: bool) {
        let read = if is_bash {
            Submitted::Prompt(draft.clone())
        } else {
            menu::read(&draft, self.setup.like, self.setup.has_compact)
        };
        let must_wait = match &read {
            Submitted::Prompt(_) => true,
            Submitted::Command { command, .. } => starts_turn(*command),
            Submitted::Unknown(_) => false,
        };
        if must_wait && !self.is_free() {
            let is_command = matches!(read, Submitted::Command { .. });
            if is_command && self.setup.like == Like::Codex {
                let text = format!("'{draft}' is disabled while a task is in progress.");
                self.print(Entry::Error(text));
            } else {
                self.queue.push_back((draft, is_bash));
            }
            return;
        }
        match read {
            Submitted::Prompt(text) if is_bash => {
                self.print(Entry::User(format!("! {text}")));
                self.begin_shell(text);
            }
            Submitted::Prompt(text) => {
                self.print(Entry::User(text.clone()));
                let body = self.scripted(&text);
                self.begin(&text, body.unwrap_or_else(|| turn::usual_answer(&text)));
            }
            Submitted::Command { command, focus } => {
                self.print(Entry::User(draft));
                self.command(command, &focus);
            }
            Submitted::Unknown(name) => {
                let text = format!("Unknown command: /{name}");
                self.effects
                    .push(Effect::Record(Record::Notice { text: text.clone() }));
                self.print(Entry::Error(text));
            }
        }
    }

    fn command(&mut self, command: Command, focus: &str) {
        match command {
            Command::Compact => self.begin_compaction(focus),
            Command::Ask => self.begin_steps(turn::permission()),
            Command::Question => self.begin_steps(turn::question()),
            Command::Model => self.open_picker(),
            Command::Review => self.begin_steps(turn::usual_answer("/review-changes")),
            Command::Background => {
                self.print(Entry::Info("A task runs in the background; it reports in 5 seconds.".into()));
                self.start_background(5_000);
            }
            Command::Context => {
                let text = match (self.memory.used, self.percent()) {
                    (Some(used), Some(percent)) => {
                        format!("{used} of {} tokens are in use ({percent} %).", self.setup.window)
                    }
                    (None, _) | (_, None) => {
                        "How full the context is will be known after the next answer.".to_owned()
                    }
                };
                self.print(Entry::Info(text));
            }
            Command::Help => self.print(Entry::Info(
                "Enter submits, Alt-Enter is a new line, / opens the commands, ! runs a shell command, Esc stops a turn, \
                 Ctrl-O shows the transcript's place, Ctrl-C twice leaves."
                    .into(),
            )),
            Command::Story => self.play_story(),
            Command::Exit => self.effects.push(Effect::Exit(0)),
        }
    }

    fn play_story(&mut self) {
        let now = self.now;
        match &mut self.director {
            Director::Story(story) => story.play(now),
            Director::Nobody | Director::Script(_) => {
                let mut story = super::director::Story::new(self.setup.speed, self.setup.hooks > 0);
                story.play(now);
                self.director = Director::Story(story);
            }
        }
    }
}

fn starts_turn(command: Command) -> bool {
    match command {
        Command::Ask | Command::Compact | Command::Question | Command::Review => true,
        Command::Background
        | Command::Context
        | Command::Exit
        | Command::Help
        | Command::Model
        | Command::Story => false,
    }
}
