//! Whose words a prompt holds.

use crate::event::PromptOrigin;

/// Beginnings of prompts that the client writes itself: a background task that ended, a slash command, its output.
const OWN_WORDS: [&str; 3] = ["<task-notification>", "<command-", "<local-command-"];

/// Tells the user's words from the client's (measured on 2.1.197).
pub fn prompt_origin(text: &str) -> PromptOrigin {
    let text = text.trim_start();
    if OWN_WORDS.iter().any(|word| text.starts_with(word)) {
        PromptOrigin::Harness
    } else {
        PromptOrigin::User
    }
}
