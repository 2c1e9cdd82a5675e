//! Operating system commands in a stream of bytes: `ESC ] text ST`. Pure.
//!
//! Looked at behind the byte path, in whatever pieces the bytes come, and never held back or changed. One that breaks off is
//! passed over; of one that is too long the beginning is told.

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
/// CAN and SUB abort a sequence.
const ABORTS: [u8; 2] = [0x18, 0x1a];

/// Finds the commands in a stream.
#[derive(Debug, Clone)]
pub struct OscScanner {
    limit: usize,
    place: Place,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Ground,
    Escape,
    Command,
    /// In a command, behind an ESC that may be the first half of its end.
    CommandEscape,
}

impl OscScanner {
    /// At most `limit` bytes of a command are kept.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            place: Place::Ground,
            text: Vec::new(),
        }
    }

    /// Tells the text of each command that ends in these bytes.
    pub fn push(&mut self, bytes: &[u8], tell: &mut dyn FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match self.place {
                Place::Ground if byte == ESC => self.place = Place::Escape,
                // Most bytes are plain text: on to the next ESC at once.
                Place::Ground => {
                    let next = memchr::memchr(ESC, rest).unwrap_or(rest.len());
                    rest = rest.get(next..).unwrap_or_default();
                }
                Place::Command if byte == BEL => self.end(tell),
                Place::Command if byte == ESC => self.place = Place::CommandEscape,
                Place::Command if ABORTS.contains(&byte) => self.place = Place::Ground,
                Place::Command if self.text.len() < self.limit => self.text.push(byte),
                Place::Command => {}
                Place::CommandEscape if byte == b'\\' => self.end(tell),
                // In a command: another sequence begins where this one should have ended.
                Place::Escape | Place::CommandEscape => {
                    self.text.clear();
                    self.place = match byte {
                        b']' => Place::Command,
                        ESC => Place::Escape,
                        _ => Place::Ground,
                    };
                }
            }
        }
    }

    fn end(&mut self, tell: &mut dyn FnMut(&[u8])) {
        self.place = Place::Ground;
        tell(&self.text);
    }
}
