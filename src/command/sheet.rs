//! One settings file of the user's: read, planned, shown, written, with a receipt of what was done to it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::install::receipt::{Receipt, digest};
use crate::install::{self, Change, Refusal, Spot};
use crate::store::Layout;
use crate::store::dir::DirError;
use crate::store::foreign::{Foreign, ForeignError};
use crate::store::receipt::{self, Kept};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Why a file cannot be dealt with.
#[derive(Debug, thiserror::Error)]
pub(super) enum SheetError {
    #[error(transparent)]
    File(#[from] ForeignError),
    #[error(transparent)]
    Store(#[from] DirError),
    #[error("{path}: line {line}, column {column}: not text in UTF-8", path = path.display())]
    NoText {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    #[error("{path}: {refusal}", path = path.display())]
    Refused { path: PathBuf, refusal: Refusal },
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Unchanged,
    Created,
    Changed,
    /// What was there before is there again.
    Restored,
    Removed,
}

/// A file as it is, and what harn remembers of it.
#[derive(Debug)]
pub(super) struct Sheet {
    /// As the harness names it.
    pub(super) path: PathBuf,
    file: Foreign,
    has_mark: bool,
    /// Without a byte order mark; empty where there is no file.
    pub(super) text: String,
    kept: Option<Kept<Receipt>>,
}

/// A file and what is to become of it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) sheet: Sheet,
    pub(super) reasons: Vec<String>,
    pub(super) outcome: Outcome,
    /// None: no file.
    after: Option<Vec<u8>>,
    /// The receipt that is to be kept, and the content before; none: nothing of harn's is left.
    remembered: Option<(Vec<Spot>, Option<Vec<u8>>)>,
}

impl Sheet {
    pub(super) fn read(
        layout: &Layout,
        path: &Path,
        within: Option<&Path>,
    ) -> Result<Self, SheetError> {
        let file = Foreign::read(path, within)?;
        let kept = receipt::read(layout, path)?;
        let text = match &file.bytes {
            None => "",
            Some(bytes) => std::str::from_utf8(bytes).map_err(|error| {
                let (line, column) = install::place_in(bytes, error.valid_up_to());
                let path = path.to_owned();
                SheetError::NoText { path, line, column }
            })?,
        };
        let bare = text.strip_prefix(BYTE_ORDER_MARK);
        Ok(Self {
            path: path.to_owned(),
            has_mark: bare.is_some(),
            text: bare.unwrap_or(text).to_owned(),
            file,
            kept,
        })
    }

    pub(super) fn has_mark(&self) -> bool {
        self.has_mark
    }

    /// What harn remembers of places in it.
    pub(super) fn spots(&self) -> &[Spot] {
        self.kept.as_ref().map_or(&[], |kept| &kept.receipt.spots)
    }

    /// The same, unless nothing of harn's is in the text any more: then it is a text like any other.
    pub(super) fn spots_beside(&self, stripped: &str) -> &[Spot] {
        if stripped == self.text {
            &[]
        } else {
            self.spots()
        }
    }

    pub(super) fn refused(&self, refusal: Refusal) -> SheetError {
        let path = self.path.clone();
        SheetError::Refused { path, refusal }
    }

    /// Whether it holds, byte for byte, what harn wrote last.
    fn is_as_written(&self) -> bool {
        let kept = self.kept.as_ref();
        let bytes = self.file.bytes.as_ref();
        kept.zip(bytes)
            .is_some_and(|(kept, bytes)| kept.receipt.is_of(bytes))
    }

    fn bytes(&self, text: &str) -> Vec<u8> {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        format!("{mark}{text}").into_bytes()
    }

    /// Takes an installation over; `stripped` is the text without anything of harn's.
    pub(super) fn install(self, change: Change, stripped: &str) -> Plan {
        let before = if self.is_as_written() {
            self.kept.as_ref().and_then(|kept| kept.before.clone())
        } else {
            let was_missing = self.file.bytes.is_none() || self.is_from_nothing(stripped);
            (!was_missing).then(|| self.bytes(stripped))
        };
        let outcome = match &self.file.bytes {
            _ if change.text == self.text => Outcome::Unchanged,
            None => Outcome::Created,
            Some(_) => Outcome::Changed,
        };
        Plan {
            outcome,
            reasons: change.reasons,
            after: Some(self.bytes(&change.text)),
            remembered: Some((change.spots, before)),
            sheet: self,
        }
    }

    /// Takes a removal over; `is_all`: nothing of harn's is left in it.
    pub(super) fn uninstall(self, stripped: &str, is_all: bool) -> Plan {
        let is_changed = stripped != self.text;
        let is_whole = is_changed && is_all && self.is_as_written();
        let before = self.kept.as_ref().and_then(|kept| kept.before.clone());
        let after = match &self.file.bytes {
            None => None,
            Some(_) if is_whole => before,
            Some(_) if is_changed && self.is_from_nothing(stripped) => None,
            Some(_) => Some(self.bytes(stripped)),
        };
        let outcome = match (&self.file.bytes, &after) {
            (Some(_), None) => Outcome::Removed,
            _ if !is_changed => Outcome::Unchanged,
            _ if is_whole => Outcome::Restored,
            _ => Outcome::Changed,
        };
        let kept = self.kept.as_ref();
        let remembered = kept
            .filter(|_| !is_all)
            .map(|kept| (kept.receipt.spots.clone(), kept.before.clone()));
        Plan {
            outcome,
            reasons: Vec::new(),
            after,
            remembered,
            sheet: self,
        }
    }

    /// harn made the file, and nobody has put anything else into it.
    fn is_from_nothing(&self, stripped: &str) -> bool {
        let is_empty: String = stripped.split_whitespace().collect();
        let was_made = self.kept.as_ref().is_some_and(|kept| kept.before.is_none());
        was_made && matches!(is_empty.as_str(), "" | "{}")
    }
}

impl Plan {
    pub(super) fn is_change(&self) -> bool {
        self.outcome != Outcome::Unchanged
    }

    /// The texts before and after, for a diff.
    pub(super) fn texts(&self) -> (String, String) {
        let text = |bytes: Option<&Vec<u8>>| {
            bytes.map_or_else(String::new, |it| String::from_utf8_lossy(it).into_owned())
        };
        (
            text(self.sheet.file.bytes.as_ref()),
            text(self.after.as_ref()),
        )
    }

    /// Writes the file, its receipt first; gives the place of the content before.
    pub(super) fn carry_out(&self, layout: &Layout) -> Result<Option<PathBuf>, SheetError> {
        let sheet = &self.sheet;
        let folders = match &sheet.kept {
            Some(kept) => kept.receipt.folders.clone(),
            None => made_before(layout, &sheet.path)?,
        };
        let mut backup = None;
        let remember = |folders: Vec<PathBuf>| {
            let Some((spots, before)) = &self.remembered else {
                return Ok(None);
            };
            let bytes = self.after.as_deref().unwrap_or_default();
            let receipt = Receipt {
                file: sheet.path.clone(),
                sha256: digest(bytes),
                spots: spots.clone(),
                folders,
            };
            receipt::write(layout, &sheet.path, &receipt, before.as_deref())
        };
        if self.is_change() {
            // A receipt of what is then not written would only say that somebody changed the file since.
            backup = remember(folders.clone())?;
            match &self.after {
                Some(bytes) => {
                    let made = sheet.file.replace(bytes)?;
                    if !made.is_empty() {
                        backup = remember([folders, made].concat())?;
                    }
                }
                None => sheet.file.remove(&folders)?,
            }
        }
        if self.remembered.is_none() {
            receipt::remove(layout, &sheet.path)?;
        }
        Ok(backup)
    }
}

/// Folders of this file that harn made for another one: whichever goes last takes them away.
fn made_before(layout: &Layout, file: &Path) -> Result<Vec<PathBuf>, DirError> {
    let all: Vec<Receipt> = receipt::all(layout)?;
    let folders = all.into_iter().flat_map(|receipt| receipt.folders);
    let mut made: Vec<PathBuf> = folders.filter(|folder| file.starts_with(folder)).collect();
    made.sort();
    made.dedup();
    Ok(made)
}
