//! Who drives the agent when the user does not: the story, a script, or nobody.
//!
//! Pure. Asked again and again for the next thing to do; answers with one, or with the time to ask at.

use super::entry::Entry;
use super::script::Script;
use super::step::Step;
use super::story::{self, Beat};

/// Untouched for this long, the story begins.
const QUIET_MS: u64 = 1_500;
const KEY_MS: u64 = 38;
/// Between the last letter and Enter.
const BEFORE_ENTER_MS: u64 = 450;

#[derive(Debug)]
pub(super) enum Director {
    Nobody,
    Script(Script),
    Story(Story),
}

#[derive(Debug)]
pub(super) struct Story {
    beats: Vec<Beat>,
    at: usize,
    /// Letters of the current prompt that are typed.
    typed: usize,
    due_at: u64,
    pub(super) mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nobody has touched a key yet.
    Untouched,
    Playing,
    /// The user has the keyboard.
    Paused,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cue {
    Wait(Option<u64>),
    Print(Entry),
    Type(char),
    Submit(Vec<Step>),
}

impl Story {
    pub(super) fn new(speed: u64, is_wired: bool) -> Self {
        Self {
            beats: story::beats(is_wired),
            at: 0,
            typed: 0,
            due_at: QUIET_MS / speed,
            mode: Mode::Untouched,
        }
    }

    pub(super) fn play(&mut self, now: u64) {
        if self.at >= self.beats.len() {
            self.at = 0;
        }
        self.typed = 0;
        self.due_at = now;
        self.mode = Mode::Playing;
    }

    /// A key of the user's: the story stops. True when it was in the middle of typing.
    pub(super) fn pause(&mut self) -> bool {
        self.mode = Mode::Paused;
        std::mem::take(&mut self.typed) > 0
    }

    /// When to ask for the next cue.
    pub(super) fn due(&self) -> Option<u64> {
        (self.mode != Mode::Paused).then_some(self.due_at)
    }

    /// The next cue; only asked while the agent is idle.
    pub(super) fn next(&mut self, now: u64, speed: u64) -> Cue {
        match self.mode {
            Mode::Paused => return Cue::Wait(None),
            Mode::Untouched | Mode::Playing if now < self.due_at => {
                return Cue::Wait(Some(self.due_at));
            }
            Mode::Untouched | Mode::Playing => self.mode = Mode::Playing,
        }
        let Some(beat) = self.beats.get(self.at) else {
            self.mode = Mode::Paused;
            return Cue::Wait(None);
        };
        match beat {
            Beat::Note(text) => {
                self.at += 1;
                Cue::Print(Entry::Note((*text).to_owned()))
            }
            Beat::Pause(ms) => {
                self.at += 1;
                self.due_at = now + ms / speed;
                Cue::Wait(Some(self.due_at))
            }
            Beat::Prompt(text, body) => {
                let Some(c) = text.chars().nth(self.typed) else {
                    self.at += 1;
                    self.typed = 0;
                    return Cue::Submit(body.clone());
                };
                self.typed += 1;
                let is_last = text.chars().nth(self.typed).is_none();
                let ms = if is_last { BEFORE_ENTER_MS } else { KEY_MS };
                self.due_at = now + ms / speed;
                Cue::Type(c)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_story_types_its_prompts_and_ends_within_the_time_promised() {
        let mut story = Story::new(1, true);
        let (mut now, mut prompts, mut draft, mut work_ms) = (0, Vec::new(), String::new(), 0);
        loop {
            match story.next(now, 1) {
                Cue::Wait(Some(at)) => now = at,
                Cue::Wait(None) => break,
                Cue::Print(_) => {}
                Cue::Type(c) => draft.push(c),
                Cue::Submit(body) => {
                    prompts.push(std::mem::take(&mut draft));
                    work_ms += body
                        .iter()
                        .map(|step| if let Step::Pause(ms) = step { *ms } else { 0 })
                        .sum::<u64>();
                }
            }
        }
        assert_eq!(prompts.len(), 4);
        assert_eq!(prompts[2], "/compact");
        assert!(now + work_ms < 40_000, "{now} + {work_ms} ms");
    }

    #[test]
    fn a_key_stops_it_and_it_goes_on_with_the_same_prompt() {
        let mut story = Story::new(1_000, true);
        story.play(0);
        let mut now = 0;
        let mut typed = String::new();
        while typed.len() < 3 {
            match story.next(now, 1_000) {
                Cue::Type(c) => typed.push(c),
                Cue::Wait(at) => now = at.unwrap(),
                Cue::Print(_) | Cue::Submit(_) => {}
            }
            now += 1;
        }
        assert!(story.pause());
        assert_eq!(story.next(now, 1_000), Cue::Wait(None));
        story.play(now);
        assert_eq!(story.next(now, 1_000), Cue::Type('A'));
    }
}
