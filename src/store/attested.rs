//! What installed clients were seen to do, kept by adapter: the newest rehearsal of each.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};

use super::dir::{DirError, Durability};
use super::format::{self, Read};
use super::home;
use super::layout::Layout;

const FILE: &str = "attested.json";
const LIMIT_BYTES: u64 = 1024 * 1024;

/// All that is kept, by adapter; nothing where nothing can be read.
pub fn read<T: DeserializeOwned>(layout: &Layout) -> Result<BTreeMap<String, T>, DirError> {
    let Some(dir) = home::open(layout)? else {
        return Ok(BTreeMap::new());
    };
    let bytes = dir.read(FILE, LIMIT_BYTES)?.unwrap_or_default();
    Ok(match format::ATTESTED.read(&bytes) {
        Read::Ours(all) => all,
        Read::Foreign | Read::Newer(_) | Read::Damaged(_) => BTreeMap::new(),
    })
}

/// Puts one adapter's in the place of what is kept of it.
pub fn write<T: Serialize + DeserializeOwned>(
    layout: &Layout,
    adapter: &str,
    attested: T,
) -> Result<(), DirError> {
    let dir = home::ensure(layout)?;
    let mut all = read(layout)?;
    all.insert(adapter.to_owned(), attested);
    match format::ATTESTED.write(&all) {
        Ok(bytes) => dir.replace(FILE, &bytes, Durability::Atomic),
        Err(error) => Err(DirError::Io {
            what: "write",
            path: dir.path().join(FILE),
            source: std::io::Error::other(error),
        }),
    }
}
