//! A script for tests: what the agent does, line by line.
//!
//! Pure. Lines before the first `expect` are done at the start. `expect TEXT` waits for a prompt that holds TEXT; the lines
//! behind it, up to the next `expect`, are that prompt's turn. Any other prompt gets the usual answer.

use std::time::Duration;

use serde_json::json;

use super::compaction::Manner;
use super::dialog::Dialog;
use super::hook::HookCall;
use super::step::{Act, Step, Tool};

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) opening: Vec<Step>,
    /// Text of the expected prompt, and its turn; in order.
    pub(super) turns: Vec<(String, Vec<Step>)>,
}

/// Why a script cannot be acted out.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub struct ScriptError {
    line: usize,
    what: &'static str,
}

impl Script {
    pub(super) fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim();
            if word == "expect" {
                script.turns.push((rest.to_owned(), Vec::new()));
                continue;
            }
            let steps = step(word, rest).map_err(|what| ScriptError { line: number, what })?;
            let list = script
                .turns
                .last_mut()
                .map_or(&mut script.opening, |(_, steps)| steps);
            list.extend(steps);
        }
        Ok(script)
    }

    /// The turn that this prompt was expected for.
    pub(super) fn turn_for(&mut self, prompt: &str) -> Option<Vec<Step>> {
        let (expected, _) = self.turns.first()?;
        if !prompt.contains(expected.as_str()) {
            return None;
        }
        Some(self.turns.remove(0).1)
    }
}

fn step(word: &str, rest: &str) -> Result<Vec<Step>, &'static str> {
    let number = || rest.parse::<u64>().ok().ok_or("not a whole number");
    let seconds_ms = || {
        let time = rest
            .parse()
            .ok()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let ms = time.and_then(|time| u64::try_from(time.as_millis()).ok());
        ms.ok_or("not a number of seconds")
    };
    Ok(match word {
        "say" => vec![Step::Reply(rest.to_owned())],
        "hook" => vec![Step::Hook(HookCall::new(event(rest)?, json!({})))],
        "dialog" => dialog(rest)?,
        "write" => vec![Step::Tool(Tool {
            act: Act::Write {
                path: "scripted.txt",
                text: format!("{rest}\n"),
            },
            needs_permission: false,
        })],
        "run" => vec![Step::Tool(Tool {
            act: Act::Run {
                command: rest.to_owned(),
            },
            needs_permission: false,
        })],
        "usage" => vec![Step::Usage(number()?)],
        "slow" => vec![Step::Pause(seconds_ms()?)],
        "background" => vec![Step::Background(seconds_ms()?)],
        "compact" => vec![Step::Manner(
            Manner::parse(rest).ok_or("not one of ok, early, fail, slow, cancel")?,
        )],
        "exit" => vec![Step::Exit(rest.parse().ok().ok_or("not an exit code")?)],
        _ => return Err("no such word"),
    })
}

fn dialog(kind: &str) -> Result<Vec<Step>, &'static str> {
    Ok(match kind {
        "permission" => vec![Step::Tool(Tool {
            act: Act::Run {
                command: "touch allowed && echo allowed".to_owned(),
            },
            needs_permission: true,
        })],
        "question" => vec![Step::Ask(Dialog::question())],
        "picker" => vec![Step::Ask(Dialog::picker())],
        _ => return Err("not one of permission, question, picker"),
    })
}

/// Events a script may fire by themselves.
fn event(name: &str) -> Result<&'static str, &'static str> {
    const EVENTS: [&str; 6] = [
        "Notification",
        "PostCompact",
        "PreCompact",
        "SessionStart",
        "Stop",
        "StopFailure",
    ];
    EVENTS
        .into_iter()
        .find(|known| *known == name)
        .ok_or("no such event")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_to_the_prompt_before_them() {
        let text =
            "# a comment\nusage 5\n\nexpect go on\nslow 0.5\nsay done\nexpect again\nexit 3\n";
        let mut script = Script::parse(text).unwrap();
        assert_eq!(script.opening, [Step::Usage(5)]);
        assert_eq!(script.turn_for("something else"), None);
        assert_eq!(
            script.turn_for("please go on"),
            Some(vec![Step::Pause(500), Step::Reply("done".into())])
        );
        assert_eq!(script.turn_for("again"), Some(vec![Step::Exit(3)]));
        assert_eq!(script.turn_for("again"), None);
    }

    #[test]
    fn a_line_that_means_nothing_is_named() {
        for (text, line) in [
            ("say a\nsing b", 2),
            ("exit 256", 1),
            ("slow -1", 1),
            ("hook Nothing", 1),
            ("compact well", 1),
            ("dialog box", 1),
        ] {
            assert_eq!(Script::parse(text).unwrap_err().line, line, "{text}");
        }
    }
}
