//! The overlay row over the real client: it stands through everything the client paints, and goes with it.

use super::sandbox::Sandbox;
use super::session::{Left, ROWS, Session, shown_rows};

const FULL_SCREEN: &str = "CLAUDE_CODE_NO_FLICKER";

/// Works, compacts, changes the window's size, leaves; and looks at the last row after every few bytes.
fn work(sandbox: &Sandbox, switches: usize) {
    let command = sandbox
        .env
        .harn(["run", "--overlay", "row", "--", "claude"]);
    let session = Session::start(sandbox, command);
    session.wait_row("claude-code observing");
    session.prompt("say hello");
    session.prompt("say it again");
    session.wait_row("k/1M (");
    session.compact();
    session.wait_row("claude-code recovered");
    session.wait_row("g1 ");
    session.wait_row("1 compaction");
    let painted = session.raw();
    session.resize(ROWS - 8);
    session.prompt("one more");
    let left = session.exit();
    assert_eq!(left, Left::clean());

    let lost = lost_looks(&painted, "claude-code");
    // Another screen begins blank; a look may fall between the switch and what follows it in the same write.
    assert!(lost <= switches, "lost in {lost} looks");
}

/// In how many looks at the terminal, one after every few bytes, the last row did not say `word` once it had.
pub(crate) fn lost_looks(painted: &[u8], word: &str) -> usize {
    let rows = shown_rows(painted);
    let first = rows.iter().position(|row| row.contains(word)).unwrap();
    rows.iter()
        .skip(first)
        .filter(|row| !row.contains(word))
        .count()
}

#[test]
fn row_stands_over_the_client_on_the_main_screen() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    work(&sandbox, 0);
}

#[test]
fn row_stands_over_the_client_on_the_alternate_screen() {
    let Some(mut sandbox) = Sandbox::new() else {
        return;
    };
    sandbox.env.set(FULL_SCREEN, "1");
    work(&sandbox, 1);
}
