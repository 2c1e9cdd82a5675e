//! The agent: what it is doing, and what comes next. Pure; `input` has its keys, `session` carries out its effects.
//!
//! A turn is a list of steps, done one after the other; some of them wait (a pause, a hook, a dialog, a command). Everything
//! that takes time is a step, so whatever happens in between (keys, a resize, a background task) finds the agent in a
//! named state.

use std::collections::VecDeque;

use super::compaction::{self, Manner, Order};
use super::composer::Composer;
use super::dialog::{Dialog, DialogKind};
use super::director::{Cue, Director};
use super::entry::Entry;
use super::hook::HookCall;
use super::menu::Menu;
use super::options::Like;
use super::record::{Boundary, Ids, Record};
use super::step::{Act, Step, Tool};
use super::turn;

/// A share of the window beyond which the agent compacts by itself.
const FULL_PERCENT: u64 = 95;
/// What a turn adds to the context.
const TURN_TOKENS: u64 = 4_200;
/// The boundary is in the transcript only this long after the hooks were told.
const LATE_MS: u64 = 100;
/// The real client holds a dialog back until the user has not typed for this long; its status says `waiting` already.
const HOLD_BACK_MS: u64 = 1_500;

/// What does not change.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) like: Like,
    pub(super) speed: u64,
    pub(super) window: u64,
    pub(super) manner: Manner,
    pub(super) has_compact: bool,
    pub(super) has_submit_keys: bool,
    /// Hooks that were wired; none: nobody looks after the session.
    pub(super) hooks: usize,
    /// The scratch repository.
    pub(super) project: String,
}

/// What `session` has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Hook { id: u64, call: HookCall },
    Record(Record),
    Write { path: &'static str, text: String },
    Shell { id: u64, command: String },
    StatusLine,
    Suspend,
    Repaint,
    Exit(u8),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Waiting {
    Nothing,
    Until(u64),
    Hook { id: u64, event: &'static str },
    Shell { id: u64, tool: Option<Tool> },
    Answer,
}

/// What the agent is seen to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Idle,
    Busy,
    /// Idle, with a task in the background.
    Shell,
    Waiting(DialogKind),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) prompt_id: String,
    /// A compaction asked for by the user.
    pub(super) compacts: Option<Order>,
    pub(super) stops: u32,
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) dialog: Dialog,
    /// Shown and answered from here on.
    pub(super) from: u64,
}

/// What the model knows.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Tokens in use by the last answer; none before the first and after a compaction.
    pub(super) used: Option<u64>,
    /// Texts from hooks that the next request carries.
    pub(super) texts: Vec<String>,
    prompts: u32,
    compactions: u64,
}

#[derive(Debug)]
pub(super) struct Agent {
    pub(super) setup: Setup,
    pub(super) composer: Composer,
    pub(super) menu: Menu,
    pub(super) asked: Option<Asked>,
    pub(super) history: Vec<Entry>,
    pub(super) turn: Option<Turn>,
    pub(super) memory: Memory,
    pub(super) spinner: String,
    pub(super) status_line: Vec<String>,
    pub(super) view: super::input::View,
    pub(super) queue: VecDeque<(String, bool)>,
    pub(super) director: Director,
    pub(super) now: u64,
    pub(super) keyboard: super::input::Keyboard,
    /// How the last turn ended, until the next key.
    pub(super) ended: Option<&'static str>,
    pub(super) effects: Vec<Effect>,
    pub(super) manner: Manner,
    background: Vec<u64>,
    pub(super) work: VecDeque<Step>,
    pub(super) waiting: Waiting,
    late: Vec<(u64, Record)>,
    start: Option<&'static str>,
    ids: Ids,
    serial: u64,
}

impl Agent {
    pub(super) fn new(setup: Setup, director: Director, seed: u128) -> Self {
        let mut agent = Self {
            manner: setup.manner,
            composer: Composer::default(),
            menu: Menu::default(),
            asked: None,
            history: Vec::new(),
            turn: None,
            memory: Memory::default(),
            spinner: String::new(),
            status_line: Vec::new(),
            view: super::input::View::Chat,
            queue: VecDeque::new(),
            director,
            now: 0,
            keyboard: super::input::Keyboard::default(),
            ended: None,
            effects: vec![Effect::StatusLine],
            background: Vec::new(),
            work: VecDeque::new(),
            waiting: Waiting::Nothing,
            late: Vec::new(),
            start: None,
            ids: Ids::new(seed),
            serial: 0,
            setup,
        };
        match agent.setup.like {
            Like::Claude => agent.work.push_back(turn::session_start("startup")),
            Like::Codex => agent.start = Some("startup"),
        }
        if let Director::Script(script) = &mut agent.director {
            agent.work.extend(std::mem::take(&mut script.opening));
        }
        agent
    }

    pub(super) fn status(&self) -> Status {
        match (&self.asked, &self.turn) {
            (Some(asked), _) => Status::Waiting(asked.dialog.kind),
            (None, Some(_)) => Status::Busy,
            (None, None) if !self.background.is_empty() => Status::Shell,
            (None, None) => Status::Idle,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.turn.is_some()
    }

    /// A new turn could begin.
    pub(super) fn is_free(&self) -> bool {
        self.turn.is_none() && self.work.is_empty() && self.waiting == Waiting::Nothing
    }

    /// Nothing to do and nobody to wait for.
    pub(super) fn is_at_rest(&self) -> bool {
        self.turn.is_none()
            && self.work.is_empty()
            && self.waiting == Waiting::Nothing
            && self.queue.is_empty()
            && self.late.is_empty()
    }

    pub(super) fn prompt_id(&self) -> Option<&str> {
        self.turn.as_ref().map(|turn| turn.prompt_id.as_str())
    }

    pub(super) fn percent(&self) -> Option<u64> {
        let used = self.memory.used?;
        Some((used * 100 / self.setup.window.max(1)).min(100))
    }

    pub(super) fn has_compacted(&self) -> bool {
        self.memory.compactions > 0
    }

    pub(super) fn dialog(&self) -> Option<&Dialog> {
        self.asked
            .as_ref()
            .filter(|asked| asked.from <= self.now)
            .map(|asked| &asked.dialog)
    }

    pub(super) fn print(&mut self, entry: Entry) {
        self.history.push(entry);
    }

    pub(super) fn pace(&self, ms: u64) -> u64 {
        ms / self.setup.speed
    }

    /// Goes on as far as this moment allows.
    pub(super) fn advance(&mut self, now: u64) {
        self.now = now;
        self.tell_late();
        loop {
            match self.waiting {
                Waiting::Until(at) if at <= self.now => self.waiting = Waiting::Nothing,
                Waiting::Nothing => {}
                Waiting::Until(_)
                | Waiting::Hook { .. }
                | Waiting::Shell { .. }
                | Waiting::Answer => {
                    return;
                }
            }
            if let Some(step) = self.work.pop_front() {
                self.perform(step);
            } else if !self.go_on() {
                return;
            }
        }
    }

    /// When `advance` has something to do next, keys and answers apart.
    pub(super) fn wake_at(&self) -> Option<u64> {
        let mut times: Vec<u64> = self.late.iter().map(|(at, _)| *at).collect();
        match self.waiting {
            Waiting::Until(at) => times.push(at),
            Waiting::Nothing => {
                times.extend(&self.background);
                if let Director::Story(story) = &self.director
                    && self.late.is_empty()
                {
                    times.extend(story.due());
                }
            }
            Waiting::Hook { .. } | Waiting::Shell { .. } | Waiting::Answer => {}
        }
        times.extend(
            self.asked
                .as_ref()
                .map(|asked| asked.from)
                .filter(|at| *at > self.now),
        );
        times.extend(self.keyboard.quit_until());
        times.into_iter().min()
    }

    fn tell_late(&mut self) {
        let now = self.now;
        let (due, later) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.late = later;
        let due: Vec<(u64, Record)> = due;
        self.effects
            .extend(due.into_iter().map(|(_, record)| Effect::Record(record)));
    }

    /// Out of steps: the turn is over, and what has waited for its end comes next.
    fn go_on(&mut self) -> bool {
        if self.turn.take().is_some() {
            self.spinner.clear();
            self.ended.get_or_insert("done");
            self.effects.push(Effect::StatusLine);
            return true;
        }
        // Queued prompts come before queued commands.
        let prompt = self
            .queue
            .iter()
            .position(|(draft, _)| !draft.starts_with('/'));
        if let Some((draft, is_bash)) = self.queue.remove(prompt.unwrap_or(0)) {
            self.submit(draft, is_bash);
            return true;
        }
        let now = self.now;
        if let Some(at) = self.background.iter().position(|at| *at <= now) {
            self.background.remove(at);
            self.print(Entry::Info(
                "A background task has ended; the agent goes on by itself.".into(),
            ));
            let body = self.scripted(turn::TASK_REPORT);
            self.begin(turn::TASK_REPORT, body.unwrap_or_else(turn::after_task));
            return true;
        }
        self.direct()
    }

    fn direct(&mut self) -> bool {
        let Director::Story(story) = &mut self.director else {
            return false;
        };
        if !self.late.is_empty() {
            return false;
        }
        match story.next(self.now, self.setup.speed) {
            Cue::Wait(_) => false,
            Cue::Print(entry) => {
                self.print(entry);
                true
            }
            Cue::Type(c) => {
                self.composer.insert(&c.to_string());
                let draft = self.composer.text();
                self.menu.look_up(&draft, self.setup.has_compact);
                true
            }
            Cue::Submit(body) => {
                let (draft, is_bash) = self.composer.take();
                self.menu.close();
                if body.is_empty() {
                    self.submit(draft, is_bash);
                } else {
                    self.print(Entry::User(draft.clone()));
                    self.begin(&draft, body);
                }
                true
            }
        }
    }

    pub(super) fn scripted(&mut self, prompt: &str) -> Option<Vec<Step>> {
        match &mut self.director {
            Director::Script(script) => script.turn_for(prompt),
            Director::Story(_) | Director::Nobody => None,
        }
    }

    fn open_turn(&mut self, compacts: Option<Order>) {
        self.ended = None;
        self.turn = Some(Turn {
            prompt_id: self.ids.next(),
            compacts,
            stops: 0,
        });
    }

    /// Begins a turn with this prompt.
    pub(super) fn begin(&mut self, text: &str, body: Vec<Step>) {
        self.open_turn(None);
        self.memory.prompts += 1;
        let start = self.start.take();
        self.work = turn::of_prompt(text, start, body).into();
    }

    pub(super) fn begin_shell(&mut self, command: String) {
        self.open_turn(None);
        let told = Record::User {
            text: format!("<bash-input>{command}</bash-input>"),
        };
        self.work = VecDeque::from([
            Step::Spin("Running".into()),
            Step::Shell(command),
            Step::Record(told),
        ]);
    }

    pub(super) fn begin_compaction(&mut self, focus: &str) {
        let order = Order {
            trigger: "manual",
            focus: focus.to_owned(),
        };
        self.open_turn(Some(order.clone()));
        self.work = compaction::begin(&order).into();
    }

    pub(super) fn start_background(&mut self, ms: u64) {
        self.background.push(self.now + self.pace(ms));
    }

    /// A picker is no part of a turn: the status file knows of it, the turn does not.
    pub(super) fn open_picker(&mut self) {
        let dialog = Dialog::picker();
        self.asked = Some(Asked {
            dialog,
            from: self.now,
        });
    }

    pub(super) fn begin_steps(&mut self, steps: Vec<Step>) {
        self.open_turn(None);
        self.work = steps.into();
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(super) fn push_front(&mut self, steps: Vec<Step>) {
        for step in steps.into_iter().rev() {
            self.work.push_front(step);
        }
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::Print(entry) => self.print(entry),
            Step::Spin(word) => self.spinner = word,
            Step::Pause(ms) => self.waiting = Waiting::Until(self.now + self.pace(ms)),
            Step::Hook(call) => {
                let id = self.next_serial();
                self.waiting = Waiting::Hook {
                    id,
                    event: call.event,
                };
                self.effects.push(Effect::Hook { id, call });
            }
            Step::Record(record) => self.effects.push(Effect::Record(record)),
            Step::Tool(tool) => self.push_front(turn::of_tool(&tool, &self.setup.project)),
            Step::Act(tool) => self.act(tool),
            Step::ToolEnd => {}
            Step::Ask(dialog) => self.ask(dialog),
            Step::Usage(tokens) => self.memory.used = Some(tokens),
            Step::Reply(text) => self.reply(text),
            Step::Recall { with, without } => {
                let is_briefed = self.memory.texts.iter().any(|text| tag(text).is_some());
                self.reply(if is_briefed { with } else { without });
            }
            Step::Room => self.make_room(),
            Step::Summarize(order) => self.summarize(&order),
            Step::Compacted { order, summary } => self.compacted(order, summary),
            Step::Cancel => self.interrupt(),
            Step::StartLater(source) => self.start = Some(source),
            Step::Shell(command) => self.shell(command, None),
            Step::Background(ms) => self.start_background(ms),
            Step::Manner(manner) => self.manner = manner,
            Step::Stop { is_active } => self.stop(is_active),
            Step::Exit(code) => self.effects.push(Effect::Exit(code)),
        }
    }

    fn act(&mut self, tool: Tool) {
        match &tool.act {
            Act::Write { path, text } => {
                self.effects.push(Effect::Write {
                    path,
                    text: text.clone(),
                });
                self.print(turn::shown(&tool, &[]));
            }
            Act::Run { command } => self.shell(command.clone(), Some(tool)),
        }
    }

    fn shell(&mut self, command: String, tool: Option<Tool>) {
        let id = self.next_serial();
        self.waiting = Waiting::Shell { id, tool };
        self.effects.push(Effect::Shell { id, command });
    }

    fn ask(&mut self, dialog: Dialog) {
        let from = match self.setup.like {
            Like::Claude => self
                .keyboard
                .last_at
                .map_or(self.now, |at| at + self.pace(HOLD_BACK_MS)),
            Like::Codex => self.now,
        };
        let from = from.max(self.now);
        self.asked = Some(Asked { dialog, from });
        self.waiting = Waiting::Answer;
    }

    /// The model is asked: what hooks had for it is part of the request.
    fn reply(&mut self, text: String) {
        let used = self.memory.used.unwrap_or(8_000) + TURN_TOKENS;
        self.memory.used = Some(used);
        for told in std::mem::take(&mut self.memory.texts) {
            if let Some(tag) = tag(&told) {
                self.print(Entry::Fact(format!("briefing received: {tag}")));
                let excerpt = told.lines().filter(|line| !line.trim().is_empty());
                let excerpt = excerpt.map(str::to_owned).collect();
                self.print(Entry::Tool {
                    name: "what harn told the agent".into(),
                    result: excerpt,
                });
            }
        }
        self.print(Entry::Assistant(text.clone()));
        self.effects
            .push(Effect::Record(Record::Assistant { text, used }));
    }

    fn make_room(&mut self) {
        if self
            .percent()
            .is_some_and(|percent| percent >= FULL_PERCENT)
        {
            let order = Order {
                trigger: "auto",
                focus: String::new(),
            };
            self.push_front(compaction::begin(&order));
        }
    }

    fn summarize(&mut self, order: &Order) {
        let is_early = self.memory.prompts < 2 && order.trigger == "manual";
        let can_be_done = matches!(self.manner, Manner::Ok | Manner::Slow);
        let manner = if can_be_done && is_early {
            Manner::Early
        } else {
            self.manner
        };
        if matches!(manner, Manner::Fail) {
            self.ended = Some("error");
        }
        self.push_front(compaction::work(order, manner, self.setup.like));
    }

    fn compacted(&mut self, order: Order, summary: String) {
        self.memory.compactions += 1;
        let boundary = Record::Boundary(Boundary {
            trigger: order.trigger,
            focus: order.focus,
            before: self.memory.used.unwrap_or(0),
            summary,
            number: self.memory.compactions,
        });
        self.memory.used = None;
        self.print(Entry::Fact(
            "Compacted (ctrl+o to see the transcript)".into(),
        ));
        match self.setup.like {
            Like::Claude => self.late.push((self.now + LATE_MS, boundary)),
            Like::Codex => self.effects.push(Effect::Record(boundary)),
        }
    }

    fn stop(&mut self, is_active: bool) {
        let last = self.history.iter().rev().find_map(|entry| match entry {
            Entry::Assistant(text) => Some(text.as_str()),
            Entry::Title(_)
            | Entry::User(_)
            | Entry::Tool { .. }
            | Entry::Note(_)
            | Entry::Fact(_)
            | Entry::Info(_)
            | Entry::Error(_) => None,
        });
        let fields = serde_json::json!({"stop_hook_active": is_active, "last_assistant_message": last,
            "background_tasks": [], "session_crons": []});
        self.push_front(vec![Step::Hook(HookCall::new("Stop", fields))]);
    }
}

/// The mark of a briefing: `[harn:g3:7f2a91]`.
fn tag(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("[harn:")?;
    let (name, _) = rest.split_once(']')?;
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b':');
    let at = text.find("[harn:")?;
    text.get(at..at + "[harn:".len() + name.len() + 1)
        .filter(|_| is_plain)
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
