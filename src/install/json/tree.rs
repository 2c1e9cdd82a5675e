//! A JSON text as a tree of places.

use std::ops::Range;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::install) struct Node {
    pub(in crate::install) at: Range<usize>,
    pub(in crate::install) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::install) enum Kind {
    /// Members by name, repeated ones too.
    Object(Vec<(String, Child)>),
    Array(Vec<Child>),
    Text(String),
    /// As written.
    Number(String),
    Other,
}

/// A member or an element: the whole of it, name included, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::install) struct Child {
    pub(in crate::install) at: Range<usize>,
    pub(in crate::install) value: Node,
}

/// The text is no JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::install) struct Syntax {
    pub(in crate::install) at: usize,
    pub(in crate::install) what: String,
}

impl Node {
    /// The member that counts: of several of one name, readers take the last.
    pub(in crate::install) fn member(&self, name: &str) -> Option<&Child> {
        let Kind::Object(members) = &self.kind else {
            return None;
        };
        let mut found = members.iter().rev().filter(|(its, _)| its == name);
        found.next().map(|(_, child)| child)
    }

    pub(in crate::install) fn get(&self, name: &str) -> Option<&Self> {
        self.member(name).map(|child| &child.value)
    }

    pub(in crate::install) fn elements(&self) -> Option<&[Child]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            Kind::Object(_) | Kind::Text(_) | Kind::Number(_) | Kind::Other => None,
        }
    }

    pub(in crate::install) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Object(_) | Kind::Array(_) | Kind::Number(_) | Kind::Other => None,
        }
    }

    pub(in crate::install) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// Where the children stand, in order.
    pub(super) fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|(_, child)| child.at.clone()).collect(),
            Kind::Array(elements) => elements.iter().map(|child| child.at.clone()).collect(),
            Kind::Text(_) | Kind::Number(_) | Kind::Other => Vec::new(),
        }
    }
}

/// Reads a text with comments and trailing commas; none where it holds no value at all.
pub(in crate::install) fn parse(text: &str) -> Result<Option<Node>, Syntax> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match parse_to_ast(text, &CollectOptions::default(), &options) {
        Ok(parsed) => Ok(parsed.value.as_ref().map(node)),
        Err(error) => Err(Syntax {
            at: error.range().start,
            what: error.kind().to_string().to_lowercase(),
        }),
    }
}

fn node(value: &Value<'_>) -> Node {
    let (range, kind) = match value {
        Value::Object(object) => {
            let member = |prop: &jsonc_parser::ast::ObjectProp<'_>| {
                let name = match &prop.name {
                    ObjectPropName::String(name) => name.value.to_string(),
                    ObjectPropName::Word(name) => name.value.to_owned(),
                };
                let child = Child {
                    at: prop.range.start..prop.range.end,
                    value: node(&prop.value),
                };
                (name, child)
            };
            let members = object.properties.iter().map(member).collect();
            (object.range, Kind::Object(members))
        }
        Value::Array(array) => {
            let element = |value: &Value<'_>| {
                let value = node(value);
                Child {
                    at: value.at.clone(),
                    value,
                }
            };
            let elements = array.elements.iter().map(element).collect();
            (array.range, Kind::Array(elements))
        }
        Value::StringLit(text) => (text.range, Kind::Text(text.value.to_string())),
        Value::NumberLit(number) => (number.range, Kind::Number(number.value.to_owned())),
        Value::BooleanLit(it) => (it.range, Kind::Other),
        Value::NullKeyword(it) => (it.range, Kind::Other),
    };
    Node {
        at: range.start..range.end,
        kind,
    }
}
