//! The two chords of `harn install claude-code --keys`, pressed in the real client.

use harn::adapter::claude_code::keys::{COMPACT, SUBMIT, SubmitKeys, bound};
use serde_json::json;

use super::record::boundaries;
use super::sandbox::{SESSION, Sandbox};
use super::session::{Left, Session};

#[test]
fn chords_compact_and_submit_and_leave_a_draft_where_it_is() {
    let Some(sandbox) = Sandbox::new() else {
        return;
    };
    let bindings = json!({"bindings": [{"context": "Chat", "bindings": {
        COMPACT.keys: COMPACT.action, SUBMIT.keys: SUBMIT.action,
    }}]});
    let text = bindings.to_string();
    assert_eq!(bound(&text), SubmitKeys::Bound);
    let file = sandbox.env.home().join(".claude/keybindings.json");
    sandbox.env.write(file, text);
    let session = Session::start(&sandbox, sandbox.claude([]));
    session.prompt("one");
    session.prompt("two");
    session.draft("half a thought");
    session.press(COMPACT.bytes);
    session.wait_compacted(1, "half a thought");
    session.press(SUBMIT.bytes);
    session.wait_turn(3);
    assert_eq!(session.exit(), Left::clean());
    assert_eq!(boundaries(&sandbox.transcript(SESSION)), ["manual"]);
}
