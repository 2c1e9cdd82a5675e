//! The two key chords that compact and submit, and whether the user's key bindings hold them.
//!
//! Pure. Only the prompt knows these chords: in a dialog, in a menu, in the transcript they do nothing, where an Enter
//! would answer (measured on 2.1.197). The client has neither of them by itself; `harn install --keys` adds them to the
//! user's `keybindings.json`, which a running session reads again at once.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Map, Value};

/// The context of the bindings: the prompt.
pub const CONTEXT: &str = "Chat";

/// A chord and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chord {
    /// As the client's file writes it.
    pub keys: &'static str,
    /// What the keys send, in every terminal mode the client reads.
    pub bytes: &'static [u8],
    pub action: &'static str,
}

/// Compacts, whatever stands in the prompt; what stands there stays.
pub const COMPACT: Chord = Chord {
    keys: "ctrl+x ctrl+y",
    bytes: b"\x18\x19",
    action: "command:compact",
};

/// Submits what stands in the prompt.
pub const SUBMIT: Chord = Chord {
    keys: "ctrl+x ctrl+r",
    bytes: b"\x18\x12",
    action: "chat:submit",
};

/// Both.
pub const CHORDS: [Chord; 2] = [COMPACT, SUBMIT];

/// What a file of key bindings says of the two chords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitKeys {
    /// Both do what harn needs.
    Bound,
    /// The chords that nobody has bound.
    Missing(Vec<Chord>),
    /// The user has given one of them, or its first key alone, another meaning.
    Taken(Taken),
    /// The client takes nothing from this file.
    Unreadable,
}

/// A binding of the user's that leaves a chord no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// As the user wrote it.
    pub keys: String,
    pub context: String,
    /// None: the user has switched the keys off.
    pub action: Option<String>,
}

/// The user's file of key bindings.
pub fn file(var: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = var("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| var("HOME").map(|home| PathBuf::from(home).join(".claude")));
    folder.map(|folder| folder.join("keybindings.json"))
}

/// Looks for the chords in the text of that file; the empty text stands for no file.
pub fn bound(text: &str) -> SubmitKeys {
    if text.trim().is_empty() {
        return SubmitKeys::Missing(CHORDS.to_vec());
    }
    let Some(blocks) = blocks(text) else {
        return SubmitKeys::Unreadable;
    };
    let mut missing = Vec::new();
    for chord in CHORDS {
        let mut is_bound = false;
        for (context, bindings) in &blocks {
            for (keys, action) in bindings {
                let action = action.as_str();
                let mine = context == CONTEXT && action == Some(chord.action);
                match place_of(keys, chord.keys) {
                    Place::Same if mine => is_bound = true,
                    // A binding elsewhere is passed over by the prompt, but for those that are known everywhere.
                    Place::Same | Place::FirstKey if is_in_the_way(context) => {
                        return SubmitKeys::Taken(Taken {
                            keys: keys.clone(),
                            context: context.clone(),
                            action: action.map(str::to_owned),
                        });
                    }
                    Place::Same | Place::FirstKey | Place::Other => {}
                }
            }
        }
        if !is_bound {
            missing.push(chord);
        }
    }
    if missing.is_empty() {
        SubmitKeys::Bound
    } else {
        SubmitKeys::Missing(missing)
    }
}

fn is_in_the_way(context: &str) -> bool {
    [CONTEXT, "Global"].contains(&context)
}

/// The blocks of bindings by context; none where the client would drop the file.
fn blocks(text: &str) -> Option<Vec<(String, Map<String, Value>)>> {
    let document: Value = serde_json::from_str(text).ok()?;
    let blocks = document.get("bindings")?.as_array()?;
    let block = |block: &Value| {
        let context = block.get("context")?.as_str()?.to_owned();
        let bindings = block.get("bindings")?.as_object()?.clone();
        let is_known = |action: &Value| action.is_string() || action.is_null();
        bindings
            .values()
            .all(is_known)
            .then_some((context, bindings))
    };
    blocks.iter().map(block).collect()
}

enum Place {
    Same,
    /// The chord's first key alone, which would never let the second one come.
    FirstKey,
    Other,
}

fn place_of(keys: &str, chord: &str) -> Place {
    let keys = normal(keys);
    if keys == chord {
        Place::Same
    } else if chord.split(' ').next() == Some(keys.as_str()) {
        Place::FirstKey
    } else {
        Place::Other
    }
}

/// One spelling for the ways to write a chord of control keys.
fn normal(keys: &str) -> String {
    let key = |key: &str| {
        let lower = key.to_lowercase();
        let mut parts: Vec<&str> = lower.split('+').map(str::trim).collect();
        let last = parts.pop().unwrap_or_default();
        for part in &mut parts {
            if *part == "control" {
                *part = "ctrl";
            }
        }
        parts.sort_unstable();
        parts.push(last);
        parts.join("+")
    };
    let keys: Vec<String> = keys.split_whitespace().map(key).collect();
    keys.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(bindings: &str) -> String {
        format!(r#"{{"bindings":[{{"context":"Chat","bindings":{{{bindings}}}}}]}}"#)
    }

    #[test]
    fn chords_count_as_bound_only_where_both_do_what_harn_needs() {
        let both = r#""ctrl+x ctrl+y":"command:compact","Control+X  ctrl+r":"chat:submit""#;
        assert_eq!(bound(&chat(both)), SubmitKeys::Bound);
        assert_eq!(
            bound(&chat(
                r#""ctrl+x ctrl+r":"chat:submit","ctrl+k":"chat:undo""#
            )),
            SubmitKeys::Missing(vec![COMPACT])
        );
        let elsewhere = both_in("Transcript", both);
        for text in ["", " \n", r#"{"bindings":[]}"#, &elsewhere] {
            assert_eq!(bound(text), SubmitKeys::Missing(CHORDS.to_vec()), "{text}");
        }
    }

    fn both_in(context: &str, bindings: &str) -> String {
        chat(bindings).replace("Chat", context)
    }

    #[test]
    fn a_chord_with_another_meaning_is_taken_and_so_is_its_first_key_alone() {
        let taken = |keys: &str, context: &str, action: Option<&str>| {
            SubmitKeys::Taken(Taken {
                keys: keys.to_owned(),
                context: context.to_owned(),
                action: action.map(str::to_owned),
            })
        };
        assert_eq!(
            bound(&chat(r#""ctrl+x ctrl+y":"chat:undo""#)),
            taken("ctrl+x ctrl+y", "Chat", Some("chat:undo"))
        );
        assert_eq!(
            bound(&chat(r#""ctrl+x ctrl+r":null"#)),
            taken("ctrl+x ctrl+r", "Chat", None)
        );
        assert_eq!(
            bound(&both_in("Global", r#""ctrl+x":"app:redraw""#)),
            taken("ctrl+x", "Global", Some("app:redraw"))
        );
    }

    #[test]
    fn a_file_that_the_client_drops_binds_nothing() {
        // A byte order mark and comments, too.
        for text in [
            "\u{feff}{\"bindings\":[]}",
            "{\"bindings\":[]} // c",
            "{",
            "[]",
            "{}",
            r#"{"bindings":{}}"#,
            r#"{"bindings":[{"context":"Chat"}]}"#,
            r#"{"bindings":[{"context":"Chat","bindings":{"a":1}}]}"#,
        ] {
            assert_eq!(bound(text), SubmitKeys::Unreadable, "{text}");
        }
    }
}
