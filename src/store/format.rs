//! Formats of harn's files: the mark by which a file is known as harn's, and its version.
//!
//! A file without the mark belongs to somebody else and is left alone; a newer version is read where that is possible
//! and never rewritten.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<T> {
    Ours(T),
    /// JSON of another tool.
    Foreign,
    /// Written by a newer harn.
    Newer(u32),
    /// Not JSON, or harn's mark on content that is not harn's.
    Damaged(String),
}

/// A kind of file and the version this harn writes.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    pub version: u32,
}

pub const STATE: Format = Format {
    name: "harn-state",
    version: 1,
};
pub const INDEX: Format = Format {
    name: "harn-index",
    version: 1,
};
pub const SPOOLED: Format = Format {
    name: "harn-spooled",
    version: 1,
};
pub const RUN: Format = Format {
    name: "harn-run",
    version: 1,
};
pub const VERSIONS: Format = Format {
    name: "harn-versions",
    version: 1,
};
pub const AUTOMATIC: Format = Format {
    name: "harn-automatic",
    version: 1,
};
pub const ATTESTED: Format = Format {
    name: "harn-attested",
    version: 1,
};
pub const RECEIPT: Format = Format {
    name: "harn-receipt",
    version: 1,
};

#[derive(Serialize, Deserialize)]
struct Marked<T> {
    format: String,
    content: T,
}

#[derive(Deserialize)]
struct Mark {
    format: Option<String>,
}

impl Format {
    fn mark(self) -> String {
        format!("{}/{}", self.name, self.version)
    }

    /// The file's bytes.
    pub fn write<T: Serialize>(self, content: &T) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(&Marked {
            format: self.mark(),
            content,
        })?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads bytes that should be of this format.
    pub fn read<T: DeserializeOwned>(self, bytes: &[u8]) -> Read<T> {
        match serde_json::from_slice::<Marked<T>>(bytes) {
            Ok(marked) if marked.format == self.mark() => return Read::Ours(marked.content),
            Ok(_) | Err(_) => {}
        }
        let mark = match serde_json::from_slice::<Mark>(bytes) {
            Ok(Mark { format }) => format.unwrap_or_default(),
            Err(error) => return Read::Damaged(error.to_string()),
        };
        let version = mark
            .strip_prefix(self.name)
            .and_then(|tail| tail.strip_prefix('/'))
            .and_then(|version| version.parse::<u32>().ok());
        match version {
            None => Read::Foreign,
            Some(version) if version > self.version => Read::Newer(version),
            Some(_) => Read::Damaged("the content does not fit its format".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_ours_foreign_newer_or_damaged() {
        let read = |text: &str| STATE.read::<u8>(text.as_bytes());
        assert_eq!(
            STATE.read::<u8>(&STATE.write(&7_u8).unwrap()),
            Read::Ours(7)
        );
        assert_eq!(read(r#"{"schema_version":1}"#), Read::Foreign);
        assert_eq!(
            read(r#"{"format":"harn-state/2","content":{}}"#),
            Read::Newer(2)
        );
        assert!(matches!(
            read(r#"{"format":"harn-state/1","content":{}}"#),
            Read::Damaged(_)
        ));
        assert!(matches!(read("{\"form"), Read::Damaged(_)));
    }
}
