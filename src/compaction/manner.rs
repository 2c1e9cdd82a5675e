//! How one harness takes its compact command: the facts of a recipe that the machine needs.

/// Facts, measured on one version of the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a measured fact")]
pub struct Manner {
    /// Without its focus.
    pub command: &'static str,
    /// Words behind the command are instructions for the summary.
    pub takes_focus: bool,
    /// With fewer turns the harness compacts nothing.
    pub least_turns: u32,
    /// The text goes in as one bracketed paste.
    pub pastes: bool,
    /// How the first row of the menu begins that the command opens.
    pub menu_head: &'static str,
    /// That row has to be seen before Enter; elsewhere it only has to be right where there is one.
    pub needs_menu: bool,
    /// Between the text and Enter, in milliseconds.
    pub settle_ms: u64,
    /// The key that compacts leaves a draft as it is.
    pub key_keeps_draft: bool,
}

/// Keys that only the composer knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keys {
    /// Compacts by itself.
    pub compact: Option<&'static [u8]>,
    /// Submits what is in the composer.
    pub submit: Option<&'static [u8]>,
}

impl Manner {
    /// The bytes that bring this text into the composer.
    pub fn bytes(&self, text: &str) -> Vec<u8> {
        if self.pastes {
            format!("\x1b[200~{text}\x1b[201~").into_bytes()
        } else {
            text.as_bytes().to_vec()
        }
    }

    /// The same in one write with a key. The blank closes the menu, which would take the key otherwise.
    pub fn bytes_with(&self, text: &str, key: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes(&format!("{text} "));
        bytes.extend_from_slice(key);
        bytes
    }

    /// The bytes that take it out again, character by character.
    pub fn undo(&self, text: &str) -> Vec<u8> {
        vec![0x7f; text.chars().count()]
    }
}
