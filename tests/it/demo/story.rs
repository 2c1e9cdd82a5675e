//! The story: played to its end by itself, watched by harn.

use std::fs;

use super::stage::{agent, assert_intact, demo, files, scratch, scratches, waiting};
use crate::run::hosted::{LIMIT, wait_until};
use crate::support::{Pty, TestEnv};

const RECEIVED: &str = "briefing received: [harn:g1:";
const LAST_WORDS: &str = "With a real agent";

#[test]
fn story_reaches_compaction_and_the_briefing_is_in_the_next_turn() {
    let env = TestEnv::new();
    let mut pty = Pty::spawn(demo(&env, &["--speed", "10"]), 50, 100);
    pty.wait_text("11 hooks are wired");
    // A first key on an untouched demo begins the story.
    pty.send(b"\r");
    pty.wait_text("✔ Compacted");
    pty.wait_text(RECEIVED);
    pty.wait_text(LAST_WORDS);
    let project = scratch(&env).join("greeter");
    let made: Vec<String> = files(&project.join(".harnery"))
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_str()?.to_owned()))
        .collect();
    assert!(made.contains(&"000001.json".to_owned()), "{made:?}");
    for file in ["farewell.sh", "test.sh", ".git/HEAD"] {
        assert!(project.join(file).is_file(), "{file}");
    }
    let said = String::from_utf8(pty.raw()).unwrap();
    let told = said.find(RECEIVED).unwrap();
    assert!(
        said.find("Go on").unwrap() < told,
        "told before the next turn"
    );
    assert!(
        said.contains("branch main, HEAD"),
        "the briefing knows no repository"
    );
    assert!(said.contains("Leave VERSION alone"));
    pty.send(b"/exit");
    pty.send(b"\r");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_intact(&env, &pty);
    assert_eq!(scratches(&env), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn story_without_hooks_shows_what_is_missing() {
    let env = TestEnv::new();
    let command = {
        let mut command = env.harn(["run", "--no-hooks", "--", "demo"]);
        command.args(["--speed", "20"]);
        command
    };
    let pty = Pty::spawn(command, 50, 100);
    pty.wait_text("I will have to read everything again");
    pty.wait_text("Nobody saved a checkpoint before");
    assert!(
        !String::from_utf8(pty.raw())
            .unwrap()
            .contains("briefing received")
    );
}

#[test]
fn a_key_takes_over_and_the_story_can_go_on() {
    let env = TestEnv::new();
    let pty = Pty::spawn(demo(&env, &["--speed", "3"]), 50, 100);
    pty.wait_text("> Add a farewell");
    pty.send(b"x");
    pty.wait_text("You have the keyboard");
    pty.wait_text("❯ x");
    pty.send(b"\x7f/story");
    pty.wait_text("play the story");
    pty.send(b"\r");
    pty.wait_text("✔ Compacted");
}

#[test]
fn story_survives_resizes_and_a_tiny_terminal() {
    let env = TestEnv::new();
    let mut pty = Pty::spawn(demo(&env, &["--speed", "5"]), 5, 20);
    pty.wait_text("❯");
    for (rows, cols) in [(40, 120), (5, 20), (1, 1), (30, 7), (3, 200), (24, 80)] {
        pty.resize(rows, cols);
        let before = pty.raw().len();
        pty.wait_raw("a redraw", LIMIT, |bytes| bytes.len() > before);
    }
    pty.wait_text("harn run -- claude");
    pty.send(b"\x03");
    pty.wait_text("Press Ctrl-C again to exit");
    pty.send(b"\x03");
    assert_eq!(pty.wait_exit(LIMIT), 0);
    assert_intact(&env, &pty);
}

#[test]
fn the_whole_story_fits_into_20_by_5() {
    let env = TestEnv::new();
    let pty = Pty::spawn(demo(&env, &["--speed", "10"]), 5, 20);
    pty.wait_raw("the compaction", LIMIT, |bytes| {
        String::from_utf8_lossy(bytes).contains("✔ ")
    });
    pty.wait_for("the composer", LIMIT, |screen| screen.contains("❯"));
    for line in pty.screen().lines() {
        assert!(line.chars().count() <= 20, "{line}");
    }
}

#[test]
fn no_color_means_no_colour() {
    let mut env = TestEnv::new();
    env.set("NO_COLOR", "1");
    let pty = Pty::spawn(demo(&env, &["--speed", "10"]), 50, 100);
    pty.wait_text(LAST_WORDS);
    let raw = String::from_utf8(pty.raw()).unwrap();
    let coloured: Vec<&str> = raw
        .split("\x1b[")
        .filter_map(|rest| rest.split_once('m'))
        .map(|(parameters, _)| parameters)
        .filter(|it| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
        .filter(|it| {
            it.split(';')
                .any(|one| one.len() == 2 && one.starts_with(['3', '4', '9']))
        })
        .collect();
    assert_eq!(coloured, [""; 0]);
}

#[test]
fn the_bare_word_is_the_agent_and_a_path_is_a_program() {
    let env = TestEnv::new();
    let program = env.write("demo", "#!/bin/sh\necho a program: $#\n");
    fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let output = env.run(env.harn(["run", "--", "./demo", "x"]), b"");
    assert_eq!((output.out().as_str(), output.code), ("a program: 1\n", 0));
    let pty = waiting(&env, &[]);
    pty.wait_text("Demo agent");
}

#[test]
fn the_session_belongs_to_the_run() {
    let env = TestEnv::new();
    let pty = waiting(&env, &[]);
    wait_until("a session", LIMIT, || !files(&env.state()).is_empty());
    pty.send(b"!");
    pty.send(b"harn context status");
    pty.wait_text("! harn context");
    pty.send(b"\r");
    pty.wait_text("(demo), owned by run");
    assert!(agent(&env).as_raw() > 0);
}
