//! Directives in a prompt: what its reply is to be. Pure.
//!
//! `@usage=N` `@slow=SECONDS` `@http=STATUS` are words; `@say=TEXT` and `@tool=NAME {json}` run to the end of their line.

use std::time::Duration;

use serde_json::{Value, json};

/// How one conversation request is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Say(String),
    /// Text streamed over a time.
    Slow(String, Duration),
    /// Tool calls, by name and input, in one answer.
    Tools(Vec<(String, Value)>),
    /// An HTTP error.
    Refuse(u16),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Directives {
    /// Tokens reported from this reply on.
    pub usage: Option<u64>,
    /// The reply's text is streamed over this time.
    pub slow: Option<Duration>,
    /// This prompt is refused with this status the first time it is sent.
    pub http: Option<u16>,
    pub say: Option<String>,
    pub tools: Vec<(String, Value)>,
}

pub(super) fn parse(text: &str) -> Directives {
    let mut found = Directives::default();
    for line in text.lines() {
        let words = match rest_of_line(line) {
            Some((words, "say", rest)) => {
                found.say = Some(rest.to_owned());
                words
            }
            Some((words, _, rest)) => {
                let (name, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
                let input = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
                found.tools.push((name.to_owned(), input));
                words
            }
            None => line,
        };
        for word in words.split_whitespace() {
            found.read_word(word);
        }
    }
    found
}

impl Directives {
    /// The answer asked for; a text with the request's number where nothing is.
    pub(super) fn reply(self, n: usize) -> Reply {
        if !self.tools.is_empty() {
            return Reply::Tools(self.tools);
        }
        let text = self.say.unwrap_or_else(|| format!("Rehearsed reply {n}."));
        match self.slow {
            Some(slow) => Reply::Slow(text, slow),
            None => Reply::Say(text),
        }
    }

    fn read_word(&mut self, word: &str) {
        let Some((name, value)) = word.strip_prefix('@').and_then(|word| word.split_once('='))
        else {
            return;
        };
        match name {
            "usage" => self.usage = value.parse().ok(),
            "http" => self.http = value.parse().ok(),
            "slow" => {
                let seconds = value.parse().ok();
                self.slow = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
            }
            _ => {}
        }
    }
}

/// The words before the line's `@say=` or `@tool=`, which of both it is, and the text after.
fn rest_of_line(line: &str) -> Option<(&str, &'static str, &str)> {
    let split = |mark, name| {
        line.split_once(mark)
            .map(|(words, rest)| (words, name, rest))
    };
    match (split("@say=", "say"), split("@tool=", "tool")) {
        (Some(say), Some(tool)) => Some(if say.0.len() < tool.0.len() {
            say
        } else {
            tool
        }),
        (say, tool) => say.or(tool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read_and_other_words_are_not() {
        let text = "please @usage=120 go @slow=1.5\n@http=529 a@b=c @tool=Write {\"a\": \"@usage=7\"}\n@say=it @http=1 is";
        assert_eq!(
            parse(text),
            Directives {
                usage: Some(120),
                slow: Some(Duration::from_millis(1500)),
                http: Some(529),
                say: Some("it @http=1 is".to_owned()),
                tools: vec![("Write".to_owned(), json!({"a": "@usage=7"}))],
            }
        );
        assert_eq!(parse("user@host.org =1 @usage=many"), Directives::default());
    }
}
