//! The story that plays when nobody types: what happens, and what is said about it.

use super::step::{Act, Step, Tool};

/// One thing of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Beat {
    /// Said by the story itself.
    Note(&'static str),
    Pause(u64),
    /// Typed into the composer and submitted; the turn that follows.
    Prompt(&'static str, Vec<Step>),
}

/// `is_wired`: hooks are there, so harn has something to show.
pub(super) fn beats(is_wired: bool) -> Vec<Beat> {
    let either = |with, without| Beat::Note(if is_wired { with } else { without });
    vec![
        Beat::Note(
            "A story of half a minute. Any key stops it and gives you the keyboard; /story goes on with it.",
        ),
        Beat::Pause(1_800),
        Beat::Prompt("Add a farewell to the greeter", first_turn()),
        Beat::Pause(900),
        either(
            "harn runs below, as hooks: it took down the request and the file. The agent noticed nothing.",
            "No hooks are wired, so nobody takes anything down. Watch what is missing later.",
        ),
        Beat::Pause(2_200),
        Beat::Prompt(
            "Now tests, then the README. Leave VERSION alone.",
            second_turn(),
        ),
        Beat::Pause(900),
        Beat::Note(
            "The context is nearly full. Every long session comes to this: the agent compacts. It keeps a short summary \
             and forgets the rest.",
        ),
        Beat::Pause(2_600),
        Beat::Prompt("/compact", Vec::new()),
        Beat::Pause(900),
        either(
            "Just before, harn saved a checkpoint of the work: the request, the files, the state of the repository. Just \
             after, it handed a briefing to the agent. Look at the next turn.",
            "Nobody saved a checkpoint before, and nobody hands over a briefing now. Look at the next turn.",
        ),
        Beat::Pause(3_000),
        Beat::Prompt("Go on", third_turn()),
        Beat::Pause(900),
        Beat::Note(
            "That is what harn does. Now you: type a prompt, /compact, /ask for a dialog, ! for a shell command (try: \
             ! harn context show), /exit to leave. With a real agent: harn run -- claude",
        ),
    ]
}

fn write(path: &'static str, text: &str) -> Step {
    Step::Tool(Tool {
        act: Act::Write {
            path,
            text: text.to_owned(),
        },
        needs_permission: false,
    })
}

fn first_turn() -> Vec<Step> {
    vec![
        Step::Pause(900),
        Step::Usage(38_000),
        Step::Reply("I read greeter.sh and README.md. A farewell is a script of its own.".into()),
        Step::Spin("Writing".into()),
        Step::Pause(800),
        write(
            "farewell.sh",
            "#!/bin/sh\n# Says goodbye.\nprintf 'Goodbye, %s.\\n' \"${1:-world}\"\n",
        ),
        Step::Pause(500),
        Step::Usage(64_000),
        Step::Reply("farewell.sh is written.".into()),
    ]
}

fn second_turn() -> Vec<Step> {
    vec![
        Step::Pause(700),
        Step::Spin("Writing".into()),
        write(
            "test.sh",
            "#!/bin/sh\nset -e\ntest \"$(sh greeter.sh you)\" = 'Hello, you.'\ntest \"$(sh farewell.sh you)\" = 'Goodbye, you.'\n",
        ),
        Step::Pause(700),
        Step::Usage(129_000),
        Step::Reply("Tests are there. I read the README next, all of it.".into()),
        Step::Spin("Reading".into()),
        Step::Pause(1_100),
        Step::Usage(183_000),
        Step::Reply("The README needs a section on farewells.".into()),
    ]
}

fn third_turn() -> Vec<Step> {
    vec![
        Step::Pause(900),
        Step::Recall {
            with: "My summary only says \"a small greeter\". The briefing tells me the rest: tests are done, the README is \
                   next, VERSION is not to be touched. I go on there."
                .into(),
            without: "My summary only says \"a small greeter\". What was I asked to do, and what not to touch? Nobody tells \
                      me; I will have to read everything again."
                .into(),
        },
        Step::Spin("Writing".into()),
        Step::Pause(800),
        write("README.md", "# Greeter\n\n    sh greeter.sh you\n    sh farewell.sh you\n"),
        Step::Usage(21_000),
        Step::Reply("README.md is done.".into()),
    ]
}
