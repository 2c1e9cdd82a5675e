//! What harn put into a user's file, kept so that it can be taken out to the byte.
//!
//! One directory for each file, named by the file's path: the receipt, and the content before.

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};

use super::dir::{Dir, DirError, Durability};
use super::format::{self, Read};
use super::home;
use super::layout::{Layout, project_key};

const ROOM: &str = "install";
const RECEIPT: &str = "receipt.json";
const BEFORE: &str = "before";
const LIMIT_BYTES: u64 = 16 * 1024 * 1024;

/// A receipt and the content before; no content: there was no file.
#[derive(Debug)]
pub struct Kept<T> {
    pub receipt: T,
    pub before: Option<Vec<u8>>,
}

/// The receipt of a file; none where harn has put nothing into it, or none can be read.
pub fn read<T: DeserializeOwned>(
    layout: &Layout,
    file: &Path,
) -> Result<Option<Kept<T>>, DirError> {
    let Some(room) = home::open_room(layout, ROOM)? else {
        return Ok(None);
    };
    let dir = match room.child(&project_key(file)) {
        Ok(dir) => dir,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(bytes) = dir.read(RECEIPT, LIMIT_BYTES)? else {
        return Ok(None);
    };
    match format::RECEIPT.read(&bytes) {
        Read::Ours(receipt) => Ok(Some(Kept {
            receipt,
            before: dir.read(BEFORE, LIMIT_BYTES)?,
        })),
        Read::Foreign | Read::Newer(_) | Read::Damaged(_) => {
            tracing::warn!(path = %dir.path().display(), "the receipt cannot be read");
            Ok(None)
        }
    }
}

/// Every receipt that can be read.
pub fn all<T: DeserializeOwned>(layout: &Layout) -> Result<Vec<T>, DirError> {
    let Some(room) = home::open_room(layout, ROOM)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for name in room.names()? {
        let bytes = room
            .child(&name)
            .and_then(|dir| dir.read(RECEIPT, LIMIT_BYTES));
        if let Ok(Some(bytes)) = bytes
            && let Read::Ours(receipt) = format::RECEIPT.read(&bytes)
        {
            found.push(receipt);
        }
    }
    Ok(found)
}

/// Writes the receipt of a file; gives the place of the content before, where there was any.
pub fn write<T: Serialize>(
    layout: &Layout,
    file: &Path,
    receipt: &T,
    before: Option<&[u8]>,
) -> Result<Option<std::path::PathBuf>, DirError> {
    let dir = home::ensure_room(layout, ROOM)?.ensure(&project_key(file))?;
    let bytes = format::RECEIPT
        .write(receipt)
        .map_err(|error| DirError::Io {
            what: "write",
            path: dir.path().join(RECEIPT),
            source: std::io::Error::other(error),
        })?;
    match before {
        Some(before) => dir.replace(BEFORE, before, Durability::Synced)?,
        None => dir.remove(BEFORE)?,
    }
    dir.replace(RECEIPT, &bytes, Durability::Synced)?;
    Ok(before.map(|_| dir.path().join(BEFORE)))
}

pub fn remove(layout: &Layout, file: &Path) -> Result<(), DirError> {
    let Some(room) = home::open_room(layout, ROOM)? else {
        return Ok(());
    };
    let key = project_key(file);
    remove_from(&room, &key)
}

fn remove_from(room: &Dir, key: &str) -> Result<(), DirError> {
    let dir = match room.child(key) {
        Ok(dir) => dir,
        Err(error) if error.is_missing() => return Ok(()),
        Err(error) => return Err(error),
    };
    dir.remove(RECEIPT)?;
    dir.remove(BEFORE)?;
    room.remove_dir(key)
}
