//! Going down a JSON text to a place, making what is missing, and going up again when something was taken out.

use std::ops::Range;

use serde_json::Value;

use super::json::{Kind, Node, Style, add, parse, remove};
use super::splice::{Splice, apply, place_of};
use super::{Change, Refusal, Spot, Was};

/// A JSON text that is being changed.
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) reasons: Vec<String>,
    pub(super) spots: Vec<Spot>,
}

impl Draft {
    pub(super) fn new(text: &str, spots: &[Spot]) -> Self {
        Self {
            text: text.to_owned(),
            reasons: Vec::new(),
            spots: spots.to_vec(),
        }
    }

    pub(super) fn into_change(self) -> Change {
        Change {
            text: self.text,
            reasons: self.reasons,
            spots: self.spots,
        }
    }

    /// The root object, if there is one yet.
    pub(super) fn root(&self) -> Result<Option<Node>, Refusal> {
        let root = read(&self.text)?;
        match root {
            Some(root) if !root.is_object() => {
                Err(shape(&self.text, &root, "the document", "an object"))
            }
            root => Ok(root),
        }
    }

    /// Makes an empty document an object.
    pub(super) fn ensure_root(&mut self) -> Result<Node, Refusal> {
        if self.root()?.is_none() {
            let newline = if self.text.contains("\r\n") {
                "\r\n"
            } else {
                "\n"
            };
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push_str(newline);
            }
            self.text.push_str("{}");
            self.text.push_str(newline);
            self.note(&[], Was::Absent);
        }
        Ok(self.root()?.unwrap_or_else(|| Node {
            at: 0..0,
            kind: Kind::Object(Vec::new()),
        }))
    }

    /// Adds a member; what an empty object held is noted for its path.
    pub(super) fn add_member(
        &mut self,
        path: &[&str],
        parent: &Node,
        name: &str,
        value: &Value,
    ) -> Result<(), Refusal> {
        self.add(path, parent, Some(name), value)
    }

    pub(super) fn add_element(
        &mut self,
        path: &[&str],
        parent: &Node,
        value: &Value,
    ) -> Result<(), Refusal> {
        self.add(path, parent, None, value)
    }

    fn add(
        &mut self,
        path: &[&str],
        parent: &Node,
        name: Option<&str>,
        value: &Value,
    ) -> Result<(), Refusal> {
        let is_empty = match &parent.kind {
            Kind::Object(members) => members.is_empty(),
            Kind::Array(elements) => elements.is_empty(),
            Kind::Text(_) | Kind::Number(_) | Kind::Other => false,
        };
        if is_empty {
            let inner = self.text.get(inner_of(parent)).unwrap_or_default();
            self.note(path, Was::Empty(inner.to_owned()));
        }
        let Some(root) = self.root()? else {
            return Ok(());
        };
        let style = Style::of(&self.text, &root);
        let splices = add(&self.text, &style, parent, name, value);
        self.apply(splices);
        Ok(())
    }

    pub(super) fn apply(&mut self, splices: Vec<Splice>) {
        self.text = apply(&self.text, splices);
    }

    /// The first word on a place counts.
    pub(super) fn note(&mut self, path: &[&str], was: Was) {
        if spot(&self.spots, path).is_none() {
            self.spots.push(Spot {
                path: path.iter().map(|&it| it.to_owned()).collect(),
                was,
            });
        }
    }
}

/// One step on the way up from something that is taken out.
pub(super) struct Step<'a> {
    pub(super) parent: &'a Node,
    pub(super) child: Range<usize>,
    pub(super) path: Vec<&'a str>,
}

/// Takes the first step's child out, and what becomes empty by that and was not there before.
pub(super) fn take_out(text: &str, steps: &[Step<'_>], spots: &[Spot]) -> Vec<Splice> {
    let mut splices = Vec::new();
    for step in steps {
        let inner = inner_of(step.parent);
        splices = remove(text, step.parent, &step.child);
        let count = match &step.parent.kind {
            Kind::Object(members) => members.len(),
            Kind::Array(elements) => elements.len(),
            Kind::Text(_) | Kind::Number(_) | Kind::Other => 0,
        };
        let is_blank = |range: Range<usize>| {
            text.get(range)
                .is_some_and(|it| it.chars().all(|c| c.is_whitespace() || c == ','))
        };
        let is_alone = count == 1
            && is_blank(inner.start..step.child.start)
            && is_blank(step.child.end..inner.end);
        match spot(spots, &step.path) {
            _ if count != 1 => return splices,
            Some(Was::Empty(held)) => {
                // Comments written since then stay.
                let rest = [inner.start..step.child.start, step.child.end..inner.end];
                let rest = rest.map(|range| text.get(range).unwrap_or_default());
                if is_alone || squeeze(&rest.concat()) == squeeze(held) {
                    let put = held.clone();
                    splices = vec![Splice { at: inner, put }];
                }
                return splices;
            }
            Some(Was::Absent) if step.path.is_empty() && is_alone => {
                let end = step.parent.at.end;
                let rest = text.get(end..).unwrap_or_default();
                let line = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
                return vec![Splice::cut(step.parent.at.start..end + line)];
            }
            _ if !is_alone => return splices,
            // The document itself stays, empty.
            _ if step.path.is_empty() => return vec![Splice::cut(inner)],
            _ => {}
        }
    }
    splices
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect()
}

pub(super) fn spot<'a>(spots: &'a [Spot], path: &[&str]) -> Option<&'a Was> {
    let found = spots.iter().find(|spot| {
        spot.path
            .iter()
            .map(String::as_str)
            .eq(path.iter().copied())
    });
    found.map(|spot| &spot.was)
}

fn inner_of(node: &Node) -> Range<usize> {
    node.at.start + 1..node.at.end.saturating_sub(1)
}

pub(super) fn read(text: &str) -> Result<Option<Node>, Refusal> {
    parse(text).map_err(|error| {
        let (line, column) = place_of(text, error.at);
        Refusal::Syntax {
            line,
            column,
            what: error.what,
        }
    })
}

pub(super) fn shape(text: &str, node: &Node, name: &str, expected: &'static str) -> Refusal {
    let (line, column) = place_of(text, node.at.start);
    Refusal::Shape {
        line,
        column,
        name: name.to_owned(),
        expected,
    }
}
