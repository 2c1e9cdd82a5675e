use proptest::prelude::*;

use super::*;
use crate::continuity::state::{Phase, Work};
use crate::event::{HarnessId, SessionId, Timestamp, TurnEnd, TurnId};

/// Carries effects out the way `command/` does, and keeps what it did.
#[derive(Default)]
struct Bench {
    state: State,
    events: Vec<EventBody>,
    /// `checkpoint`, `brief a1 SessionStart`, or the type of a recorded event.
    done: Vec<String>,
}

impl Bench {
    fn record(&mut self, body: EventBody) {
        self.state.apply(&body, Timestamp::from_unix_ms(0));
        self.events.push(body);
    }

    fn checkpoint(&mut self, trigger: CheckpointTrigger) {
        let generation = self.state.generation + 1;
        self.record(EventBody::CheckpointCreated {
            generation,
            capsule: format!("c{generation}"),
            path: String::new(),
            trigger,
            bytes: 1,
            truncated: Vec::new(),
        });
    }

    fn send(&mut self, input: &HookInput) {
        for effect in step(&self.state, input) {
            match effect {
                Effect::Record(body) => {
                    let kind = serde_json::to_value(&body).unwrap();
                    self.done.push(kind["type"].as_str().unwrap().to_owned());
                    self.record(body);
                }
                Effect::Checkpoint {
                    trigger,
                    instructions: _,
                } => {
                    self.done.push("checkpoint".to_owned());
                    self.checkpoint(trigger);
                }
                Effect::Brief { via, attempt } => {
                    self.done.push(format!("brief {attempt} {via:?}"));
                    let generation = self.state.attempt.as_ref().and_then(|it| it.generation);
                    self.record(EventBody::RecoveryInjected {
                        attempt,
                        generation,
                        tag: "tag".into(),
                        via,
                        chars: 1,
                        transcript_offset: None,
                    });
                }
                Effect::PromoteRolling => {
                    self.done.push("promote".to_owned());
                    self.checkpoint(CheckpointTrigger::Late);
                }
                Effect::RememberRequest(_) | Effect::RememberSummary(_) | Effect::Roll { .. } => {}
            }
        }
    }

    fn turn(&mut self, turn: &str, signal: Signal) -> &mut Self {
        self.send(&input(Some(turn), signal));
        self
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.done)
    }
}

fn input(turn: Option<&str>, signal: Signal) -> HookInput {
    HookInput {
        adapter: HarnessId::new("demo"),
        session: SessionId::new("s"),
        cwd: None,
        transcript: None,
        turn: turn.map(TurnId::new),
        call: None,
        agent: None,
        mode: None,
        model: None,
        signal,
        delivery: None,
        is_repeated: false,
    }
}

fn pre() -> Signal {
    Signal::CompactionAnnounced {
        trigger: CompactionTrigger::Auto,
        instructions: None,
    }
}

fn post() -> Signal {
    Signal::CompactionReported {
        trigger: CompactionTrigger::Auto,
    }
}

fn compacted() -> Signal {
    Signal::SessionStarted {
        source: StartSource::Compact,
    }
}

fn prompted() -> Signal {
    Signal::PromptSubmitted {
        text: "go on".into(),
        origin: PromptOrigin::User,
    }
}

fn stopped() -> Signal {
    Signal::TurnStopped {
        end: TurnEnd::Completed,
        last_message: None,
    }
}

#[test]
fn a_compaction_makes_one_capsule_and_one_briefing() {
    let mut bench = Bench::default();
    bench
        .turn("t", pre())
        .turn("t", compacted())
        .turn("t", post());
    assert_eq!(
        bench.take(),
        [
            "context.compaction.started",
            "checkpoint",
            "session.started",
            "context.compaction.completed",
            "brief a1 SessionStart",
        ]
    );
    assert_eq!(
        bench.state.phase,
        Phase::Recovered {
            generation: Some(1),
            via: BriefingChannel::SessionStart
        }
    );
    assert_eq!(bench.state.compactions, 1);
}

#[test]
fn a_pre_signal_that_comes_again_reuses_the_capsule() {
    let mut bench = Bench::default();
    bench.turn("t", pre()).turn("t", pre());
    assert_eq!(bench.take(), ["context.compaction.started", "checkpoint"]);
}

#[test]
fn an_attempt_after_a_cancelled_one_makes_a_new_generation() {
    let mut bench = Bench::default();
    bench
        .turn("t1", pre())
        .turn("t2", prompted())
        .turn("t2", stopped())
        .turn("t3", pre());
    assert_eq!((bench.state.generation, bench.state.attempts), (2, 2));
    let mut without_a_prompt_between = Bench::default();
    without_a_prompt_between.turn("t1", pre()).turn("t2", pre());
    assert_eq!(without_a_prompt_between.state.generation, 2);
}

#[test]
fn two_compactions_of_one_turn_are_two_attempts() {
    let mut bench = Bench::default();
    for _ in 0..2 {
        bench
            .turn("t", pre())
            .turn("t", compacted())
            .turn("t", post());
    }
    let briefed: Vec<_> = bench
        .take()
        .into_iter()
        .filter(|it| it.starts_with("brief"))
        .collect();
    assert_eq!(briefed, ["brief a1 SessionStart", "brief a2 SessionStart"]);
    assert_eq!((bench.state.generation, bench.state.compactions), (2, 2));
}

#[test]
fn a_manual_checkpoint_never_stands_in_for_the_one_before_a_compaction() {
    let mut bench = Bench::default();
    bench.checkpoint(CheckpointTrigger::Manual);
    bench.turn("t", pre()).turn("t", compacted());
    assert_eq!(
        bench.state.phase,
        Phase::Recovered {
            generation: Some(2),
            via: BriefingChannel::SessionStart
        }
    );
}

#[test]
fn post_signals_sent_thrice_brief_once() {
    let mut bench = Bench::default();
    bench.turn("t", pre());
    for _ in 0..3 {
        bench.turn("t", compacted());
    }
    let briefs = bench
        .take()
        .iter()
        .filter(|it| it.starts_with("brief"))
        .count();
    assert_eq!((briefs, bench.state.compactions), (1, 1));
}

#[test]
fn a_compaction_without_a_checkpoint_is_degraded_and_still_briefed() {
    let mut bench = Bench::default();
    bench.turn("t", compacted());
    assert_eq!(
        bench.take(),
        [
            "session.started",
            "context.compaction.completed",
            "context.degraded",
            "promote",
            "brief a1 SessionStart",
        ]
    );
    assert_eq!(bench.state.phase.word(), "degraded");
    bench
        .turn("t", stopped())
        .turn("t2", pre())
        .turn("t2", compacted());
    assert_eq!(bench.state.phase.word(), "recovered");
}

#[test]
fn the_prompt_is_the_second_chance_when_nothing_was_printed() {
    let mut bench = Bench::default();
    bench
        .turn("t", pre())
        .turn("t", post())
        .turn("t2", prompted())
        .turn("t3", prompted());
    let briefs: Vec<_> = bench
        .take()
        .into_iter()
        .filter(|it| it.starts_with("brief"))
        .collect();
    assert_eq!(briefs, ["brief a1 Prompt"]);
}

#[test]
fn a_briefing_is_repeated_once_and_only_on_proof_that_the_first_was_not_taken() {
    let mut bench = Bench::default();
    bench.turn("t", pre()).turn("t", compacted()).take();
    let mut prompt = |delivery| {
        bench.send(&HookInput {
            delivery,
            ..input(Some("t2"), prompted())
        });
        bench.take()
    };
    assert_eq!(prompt(None), ["prompt.submitted"]);
    assert_eq!(
        prompt(Some(Delivery::Absent)),
        ["brief a1 Prompt", "prompt.submitted"]
    );
    assert_eq!(prompt(Some(Delivery::Absent)), ["prompt.submitted"]);
    let delivered = ["context.recovery.delivered", "prompt.submitted"];
    assert_eq!(prompt(Some(Delivery::Delivered)), delivered);
    assert_eq!(prompt(Some(Delivery::Delivered)), ["prompt.submitted"]);
}

fn briefs(bench: &mut Bench) -> Vec<String> {
    bench
        .take()
        .into_iter()
        .filter(|it| it.starts_with("brief"))
        .collect()
}

/// Codex 0.171.0 starts the session anew only with the next prompt, and names no turn then.
#[test]
fn codex_manual_order_is_one_recovery_before_the_next_prompt() {
    let mut bench = Bench::default();
    bench
        .turn("t1", pre())
        .turn("t1", post())
        .turn("t1", stopped());
    bench.send(&input(None, compacted()));
    bench.turn("t2", prompted());
    assert_eq!(briefs(&mut bench), ["brief a1 SessionStart"]);
    assert_eq!(
        (bench.state.phase.word(), bench.state.compactions),
        ("recovered", 1)
    );
}

#[test]
fn codex_order_before_a_turn_and_within_one_is_one_recovery_each() {
    let mut bench = Bench::default();
    bench.turn("t1", pre()).turn("t1", post());
    bench.send(&input(None, compacted()));
    bench.turn("t1", prompted());
    assert_eq!(briefs(&mut bench), ["brief a1 SessionStart"]);
    bench.turn("t1", pre()).turn("t1", post());
    bench.send(&input(None, compacted()));
    bench.turn("t1", stopped());
    assert_eq!(briefs(&mut bench), ["brief a2 SessionStart"]);
    assert_eq!(
        (bench.state.phase.word(), bench.state.compactions),
        ("recovered", 2)
    );
}

#[test]
fn codex_two_compactions_without_a_prompt_between_are_briefed_for_the_newest() {
    let mut bench = Bench::default();
    bench
        .turn("t1", pre())
        .turn("t1", post())
        .turn("t2", pre())
        .turn("t2", post());
    bench.send(&input(None, compacted()));
    bench.send(&input(None, compacted()));
    bench.turn("t3", prompted());
    assert_eq!(briefs(&mut bench), ["brief a2 SessionStart"]);
    assert_eq!((bench.state.generation, bench.state.compactions), (2, 2));
}

/// Claude Code 2.1.197 after the API refused a prompt as too long: the same turn goes on.
#[test]
fn claude_reactive_order_is_one_recovery_within_the_turn() {
    let mut bench = Bench::default();
    bench
        .turn("t", prompted())
        .turn("t", pre())
        .turn("t", compacted())
        .turn("t", post());
    bench.turn("t", stopped());
    assert_eq!(briefs(&mut bench), ["brief a1 SessionStart"]);
    assert_eq!(
        (bench.state.phase.word(), bench.state.compactions),
        ("recovered", 1)
    );
}

#[test]
fn a_cancelled_compaction_is_not_briefed() {
    let mut bench = Bench::default();
    bench.turn("t", pre()).turn("t2", prompted());
    assert_eq!(
        bench.take(),
        [
            "context.compaction.started",
            "checkpoint",
            "prompt.submitted"
        ]
    );
    assert_eq!(
        bench.state.phase,
        Phase::Checkpointed {
            generation: 1,
            attempt: None
        }
    );
    assert_eq!(bench.state.compactions, 0);
}

#[test]
fn a_late_post_signal_belongs_to_the_attempt_of_its_turn() {
    let mut bench = Bench::default();
    bench
        .turn("t", pre())
        .turn("t", compacted())
        .turn("t2", prompted())
        .take();
    bench.turn("t", post());
    assert_eq!(bench.take(), Vec::<String>::new());
    assert_eq!(bench.state.phase.word(), "recovered");
}

#[test]
fn a_sub_agent_moves_no_phase_and_its_permission_requests_count() {
    let mut bench = Bench::default();
    for signal in [pre(), compacted(), post(), prompted(), stopped()] {
        bench.send(&HookInput {
            agent: Some("a".into()),
            ..input(Some("t"), signal)
        });
    }
    let asks = Signal::PermissionRequested {
        tool: "Bash".into(),
    };
    bench.send(&HookInput {
        agent: Some("a".into()),
        ..input(Some("t"), asks)
    });
    assert_eq!(bench.take(), ["permission.requested"]);
    assert_eq!(bench.state.phase, Phase::Observing);
}

fn any_signal() -> impl Strategy<Value = (Option<&'static str>, Signal)> {
    let turn = prop_oneof![Just(None), Just(Some("t1")), Just(Some("t2"))];
    let signal = prop_oneof![
        Just(pre()),
        Just(post()),
        Just(compacted()),
        Just(prompted()),
        Just(stopped()),
        Just(Signal::SessionStarted {
            source: StartSource::Resume
        }),
        Just(Signal::SessionEnded { reason: None }),
        Just(Signal::ToolFinished {
            tool: "Edit".into(),
            ok: true,
            wrote: vec!["f".into()]
        }),
    ];
    (turn, signal)
}

proptest! {
    #[test]
    fn whatever_order_signals_come_in_the_invariants_hold(
        signals in proptest::collection::vec(any_signal(), 0..40),
    ) {
        let mut bench = Bench::default();
        for (turn, signal) in signals {
            bench.send(&input(turn, signal));
            if matches!(bench.state.phase, Phase::Recovered { .. }) {
                prop_assert!(bench.state.recovery.is_some());
            }
        }
        let mut briefs: Vec<&String> =
            bench.done.iter().filter(|it| it.starts_with("brief")).collect();
        let count = briefs.len();
        briefs.sort();
        briefs.dedup_by_key(|brief| brief.split(' ').nth(1).unwrap_or_default().to_owned());
        prop_assert_eq!(briefs.len(), count, "two briefings for one attempt");
        let capsules = bench.done.iter().filter(|it| *it == "checkpoint").count() as u64;
        prop_assert!(capsules <= bench.state.attempts, "two capsules for one attempt");

        let mut replayed = State::default();
        for event in &bench.events {
            replayed.apply(event, Timestamp::from_unix_ms(0));
        }
        replayed.work = Work { request: None, summary: None, ..replayed.work };
        prop_assert_eq!(replayed, bench.state);
    }
}

/// A state worth a column, by the signals that lead to it.
fn states() -> Vec<(&'static str, Bench)> {
    let after = |signals: &[(&'static str, Signal)]| {
        let mut bench = Bench::default();
        for (turn, signal) in signals {
            bench.turn(turn, signal.clone());
        }
        bench.take();
        bench
    };
    let mut by_hand = Bench::default();
    by_hand.checkpoint(CheckpointTrigger::Manual);
    vec![
        ("observing", Bench::default()),
        ("checkpointed by hand", by_hand),
        ("announced", after(&[("t1", pre())])),
        (
            "announced, then a prompt",
            after(&[("t1", pre()), ("t2", prompted())]),
        ),
        (
            "reported, not briefed",
            after(&[("t1", pre()), ("t1", post())]),
        ),
        ("recovered", after(&[("t1", pre()), ("t1", compacted())])),
        (
            "recovered, turn over",
            after(&[("t1", pre()), ("t1", compacted()), ("t1", stopped())]),
        ),
        ("degraded", after(&[("t1", compacted())])),
    ]
}

fn signals() -> Vec<(&'static str, HookInput)> {
    let main = |turn, signal| input(Some(turn), signal);
    vec![
        ("pre-signal, same turn", main("t1", pre())),
        ("pre-signal, another turn", main("t9", pre())),
        ("start after compaction, same turn", main("t1", compacted())),
        (
            "start after compaction, another turn",
            main("t9", compacted()),
        ),
        ("post-signal, same turn", main("t1", post())),
        ("post-signal, another turn", main("t9", post())),
        (
            "start-up or resume",
            main(
                "t9",
                Signal::SessionStarted {
                    source: StartSource::Startup,
                },
            ),
        ),
        ("prompt", main("t9", prompted())),
        ("end of a turn", main("t1", stopped())),
        (
            "end of the session",
            main("t1", Signal::SessionEnded { reason: None }),
        ),
        (
            "any of these from a sub-agent",
            HookInput {
                agent: Some("a".into()),
                ..main("t9", pre())
            },
        ),
    ]
}

/// The page `docs/state-machines.md`, made by the machine itself.
fn page() -> String {
    let mut page = String::from(
        "# State machines\n\nMade from the code by `HARN_UPDATE_DOCS=1 cargo test --lib state_machines`; a test holds it to the code.\n\n\
         ## Continuity\n\nWhat one signal does in one state, and the phase it leads to. `checkpoint` writes a capsule and \
         records it, `promote` makes the\nrolling capsule a late checkpoint, `brief` prints a briefing for an attempt on a \
         channel and records that; the other words are\nrecorded events. A dash does nothing.\n",
    );
    for (state, _) in states() {
        page.extend([
            "
### ",
            state,
            "

| signal | effects | phase |
|---|---|---|
",
        ]);
        for (signal, input) in signals() {
            let Some((_, mut bench)) = states().into_iter().find(|(name, _)| *name == state) else {
                continue;
            };
            bench.send(&input);
            let effects = bench.take();
            let effects = if effects.is_empty() {
                "-".to_owned()
            } else {
                effects.join(", ")
            };
            let phase = bench.state.phase.word();
            page.extend([
                "| ", signal, " | ", &effects, " | ", phase, " |
",
            ]);
        }
    }
    page.push_str(&crate::compaction::machine_section());
    page
}

#[test]
fn state_machines_page_is_what_the_machine_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/state-machines.md");
    if std::env::var_os("HARN_UPDATE_DOCS").is_some() {
        std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), page().as_bytes())
            .unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page());
}
