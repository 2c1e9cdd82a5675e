//! What harn did to a file, as it is remembered.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Spot;

/// Kept with the content before; without either, what harn put into a file can still be found by what it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub file: PathBuf,
    /// Of the content that harn wrote, in hex.
    pub sha256: String,
    pub spots: Vec<Spot>,
    /// Folders made for the file.
    pub folders: Vec<PathBuf>,
}

impl Receipt {
    /// Whether nobody has changed what harn wrote.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.sha256 == digest(bytes)
    }
}

pub fn digest(bytes: &[u8]) -> String {
    crate::text::hex(&Sha256::digest(bytes))
}
