//! This project's sessions: what was delivered, what waits, what is damaged.

use std::path::Path;

use super::super::clock;
use super::super::session::{self, Session, SessionError};
use super::Findings;
use crate::continuity::state::RecoveryState;
use crate::event::Timestamp;
use crate::store::Layout;
use crate::text::age;

/// Events may be this much in the future: two clocks of one machine agree better.
const FUTURE_MS: i64 = 60_000;

/// This project's sessions: what fired, what was delivered, what is damaged.
pub(super) fn look(layout: &Layout, project: &Path, found: &mut Findings) {
    let entries = match session::of_project(layout, project) {
        Ok(entries) => entries,
        Err(error) => {
            found.wrong("sessions", error.to_string(), "look at the state directory");
            return;
        }
    };
    if entries.is_empty() {
        found.ok("sessions", "no session of this project is known");
    }
    let now = clock::now();
    for entry in entries {
        let session = match Session::view(layout, &entry) {
            Ok(session) => session,
            Err(SessionError::Store(error)) if error.is_missing() => {
                found.ok(
                    "sessions",
                    format!("{}: its state was removed", entry.session),
                );
                continue;
            }
            Err(error) => {
                found.wrong(
                    "sessions",
                    format!("{}: {error}", entry.session),
                    "`harn context verify` tells more",
                );
                continue;
            }
        };
        one_session(&session, now, found);
    }
}

fn one_session(session: &Session, now: Timestamp, found: &mut Findings) {
    let id = &session.id;
    let mut damage = Vec::new();
    if session.damaged_lines > 0 {
        damage.push(format!(
            "{} damaged lines in its log",
            session.damaged_lines
        ));
    }
    if session.was_rebuilt {
        damage.push("a damaged state file".to_owned());
    }
    match session.store.spooled() {
        Ok(left) if left.is_empty() => {}
        // Nothing is lost: whoever holds the lock next takes them in.
        Ok(left) => found.warn(
            "sessions",
            format!("{id}: {} signals met a held lock and wait", left.len()),
            "the session's next event takes them in; if they stay, some process holds its lock",
        ),
        Err(error) => damage.push(error.to_string()),
    }
    if let Err(error) = session.store.check_writable() {
        damage.push(format!("{error}"));
    }
    if !damage.is_empty() {
        found.wrong(
            "sessions",
            format!("{id}: {}", damage.join(", ")),
            "`harn context verify` tells more; the next event rebuilds the state",
        );
    }
    let last = session.state.session.last_event_at;
    if last.is_some_and(|last| last.as_unix_ms() > now.as_unix_ms() + FUTURE_MS) {
        found.wrong(
            "clock",
            format!("{id}: its newest event is in the future"),
            "the clock went back; ages are not to be believed",
        );
    }
    let age = last.map_or_else(
        || "never".to_owned(),
        |last| format!("{} ago", age(now.ms_since(last))),
    );
    let delivery = match session.state.recovery.as_ref().map(|it| it.state) {
        Some(RecoveryState::Delivered) => "the last briefing was delivered",
        Some(RecoveryState::Injected) => {
            "the last briefing was printed; nothing proves that it was read"
        }
        Some(RecoveryState::Prepared) => "a briefing is prepared",
        None => "no briefing was needed yet",
    };
    found.ok("sessions", format!("{id}: last event {age}; {delivery}"));
}
