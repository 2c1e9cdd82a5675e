//! The words behind the command: one line, not long, no control characters.

/// Characters at most.
const LIMIT_CHARS: usize = 200;

/// A line that may be typed behind the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Focus(String);

/// Why a text is no focus.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FocusError {
    #[error("the focus is empty")]
    Empty,
    #[error("the focus has {0} characters; {LIMIT_CHARS} is the limit")]
    Long(usize),
    #[error("the focus is one line without control characters")]
    Control,
}

impl Focus {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn chars(&self) -> usize {
        self.0.chars().count()
    }
}

impl std::str::FromStr for Focus {
    type Err = FocusError;

    fn from_str(text: &str) -> Result<Self, FocusError> {
        if text.chars().any(is_refused) {
            return Err(FocusError::Control);
        }
        let text = text.trim();
        let count = text.chars().count();
        match count {
            0 => Err(FocusError::Empty),
            _ if count > LIMIT_CHARS => Err(FocusError::Long(count)),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

/// Control and format characters: an editor acts on them, or shows them as something else.
fn is_refused(c: char) -> bool {
    let is_format = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}');
    c.is_control() || is_format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_focus_is_one_printable_line() {
        let parse = |text: &str| text.parse::<Focus>().map(|focus| focus.0);
        assert_eq!(
            parse(" keep the API notes "),
            Ok("keep the API notes".into())
        );
        assert_eq!(parse("é\u{4f60}"), Ok("é\u{4f60}".into()));
        assert_eq!(parse(" "), Err(FocusError::Empty));
        assert_eq!(parse(&"x".repeat(200)), Ok("x".repeat(200)));
        assert_eq!(parse(&"x".repeat(201)), Err(FocusError::Long(201)));
        for text in [
            "a\nb",
            "a\rb",
            "a\tb",
            "a\x1b[Ab",
            "a\u{7f}",
            "a\u{9b}",
            "a\u{202e}b",
            "\n",
        ] {
            assert_eq!(parse(text), Err(FocusError::Control), "{text:?}");
        }
    }
}
