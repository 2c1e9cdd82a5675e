//! A compaction asked for in `harn watch`: what is said of it on the way, and at its end.

use super::desk::Desk;
use crate::run::hosted::{LIMIT, wait_until};
use crate::watch::dashboard;

#[test]
fn the_dashboard_saves_compacts_and_says_compacted_only_of_the_record() {
    let desk = Desk::talked(&[]);
    let mut pty = dashboard(&desk.env);
    pty.wait_text("1 owned");
    pty.send(b"s");
    pty.wait_text("checkpoint 1 saved");
    pty.send(b"c");
    pty.wait_text("compacted: confirmed");
    let settled = desk.wait_managed("compaction.settled");
    assert_eq!(settled["data"]["outcome"], "confirmed");
    // In the graph, too, the outcome is that of the event.
    pty.wait_text("managed (terminal): confirmed");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
}

#[test]
fn a_request_that_waits_is_withdrawn_with_the_dashboard() {
    let desk = Desk::talked(&[]);
    desk.pty.send(b"half a thought");
    desk.pty.wait_text("half a thought");
    let mut pty = dashboard(&desk.env);
    pty.wait_text("1 owned");
    pty.send(b"c");
    wait_until("the request", LIMIT, || {
        desk.count("compaction.requested") > 0
    });
    pty.wait_text("compaction requested");
    pty.send(b"q");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    let settled = desk.wait_managed("compaction.settled");
    assert_ne!(settled["data"]["outcome"], "confirmed");
    assert_eq!(desk.count("compaction.typed"), 0);
    assert!(!String::from_utf8_lossy(&pty.raw()).contains("compacted:"));
}
