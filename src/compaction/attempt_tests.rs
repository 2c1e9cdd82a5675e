use proptest::prelude::*;

use super::*;
use crate::compaction::{Keys, Origin};
use crate::event::{RunId, SessionId};

const MANNER: Manner = Manner {
    command: "/compact",
    takes_focus: true,
    least_turns: 2,
    pastes: false,
    menu_head: "/compact ",
    needs_menu: true,
    settle_ms: 0,
    key_keeps_draft: true,
};
const PASTED: Manner = Manner {
    takes_focus: false,
    pastes: true,
    settle_ms: 150,
    key_keeps_draft: false,
    least_turns: 1,
    ..MANNER
};
const CHORDS: Keys = Keys {
    compact: Some(b"\x18\x19"),
    submit: Some(b"\x18\x12"),
};
const NO_KEYS: Keys = Keys {
    compact: None,
    submit: None,
};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

fn request(focus: Option<&str>) -> Request {
    Request {
        goal: Goal::Compaction,
        attempt: "a".into(),
        run: RunId::new("r"),
        session: SessionId::new("s"),
        origin: Origin::Terminal,
        focus: focus.map(|text| text.parse().unwrap()),
        at: at(10_000),
        until: at(20_000),
    }
}

fn view(ms: i64, composer: Composer, keys: Keys) -> View {
    let menu =
        (composer == Composer::Holds("/compact".into())).then(|| "/compact  Free up".to_owned());
    View {
        at: at(ms),
        activity: Activity::Idle {
            since: at(0),
            has_background: false,
        },
        source: "status file",
        sight: Sight { composer, menu },
        draft: Draft::Empty,
        quiet_ms: None,
        is_permission_open: false,
        has_agents: false,
        turns: Some(5),
        record_bytes: Some(700),
        keys,
    }
}

struct Stage1 {
    attempt: Attempt,
    effects: Vec<Effect>,
}

impl Stage1 {
    fn new(manner: Manner, focus: Option<&str>) -> Self {
        let (attempt, effects) = Attempt::new(request(focus), manner, Some(Tokens(9)));
        Self { attempt, effects }
    }

    fn put(&mut self, ms: i64, input: Input) -> &mut Self {
        let effects = self.attempt.step(input, at(ms));
        self.effects.extend(effects);
        self
    }

    fn see(&mut self, view: View) -> &mut Self {
        let now = view.at.as_unix_ms();
        self.put(now, Input::Look(Box::new(view)))
    }

    fn answer(&mut self, ms: i64, typed: Typed) -> &mut Self {
        self.put(ms, Input::Answer(typed))
    }

    fn boundary(&mut self, ms: i64) -> &mut Self {
        self.put(
            ms,
            Input::Recorded {
                record: Record::Boundary {
                    trigger: CompactionTrigger::Manual,
                    id: Some("b1".into()),
                    before: Some(Tokens(152_340)),
                },
                offset: 812,
            },
        )
    }

    fn typed(&self) -> Vec<Typing> {
        let mut found = Vec::new();
        for effect in &self.effects {
            if let Effect::Type(typing) = effect {
                found.push(typing.clone());
            }
        }
        found
    }

    fn end(&self) -> (Option<Outcome>, Option<String>) {
        (self.attempt.outcome(), self.attempt.reason.clone())
    }
}

fn refused(reason: &str) -> (Option<Outcome>, Option<String>) {
    (Some(Outcome::Refused), Some(reason.to_owned()))
}

#[test]
fn a_key_that_compacts_is_all_that_is_typed_and_the_record_alone_confirms() {
    let mut stage = Stage1::new(MANNER, None);
    stage
        .see(view(10_020, Composer::Holds("half a line".into()), CHORDS))
        .answer(10_030, Typed::Done)
        .put(10_090, Input::Announced(CompactionTrigger::Manual))
        .put(10_090, Input::Saved { generation: 3 })
        .put(11_000, Input::Reported(CompactionTrigger::Manual));
    assert_eq!(stage.typed(), [Typing::Write(b"\x18\x19".to_vec())]);
    assert_eq!(stage.attempt.outcome(), None);
    stage.boundary(11_100);
    let settled = serde_json::to_value(stage.attempt.settled(Outcome::Pending)).unwrap();
    assert_eq!(
        settled,
        serde_json::json!({
            "schema": 1, "run": "r", "session": "s", "attempt": "a", "outcome": "confirmed", "reason": null, "origin": "terminal",
            "focus": null,
            "evidence": [
                {"kind": "idle", "source": "status file", "at": "1970-01-01T00:00:10.020Z"},
                {"kind": "submit", "way": "submit_key", "at": "1970-01-01T00:00:10.030Z"},
                {"kind": "pre_signal", "source": "hook", "at": "1970-01-01T00:00:10.090Z"},
                {"kind": "post_signal", "source": "hook", "at": "1970-01-01T00:00:11.000Z"},
                {"kind": "boundary", "source": "transcript", "offset": 812, "id": "b1", "at": "1970-01-01T00:00:11.100Z"},
            ],
            "tokens": {"before": 152_340, "after": null}, "generation": 3,
            "timing_ms": {"requested_to_typed": 30, "typed_to_started": 60, "started_to_confirmed": 1010},
        })
    );
    assert_eq!(
        stage.effects,
        [
            Effect::TellRequested,
            Effect::Mark { offset: 700 },
            Effect::Type(Typing::Write(b"\x18\x19".to_vec())),
            Effect::TellTyped,
            Effect::TellSubmitted(Way::SubmitKey),
            Effect::Settle,
        ]
    );
}

fn holding() -> Stage1 {
    let mut stage = Stage1::new(MANNER, None);
    stage
        .see(view(10_020, Composer::Empty, NO_KEYS))
        .answer(10_030, Typed::Done);
    stage
}

#[test]
fn enter_is_pressed_only_on_the_text_and_its_menu_row() {
    let mut stage = holding();
    stage
        .see(view(10_050, Composer::Empty, NO_KEYS))
        .see(view(10_070, Composer::Holds("/comp".into()), NO_KEYS))
        .see(view(10_090, Composer::Holds("/compact".into()), NO_KEYS));
    let hold = Typing::Hold {
        text: b"/compact".to_vec(),
        undo: vec![0x7f; 8],
        limit: std::time::Duration::from_millis(500),
    };
    assert_eq!(stage.typed(), [hold, Typing::Send(b"\r".to_vec())]);
    assert_eq!(stage.attempt.stage(), &Stage::Sending(Way::Enter));
}

#[test]
fn whatever_opens_between_text_and_enter_takes_the_text_back() {
    type Change = fn(&mut View);
    let table: [(Change, &str); 5] = [
        (
            |view| view.activity = Activity::Dialog,
            "a dialog is open; the text was taken back",
        ),
        (
            |view| view.activity = Activity::Busy,
            "the agent is busy; the text was taken back",
        ),
        (
            |view| view.is_permission_open = true,
            "a permission question is open; the text was taken back",
        ),
        (
            |view| view.activity = Activity::Unknown,
            "cannot tell what the agent is doing; the text was taken back",
        ),
        (
            |view| view.has_agents = true,
            "a background task is running, and no submit key is bound; the text was taken back",
        ),
    ];
    for (change, reason) in table {
        let mut stage = holding();
        let mut seen = view(10_060, Composer::Holds("/compact".into()), NO_KEYS);
        change(&mut seen);
        stage.see(seen).answer(10_070, Typed::Done);
        assert_eq!(stage.end(), refused(reason));
        assert_eq!(stage.typed().last(), Some(&Typing::TakeBack));
    }
}

#[test]
fn another_first_row_of_the_menu_is_never_run() {
    let mut stage = holding();
    for ms in [10_100, 10_200, 10_300] {
        let mut seen = view(ms, Composer::Holds("/compact".into()), NO_KEYS);
        seen.sight.menu = Some("/security-review  Complete".into());
        stage.see(seen);
    }
    stage.answer(10_310, Typed::Done);
    let end = (
        Some(Outcome::Skipped),
        Some("the agent has no /compact here".to_owned()),
    );
    assert_eq!(stage.end(), end);
    assert_eq!(stage.typed().last(), Some(&Typing::TakeBack));
    assert!(stage.effects.contains(&Effect::Checkpoint));
}

#[test]
fn no_echo_no_enter() {
    let mut stage = holding();
    for ms in [10_100, 10_300, 10_480] {
        stage.see(view(ms, Composer::Holds("draft/compact".into()), NO_KEYS));
    }
    stage.answer(10_490, Typed::Done);
    assert_eq!(
        stage.end(),
        refused("the prompt did not show the text as it was typed; it was taken back")
    );
}

#[test]
fn a_pasted_text_and_its_key_go_in_one_write() {
    let keys = Keys {
        compact: None,
        submit: Some(b"\x1b[17~"),
    };
    let mut stage = Stage1::new(PASTED, Some("keep the notes"));
    stage
        .see(view(10_020, Composer::Empty, keys))
        .answer(10_025, Typed::Done);
    let bytes = b"\x1b[200~/compact \x1b[201~\x1b[17~".to_vec();
    assert_eq!(stage.typed(), [Typing::Write(bytes)]);
    let focus = stage.attempt.settled(Outcome::Pending).focus.unwrap();
    assert_eq!(
        (focus.text.as_str(), focus.applied),
        ("keep the notes", false)
    );
}

#[test]
fn a_focus_is_typed_looked_at_and_sent() {
    let mut stage = Stage1::new(MANNER, Some("keep the notes"));
    stage
        .see(view(10_020, Composer::Empty, CHORDS))
        .answer(10_025, Typed::Done)
        .see(view(
            10_060,
            Composer::Holds("/compact keep the notes".into()),
            CHORDS,
        ))
        .answer(10_061, Typed::Done);
    assert_eq!(
        stage.typed().last(),
        Some(&Typing::Send(b"\x18\x12".to_vec()))
    );
    assert!(
        stage
            .attempt
            .settled(Outcome::Pending)
            .focus
            .unwrap()
            .applied
    );
}

#[test]
fn what_is_waited_for_is_told_and_time_over_withdraws() {
    type Change = fn(&mut View);
    let table: [(Change, Wait); 14] = [
        (|view| view.activity = Activity::Busy, Wait::Busy),
        (|view| view.activity = Activity::Dialog, Wait::Dialog),
        (|view| view.activity = Activity::Unknown, Wait::Unknown),
        (
            |view| {
                view.activity = Activity::Idle {
                    since: at(9_800),
                    has_background: false,
                };
            },
            Wait::JustIdle,
        ),
        (
            |view| {
                view.activity = Activity::Idle {
                    since: at(0),
                    has_background: true,
                };
            },
            Wait::Background,
        ),
        (|view| view.is_permission_open = true, Wait::Permission),
        (
            |view| view.sight.composer = Composer::Holds("x".into()),
            Wait::Draft,
        ),
        (|view| view.sight.composer = Composer::Shell, Wait::Shell),
        (
            |view| view.sight.composer = Composer::Commands,
            Wait::Commands,
        ),
        (|view| view.sight.composer = Composer::Hidden, Wait::Picker),
        (|view| view.draft = Draft::Present, Wait::Draft),
        (|view| view.draft = Draft::Unsure, Wait::DraftUnsure),
        (|view| view.quiet_ms = Some(900), Wait::Typing),
        (|view| view.record_bytes = None, Wait::NoRecord),
    ];
    for (change, wait) in table {
        let mut stage = Stage1::new(MANNER, None);
        let mut seen = view(10_100, Composer::Empty, NO_KEYS);
        change(&mut seen);
        stage.see(seen.clone());
        assert_eq!(stage.attempt.stage(), &Stage::Waiting(wait));
        seen.at = at(20_000);
        if wait == Wait::JustIdle {
            seen.activity = Activity::Idle {
                since: at(19_900),
                has_background: false,
            };
        }
        stage.see(seen);
        assert_eq!(
            stage.end(),
            refused(&format!("still waiting: {}", wait.text()))
        );
        assert_eq!(stage.typed(), []);
    }
}

#[test]
fn shell_mode_is_waited_out_with_keys_too() {
    let mut stage = Stage1::new(MANNER, None);
    stage.see(view(10_100, Composer::Shell, CHORDS));
    assert_eq!(stage.attempt.stage(), &Stage::Waiting(Wait::Shell));
}

#[test]
fn a_request_goes_with_the_last_who_waits_for_it() {
    let mut stage = Stage1::new(MANNER, None);
    stage.put(10_500, Input::Withdrawn);
    let end = (
        Some(Outcome::Cancelled),
        Some("withdrawn by the caller".to_owned()),
    );
    assert_eq!(stage.end(), end);
    stage.see(view(10_600, Composer::Empty, CHORDS));
    assert_eq!(stage.typed(), []);
}

fn submitted() -> Stage1 {
    let mut stage = Stage1::new(MANNER, None);
    stage
        .see(view(10_020, Composer::Empty, CHORDS))
        .answer(10_030, Typed::Done);
    stage
}

#[test]
fn the_harness_s_own_words_end_an_attempt() {
    type Told = fn(String) -> Reply;
    let table: [(Told, Outcome); 4] = [
        (Reply::TooShort, Outcome::Skipped),
        (Reply::NoCommand, Outcome::Skipped),
        (Reply::Cancelled, Outcome::Cancelled),
        (Reply::Failed, Outcome::Failed),
    ];
    for (reply, outcome) in table {
        let mut stage = submitted();
        let record = Record::Reply(reply("Its words".into()));
        stage
            .put(10_050, Input::Announced(CompactionTrigger::Manual))
            .put(
                10_060,
                Input::Recorded {
                    record,
                    offset: 800,
                },
            );
        assert_eq!(stage.end(), (Some(outcome), Some("Its words".to_owned())));
    }
}

#[test]
fn a_text_that_became_a_prompt_is_a_misfire_and_another_prompt_is_not() {
    let mut stage = submitted();
    let prompt = |text: &str| Input::Recorded {
        record: Record::Prompt(text.into()),
        offset: 800,
    };
    stage.put(10_060, prompt("something of the user's"));
    assert_eq!(stage.attempt.outcome(), None);
    for text in ["/compact", "half a draft/compact", "/compact and more"] {
        let mut stage = submitted();
        stage.put(10_070, prompt(text));
        assert_eq!(stage.attempt.outcome(), Some(Outcome::Misfired));
    }
}

#[test]
fn an_automatic_compaction_confirms_nothing() {
    let mut stage = submitted();
    let record = Record::Boundary {
        trigger: CompactionTrigger::Auto,
        id: None,
        before: None,
    };
    stage
        .put(10_050, Input::Announced(CompactionTrigger::Auto))
        .put(10_060, Input::Reported(CompactionTrigger::Auto))
        .put(
            10_070,
            Input::Recorded {
                record,
                offset: 800,
            },
        );
    assert_eq!(stage.attempt.stage(), &Stage::Submitted);
}

#[test]
fn nothing_that_begins_is_unconfirmed_and_a_beginning_without_an_end_is_cancelled() {
    let mut stage = submitted();
    stage.see(view(15_029, Composer::Empty, CHORDS));
    assert_eq!(stage.attempt.outcome(), None);
    stage.see(view(15_031, Composer::Empty, CHORDS));
    assert_eq!(stage.attempt.outcome(), Some(Outcome::Unconfirmed));

    let mut stage = submitted();
    stage.put(10_050, Input::Announced(CompactionTrigger::Manual));
    let mut busy = view(13_500, Composer::Empty, CHORDS);
    busy.activity = Activity::Busy;
    stage.see(busy);
    assert_eq!(stage.attempt.outcome(), None);
    let mut idle = view(17_000, Composer::Holds("/compact".into()), CHORDS);
    idle.activity = Activity::Idle {
        since: at(14_000),
        has_background: false,
    };
    stage.see(idle);
    assert_eq!(stage.attempt.outcome(), Some(Outcome::Cancelled));
    // What the user types looks like a part of it, and is left alone.
    let mut theirs = view(17_050, Composer::Holds("/".into()), CHORDS);
    theirs.draft = Draft::Present;
    stage.see(theirs);
    assert_eq!(stage.typed().len(), 1);
    // The harness gave the command back to the composer: it goes out again.
    let undo = Typing::Write(vec![0x7f; 9]);
    stage.see(view(17_100, Composer::Holds("/compact".into()), CHORDS));
    assert_eq!(stage.typed().last(), Some(&undo));
    assert!(!stage.attempt.is_over());
    stage.see(view(19_500, Composer::Empty, CHORDS));
    assert!(stage.attempt.is_over());
}

#[test]
fn said_but_not_recorded_is_unconfirmed() {
    let mut stage = submitted();
    stage
        .put(10_050, Input::Announced(CompactionTrigger::Manual))
        .put(11_000, Input::Reported(CompactionTrigger::Manual))
        .see(view(21_000, Composer::Empty, CHORDS));
    assert_eq!(stage.attempt.outcome(), Some(Outcome::Unconfirmed));
}

#[test]
fn an_end_of_the_session_never_leaves_an_attempt_open() {
    let gone = || Input::Gone("the agent has exited".into());
    let mut waiting = Stage1::new(MANNER, None);
    waiting.put(10_100, gone());
    assert_eq!(waiting.end(), refused("the agent has exited"));
    let mut stage = submitted();
    stage.put(10_100, gone());
    assert_eq!(stage.attempt.outcome(), Some(Outcome::Unconfirmed));
}

#[test]
fn too_few_turns_are_skipped_without_a_key() {
    let mut stage = Stage1::new(MANNER, None);
    let mut seen = view(10_020, Composer::Empty, CHORDS);
    seen.turns = Some(1);
    stage.see(seen);
    assert_eq!(stage.attempt.outcome(), Some(Outcome::Skipped));
    assert_eq!(stage.typed(), []);
}

#[test]
fn a_continuation_is_proven_by_hook_and_record_together() {
    let manner = Manner {
        command: "Go on.",
        takes_focus: false,
        least_turns: 0,
        needs_menu: false,
        ..MANNER
    };
    let mut asked = request(None);
    asked.goal = Goal::Prompt;
    let (attempt, effects) = Attempt::new(asked, manner, None);
    let mut stage = Stage1 { attempt, effects };
    stage
        .see(view(10_020, Composer::Empty, CHORDS))
        .answer(10_030, Typed::Done)
        .see(view(10_060, Composer::Holds("Go on.".into()), CHORDS))
        .answer(10_070, Typed::Done)
        .put(10_100, Input::Prompted);
    assert_eq!(
        stage.typed().last(),
        Some(&Typing::Send(b"\x18\x12".to_vec()))
    );
    assert_eq!(stage.attempt.outcome(), None);
    let record = Record::Prompt("Go on.".into());
    stage.put(
        10_120,
        Input::Recorded {
            record,
            offset: 900,
        },
    );
    assert_eq!(stage.attempt.outcome(), Some(Outcome::Confirmed));
}

fn any_view() -> impl Strategy<Value = View> {
    let activity = prop_oneof![
        4 => any::<bool>().prop_map(|has_background| Activity::Idle { since: at(0), has_background }),
        1 => Just(Activity::Busy),
        1 => Just(Activity::Dialog),
        1 => Just(Activity::Unknown),
    ];
    let composer = prop_oneof![
        3 => Just(Composer::Empty),
        4 => Just(Composer::Holds("/compact".to_owned())),
        1 => Just(Composer::Holds("x".to_owned())),
        1 => Just(Composer::Shell),
        1 => Just(Composer::Hidden),
        1 => Just(Composer::Unknown),
    ];
    let draft =
        prop_oneof![3 => Just(Draft::Empty), 1 => Just(Draft::Present), 1 => Just(Draft::Unsure)];
    (activity, composer, draft, any::<bool>(), any::<bool>()).prop_map(
        |(activity, composer, draft, is_permission_open, has_menu)| {
            let mut seen = view(0, composer, NO_KEYS);
            seen.activity = activity;
            seen.draft = draft;
            seen.is_permission_open = is_permission_open;
            if !has_menu {
                seen.sight.menu = None;
            }
            seen
        },
    )
}

fn any_input() -> impl Strategy<Value = Input> {
    let trigger = || {
        prop_oneof![
            Just(CompactionTrigger::Manual),
            Just(CompactionTrigger::Auto)
        ]
    };
    let typed = prop_oneof![
        6 => Just(Typed::Done),
        1 => Just(Typed::Busy),
        1 => Just(Typed::TimeOver),
        1 => Just(Typed::Aborted),
        1 => Just(Typed::Gone),
    ];
    let record = prop_oneof![
        2 => trigger().prop_map(|trigger| Record::Boundary { trigger, id: None, before: None }),
        1 => Just(Record::Reply(Reply::Failed("f".into()))),
        1 => Just(Record::Prompt("/compact".into())),
    ];
    prop_oneof![
        8 => any_view().prop_map(|view| Input::Look(Box::new(view))),
        5 => typed.prop_map(Input::Answer),
        1 => trigger().prop_map(Input::Announced),
        1 => trigger().prop_map(Input::Reported),
        1 => record.prop_map(|record| Input::Recorded { record, offset: 900 }),
        1 => Just(Input::Prompted),
        1 => Just(Input::Withdrawn),
    ]
}

proptest! {
    /// In any order of anything: a submit needs fresh evidence, only a boundary confirms, an outcome is one and final.
    #[test]
    fn no_order_of_inputs_breaks_the_promises(
        inputs in proptest::collection::vec((any_input(), 1_i64..400, 0_i64..400), 1..60),
        keys in prop_oneof![Just(NO_KEYS), Just(CHORDS)],
        is_pasted in any::<bool>(),
    ) {
        let manner = if is_pasted { PASTED } else { MANNER };
        let mut stage = Stage1::new(manner, None);
        let mut now = 10_000;
        let (mut settles, mut submits, mut has_boundary) = (0, 0, false);
        let mut outcome = None;
        for (input, step, age) in inputs {
            now += step;
            let mut input = input;
            let mut fresh = None;
            if let Input::Look(view) = &mut input {
                view.at = at(now - age);
                view.keys = keys;
                fresh = Some((**view).clone()).filter(|_| age <= 250);
            }
            let is_open = stage.attempt.submitted_at.is_some() && outcome.is_none();
            if let Input::Recorded { record: Record::Boundary { trigger, .. }, .. } = &input {
                has_boundary |= is_open && *trigger != CompactionTrigger::Auto;
            }
            for effect in stage.attempt.step(input, at(now)) {
                match effect {
                    Effect::Type(Typing::Send(_)) => {
                        let view = fresh.clone().unwrap();
                        let is_idle = matches!(view.activity, Activity::Idle { .. });
                        prop_assert!(is_idle && !view.is_permission_open);
                        prop_assert_eq!(view.sight.composer, Composer::Holds("/compact".into()));
                    }
                    Effect::Type(Typing::Write(bytes)) if outcome.is_none() => {
                        let view = fresh.clone().unwrap();
                        let is_idle = matches!(view.activity, Activity::Idle { .. });
                        prop_assert!(is_idle && !view.is_permission_open, "{:?}", bytes);
                    }
                    Effect::Settle => settles += 1,
                    Effect::TellSubmitted(_) => submits += 1,
                    Effect::Mark { .. }
                    | Effect::Type(_)
                    | Effect::TellRequested
                    | Effect::TellTyped
                    | Effect::Checkpoint => {}
                }
            }
            if outcome.is_some() {
                prop_assert_eq!(stage.attempt.outcome(), outcome);
            }
            outcome = stage.attempt.outcome();
            prop_assert!(outcome != Some(Outcome::Confirmed) || has_boundary);
        }
        stage.put(now, Input::Gone("end".into()));
        prop_assert!(stage.attempt.outcome().is_some());
        settles += stage.effects.iter().filter(|effect| **effect == Effect::Settle).count();
        prop_assert_eq!(settles, 1);
        prop_assert!(submits <= 1);
    }
}

/// A stage worth a table, by the inputs that lead to it.
fn stages() -> Vec<(&'static str, Stage1)> {
    let plain = || Stage1::new(MANNER, None);
    let ordered = || {
        let mut stage = plain();
        stage.see(view(10_020, Composer::Empty, NO_KEYS));
        stage
    };
    let sending = || {
        let mut stage = holding();
        stage.see(view(10_090, Composer::Holds("/compact".into()), NO_KEYS));
        stage
    };
    let taking_back = || {
        let mut stage = holding();
        let mut seen = view(10_090, Composer::Holds("/compact".into()), NO_KEYS);
        seen.activity = Activity::Dialog;
        stage.see(seen);
        stage
    };
    let started = || {
        let mut stage = submitted();
        stage.put(10_095, Input::Announced(CompactionTrigger::Manual));
        stage
    };
    let proven = || {
        let mut stage = started();
        stage.boundary(10_097);
        stage
    };
    let settled = || {
        let mut stage = proven();
        stage.put(10_098, Input::Reported(CompactionTrigger::Manual));
        stage
    };
    vec![
        ("waiting", plain()),
        ("ordered to type", ordered()),
        ("typed", holding()),
        ("ordered to send", sending()),
        ("ordered to take back", taking_back()),
        ("submitted", submitted()),
        ("started", started()),
        ("proven by the record", proven()),
        ("settled", settled()),
    ]
}

/// What the table puts in: a name, the moment, the input.
type Row = (&'static str, (i64, Input));

fn table_looks() -> Vec<Row> {
    let look = |ms: i64, change: fn(&mut View)| {
        let mut seen = view(ms, Composer::Empty, NO_KEYS);
        change(&mut seen);
        (ms, Input::Look(Box::new(seen)))
    };
    let held: fn(&mut View) = |seen| {
        seen.sight.composer = Composer::Holds("/compact".into());
        seen.sight.menu = Some("/compact  Free up".into());
    };
    vec![
        ("look: an empty prompt", look(10_100, |_| ())),
        ("look: the command in the prompt", look(10_100, held)),
        (
            "look: a dialog",
            look(10_100, |seen| seen.activity = Activity::Dialog),
        ),
        (
            "look: the agent is busy",
            look(10_100, |seen| seen.activity = Activity::Busy),
        ),
        (
            "look: unknown",
            look(10_100, |seen| seen.activity = Activity::Unknown),
        ),
        (
            "look: the wait is over, still a draft",
            look(20_000, |seen| seen.draft = Draft::Present),
        ),
    ]
}

fn table_answers() -> Vec<Row> {
    vec![
        ("keyboard: done", (10_100, Input::Answer(Typed::Done))),
        (
            "keyboard: the user is in a key or a paste",
            (10_100, Input::Answer(Typed::Busy)),
        ),
        (
            "keyboard: Escape or Ctrl-C",
            (10_100, Input::Answer(Typed::Aborted)),
        ),
        (
            "keyboard: held for too long",
            (10_100, Input::Answer(Typed::TimeOver)),
        ),
        (
            "hook: announced, manual",
            (10_100, Input::Announced(CompactionTrigger::Manual)),
        ),
        (
            "hook: announced, automatic",
            (10_100, Input::Announced(CompactionTrigger::Auto)),
        ),
        (
            "hook: reported, manual",
            (10_100, Input::Reported(CompactionTrigger::Manual)),
        ),
        ("the last caller has gone", (10_100, Input::Withdrawn)),
        (
            "the session is over",
            (10_100, Input::Gone("it is over".into())),
        ),
    ]
}

fn table_records() -> Vec<Row> {
    let record = |record: Record| {
        (
            10_100,
            Input::Recorded {
                record,
                offset: 900,
            },
        )
    };
    let boundary = |trigger| Record::Boundary {
        trigger,
        id: None,
        before: None,
    };
    vec![
        (
            "record: compacted, manual",
            record(boundary(CompactionTrigger::Manual)),
        ),
        (
            "record: compacted, automatic",
            record(boundary(CompactionTrigger::Auto)),
        ),
        (
            "record: the agent says that it failed",
            record(Record::Reply(Reply::Failed("its words".into()))),
        ),
        (
            "record: too little to compact",
            record(Record::Reply(Reply::TooShort("its words".into()))),
        ),
        (
            "record: the command as a prompt",
            record(Record::Prompt("/compact".into())),
        ),
    ]
}

fn effect_text(effect: &Effect) -> String {
    match effect {
        Effect::Mark { .. } => "mark the record".to_owned(),
        Effect::Type(Typing::Write(bytes)) => format!("write `{}`", bytes.escape_ascii()),
        Effect::Type(Typing::Hold { text, .. }) => {
            format!("hold keys, write `{}`", text.escape_ascii())
        }
        Effect::Type(Typing::Send(key)) => format!("send with `{}`", key.escape_ascii()),
        Effect::Type(Typing::TakeBack) => "take the text back".to_owned(),
        Effect::TellRequested => "compaction.requested".to_owned(),
        Effect::TellTyped => "compaction.typed".to_owned(),
        Effect::TellSubmitted(_) => "compaction.submitted".to_owned(),
        Effect::Checkpoint => "checkpoint".to_owned(),
        Effect::Settle => "compaction.settled".to_owned(),
    }
}

/// The part of `docs/state-machines.md` that this machine makes; without submit keys, so that every stage is there.
pub(crate) fn section() -> String {
    let mut page = String::from(
        "
## A managed compaction

What one input does in one stage, with Enter as the way of submitting (a submit key goes from `waiting` to `submitted` in one
write). Only inputs that change something are listed. Nothing but a boundary record leads to `confirmed`.
",
    );
    for (name, _) in stages() {
        page.extend([
            "\n### ",
            name,
            "\n\n| input | effects | stage |\n|---|---|---|\n",
        ]);
        let rows = [table_looks(), table_answers(), table_records()].concat();
        for (input_name, (ms, input)) in rows {
            let Some((_, mut stage)) = stages().into_iter().find(|(it, _)| *it == name) else {
                continue;
            };
            let told = |stage: &Stage1| (stage.attempt.text(), stage.attempt.evidence.len());
            let before = told(&stage);
            stage.effects.clear();
            stage.put(ms, input);
            let after = told(&stage);
            if after == before && stage.effects.is_empty() {
                continue;
            }
            let effects: Vec<String> = stage.effects.iter().map(effect_text).collect();
            let effects = if effects.is_empty() {
                "-".to_owned()
            } else {
                effects.join(", ")
            };
            page.extend(["| ", input_name, " | ", &effects, " | ", &after.0, " |\n"]);
        }
    }
    page
}
