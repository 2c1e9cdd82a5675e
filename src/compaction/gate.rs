//! Whether a text may be typed now: all of the positive evidence, or the reason to wait.

use super::{Activity, Composer, Keys, Manner, View, Way};
use crate::terminal::Draft;

/// For how long the harness has to have been idle.
pub(super) const IDLE_MS: u64 = 500;
/// For how long the user has to have been quiet: an Enter just pressed may not have been taken yet.
const QUIET_MS: u64 = 1_000;
/// A longer focus is submitted by key only: clients take a longer burst for a paste.
pub(super) const ENTER_FOCUS_CHARS: usize = 40;

/// Why nothing is typed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wait {
    /// Nothing tells what the harness is at.
    Unknown,
    Busy,
    JustIdle,
    Dialog,
    Permission,
    Background,
    /// Something else stands in the composer's place.
    Picker,
    Draft,
    /// The keys pressed leave open whether there is a draft.
    DraftUnsure,
    Shell,
    Commands,
    Typing,
    /// The session's record cannot be read: nothing could prove a compaction.
    NoRecord,
    /// Too long for Enter, and no submit key is bound.
    LongFocus,
}

impl Wait {
    /// As it stands behind "waiting: ".
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "cannot tell what the agent is doing",
            Self::Busy => "the agent is busy",
            Self::JustIdle => "the agent was busy a moment ago",
            Self::Dialog => "a dialog is open",
            Self::Permission => "a permission question is open",
            Self::Background => "a background task is running, and no submit key is bound",
            Self::Picker => "the prompt is not on the screen",
            Self::Draft => "there is a draft in the prompt",
            Self::DraftUnsure => "there may be a draft in the prompt",
            Self::Shell => "the prompt is in shell mode",
            Self::Commands => "the prompt takes commands, not text",
            Self::Typing => "the user is typing",
            Self::NoRecord => "the session's record cannot be read yet",
            Self::LongFocus => "the focus is longer than 40 characters, and no submit key is bound",
        }
    }
}

/// The way that the text goes, and whether it has to be typed at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// One key does it all.
    Key(&'static [u8]),
    /// Text and key in one write.
    TextAndKey(&'static [u8]),
    /// The text is looked at before it is sent with this key.
    Look(Way, &'static [u8]),
}

impl Plan {
    pub fn way(self) -> Way {
        match self {
            Self::Key(_) | Self::TextAndKey(_) => Way::SubmitKey,
            Self::Look(way, _) => way,
        }
    }
}

const ENTER: &[u8] = b"\r";

/// The safest way that is there; some texts no key stands for.
pub(super) fn plan(manner: &Manner, keys: Keys, needs_text: bool) -> Plan {
    match (keys.compact, keys.submit) {
        (Some(key), _) if !needs_text => Plan::Key(key),
        (_, Some(key)) if manner.pastes => Plan::TextAndKey(key),
        (_, Some(key)) => Plan::Look(Way::SubmitKey, key),
        (_, None) => Plan::Look(Way::Enter, ENTER),
    }
}

/// Whether this plan may begin now.
pub(super) fn may_type(
    view: &View,
    manner: &Manner,
    plan: Plan,
    focus_chars: usize,
) -> Result<(), Wait> {
    let is_enter = plan.way() == Way::Enter;
    if view.record_bytes.is_none() {
        return Err(Wait::NoRecord);
    }
    may_submit(view, is_enter)?;
    match view.activity {
        Activity::Idle { since, .. } if view.at.ms_since(since) < IDLE_MS => {
            return Err(Wait::JustIdle);
        }
        Activity::Idle { .. } | Activity::Busy | Activity::Dialog | Activity::Unknown => {}
    }
    let keeps_draft = matches!(plan, Plan::Key(_)) && manner.key_keeps_draft;
    match &view.sight.composer {
        Composer::Empty => {}
        Composer::Holds(_) | Composer::Commands if keeps_draft => {}
        Composer::Holds(_) => return Err(Wait::Draft),
        Composer::Shell => return Err(Wait::Shell),
        Composer::Commands => return Err(Wait::Commands),
        Composer::Hidden => return Err(Wait::Picker),
        Composer::Unknown => return Err(Wait::Unknown),
    }
    if !keeps_draft {
        match view.draft {
            Draft::Empty => {}
            Draft::Present => return Err(Wait::Draft),
            Draft::Unsure => return Err(Wait::DraftUnsure),
        }
    }
    if view.quiet_ms.is_some_and(|ms| ms < QUIET_MS) {
        return Err(Wait::Typing);
    }
    if is_enter && focus_chars > ENTER_FOCUS_CHARS {
        return Err(Wait::LongFocus);
    }
    Ok(())
}

/// What has to hold still when the text is sent.
pub(super) fn may_submit(view: &View, is_enter: bool) -> Result<(), Wait> {
    match view.activity {
        Activity::Idle { has_background, .. } => {
            if is_enter && (has_background || view.has_agents) {
                return Err(Wait::Background);
            }
        }
        Activity::Busy => return Err(Wait::Busy),
        Activity::Dialog => return Err(Wait::Dialog),
        Activity::Unknown => return Err(Wait::Unknown),
    }
    if view.is_permission_open {
        return Err(Wait::Permission);
    }
    Ok(())
}
