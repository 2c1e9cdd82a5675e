//! Turns as lists of steps.

use serde_json::{Value, json};

use super::dialog::Dialog;
use super::entry::Entry;
use super::hook::{HookCall, prompt_fields};
use super::record::Record;
use super::step::{Act, Step, Tool};

/// A background task's report; never the user's words.
pub(super) const TASK_REPORT: &str =
    "<task-notification>The background task has ended: all 12 checks passed.</task-notification>";

/// A turn that a prompt starts. `start` is the session's start that is told only now.
pub(super) fn of_prompt(text: &str, start: Option<&'static str>, body: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![Step::Spin("Thinking".into())];
    steps.extend(start.map(session_start));
    steps.push(Step::Hook(HookCall::new(
        "UserPromptSubmit",
        prompt_fields(text),
    )));
    steps.push(Step::Record(Record::User { text: text.into() }));
    steps.push(Step::Room);
    steps.extend(body);
    steps.push(Step::Stop { is_active: false });
    steps
}

pub(super) fn session_start(source: &'static str) -> Step {
    let fields = json!({"source": source, "model": "demo-large"});
    Step::Hook(HookCall::new("SessionStart", fields))
}

/// What the agent says to a prompt that nobody has scripted.
pub(super) fn usual_answer(text: &str) -> Vec<Step> {
    let said = crate::text::shorten(&crate::text::one_line(text), 60);
    vec![
        Step::Pause(900),
        Step::Reply(format!(
            "I am a scripted demo and have no answer to \"{said}\". But I took it as a turn: hooks ran, the transcript \
             grew, the context filled a little."
        )),
    ]
}

pub(super) fn after_task() -> Vec<Step> {
    vec![
        Step::Pause(600),
        Step::Reply("The background task is done: all 12 checks passed.".into()),
    ]
}

/// `/ask`: something that needs permission.
pub(super) fn permission() -> Vec<Step> {
    let command = "touch allowed && echo allowed".to_owned();
    vec![
        Step::Pause(400),
        Step::Tool(Tool {
            act: Act::Run { command },
            needs_permission: true,
        }),
        Step::Reply("That was the permission dialog.".into()),
    ]
}

pub(super) fn question() -> Vec<Step> {
    vec![Step::Pause(400), Step::Ask(Dialog::question())]
}

/// A tool's steps: announced, perhaps asked for, done, reported.
pub(super) fn of_tool(tool: &Tool, project: &str) -> Vec<Step> {
    let input = tool_input(tool, project);
    let call = |event: &'static str, more: Value| {
        let fields = json!({"tool_name": tool.name(), "tool_input": input});
        let mut call = HookCall::new(event, fields);
        if let Value::Object(more) = more {
            call.fields.extend(more);
        }
        Step::Hook(call)
    };
    let mut steps = vec![call("PreToolUse", Value::Null)];
    if tool.needs_permission {
        steps.push(call(
            "PermissionRequest",
            json!({"permission_suggestions": []}),
        ));
        steps.push(Step::Ask(Dialog::permission(tool.subject())));
    }
    let done = json!({"tool_response": {"success": true}, "duration_ms": 12});
    steps.extend([
        Step::Act(tool.clone()),
        call("PostToolUse", done),
        Step::Record(Record::Tool {
            name: tool.name().into(),
            input: input.clone(),
        }),
        Step::ToolEnd,
    ]);
    steps
}

fn tool_input(tool: &Tool, project: &str) -> Value {
    match &tool.act {
        Act::Write { path, text } => {
            json!({"file_path": format!("{project}/{path}"), "content": text})
        }
        Act::Run { command } => json!({"command": command, "description": "demo"}),
    }
}

/// What the history shows of a tool that has done its work.
pub(super) fn shown(tool: &Tool, output: &[String]) -> Entry {
    let result = match &tool.act {
        Act::Write { text, .. } => vec![format!("wrote {} lines", text.lines().count())],
        Act::Run { .. } if output.is_empty() => vec!["(no output)".into()],
        Act::Run { .. } => output.to_vec(),
    };
    Entry::Tool {
        name: format!("{}({})", tool.name(), tool.subject()),
        result,
    }
}
