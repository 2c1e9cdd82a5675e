//! What the overlay says of a run. Pure; time is an argument.

use crate::adapter::report::{AgentState, Block};
use crate::continuity::state::{Phase, State};
use crate::continuity::{BytePath, snapshot::Branch, snapshot::Head};
use crate::event::{HarnessId, Timestamp};
use crate::telemetry::{Absent, Meter, SampleSource, WindowBasis};
use crate::terminal::overlay::{Line, Part, Tone};

/// Hooks that are wired speak at the start; after this long something is wrong with them.
pub const HOOKS_PATIENCE_MS: u64 = 30_000;
/// Characters of the bar.
const BAR_CELLS: u64 = 10;
/// Percent of the window from which the bar warns.
const FULL_PERCENT: u64 = 80;

/// Whether the harness's hooks reach harn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hooks<'a> {
    /// The user wanted none.
    Off,
    /// None has spoken, since the program was started this long ago.
    Silent {
        for_ms: u64,
    },
    /// A turn went by without them; what a person does about it.
    Refused(&'a str),
    Seen,
}

/// Everything the overlay is made from.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub adapter: &'a HarnessId,
    pub hooks: Hooks<'a>,
    /// None until a session speaks for the run.
    pub state: Option<&'a State>,
    /// What is measured without one.
    pub meter: Option<&'a Meter>,
    /// What the client says of itself in its output.
    pub agent: Option<AgentState>,
    pub head: Option<&'a Head>,
    /// HEAD as the newest checkpoint has it.
    pub saved_head: Option<&'a Head>,
    pub now: Timestamp,
}

/// The overlay's content; the same facts give the same line within a minute.
pub fn line(facts: &Facts<'_>) -> Line {
    let mut parts = vec![headline(facts)];
    parts.extend(warning(facts));
    let meter = facts.state.map(|state| &state.context).or(facts.meter);
    parts.extend(meter.map_or_else(unknown_usage, usage));
    if let Some(state) = facts.state {
        parts.push(checkpoint(state, facts.now));
        if state.compactions > 0 {
            let count = state.compactions;
            let word = if count == 1 {
                "compaction"
            } else {
                "compactions"
            };
            parts.push(Part::new(format!("{count} {word}"), Tone::Quiet, 6));
        }
    }
    parts.extend(repository(facts.head, facts.saved_head));
    Line(parts)
}

fn headline(facts: &Facts<'_>) -> Part {
    let phase = match (facts.state, facts.hooks) {
        (Some(state), _) => state.phase.word(),
        // Nobody tells of phases there.
        (None, Hooks::Refused(_) | Hooks::Off) => facts.agent.map_or("running", agent_word),
        (None, Hooks::Silent { .. } | Hooks::Seen) => "starting",
    };
    Part::new(format!("{} {phase}", facts.adapter), Tone::Strong, 0)
}

fn agent_word(state: AgentState) -> &'static str {
    match state {
        AgentState::Idle | AgentState::Done => "idle",
        AgentState::Working => "working",
        AgentState::Failed => "failed",
        AgentState::Blocked(Block::Permission) => "asks for permission",
        AgentState::Blocked(Block::Question) => "asks a question",
        AgentState::Blocked(Block::Other) => "blocked",
        AgentState::Clear => "running",
    }
}

fn warning(facts: &Facts<'_>) -> Option<Part> {
    if let Some(Phase::Degraded { reason }) = facts.state.map(|state| &state.phase) {
        return Some(Part::new(format!("! {reason}"), Tone::Warning, 2));
    }
    match facts.hooks {
        Hooks::Off => Some(Part::new("hooks off", Tone::Quiet, 2)),
        Hooks::Silent { for_ms } if for_ms >= HOOKS_PATIENCE_MS => {
            Some(Part::new("! hooks not seen", Tone::Warning, 1))
        }
        Hooks::Refused(hint) => {
            let text = format!("! hooks not seen: {hint}");
            Some(Part::new(text, Tone::Warning, 1))
        }
        Hooks::Silent { .. } | Hooks::Seen => None,
    }
}

fn unknown_usage() -> Vec<Part> {
    vec![Part::new("context ?", Tone::Plain, 3)]
}

/// Tokens in use of the window, who says so, and the same as a bar.
fn usage(meter: &Meter) -> Vec<Part> {
    let sample = meter.current.as_ref();
    let Some((sample, used)) = sample.and_then(|sample| Some((sample, sample.used_tokens?))) else {
        if meter.absent == Absent::Compacted {
            return vec![Part::new("context ? (compacted)", Tone::Plain, 3)];
        }
        return unknown_usage();
    };
    let source = match sample.source {
        SampleSource::Statusline => "statusline",
        SampleSource::Transcript => "transcript",
    };
    let Some(window) = sample.window_tokens.filter(|window| window.0 > 0) else {
        let text = format!("{}/? ({source})", tokens(used.0));
        return vec![Part::new(text, Tone::Plain, 3)];
    };
    let percent = used.0.saturating_mul(100) / window.0;
    let tone = if percent >= FULL_PERCENT {
        Tone::Warning
    } else {
        Tone::Plain
    };
    // A window that is guessed from the model's name is said to be one.
    let guess = if sample.window == WindowBasis::Inferred {
        "~"
    } else {
        ""
    };
    let text = format!("{}/{guess}{} ({source})", tokens(used.0), tokens(window.0));
    vec![Part::new(text, tone, 3), Part::new(bar(percent), tone, 5)]
}

fn bar(percent: u64) -> String {
    let full = (percent.min(100) * BAR_CELLS).div_ceil(100);
    (0..BAR_CELLS)
        .map(|cell| if cell < full { '#' } else { '-' })
        .fold(String::from("["), |mut bar, cell| {
            bar.push(cell);
            bar
        })
        + "]"
}

fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => tenths(count, 1_000, 'k'),
        _ => tenths(count, 1_000_000, 'M'),
    }
}

/// One decimal, and none where it is zero.
fn tenths(count: u64, unit: u64, letter: char) -> String {
    let tenths = count / (unit / 10);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}{letter}"),
        (whole, rest) => format!("{whole}.{rest}{letter}"),
    }
}

fn checkpoint(state: &State, now: Timestamp) -> Part {
    let Some(capsule) = &state.capsule else {
        return Part::new("no checkpoint", Tone::Quiet, 4);
    };
    let minutes = now.ms_since(capsule.at) / 60_000;
    let age = match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1440),
    };
    Part::new(format!("g{} {age}", capsule.generation), Tone::Plain, 4)
}

fn repository(head: Option<&Head>, saved: Option<&Head>) -> Option<Part> {
    let head = head?;
    let name = |path: &BytePath| path.to_path_buf().to_string_lossy().into_owned();
    let branch = match &head.branch {
        Some(Branch::Branch(name_bytes) | Branch::Unborn(name_bytes)) => name(name_bytes),
        Some(Branch::Detached) | None => {
            let commit = head.commit.as_deref().unwrap_or_default();
            format!("@{}", commit.get(..8).unwrap_or(commit))
        }
    };
    let has_moved = saved.is_some_and(|saved| saved != head);
    let (text, tone) = if has_moved {
        (format!("{branch} moved since checkpoint"), Tone::Warning)
    } else {
        (branch, Tone::Quiet)
    };
    Some(Part::new(text, tone, 7))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuity::state::CapsuleRef;
    use crate::event::{CheckpointTrigger, Tokens};
    use crate::telemetry::{Confidence, ContextSample};

    fn shown(facts: &Facts<'_>, cols: u16) -> String {
        String::from_utf8(line(facts).row(cols, false)).unwrap()
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_unix_ms(minutes * 60_000)
    }

    fn head(commit: &str) -> Head {
        Head {
            branch: Some(Branch::Branch(BytePath::new(b"main".to_vec()))),
            commit: Some(commit.to_owned()),
        }
    }

    fn sample(used: u64, window: WindowBasis) -> ContextSample {
        ContextSample {
            used_tokens: Some(Tokens(used)),
            window_tokens: (window != WindowBasis::Unknown).then_some(Tokens(200_000)),
            window,
            used_percent: None,
            source: SampleSource::Statusline,
            confidence: Confidence::Reported,
            model: None,
            at: at(1),
            mismatch: None,
        }
    }

    #[test]
    fn meter_is_shown_as_far_as_it_is_known() {
        let shown = |meter: &Meter| {
            let texts: Vec<String> = usage(meter).into_iter().map(|part| part.text).collect();
            texts.join(" ")
        };
        let mut meter = Meter::default();
        assert_eq!(shown(&meter), "context ?");
        meter.apply(&sample(15_000, WindowBasis::Reported));
        assert_eq!(shown(&meter), "15k/200k (statusline) [#---------]");
        meter.apply(&sample(15_000, WindowBasis::Inferred));
        assert_eq!(shown(&meter), "15k/~200k (statusline) [#---------]");
        meter.apply(&sample(900, WindowBasis::Unknown));
        assert_eq!(shown(&meter), "900/? (statusline)");
        meter.compacted(at(2));
        assert_eq!(shown(&meter), "context ? (compacted)");
    }

    #[test]
    fn unknown_is_said_to_be_unknown() {
        let adapter = HarnessId::new("demo".to_owned());
        let facts = Facts {
            adapter: &adapter,
            hooks: Hooks::Silent { for_ms: 29_999 },
            state: None,
            meter: None,
            agent: None,
            head: None,
            saved_head: None,
            now: at(0),
        };
        assert_eq!(shown(&facts, 80), "demo starting | context ?");
        let hooks = Hooks::Silent { for_ms: 30_000 };
        assert_eq!(
            shown(
                &Facts {
                    hooks,
                    ..facts.clone()
                },
                80
            ),
            "demo starting | ! hooks not seen | context ?"
        );
        let hooks = Hooks::Refused("trust them");
        assert_eq!(
            shown(
                &Facts {
                    hooks,
                    ..facts.clone()
                },
                80
            ),
            "demo running | ! hooks not seen: trust them | context ?"
        );
        let mut meter = Meter::default();
        meter.apply(&sample(15_000, WindowBasis::Reported));
        let facts = Facts {
            hooks,
            meter: Some(&meter),
            agent: Some(AgentState::Blocked(Block::Permission)),
            ..facts
        };
        assert_eq!(
            shown(&facts, 120),
            "demo asks for permission | ! hooks not seen: trust them | 15k/200k (statusline) | [#---------]"
        );
    }

    #[test]
    fn a_long_session_is_told_in_full_and_the_heart_of_it_in_60_columns() {
        let adapter = HarnessId::new("demo".to_owned());
        let mut state = State {
            compactions: 2,
            capsule: Some(CapsuleRef {
                id: "x".to_owned(),
                generation: 3,
                trigger: CheckpointTrigger::PreCompact,
                at: at(10),
                bytes: 1,
                truncated: Vec::new(),
            }),
            ..State::default()
        };
        state.context.apply(&sample(152_340, WindowBasis::Reported));
        let facts = Facts {
            adapter: &adapter,
            hooks: Hooks::Seen,
            state: Some(&state),
            meter: None,
            agent: None,
            head: Some(&head("b")),
            saved_head: Some(&head("a")),
            now: at(14),
        };
        assert_eq!(
            shown(&facts, 120),
            "demo observing | 152.3k/200k (statusline) | [########--] | g3 4m | 2 compactions | main moved since checkpoint"
        );
        assert_eq!(
            shown(&facts, 60),
            "demo observing | 152.3k/200k (statusline) | g3 4m"
        );
    }
}
