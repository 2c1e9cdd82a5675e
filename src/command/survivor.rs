//! What goes on when the program of a run has ended: said, and left alone.
//!
//! Programs start things in the background on purpose (a development server), and some forget them. harn ends what it
//! started itself; of the rest it tells. Called by `run`.

use std::thread;
use std::time::Duration;

use nix::unistd::{Pid, getsid};

use super::dispatch::complain;
use crate::process::{self, Seen};

/// Those that are on their way out get this long, and are not told of.
const LOOKS: u32 = 15;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// Told of by name at most.
const NAMED: usize = 5;

/// The terminal session that a program was given; `None` where it shares harn's own.
pub(super) fn session_of(pid: i32) -> Option<Pid> {
    let session = getsid(Some(Pid::from_raw(pid))).ok()?;
    (getsid(None).ok()? != session).then_some(session)
}

/// Tells what of this session still runs.
pub(super) fn tell(session: Pid) {
    let mut left = process::in_session(session);
    for _ in 0..LOOKS {
        if left.is_empty() {
            return;
        }
        thread::sleep(BETWEEN_LOOKS);
        left = process::in_session(session);
    }
    if !left.is_empty() {
        complain(
            &format!("still running: {}", list(&left)),
            Some("the program started them; harn ends only what it started itself"),
        );
    }
}

fn list(left: &[Seen]) -> String {
    let mut words: Vec<String> = left
        .iter()
        .take(NAMED)
        .map(|seen| {
            let name = seen.names.first().map_or("?", String::as_str);
            format!("{} ({})", crate::text::one_line(name), seen.process.pid)
        })
        .collect();
    if left.len() > NAMED {
        words.push(format!("{} more", left.len() - NAMED));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Process;

    #[test]
    fn a_crowd_is_counted_and_a_name_cannot_move_the_cursor() {
        let seen = |pid: u32| Seen {
            process: Process { pid, started: 1 },
            parent: 1,
            names: vec!["sl\x1b[2Jeep".to_owned()],
        };
        assert_eq!(list(&[seen(7)]), "sl[2Jeep (7)");
        let many: Vec<Seen> = (1..=7).map(seen).collect();
        assert!(list(&many).ends_with("sl[2Jeep (5), 2 more"));
    }
}
