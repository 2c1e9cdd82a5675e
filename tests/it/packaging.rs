//! Help, completions and the manual page.

use crate::support::TestEnv;

#[test]
fn every_command_has_help_with_an_example() {
    let env = TestEnv::new();
    for command in [
        "",
        "run",
        "context",
        "note",
        "events",
        "hook",
        "completions",
        "man",
    ] {
        let args: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect();
        let output = env.run(env.harn(&args), b"");
        assert_eq!((output.code, output.err()), (0, String::new()), "{command}");
        assert!(
            output.out().contains("Example"),
            "{command}: {}",
            output.out()
        );
    }
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let env = TestEnv::new();
    for args in [
        vec!["completions", "bash"],
        vec!["completions", "zsh"],
        vec!["completions", "fish"],
        vec!["man"],
    ] {
        let output = env.run(env.harn(&args), b"");
        assert_eq!(output.code, 0);
        for command in ["run", "context", "note", "events"] {
            assert!(output.out().contains(command), "{args:?} lacks {command}");
        }
    }
}

#[test]
fn a_usage_error_exits_64_and_no_command_prints_help() {
    let env = TestEnv::new();
    assert_eq!(env.run(env.harn(["bogus"]), b"").code, 64);
    let nothing: [&str; 0] = [];
    let output = env.run(env.harn(nothing), b"");
    assert_eq!(output.code, 64);
    assert!(output.err().contains("harn run -- claude"));
}
