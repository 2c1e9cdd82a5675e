//! The machine: one attempt from its request to its outcome.
//!
//! `step` is the only way forward. Only a fresh [`View`] can make it type, and only a later fresh one can make it submit what it
//! typed; a submit key that needs no look is part of the typing. Nothing is tried twice.

use super::evidence::{Evidence, Kind, Way};
use super::gate::{self, Plan, Wait};
use super::outcome::{FocusReport, Outcome, Settled, Timing, TokenCounts};
use super::step::{Effect, Goal, Input, Request, Stage};
use super::view::{Activity, Composer, Record, Reply, Sight, View};
use super::{Focus, Manner};
use crate::event::{CompactionTrigger, SCHEMA, Timestamp, Tokens};
use crate::terminal::{Draft, Typed, Typing};

/// An older look is no evidence.
const FRESH_MS: u64 = 250;
/// Keys are held for so long at most.
const HOLD_MS: u64 = 500;
/// Within that time the text has to be seen, so that taking it back is still part of it.
const ECHO_MS: u64 = 440;
/// A menu that is wrong for so long is no longer being painted.
const MENU_MS: u64 = 200;
/// At the prompt for so long after the submit, and nothing began.
const BEGIN_MS: u64 = 5_000;
/// At the prompt for so long after the start, and nothing was recorded.
const ABANDONED_MS: u64 = 3_000;
/// The same, when the harness said that it had compacted.
const LATE_RECORD_MS: u64 = 10_000;
/// For the hook that follows the record.
const POST_SIGNAL_MS: u64 = 1_000;
/// An attempt is watched for so long after its submit.
const WATCH_MS: u64 = 30 * 60 * 1_000;
/// harn's own text is looked for in the composer for so long.
const RESIDUE_MS: u64 = 60_000;
/// The user's last key is so long ago when it is taken out.
const CALM_MS: u64 = 300;
/// A moment for the screen to show it.
const REPAINT_MS: u64 = 2_000;

#[derive(Debug, Clone)]
pub struct Attempt {
    request: Request,
    manner: Manner,
    stage: Stage,
    reason: Option<String>,
    evidence: Vec<Evidence>,
    typed_at: Option<Timestamp>,
    submitted_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    proven_at: Option<Timestamp>,
    generation: Option<u64>,
    before: Option<Tokens>,
    has_prompt_signal: bool,
    has_prompt_record: bool,
    /// Until when harn's own text is looked for in the composer.
    residue_until: Option<Timestamp>,
}

impl Attempt {
    /// `before` is what the context holds.
    pub fn new(request: Request, manner: Manner, before: Option<Tokens>) -> (Self, Vec<Effect>) {
        let attempt = Self {
            request,
            manner,
            stage: Stage::Waiting(Wait::Unknown),
            reason: None,
            evidence: Vec::new(),
            typed_at: None,
            submitted_at: None,
            started_at: None,
            proven_at: None,
            generation: None,
            before,
            has_prompt_signal: false,
            has_prompt_record: false,
            residue_until: None,
        };
        (attempt, vec![Effect::TellRequested])
    }

    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    pub fn outcome(&self) -> Option<Outcome> {
        match self.stage {
            Stage::Settled(outcome) => Some(outcome),
            Stage::Waiting(_)
            | Stage::Ordered(_)
            | Stage::Typed(..)
            | Stage::Sending(_)
            | Stage::TakingBack(..)
            | Stage::Submitted
            | Stage::Started
            | Stage::Proven => None,
        }
    }

    /// Whether anything was written to the program.
    pub fn has_typed(&self) -> bool {
        self.typed_at.is_some()
    }

    /// Another one waits for the same attempt, perhaps for longer.
    pub fn wait_until(&mut self, until: Timestamp) {
        self.request.until = self.request.until.max(until);
    }

    /// Settled, and nothing of harn's is left in the composer.
    pub fn is_over(&self) -> bool {
        self.outcome().is_some() && self.residue_until.is_none()
    }

    /// For people: what the attempt is at.
    pub fn text(&self) -> String {
        match &self.stage {
            Stage::Waiting(wait) => format!("waiting: {}", wait.text()),
            Stage::Ordered(_) | Stage::Typed(..) | Stage::Sending(_) => "typing".to_owned(),
            Stage::TakingBack(..) => "taking the text back".to_owned(),
            Stage::Submitted => "submitted, not started yet".to_owned(),
            Stage::Started => "the agent is compacting".to_owned(),
            Stage::Proven => "recorded by the agent".to_owned(),
            Stage::Settled(outcome) => match &self.reason {
                Some(reason) => format!("{}: {reason}", outcome.word()),
                None => outcome.word().to_owned(),
            },
        }
    }

    /// The document of the contract; for a caller who stops waiting before the end, with another outcome.
    pub fn settled(&self, otherwise: Outcome) -> Settled {
        let between = |from: Option<Timestamp>, to: Option<Timestamp>| Some(to?.ms_since(from?));
        Settled {
            schema: SCHEMA,
            run: Some(self.request.run.clone()),
            session: Some(self.request.session.clone()),
            attempt: Some(self.request.attempt.clone()),
            outcome: self.outcome().unwrap_or(otherwise),
            reason: self.reason.clone().or_else(|| match otherwise {
                _ if self.outcome().is_some() => None,
                Outcome::Refused => Some(format!("still {}", self.text())),
                Outcome::Unconfirmed => Some(self.text()),
                Outcome::Confirmed
                | Outcome::Skipped
                | Outcome::Failed
                | Outcome::Cancelled
                | Outcome::Misfired
                | Outcome::Pending => None,
            }),
            origin: self.request.origin,
            focus: self.request.focus.as_ref().map(|focus| FocusReport {
                text: focus.as_str().to_owned(),
                applied: self.has_focus() && self.submitted_at.is_some(),
            }),
            evidence: self.evidence.clone(),
            tokens: TokenCounts {
                before: self.before,
                after: None,
            },
            generation: self.generation,
            timing_ms: Timing {
                requested_to_typed: between(Some(self.request.at), self.typed_at),
                typed_to_started: between(self.typed_at, self.started_at),
                started_to_confirmed: between(self.started_at, self.proven_at),
            },
            handoff: None,
        }
    }

    /// What is typed, without the key behind it.
    fn typed_text(&self) -> String {
        match self
            .request
            .focus
            .as_ref()
            .filter(|_| self.manner.takes_focus)
        {
            Some(focus) => format!("{} {}", self.manner.command, focus.as_str()),
            None => self.manner.command.to_owned(),
        }
    }

    fn has_focus(&self) -> bool {
        self.manner.takes_focus && self.request.focus.is_some()
    }

    /// Takes what happened; the effects are to be carried out in their order.
    pub fn step(&mut self, input: Input, now: Timestamp) -> Vec<Effect> {
        match input {
            Input::Look(view) => self.look(&view, now),
            Input::Answer(typed) => self.answered(typed, now),
            Input::Announced(trigger) => self.announced(trigger, now),
            Input::Reported(trigger) => self.reported(trigger, now),
            Input::Saved { generation } => {
                if self.submitted_at.is_some() {
                    self.generation.get_or_insert(generation);
                }
                Vec::new()
            }
            Input::Prompted => {
                self.has_prompt_signal = self.submitted_at.is_some();
                self.look_at_prompt()
            }
            Input::Recorded { record, offset } => self.recorded(record, offset, now),
            Input::Withdrawn if matches!(self.stage, Stage::Waiting(_)) => {
                self.settle(Outcome::Cancelled, "withdrawn by the caller")
            }
            Input::Withdrawn => Vec::new(),
            Input::Gone(reason) => self.gone(&reason),
        }
    }

    fn look(&mut self, view: &View, now: Timestamp) -> Vec<Effect> {
        if now.ms_since(view.at) > FRESH_MS || view.at > now {
            return Vec::new();
        }
        match self.stage.clone() {
            Stage::Waiting(_) => self.try_to_type(view, now),
            Stage::Typed(way, key) => self.try_to_send(view, way, key, now),
            Stage::Submitted => self.look_for_start(view),
            Stage::Started => self.look_for_end(view),
            Stage::Proven if self.is_proof_complete(now) => {
                self.settle_with(Outcome::Confirmed, None)
            }
            Stage::Settled(_) => self.look_for_residue(view, now),
            Stage::Ordered(_) | Stage::Sending(_) | Stage::TakingBack(..) | Stage::Proven => {
                Vec::new()
            }
        }
    }

    fn try_to_type(&mut self, view: &View, now: Timestamp) -> Vec<Effect> {
        if view
            .turns
            .is_some_and(|turns| turns < self.manner.least_turns)
        {
            let reason = format!(
                "nothing to compact yet: fewer than {} turns",
                self.manner.least_turns
            );
            return self.settle(Outcome::Skipped, &reason);
        }
        let needs_text = self.has_focus() || self.request.goal == Goal::Prompt;
        let plan = gate::plan(&self.manner, view.keys, needs_text);
        let chars = self
            .request
            .focus
            .as_ref()
            .filter(|_| self.manner.takes_focus)
            .map_or(0, Focus::chars);
        if let Err(wait) = gate::may_type(view, &self.manner, plan, chars) {
            self.stage = Stage::Waiting(wait);
            return self.look_at_clock(now);
        }
        if let late @ [_, ..] = self.look_at_clock(now).as_slice() {
            return late.to_vec();
        }
        self.note(
            Kind::Idle {
                source: view.source.to_owned(),
            },
            now,
        );
        let text = self.typed_text();
        let typing = match plan {
            Plan::Key(key) => Typing::Write(key.to_vec()),
            Plan::TextAndKey(key) => Typing::Write(self.manner.bytes_with(&text, key)),
            Plan::Look(..) => Typing::Hold {
                text: self.manner.bytes(&text),
                undo: self.manner.undo(&text),
                limit: std::time::Duration::from_millis(HOLD_MS),
            },
        };
        self.stage = Stage::Ordered(plan);
        let offset = view.record_bytes.unwrap_or(0);
        vec![Effect::Mark { offset }, Effect::Type(typing)]
    }

    /// Withdraws a request whose time is over before anything was typed.
    fn look_at_clock(&mut self, now: Timestamp) -> Vec<Effect> {
        let Stage::Waiting(wait) = self.stage else {
            return Vec::new();
        };
        if now < self.request.until {
            return Vec::new();
        }
        self.settle(Outcome::Refused, &format!("still waiting: {}", wait.text()))
    }

    fn answered(&mut self, typed: Typed, now: Timestamp) -> Vec<Effect> {
        match (self.stage.clone(), typed) {
            (Stage::Ordered(plan), Typed::Done) => {
                self.typed_at = Some(now);
                let mut effects = vec![Effect::TellTyped];
                match plan {
                    Plan::Look(way, key) => self.stage = Stage::Typed(way, key),
                    Plan::Key(_) | Plan::TextAndKey(_) => {
                        effects.extend(self.submitted(plan.way(), now));
                    }
                }
                effects
            }
            (Stage::Ordered(_), Typed::Busy) => {
                self.evidence.clear();
                self.stage = Stage::Waiting(Wait::Typing);
                Vec::new()
            }
            (Stage::Ordered(_), _) => self.settle(Outcome::Refused, "the agent is stopped or gone"),
            (Stage::Sending(way), Typed::Done) => self.submitted(way, now),
            (Stage::Sending(_) | Stage::TakingBack(..), Typed::Aborted) => self.taken_back(
                Outcome::Cancelled,
                "Escape or Ctrl-C was pressed; the text was taken back",
                now,
            ),
            (Stage::Sending(_), _) => self.taken_back(
                Outcome::Refused,
                "the prompt was too slow; the text was taken back",
                now,
            ),
            (Stage::TakingBack(outcome, reason), _) => self.taken_back(outcome, &reason, now),
            _ => Vec::new(),
        }
    }

    fn submitted(&mut self, way: Way, now: Timestamp) -> Vec<Effect> {
        self.submitted_at = Some(now);
        self.stage = Stage::Submitted;
        self.note(Kind::Submit { way }, now);
        vec![Effect::TellSubmitted(way)]
    }

    fn taken_back(&mut self, outcome: Outcome, reason: &str, now: Timestamp) -> Vec<Effect> {
        self.residue_until = Some(now.after_ms(RESIDUE_MS));
        self.settle(outcome, reason)
    }

    fn try_to_send(
        &mut self,
        view: &View,
        way: Way,
        key: &'static [u8],
        now: Timestamp,
    ) -> Vec<Effect> {
        let typed_at = self.typed_at.unwrap_or(now);
        if view.at < typed_at {
            return Vec::new();
        }
        if let Err(wait) = gate::may_submit(view, way == Way::Enter) {
            let reason = format!("{}; the text was taken back", wait.text());
            return self.take_back(Outcome::Refused, reason);
        }
        let waited = now.ms_since(typed_at);
        let is_whole = view.sight.composer == Composer::Holds(self.typed_text());
        let menu = self.menu(&view.sight);
        if is_whole && menu == Some(true) && waited >= self.manner.settle_ms {
            let source = "screen".to_owned();
            self.note(Kind::Echo { source }, now);
            self.stage = Stage::Sending(way);
            return vec![Effect::Type(Typing::Send(key.to_vec()))];
        }
        if is_whole && menu == Some(false) && waited >= MENU_MS {
            let reason = format!("the agent has no {} here", self.manner.command);
            return self.take_back(Outcome::Skipped, reason);
        }
        if waited < ECHO_MS {
            return Vec::new();
        }
        let reason = "the prompt did not show the text as it was typed; it was taken back";
        self.take_back(Outcome::Refused, reason.to_owned())
    }

    /// Whether Enter would run the command; none while nobody can tell.
    fn menu(&self, sight: &Sight) -> Option<bool> {
        match &sight.menu {
            Some(row) => Some(row.starts_with(self.manner.menu_head)),
            None if self.has_focus() || !self.manner.needs_menu => Some(true),
            None => None,
        }
    }

    fn take_back(&mut self, outcome: Outcome, reason: String) -> Vec<Effect> {
        self.stage = Stage::TakingBack(outcome, reason);
        vec![Effect::Type(Typing::TakeBack)]
    }

    fn announced(&mut self, trigger: CompactionTrigger, now: Timestamp) -> Vec<Effect> {
        if self.stage == Stage::Submitted && trigger != CompactionTrigger::Auto {
            self.started_at = Some(now);
            self.stage = Stage::Started;
            self.note(
                Kind::PreSignal {
                    source: "hook".to_owned(),
                },
                now,
            );
        }
        Vec::new()
    }

    fn reported(&mut self, trigger: CompactionTrigger, now: Timestamp) -> Vec<Effect> {
        let is_open = matches!(
            self.stage,
            Stage::Submitted | Stage::Started | Stage::Proven
        );
        if is_open && trigger != CompactionTrigger::Auto && !self.has_post_signal() {
            self.note(
                Kind::PostSignal {
                    source: "hook".to_owned(),
                },
                now,
            );
        }
        if self.stage == Stage::Proven && self.is_proof_complete(now) {
            return self.settle_with(Outcome::Confirmed, None);
        }
        Vec::new()
    }

    fn has_post_signal(&self) -> bool {
        let mut kinds = self.evidence.iter().map(|evidence| &evidence.kind);
        kinds.any(|kind| matches!(kind, Kind::PostSignal { .. }))
    }

    fn is_proof_complete(&self, now: Timestamp) -> bool {
        let waited = self.proven_at.map_or(0, |at| now.ms_since(at));
        self.has_post_signal() || waited >= POST_SIGNAL_MS
    }

    fn recorded(&mut self, record: Record, offset: u64, now: Timestamp) -> Vec<Effect> {
        if !matches!(self.stage, Stage::Submitted | Stage::Started) {
            return Vec::new();
        }
        match record {
            Record::Boundary {
                trigger: CompactionTrigger::Auto,
                ..
            } => Vec::new(),
            Record::Boundary { id, before, .. } => {
                self.started_at.get_or_insert(now);
                self.proven_at = Some(now);
                self.before = before.or(self.before);
                self.note(
                    Kind::Boundary {
                        source: "transcript".to_owned(),
                        offset: Some(offset),
                        id,
                    },
                    now,
                );
                self.stage = Stage::Proven;
                if self.is_proof_complete(now) {
                    return self.settle_with(Outcome::Confirmed, None);
                }
                Vec::new()
            }
            Record::Reply(Reply::TooShort(text) | Reply::NoCommand(text)) => {
                self.settle(Outcome::Skipped, &text)
            }
            Record::Reply(Reply::Cancelled(text)) => self.cancelled(&text, now),
            Record::Reply(Reply::Failed(text)) => self.settle(Outcome::Failed, &text),
            Record::Prompt(text) => self.became_prompt(text.trim()),
        }
    }

    /// These words are a prompt now: harn's, or the user's.
    fn became_prompt(&mut self, text: &str) -> Vec<Effect> {
        let typed = self.typed_text();
        match self.request.goal {
            // Fused with something else as well.
            Goal::Compaction if text.starts_with(&typed) || text.ends_with(&typed) => {
                self.settle(Outcome::Misfired, "the text became a prompt")
            }
            Goal::Prompt if text == typed => {
                self.has_prompt_record = true;
                self.look_at_prompt()
            }
            Goal::Compaction | Goal::Prompt => Vec::new(),
        }
    }

    /// A prompt is proven by hook and record together.
    fn look_at_prompt(&mut self) -> Vec<Effect> {
        let is_proven = self.has_prompt_signal && self.has_prompt_record;
        if self.request.goal == Goal::Prompt && self.stage == Stage::Submitted && is_proven {
            return self.settle_with(Outcome::Confirmed, None);
        }
        Vec::new()
    }

    /// Some harnesses give the command back to the composer then.
    fn cancelled(&mut self, reason: &str, now: Timestamp) -> Vec<Effect> {
        self.residue_until = Some(now.after_ms(RESIDUE_MS));
        self.settle(Outcome::Cancelled, reason)
    }

    fn look_for_start(&mut self, view: &View) -> Vec<Effect> {
        let submitted_at = self.submitted_at.unwrap_or(view.at);
        let Some(idle_ms) = idle_ms(view, submitted_at) else {
            return self.look_at_limit(view, submitted_at);
        };
        if idle_ms < BEGIN_MS {
            return Vec::new();
        }
        if view.sight.composer == Composer::Holds(self.typed_text()) {
            self.residue_until = Some(view.at.after_ms(RESIDUE_MS));
            return self.settle(Outcome::Failed, "the agent did not take the text");
        }
        self.settle(
            Outcome::Unconfirmed,
            "nothing shows that a compaction began",
        )
    }

    fn look_for_end(&mut self, view: &View) -> Vec<Effect> {
        let started_at = self.started_at.unwrap_or(view.at);
        let Some(idle_ms) = idle_ms(view, started_at) else {
            return self.look_at_limit(view, started_at);
        };
        if self.has_post_signal() && idle_ms >= LATE_RECORD_MS {
            let reason = "the agent said that it compacted, but its record does not hold it";
            return self.settle(Outcome::Unconfirmed, reason);
        }
        if !self.has_post_signal() && idle_ms >= ABANDONED_MS {
            return self.cancelled("the compaction began and was stopped", view.at);
        }
        Vec::new()
    }

    fn look_at_limit(&mut self, view: &View, since: Timestamp) -> Vec<Effect> {
        if view.at.ms_since(since) < WATCH_MS {
            return Vec::new();
        }
        self.settle(Outcome::Unconfirmed, "no end was seen in 30 minutes")
    }

    /// Takes harn's own text out of the composer when it is the only thing there.
    fn look_for_residue(&mut self, view: &View, now: Timestamp) -> Vec<Effect> {
        let Some(until) = self.residue_until else {
            return Vec::new();
        };
        let text = self.typed_text();
        // What the user has typed since is theirs, whatever it looks like.
        let is_calm = gate::may_submit(view, false).is_ok()
            && view.draft != Draft::Present
            && view.quiet_ms.is_none_or(|ms| ms >= CALM_MS);
        let is_ours = |held: &str| !held.is_empty() && text.starts_with(held.trim_end());
        if is_calm && matches!(&view.sight.composer, Composer::Holds(held) if is_ours(held)) {
            // A client that gives the command back puts a blank behind it.
            return vec![Effect::Type(Typing::Write(
                self.manner.undo(&format!("{text} ")),
            ))];
        }
        let is_gone = is_calm && view.sight.composer == Composer::Empty;
        let has_waited = now.after_ms(RESIDUE_MS - REPAINT_MS) >= until;
        if now >= until || (is_gone && has_waited) {
            self.residue_until = None;
        }
        Vec::new()
    }

    fn gone(&mut self, reason: &str) -> Vec<Effect> {
        self.residue_until = None;
        match self.stage {
            Stage::Settled(_) => Vec::new(),
            Stage::Proven => self.settle_with(Outcome::Confirmed, None),
            Stage::Submitted | Stage::Started => self.settle(Outcome::Unconfirmed, reason),
            Stage::Waiting(_)
            | Stage::Ordered(_)
            | Stage::Typed(..)
            | Stage::Sending(_)
            | Stage::TakingBack(..) => self.settle(Outcome::Refused, reason),
        }
    }

    fn note(&mut self, kind: Kind, at: Timestamp) {
        self.evidence.push(Evidence { kind, at });
    }

    fn settle(&mut self, outcome: Outcome, reason: &str) -> Vec<Effect> {
        self.settle_with(outcome, Some(crate::text::one_line(reason)))
    }

    fn settle_with(&mut self, outcome: Outcome, reason: Option<String>) -> Vec<Effect> {
        self.stage = Stage::Settled(outcome);
        self.reason = reason;
        let mut effects = Vec::new();
        if outcome == Outcome::Skipped {
            effects.push(Effect::Checkpoint);
        }
        effects.push(Effect::Settle);
        effects
    }
}

/// For how long the harness has been at its prompt since then.
fn idle_ms(view: &View, from: Timestamp) -> Option<u64> {
    match view.activity {
        Activity::Idle { since, .. } => Some(view.at.ms_since(since.max(from))),
        Activity::Busy | Activity::Dialog | Activity::Unknown => None,
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
pub(super) mod tests;
