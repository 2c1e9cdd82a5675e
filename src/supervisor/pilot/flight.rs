//! The loop: sleeps until somebody asks, looks as often as the attempt needs it, carries out its effects.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::desk::{Answer, Call, Means, Message, Rules, Setup};
use super::record::RecordReader;
use super::world::{NoSession, World};
use crate::compaction::{
    Asking, Attempt, Effect, Focus, FocusReport, Goal, Input, Manner, Origin, Outcome, Policy,
    Request, Settled, Stage, TokenCounts,
};
use crate::event::{Event, EventBody, SCHEMA, Timestamp};
use crate::terminal::Keyboard;

/// Between two looks while something is being typed or just was.
const QUICK: Duration = Duration::from_millis(15);
/// Between two looks while nothing can happen fast.
const CALM: Duration = Duration::from_millis(100);
/// Between two looks at the context with a policy on, while the session is busy, and how many follow.
const POLICY: Duration = Duration::from_secs(1);
const LINGER: u32 = 5;
/// How long requests of harn's own wait for their moment.
const PATIENCE_MS: u64 = 300_000;
/// The same for the line that goes on with the task.
const CONTINUE_MS: u64 = 15_000;
/// The one line that is ever typed besides the command.
const CONTINUE_TEXT: &str = "Continue with the task.";
/// An agent's own requests are as far apart as the policy's.
const AGENT_TURNS: u64 = 3;

/// What is to be attempted.
struct Order {
    goal: Goal,
    origin: Origin,
    focus: Option<Focus>,
    patience_ms: u64,
}

/// Somebody who waits for an outcome.
struct Waiter {
    id: u64,
    until: Option<Timestamp>,
    answers: Sender<Answer>,
}

pub(super) struct Flight {
    world: World,
    keyboard: Keyboard,
    means: Means,
    rules: Rules,
    policy: Option<Policy>,
    attempt: Option<Attempt>,
    waiters: Vec<Waiter>,
    reader: Option<RecordReader>,
    told: String,
    looks: u32,
    agent_asked_in: Option<u64>,
    typed_at: Option<Timestamp>,
}

impl Flight {
    pub(super) fn new(setup: Setup, means: Means) -> Self {
        let (rules, keyboard) = (setup.rules, setup.keyboard.clone());
        Self {
            world: World::new(setup, means.now, means.instant),
            keyboard,
            means,
            rules,
            policy: rules.compact_at.map(Policy::new),
            attempt: None,
            waiters: Vec::new(),
            reader: None,
            told: String::new(),
            looks: 0,
            agent_asked_in: None,
            typed_at: None,
        }
    }

    pub(super) fn run(&mut self, messages: &Receiver<Message>) {
        loop {
            let received = match self.pause() {
                Some(pause) => messages.recv_timeout(pause),
                None => messages
                    .recv()
                    .map_err(|_closed| RecvTimeoutError::Disconnected),
            };
            match received {
                Ok(Message::Call(call)) => self.called(call),
                Ok(Message::Hung(id)) => self.hung(id),
                Ok(Message::Key) => self.asked(Origin::Overlay),
                Ok(Message::Stirred) => self.looks = LINGER,
                Err(RecvTimeoutError::Timeout) => self.looks = self.looks.saturating_sub(1),
                Ok(Message::Over) | Err(RecvTimeoutError::Disconnected) => {
                    self.gone("the agent has exited");
                    return;
                }
            }
            if self.attempt.is_some() {
                self.look();
            } else if self.policy.is_some() {
                self.look_at_policy();
            }
        }
    }

    /// Until the next look; none: until somebody asks.
    fn pause(&self) -> Option<Duration> {
        match self.attempt.as_ref().map(Attempt::stage) {
            Some(Stage::Waiting(_) | Stage::Started | Stage::Settled(_)) => Some(CALM),
            Some(_) => Some(QUICK),
            None if self.policy.is_some() && self.looks > 0 => Some(POLICY),
            None => None,
        }
    }

    fn called(&mut self, call: Call) {
        let now = (self.means.now)();
        let until = call.wait_ms.map(|ms| now.after_ms(ms));
        if let Err(reason) = self.may_call(call.origin, call.focus.as_ref()) {
            let settled = self.refusal(call.origin, call.focus.as_ref(), reason);
            answer(&call.answers, Answer::Settled(Box::new(settled)));
            return;
        }
        let patience = call.wait_ms.unwrap_or(PATIENCE_MS);
        let open = self
            .attempt
            .as_ref()
            .is_some_and(|it| it.outcome().is_none());
        if !open && let Err(refusal) = self.begin(call.origin, call.focus.clone(), patience) {
            answer(&call.answers, Answer::Settled(refusal));
            return;
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.wait_until(now.after_ms(patience));
        }
        match (&self.attempt, until) {
            (Some(attempt), None) => {
                let pending = attempt.settled(Outcome::Pending);
                answer(&call.answers, Answer::Settled(Box::new(pending)));
            }
            _ => self.waiters.push(Waiter {
                id: call.id,
                until,
                answers: call.answers,
            }),
        }
        self.told.clear();
    }

    /// A process of the session itself may ask only where the user allows it.
    fn may_call(&mut self, origin: Origin, focus: Option<&Focus>) -> Result<(), String> {
        if origin != Origin::Agent {
            return Ok(());
        }
        if !self.rules.allow_agent {
            return Err("asked from inside the session, and compact.allow_agent is off".into());
        }
        if focus.is_some() {
            return Err("a request from inside the session takes no focus".into());
        }
        let turn = self.turn();
        if self
            .agent_asked_in
            .is_some_and(|asked| turn < asked + AGENT_TURNS)
        {
            return Err("the session asked for a compaction less than 3 turns ago".into());
        }
        self.agent_asked_in = Some(turn);
        Ok(())
    }

    fn turn(&mut self) -> u64 {
        if let Err(error) = self.world.refresh() {
            tracing::debug!(%error, "turns are not known");
        }
        self.world.session.as_ref().map_or(0, |known| known.prompts)
    }

    fn asked(&mut self, origin: Origin) {
        if self
            .attempt
            .as_ref()
            .is_some_and(|it| it.outcome().is_none())
        {
            self.told.clear();
            return;
        }
        if let Err(refusal) = self.begin(origin, None, PATIENCE_MS) {
            let reason = refusal.reason.unwrap_or_default();
            (self.means.tell)(&format!("compact: refused: {reason}"));
        }
    }

    fn begin(
        &mut self,
        origin: Origin,
        focus: Option<Focus>,
        patience_ms: u64,
    ) -> Result<(), Box<Settled>> {
        if let Err(reason) = self.check() {
            let settled = self.refusal(origin, focus.as_ref(), reason.to_string());
            return Err(Box::new(settled));
        }
        if origin == Origin::Policy
            && let Some(known) = &self.world.session
        {
            (self.means.checkpoint)(&known.speaker.session);
        }
        let manner = self.world.recipe.manner;
        let order = Order {
            goal: Goal::Compaction,
            origin,
            focus,
            patience_ms,
        };
        self.start(order, manner);
        Ok(())
    }

    /// Whether there is a session that could be asked.
    fn check(&mut self) -> Result<(), NoSession> {
        self.world.refresh()?;
        self.world.record_path()?;
        let session = self.world.session.as_ref();
        let session = session.map(|known| known.speaker.session.clone());
        match session.and_then(|session| self.world.rival(&session)) {
            Some(rival) => Err(rival),
            None => Ok(()),
        }
    }

    fn start(&mut self, order: Order, manner: Manner) {
        let Some(known) = &self.world.session else {
            return;
        };
        let now = (self.means.now)();
        let request = Request {
            goal: order.goal,
            attempt: uuid::Uuid::now_v7().to_string(),
            run: self.world.run.id.clone(),
            session: known.speaker.session.clone(),
            origin: order.origin,
            focus: order.focus,
            at: now,
            until: now.after_ms(order.patience_ms),
        };
        let before = self.world.reported_tokens();
        let (attempt, effects) = Attempt::new(request, manner, before);
        self.attempt = Some(attempt);
        self.reader = None;
        self.typed_at = None;
        self.told.clear();
        self.carry_out(effects);
    }

    fn hung(&mut self, id: u64) {
        let count = self.waiters.len();
        self.waiters.retain(|waiter| waiter.id != id);
        let is_last = count > 0 && self.waiters.is_empty();
        let is_callers = self.attempt.as_ref().is_some_and(|attempt| {
            matches!(attempt.request().origin, Origin::Terminal | Origin::Agent)
        });
        if is_last && is_callers {
            self.put(Input::Withdrawn);
        }
    }

    /// One look for the open attempt.
    fn look(&mut self) {
        let events = match self.world.refresh() {
            Ok(events) => events,
            Err(error) => return self.gone(&error.to_string()),
        };
        let is_other = match (&self.world.session, &self.attempt) {
            (Some(known), Some(attempt)) => known.speaker.session != attempt.request().session,
            _ => true,
        };
        if is_other {
            return self.gone("the agent has gone on to another session");
        }
        for event in &events {
            self.put_event(event);
        }
        self.read_record();
        if self.is_disturbed() {
            self.put(Input::Withdrawn);
        }
        let view = self.world.view();
        self.put(Input::Look(Box::new(view)));
        self.tell_progress();
        self.let_waiters_go();
        if self.attempt.as_ref().is_some_and(Attempt::is_over) {
            self.attempt = None;
            self.reader = None;
        }
    }

    /// The continuation is only for a user who has not gone on by themselves.
    fn is_disturbed(&self) -> bool {
        let Some(attempt) = self.attempt.as_ref() else {
            return false;
        };
        let request = attempt.request();
        let since = (self.means.now)().ms_since(request.at);
        let quiet = self.world.hearing.heard().last_key.map(|key| {
            let quiet = (self.means.instant)().saturating_duration_since(key);
            u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX)
        });
        request.goal == Goal::Prompt && quiet.is_some_and(|quiet| quiet <= since)
    }

    fn put_event(&mut self, event: &Event) {
        if self.typed_at.is_none_or(|typed| event.at < typed) {
            return;
        }
        if let EventBody::CompactionStarted { trigger, .. } = &event.body {
            self.put(Input::Announced(*trigger));
        } else if let EventBody::CompactionCompleted { trigger, .. } = &event.body {
            self.put(Input::Reported(*trigger));
        } else if let EventBody::CheckpointCreated { generation, .. } = &event.body {
            let generation = *generation;
            self.put(Input::Saved { generation });
        } else if matches!(event.body, EventBody::PromptSubmitted { .. }) {
            self.put(Input::Prompted);
        }
    }

    fn read_record(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        let Some(session) = self.attempt.as_ref().map(|it| it.request().session.clone()) else {
            return;
        };
        let parse = self.world.recipe.record;
        let mut found = Vec::new();
        let read = reader.poll(&mut |line, offset| {
            if let Some(record) = parse(line, &session) {
                found.push(Input::Recorded { record, offset });
            }
        });
        if let Err(error) = read {
            tracing::warn!(%error, "the session's record is not read");
        }
        for input in found {
            self.put(input);
        }
    }

    fn put(&mut self, input: Input) {
        let now = (self.means.now)();
        if let Some(attempt) = &mut self.attempt {
            let effects = attempt.step(input, now);
            self.carry_out(effects);
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Mark { offset } => self.mark(offset),
                Effect::Type(typing) => {
                    // Whatever the client does about it is later than this.
                    self.typed_at.get_or_insert_with(self.means.now);
                    let typed = self.keyboard.order(typing);
                    self.put(Input::Answer(typed));
                }
                Effect::TellRequested => {
                    self.record_managed(|attempt| EventBody::ManagedRequested {
                        attempt: attempt.request().attempt.clone(),
                        origin: attempt.request().origin,
                        has_focus: attempt.request().focus.is_some(),
                    });
                }
                Effect::TellTyped => {
                    self.record_managed(|attempt| EventBody::ManagedTyped {
                        attempt: attempt.request().attempt.clone(),
                    });
                }
                Effect::TellSubmitted(way) => {
                    self.record_managed(|attempt| EventBody::ManagedSubmitted {
                        attempt: attempt.request().attempt.clone(),
                        way,
                    });
                }
                Effect::Checkpoint => {
                    if let Some(attempt) = &self.attempt {
                        (self.means.checkpoint)(&attempt.request().session);
                    }
                }
                Effect::Settle => self.settle(),
            }
        }
    }

    fn mark(&mut self, offset: u64) {
        let path = self.world.record_path();
        self.reader = path.ok().and_then(|path| {
            RecordReader::new(&path, offset)
                .inspect_err(|error| tracing::warn!(%error, "the session's record is not read"))
                .ok()
        });
    }

    /// The line that goes on with the task is no compaction, and no event tells of one.
    fn record_managed(&self, body: impl Fn(&Attempt) -> EventBody) {
        if let Some(attempt) = self.attempt.as_ref().filter(|it| is_compaction(it)) {
            (self.means.record)(&attempt.request().session, body(attempt));
        }
    }

    fn settle(&mut self) {
        let Some(attempt) = self.attempt.as_ref() else {
            return;
        };
        let mut settled = attempt.settled(Outcome::Unconfirmed);
        let session = attempt.request().session.clone();
        if !is_compaction(attempt) {
            if settled.outcome != Outcome::Confirmed {
                let reason = settled.reason.unwrap_or_default();
                (self.means.tell)(&format!("not continued: {reason}"));
            }
            return;
        }
        self.record_managed(|attempt| EventBody::ManagedSettled {
            attempt: attempt.request().attempt.clone(),
            origin: attempt.request().origin,
            outcome: settled.outcome,
            reason: settled.reason.clone(),
            evidence: settled.evidence.clone(),
            generation: settled.generation,
        });
        if matches!(settled.outcome, Outcome::Failed | Outcome::Misfired) {
            settled.handoff = (self.means.hand_over)(&session);
        }
        (self.means.tell)(&summary(&settled));
        for waiter in self.waiters.drain(..) {
            answer(&waiter.answers, Answer::Settled(Box::new(settled.clone())));
        }
        if settled.outcome == Outcome::Confirmed {
            if let Some(policy) = &mut self.policy {
                policy.confirmed();
            }
            if self.rules.continue_after {
                self.go_on();
            }
        }
    }

    /// The line that goes on with the task, as an attempt of its own.
    fn go_on(&mut self) {
        let manner = Manner {
            command: CONTINUE_TEXT,
            takes_focus: false,
            least_turns: 0,
            menu_head: "",
            needs_menu: false,
            ..self.world.recipe.manner
        };
        let order = Order {
            goal: Goal::Prompt,
            origin: Origin::Policy,
            focus: None,
            patience_ms: CONTINUE_MS,
        };
        self.start(order, manner);
    }

    fn tell_progress(&mut self) {
        let Some(attempt) = self.attempt.as_ref().filter(|it| it.outcome().is_none()) else {
            return;
        };
        let text = attempt.text();
        if text == self.told {
            return;
        }
        if is_compaction(attempt) {
            (self.means.tell)(&format!("compact: {text}"));
        }
        for waiter in &self.waiters {
            answer(&waiter.answers, Answer::Progress(text.clone()));
        }
        self.told = text;
    }

    /// Callers whose time is over; the attempt is watched on when something was typed.
    fn let_waiters_go(&mut self) {
        let now = (self.means.now)();
        let Some(attempt) = self.attempt.as_ref() else {
            return;
        };
        let otherwise = if attempt.has_typed() {
            Outcome::Unconfirmed
        } else {
            Outcome::Refused
        };
        let document = attempt.settled(otherwise);
        self.waiters.retain(|waiter| {
            let is_late = waiter.until.is_some_and(|until| now >= until);
            if is_late {
                answer(&waiter.answers, Answer::Settled(Box::new(document.clone())));
            }
            !is_late
        });
    }

    fn gone(&mut self, reason: &str) {
        self.put(Input::Gone(reason.to_owned()));
        self.attempt = None;
        self.reader = None;
    }

    fn look_at_policy(&mut self) {
        if let Err(error) = self.world.refresh() {
            tracing::debug!(%error, "nothing to look at for the policy");
            return;
        }
        let used = self.world.reported_tokens();
        let turn = self.world.session.as_ref().map_or(0, |it| it.prompts);
        let asking = self.policy.as_mut().map(|policy| policy.decide(used, turn));
        match asking {
            Some(Asking::Compact) => self.asked(Origin::Policy),
            Some(Asking::StillFull) => {
                (self.means.tell)("still full after a compaction: compact-at has stopped");
            }
            Some(Asking::Nothing) | None => {}
        }
    }

    fn refusal(&self, origin: Origin, focus: Option<&Focus>, reason: String) -> Settled {
        let session = self.world.session.as_ref();
        Settled {
            schema: SCHEMA,
            run: Some(self.world.run.id.clone()),
            session: session.map(|known| known.speaker.session.clone()),
            attempt: None,
            outcome: Outcome::Refused,
            reason: Some(reason),
            origin,
            focus: focus.map(|focus| FocusReport {
                text: focus.as_str().to_owned(),
                applied: false,
            }),
            evidence: Vec::new(),
            tokens: TokenCounts::default(),
            generation: None,
            timing_ms: crate::compaction::Timing::default(),
            handoff: None,
        }
    }
}

fn is_compaction(attempt: &Attempt) -> bool {
    attempt.request().goal == Goal::Compaction
}

fn answer(answers: &Sender<Answer>, told: Answer) {
    if answers.send(told).is_err() {
        tracing::debug!("the caller has gone");
    }
}

/// One line for the overlay.
fn summary(settled: &Settled) -> String {
    let head = if settled.outcome == Outcome::Confirmed {
        "compacted".to_owned()
    } else {
        format!("compact: {}", settled.outcome.word())
    };
    let reason = settled.reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let fresh = settled.handoff.as_ref();
    let fresh = fresh.map_or_else(String::new, |path| format!(" (fresh session: {path})"));
    format!("{head}{reason}{fresh}")
}
