//! What an attempt rests on: each step with its source and its time, as the contract prints it.

use serde::{Deserialize, Serialize};

use crate::event::Timestamp;

/// How the text was submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// A key that only the composer knows.
    SubmitKey,
    Enter,
}

/// What was seen or done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    Idle {
        source: String,
    },
    /// The text stood in the composer, and nothing else.
    Echo {
        source: String,
    },
    Submit {
        way: Way,
    },
    PreSignal {
        source: String,
    },
    PostSignal {
        source: String,
    },
    /// The harness's own record of the compaction.
    Boundary {
        source: String,
        /// Where its line begins in the record, in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    #[serde(flatten)]
    pub kind: Kind,
    pub at: Timestamp,
}
