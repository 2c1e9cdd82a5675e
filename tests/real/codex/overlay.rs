//! The overlay row over Codex, on the main screen and on the alternate one; and Ctrl-Z under a shell.

use std::thread;
use std::time::Duration;

use super::desk::Desk;
use super::session::{Review, Session};
use crate::overlay::lost_looks;
use crate::session::LIMIT;
use crate::stop::{shell, stop_and_go_on};
use crate::support::Pty;

fn work(args: &[&str]) {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(
        &desk,
        desk.harn_codex(args.iter().copied()),
        Review::TrustAll,
    );
    session.prompt("say hello");
    session.prompt("say it again");
    session.wait_row("(transcript) | [");
    session.compact();
    session.prompt("go on");
    session.wait_row("codex recovered");
    session.wait_row("1 compaction");
    let painted = session.raw();
    assert_eq!(session.exit().0, 0);
    // What Codex draws its screen with comes in one update a frame.
    assert_eq!(lost_looks(&painted, "codex "), 0);
}

#[test]
fn row_stands_over_codex_on_the_main_screen() {
    work(&["--no-alt-screen"]);
}

#[test]
fn row_stands_over_codex_on_the_alternate_screen() {
    work(&[]);
}

/// For a moment after it goes on the client drops what is typed, without harn as well.
fn press_until_shown(pty: &Pty, key: char) {
    let shown = format!("› {key}");
    for look in 0..4000 {
        if pty.screen().contains(&shown) {
            return;
        }
        if look % 100 == 0 {
            pty.send(key.to_string().as_bytes());
        }
        thread::park_timeout(Duration::from_millis(10));
    }
    panic!("{key} is not taken; the screen:\n{}\n---", pty.screen());
}

#[test]
fn stopped_codex_gives_the_prompt_back_and_takes_the_next_key_after_fg() {
    let Some(desk) = Desk::new() else { return };
    let session = Session::start(&desk, desk.harn_codex([]), Review::TrustAll);
    assert_eq!(session.exit().0, 0);
    for how in ["off", "row"] {
        let mut pty = shell(&desk.env);
        let harn = desk.env.bin().display().to_string();
        pty.send(format!("{harn} run --overlay {how} -- codex\r").as_bytes());
        pty.wait_for("the composer", LIMIT, |screen| {
            screen.contains("gpt-rehearsal default")
        });
        // Once: the second time the client leaves the shell's prompt off the screen, without harn as well.
        stop_and_go_on(&pty, 1);
        pty.wait_for("the composer again", LIMIT, |screen| {
            screen.contains("gpt-rehearsal default") && !screen.trim_end().ends_with("fg")
        });
        press_until_shown(&pty, 'q');
        pty.send(b"\x15");
        pty.wait_for("an empty composer", LIMIT, |screen| !screen.contains("› q"));
        pty.send(b"\x1b[200~/quit \x1b[201~");
        pty.wait_text("/quit");
        pty.send(b"\r");
        pty.wait_for("the prompt", LIMIT, |screen| {
            screen.trim_end().ends_with("prompt>")
        });
        pty.send(b"exit $?\r");
        assert_eq!(pty.wait_exit(LIMIT), 0, "{how}");
    }
}
