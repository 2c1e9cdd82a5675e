//! How a JSON text is laid out, and how a child is put in or taken out in keeping with that.

use std::ops::Range;

use serde_json::Value;

use super::tree::Node;
use crate::install::splice::{Splice, indent_of};

/// The habits of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::install) struct Style {
    newline: &'static str,
    /// One step of indentation.
    step: String,
    /// All in one line.
    is_flat: bool,
    /// No blanks between tokens either.
    is_dense: bool,
}

impl Style {
    /// What this text does; two blanks where it does not tell.
    pub(in crate::install) fn of(text: &str, root: &Node) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let inner = text.get(root.at.clone()).unwrap_or_default();
        let children = root.children();
        let step = children
            .first()
            .filter(|first| is_on_own_line(text, root.at.start + 1, first.start))
            .map(|first| {
                let base = indent_of(text, root.at.start);
                let indent = indent_of(text, first.start);
                indent.strip_prefix(base).unwrap_or(indent).to_owned()
            })
            .filter(|step| !step.is_empty());
        Self {
            newline,
            step: step.unwrap_or_else(|| "  ".to_owned()),
            is_flat: !children.is_empty() && !inner.contains('\n'),
            is_dense: !inner.contains(": "),
        }
    }

    /// A value as this text would write it; `base` is the indentation of the line it begins in.
    pub(in crate::install) fn render(&self, value: &Value, base: &str) -> String {
        let mut out = String::new();
        self.write(&mut out, value, base, self.is_flat);
        out
    }

    fn write(&self, out: &mut String, value: &Value, base: &str, is_flat: bool) {
        let parts: Vec<(String, &Value)> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| {
                    let colon = if is_flat && self.is_dense { ":" } else { ": " };
                    (format!("{}{colon}", quoted(name)), value)
                })
                .collect(),
            Value::Array(list) => list.iter().map(|it| (String::new(), it)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                out.push_str(&value.to_string());
                return;
            }
        };
        let (open, close) = if value.is_object() {
            ('{', '}')
        } else {
            ('[', ']')
        };
        let inner = format!("{base}{}", self.step);
        out.push(open);
        for (number, (name, value)) in parts.iter().enumerate() {
            if number > 0 {
                out.push_str(if is_flat && !self.is_dense { ", " } else { "," });
            }
            if !is_flat {
                out.push_str(self.newline);
                out.push_str(&inner);
            }
            out.push_str(name);
            self.write(out, value, &inner, is_flat);
        }
        if !is_flat && !parts.is_empty() {
            out.push_str(self.newline);
            out.push_str(base);
        }
        out.push(close);
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A value in one line without blanks.
pub(in crate::install) fn compact(value: &Value) -> String {
    value.to_string()
}

/// Puts a child behind the last one of an object (with a name) or an array.
pub(in crate::install) fn add(
    text: &str,
    style: &Style,
    parent: &Node,
    name: Option<&str>,
    value: &Value,
) -> Vec<Splice> {
    let label =
        |colon: &str| name.map_or_else(String::new, |name| format!("{}{colon}", quoted(name)));
    let children = parent.children();
    let close = parent.at.end.saturating_sub(1);
    let Some(last) = children.last() else {
        return add_first(text, style, parent, &label, value);
    };
    let comma = find_comma(text, last.end, close);
    let before = comma.map_or(last.end, |at| at + 1);
    let first = children.first().unwrap_or(last);
    let mut splices = Vec::new();
    if comma.is_none() {
        splices.push(Splice::put(last.end, ","));
    }
    let tail = if comma.is_some() { "," } else { "" };
    if is_on_own_line(text, parent.at.start + 1, first.start) {
        let indent = indent_of(text, first.start);
        let lines = Style {
            is_flat: false,
            ..style.clone()
        };
        let value = lines.render(value, indent);
        let put = format!("{}{indent}{}{value}{tail}", style.newline, label(": "));
        splices.push(Splice::put(after_comments(text, before, close), put));
    } else {
        let flat = Style {
            is_flat: true,
            ..style.clone()
        };
        let (blank, colon) = if style.is_dense {
            ("", ":")
        } else {
            (" ", ": ")
        };
        let put = format!("{blank}{}{}{tail}", label(colon), flat.render(value, ""));
        splices.push(Splice::put(before, put));
    }
    splices
}

fn add_first(
    text: &str,
    style: &Style,
    parent: &Node,
    label: &dyn Fn(&str) -> String,
    value: &Value,
) -> Vec<Splice> {
    let close = parent.at.end.saturating_sub(1);
    let at = last_comment_end(text, parent.at.start + 1, close);
    let rest = text.get(at..close).unwrap_or_default();
    if style.is_flat && !rest.contains('\n') {
        let colon = if style.is_dense { ":" } else { ": " };
        let put = format!("{}{}", label(colon), style.render(value, ""));
        return vec![Splice::put(at, put)];
    }
    let base = indent_of(text, parent.at.start);
    let indent = format!("{base}{}", style.step);
    let lines = Style {
        is_flat: false,
        ..style.clone()
    };
    let value = lines.render(value, &indent);
    let mut put = format!("{}{indent}{}{value}", style.newline, label(": "));
    if !rest.contains('\n') {
        put.push_str(style.newline);
        put.push_str(base);
    }
    vec![Splice::put(at, put)]
}

/// Takes a child out, with the comma and the blanks that came with it.
pub(in crate::install) fn remove(text: &str, parent: &Node, child: &Range<usize>) -> Vec<Splice> {
    let children = parent.children();
    let close = parent.at.end.saturating_sub(1);
    let Some(number) = children.iter().position(|it| it == child) else {
        return Vec::new();
    };
    let before = text.get(..child.start).unwrap_or_default();
    let start = before.trim_end().len();
    let mut splices = vec![Splice::cut(start..child.end)];
    let next = children.get(number + 1);
    let after = find_comma(text, child.end, next.map_or(close, |next| next.start));
    let previous = number.checked_sub(1).and_then(|it| children.get(it));
    let comma = after.or_else(|| previous.and_then(|it| find_comma(text, it.end, child.start)));
    if let Some(at) = comma
        && !(start..child.end).contains(&at)
    {
        splices.push(Splice::cut(at..at + 1));
    }
    splices
}

/// Whether only blanks, with a line end among them, or comments lie between.
fn is_on_own_line(text: &str, from: usize, to: usize) -> bool {
    text.get(from..to)
        .is_some_and(|between| between.contains('\n'))
}

/// The first comma that is not in a comment.
fn find_comma(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = text.get(at..to)?;
        if let Some(length) = comment_length(rest) {
            at += length;
        } else if rest.starts_with(',') {
            return Some(at);
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
    None
}

/// Behind the comments that follow on the same line; else the place itself.
fn after_comments(text: &str, from: usize, to: usize) -> usize {
    let mut end = from;
    let mut at = from;
    while let Some(rest) = text.get(at..to) {
        if let Some(length) = comment_length(rest) {
            if rest.get(..length).is_some_and(|it| it.contains('\n')) {
                break;
            }
            at += length;
            end = at;
        } else if rest.starts_with([' ', '\t']) {
            at += 1;
        } else {
            break;
        }
    }
    end
}

fn last_comment_end(text: &str, from: usize, to: usize) -> usize {
    let mut end = from;
    let mut at = from;
    while let Some(rest) = text.get(at..to) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        if let Some(length) = comment_length(rest) {
            at += length;
            end = at;
        } else {
            at += first.len_utf8();
        }
    }
    end
}

/// How long the comment is with which this begins, its line end apart.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.find('\n').unwrap_or(text.len());
        let line = text.get(..line).unwrap_or(text);
        Some(line.strip_suffix('\r').unwrap_or(line).len())
    } else if text.starts_with("/*") {
        Some(text.find("*/").map_or(text.len(), |at| at + 2))
    } else {
        None
    }
}
