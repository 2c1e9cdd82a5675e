//! What goes in comes out, byte for byte.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::hosted::{LIMIT, content, hosted, wait_until};
use crate::support::TestEnv;

/// Every byte value, an escape alone, overlong and cut UTF-8.
fn odd_bytes() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend_from_slice(b"\x1b\xff\xfe\x9b\xc3(\xe6\xbc\x1b[A\x1b[13;2u\0\0");
    bytes
}

/// About a megabyte of numbered lines.
fn much_text() -> String {
    let lines: Vec<String> = (0..120_000).map(|line| format!("{line:07}")).collect();
    lines.join("\n")
}

/// Types `bytes` to a raw program, and returns what it read.
fn typed(bytes: &[u8]) -> Vec<u8> {
    let env = TestEnv::new();
    let script = format!(
        "stty raw -echo; echo ready; head -c {} >got; echo done",
        bytes.len()
    );
    let mut pty = hosted(&env, &script);
    pty.wait_text("ready");
    pty.send(bytes);
    pty.wait_text("done");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    content(&env.project().join("got"))
}

#[test]
fn every_byte_typed_reaches_the_program() {
    assert_eq!(typed(&odd_bytes()), odd_bytes());
}

#[test]
fn large_paste_reaches_the_program_whole() {
    let mut paste = b"\x1b[200~".to_vec();
    for line in 0..2200 {
        paste.extend_from_slice(format!("line {line} of a pasted block, with an é\n").as_bytes());
    }
    paste.extend_from_slice(b"\x1b[201~");
    assert!(paste.len() > 80_000);
    assert!(typed(&paste) == paste);
}

#[test]
fn every_byte_printed_reaches_the_terminal_and_nothing_else_does() {
    let env = TestEnv::new();
    env.write("odd", odd_bytes());
    let mut pty = hosted(&env, "stty raw; cat odd");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(pty.raw(), odd_bytes());
}

#[test]
fn queries_pass_through_and_are_not_answered_by_the_host() {
    let env = TestEnv::new();
    let query = "\\033[c\\033[6n\\033]11;?\\007\\033[?u";
    let script = format!("stty raw -echo; printf '{query}'; head -c 4 >got; echo done");
    let mut pty = hosted(&env, &script);
    pty.wait_raw("the query", LIMIT, |bytes| {
        bytes.ends_with(b"\x1b[c\x1b[6n\x1b]11;?\x07\x1b[?u")
    });
    pty.send(b"true");
    pty.wait_text("done");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_eq!(content(&env.project().join("got")), b"true");
}

#[test]
fn last_output_before_the_exit_is_complete() {
    let env = TestEnv::new();
    let text = much_text();
    env.write("text", &text);
    let mut pty = hosted(&env, "stty -opost; cat text; printf the-end");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert!(
        pty.raw() == format!("{text}the-end").as_bytes(),
        "{} bytes",
        pty.raw().len()
    );
}

#[test]
fn stalled_terminal_does_not_stop_the_keys_and_loses_nothing() {
    let env = TestEnv::new();
    let text = much_text();
    env.write("text", &text);
    let script = "stty raw -echo; echo ready; head -c 1 >/dev/null; (cat text; printf the-end) & head -c 3 >got; wait";
    let mut pty = hosted(&env, script);
    pty.wait_text("ready");
    pty.stall();
    pty.send(b"!key");
    wait_until("keys read", LIMIT, || {
        content(&env.project().join("got")) == b"key"
    });
    pty.unstall();
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert!(pty.raw().ends_with(format!("{text}the-end").as_bytes()));
}

#[test]
fn program_that_reads_nothing_does_not_stop_the_output() {
    let env = TestEnv::new();
    let script = "stty raw -echo; echo ready; cat go >/dev/null; echo still-printing; cat go";
    let fifo = env.project().join("go");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let mut pty = hosted(&env, script);
    pty.wait_text("ready");
    // More than the kernel's buffers hold, so that the input is stuck half way.
    let mut keyboard = pty.keyboard();
    thread::spawn(move || keyboard.write_all(&vec![b'x'; 300_000]));
    drop(OpenOptions::new().write(true).open(&fifo).unwrap());
    pty.wait_text("still-printing");
    pty.signal(Signal::SIGKILL);
    assert_eq!(pty.wait_exit(LIMIT), 137);
}
