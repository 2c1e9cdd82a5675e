//! A compaction as a list of steps, in the order each family of clients was measured to take.

use clap::ValueEnum;
use serde_json::json;

use super::entry::Entry;
use super::hook::HookCall;
use super::options::Like;
use super::record::Record;
use super::step::Step;

/// How a compaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Manner {
    Ok,
    /// Not enough messages yet; it is also what happens after fewer than two prompts.
    Early,
    /// The model's server says no.
    Fail,
    /// Takes half a minute.
    Slow,
    /// Stopped on the way, as with Esc.
    Cancel,
}

impl Manner {
    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::from_str(word, false).ok()
    }
}

/// Who asked for it, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) trigger: &'static str,
    pub(super) focus: String,
}

const WORK_MS: u64 = 1_800;
const SLOW_MS: u64 = 30_000;

pub(super) const TOO_EARLY: &str = "Not enough messages to compact.";
const FAILED: &str =
    "Error during compaction: API Error: 500 the demo was told to let this one fail";
const SUMMARY: &str =
    "<summary>The user works on a small greeter. Some files were changed.</summary>";

/// From the announcement on; what comes after it is decided by the hooks' answer.
pub(super) fn begin(order: &Order) -> Vec<Step> {
    let focus = (!order.focus.is_empty()).then_some(&order.focus);
    let announced = json!({"trigger": order.trigger, "custom_instructions": focus});
    vec![
        Step::Spin("Compacting conversation".into()),
        Step::Hook(HookCall::new("PreCompact", announced)),
        Step::Summarize(order.clone()),
    ]
}

/// The work itself.
pub(super) fn work(order: &Order, manner: Manner, like: Like) -> Vec<Step> {
    match manner {
        Manner::Ok => done(order, WORK_MS, like),
        Manner::Slow => done(order, SLOW_MS, like),
        // Codex compacts an empty history.
        Manner::Early if like == Like::Codex => done(order, WORK_MS, like),
        Manner::Early => vec![
            Step::Print(Entry::Error(TOO_EARLY.into())),
            Step::Record(Record::Local {
                text: TOO_EARLY.into(),
            }),
        ],
        Manner::Fail => {
            let mut steps = vec![Step::Pause(WORK_MS / 2)];
            if like == Like::Claude {
                let failed = json!({"error": "server_error", "last_assistant_message": FAILED});
                steps.push(Step::Hook(HookCall::new("StopFailure", failed)));
            }
            steps.extend([
                Step::Print(Entry::Error(FAILED.into())),
                Step::Record(Record::Local {
                    text: FAILED.into(),
                }),
            ]);
            steps
        }
        Manner::Cancel => vec![Step::Pause(WORK_MS / 2), Step::Cancel],
    }
}

fn done(order: &Order, work_ms: u64, like: Like) -> Vec<Step> {
    let start = Step::Hook(HookCall::new(
        "SessionStart",
        json!({"source": "compact", "model": "demo-large"}),
    ));
    let post = match like {
        Like::Claude => json!({"trigger": order.trigger, "compact_summary": SUMMARY}),
        Like::Codex => json!({"trigger": order.trigger}),
    };
    let post = Step::Hook(HookCall::new("PostCompact", post));
    let compacted = Step::Compacted {
        order: order.clone(),
        summary: SUMMARY.into(),
    };
    let is_manual = order.trigger == "manual";
    let mut steps = vec![Step::Pause(work_ms)];
    steps.extend(match like {
        Like::Claude => vec![start, post, compacted],
        // There the session starts again only when the model is asked the next time.
        Like::Codex if is_manual => vec![compacted, post, Step::StartLater("compact")],
        Like::Codex => vec![compacted, post, start],
    });
    steps
}
