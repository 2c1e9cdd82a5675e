//! The hazards as they look from outside, through harn's PTY. Each has its own finer test beside the agent.

use super::stage::{scratch, status, wait_status, waiting};
use crate::run::hosted::LIMIT;
use crate::support::TestEnv;

fn scripted(env: &TestEnv, text: &str) -> String {
    env.write("script", text).to_str().unwrap().to_owned()
}

#[test]
fn enter_on_a_permission_dialog_accepts() {
    let env = TestEnv::new();
    let script = scripted(&env, "expect go\ndialog permission\n");
    let pty = waiting(&env, &["--script", &script]);
    wait_status(&env, "idle");
    pty.send(b"go");
    pty.wait_text("❯ go");
    pty.send(b"\r");
    pty.wait_text("Do you want to proceed?");
    assert_eq!(status(&env), "waiting");
    pty.send(b"/compact\r");
    pty.wait_text("Allowed:");
    wait_status(&env, "idle");
    assert!(scratch(&env).join("greeter/allowed").is_file());
}

#[test]
fn a_background_task_opens_a_dialog_at_an_idle_prompt() {
    let env = TestEnv::new();
    let script = scripted(
        &env,
        "background 30\nexpect <task-notification>\ndialog permission\n",
    );
    let pty = waiting(&env, &["--script", &script]);
    wait_status(&env, "shell");
    pty.wait_text("Do you want to proceed?");
    assert_eq!(status(&env), "waiting");
    pty.send(b"3");
    pty.wait_text("Not allowed.");
    wait_status(&env, "idle");
}

#[test]
fn codex_like_tells_its_state_in_band() {
    let env = TestEnv::new();
    let script = scripted(&env, "expect go\ndialog permission\n");
    let mut pty = waiting(&env, &["--like", "codex", "--script", &script]);
    let told = |state: &'static str| {
        move |bytes: &[u8]| {
            let mark = format!("\x1b]7501;state={state}");
            String::from_utf8_lossy(bytes).contains(&mark)
        }
    };
    pty.wait_raw("idle", LIMIT, told("idle:app=codex\x1b\\"));
    // A paste: an Enter so soon after typed keys would be taken for one of a burst.
    pty.send(b"\x1b[200~go\x1b[201~\r");
    pty.wait_raw("blocked", LIMIT, told("blocked:app=codex:kind=permission"));
    pty.wait_text("Do you want to proceed?");
    pty.send(b"y");
    pty.wait_raw("done", LIMIT, told("done:app=codex"));
    pty.send(b"\x03");
    pty.wait_text("again to exit");
    pty.send(b"\x03");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert!(told("clear:app=codex")(&pty.raw()));
}

#[test]
fn a_status_line_command_is_asked_and_drawn() {
    let env = TestEnv::new();
    let settings = r#"{"statusLine":{"type":"command","command":"read -r line; echo \"[$line]\" | cut -c1-20"}}"#;
    let pty = waiting(&env, &["--settings", settings]);
    pty.wait_text("[{\"session_id\":");
}

#[test]
fn a_hook_of_the_users_own_speaks_beside_harns() {
    let env = TestEnv::new();
    let settings = r#"{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command",
        "command":"echo '{\"systemMessage\":\"seen '$DEMO_SESSION_ID'\"}'"}]}]}}"#;
    let pty = waiting(&env, &["--settings", settings]);
    pty.send(b"hello");
    pty.wait_text("❯ hello");
    pty.send(b"\r");
    pty.wait_text("UserPromptSubmit hook says: seen 01");
}
