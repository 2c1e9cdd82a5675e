//! Takes away what is old: capsules beyond the newest ones, sessions that nothing happened in for long.
//!
//! Only files harn knows by name go; a directory that holds anything else stays.

use std::path::Path;
use std::time::Duration;

use super::session::{self, Session};
use crate::config::Retention;
use crate::event::Timestamp;
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::store::index;

/// Old sessions removed by one hook at most: the rest waits for the next one.
const SESSIONS_AT_ONCE: usize = 10;
const PATIENCE: Duration = Duration::from_millis(50);
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Removes the oldest capsules of a session beyond `retention.capsules`.
pub(super) fn prune_capsules(session: &Session, retention: &Retention) -> Result<(), DirError> {
    let generations = session.store.generations()?;
    let keep = usize::try_from(retention.capsules.max(1)).unwrap_or(usize::MAX);
    let excess = generations.len().saturating_sub(keep);
    for generation in generations.into_iter().take(excess) {
        session.store.remove_capsule(generation)?;
    }
    Ok(())
}

/// Removes sessions of a project in which nothing happened for `retention.days`; never the one at work.
pub(super) fn prune_sessions(
    layout: &Layout,
    project: &Path,
    retention: &Retention,
    at: Timestamp,
) -> Result<(), DirError> {
    let limit_ms = u64::from(retention.days).saturating_mul(DAY_MS);
    let mut removed = 0;
    for entry in session::of_project(layout, project)? {
        if removed == SESSIONS_AT_ONCE {
            break;
        }
        let last = match Session::view(layout, &entry) {
            Ok(session) => session.state.session.last_event_at,
            // Unreadable is no reason to remove.
            Err(_) => continue,
        };
        if last.is_none_or(|last| at.ms_since(last) <= limit_ms) {
            continue;
        }
        let context = index::open_context(layout, &entry)?;
        crate::store::session::remove(&context, &entry.session, PATIENCE)?;
        index::forget(layout, &entry.session)?;
        removed += 1;
    }
    Ok(())
}
