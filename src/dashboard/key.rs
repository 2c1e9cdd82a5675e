//! Keys from the bytes of a terminal: those that the dashboard knows, and no others.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
}

/// The keys in what one read gave. An escape sequence that is not known is passed over whole.
pub fn keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.chars().peekable();
    let mut found = Vec::new();
    while let Some(c) = rest.next() {
        let key = match c {
            '\u{1b}' if matches!(rest.peek(), Some('[' | 'O')) => {
                rest.next();
                let mut sequence = String::new();
                for c in rest.by_ref() {
                    sequence.push(c);
                    if ('\u{40}'..='\u{7e}').contains(&c) {
                        break;
                    }
                }
                sequence_key(&sequence)
            }
            '\u{1b}' => Some(Key::Escape),
            '\r' | '\n' => Some(Key::Enter),
            '\u{7f}' | '\u{8}' => Some(Key::Backspace),
            '\u{3}' => Some(Key::Interrupt),
            '\u{1a}' => Some(Key::Suspend),
            c if c.is_control() => None,
            c => Some(Key::Char(c)),
        };
        found.extend(key);
    }
    found
}

fn sequence_key(sequence: &str) -> Option<Key> {
    Some(match sequence {
        "A" => Key::Up,
        "B" => Key::Down,
        "H" | "1~" => Key::Home,
        "F" | "4~" => Key::End,
        "5~" => Key::PageUp,
        "6~" => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_told_and_unknown_sequences_do_nothing() {
        assert_eq!(
            keys(b"j\x1b[A\x1bOB\x1b[5~\x1b[1;5C\x1b[200~\r\x7f\x03\x1a\x1b"),
            [
                Key::Char('j'),
                Key::Up,
                Key::Down,
                Key::PageUp,
                Key::Enter,
                Key::Backspace,
                Key::Interrupt,
                Key::Suspend,
                Key::Escape
            ]
        );
    }
}
