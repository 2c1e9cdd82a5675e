//! Live runs and what dead ones left.

use super::super::witness;
use super::Findings;
use crate::store::Layout;
use crate::supervisor::{control, run};

/// Live runs, what dead ones left, and whether hooks are seen.
pub(super) fn look(layout: &Layout, is_wired: bool, found: &mut Findings) {
    let live = match run::live(layout) {
        Ok(live) => live,
        Err(error) => {
            found.wrong("runs", error.to_string(), "look at the state directory");
            return;
        }
    };
    if live.is_empty() && !is_wired {
        found.warn(
            "wiring",
            "no hook of harn's is installed, and no owned run is live",
            "`harn run -- <agent>`, or `harn install <adapter>`",
        );
    }
    for live in &live {
        let id = &live.run.id;
        match &live.run.socket {
            Some(socket) if !socket.exists() => found.wrong(
                "socket",
                format!("run {id}: {} is gone", socket.display()),
                "managed compactions need it; end the run and start it again",
            ),
            Some(socket) => match control::is_heard(socket) {
                Ok(()) => found.ok("socket", format!("run {id} takes requests")),
                Err(error) => found.wrong(
                    "socket",
                    format!("run {id}: nobody listens at {}: {error}", socket.display()),
                    "managed compactions need it; end the run and start it again",
                ),
            },
            None => found.ok("socket", format!("run {id} takes no requests")),
        }
    }
    for problem in witness::problems(layout, None) {
        found.wrong("trust", problem, "answer the client's own question");
    }
    match run::stale(layout) {
        Ok(0) => {}
        Ok(count) => found.warn(
            "runs",
            format!("{count} runs ended without cleaning up"),
            "the next `harn run` sweeps them",
        ),
        Err(error) => found.wrong("runs", error.to_string(), "look at the state directory"),
    }
}
