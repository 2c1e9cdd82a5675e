//! The dirty paths while they are being found, and the sorted, capped list they become.

use std::collections::BTreeMap;

use gix::bstr::{BStr, BString, ByteSlice as _};
use sha2::{Digest as _, Sha256};

use crate::continuity::BytePath;
use crate::continuity::snapshot::{
    Change, Conflict, DIRTY_CAP, DirtyList, DirtyPath, Status, Submodule,
};

/// harn's own state, wherever in the worktree it stands, is never dirty.
const OWN_DIRECTORY: &[u8] = b".harnery";

#[derive(Debug, Default)]
pub(super) struct Found {
    tracked: BTreeMap<BString, Tracked>,
    conflicts: BTreeMap<BString, Conflict>,
    untracked: Vec<BString>,
}

#[derive(Debug)]
struct Tracked {
    staged: Change,
    unstaged: Change,
    renamed_from: Option<BString>,
    submodule: Option<Submodule>,
}

impl Found {
    fn tracked(&mut self, path: &BStr) -> &mut Tracked {
        self.tracked.entry(path.to_owned()).or_insert(Tracked {
            staged: Change::Unchanged,
            unstaged: Change::Unchanged,
            renamed_from: None,
            submodule: None,
        })
    }

    pub(super) fn staged(&mut self, path: &BStr, change: Change) {
        self.tracked(path).staged = change;
    }

    pub(super) fn renamed(&mut self, from: &BStr, to: &BStr) {
        self.tracked.remove(from);
        let entry = self.tracked(to);
        entry.staged = Change::Renamed;
        entry.renamed_from = Some(from.to_owned());
    }

    pub(super) fn unstaged(&mut self, path: &BStr, change: Change) {
        self.tracked(path).unstaged = change;
    }

    pub(super) fn submodule(&mut self, path: &BStr, submodule: Submodule) {
        let entry = self.tracked(path);
        entry.unstaged = Change::Modified;
        entry.submodule = Some(submodule);
    }

    pub(super) fn conflict(&mut self, path: &BStr, conflict: Conflict) {
        self.conflicts.insert(path.to_owned(), conflict);
    }

    pub(super) fn untracked(&mut self, path: BString) {
        self.untracked.push(path);
    }

    pub(super) fn has_tracked(&self) -> bool {
        self.tracked
            .keys()
            .chain(self.conflicts.keys())
            .any(|path| !is_own(path.as_bstr()))
    }

    pub(super) fn has_untracked(&self) -> bool {
        self.untracked.iter().any(|path| !is_own(path.as_bstr()))
    }

    pub(super) fn into_list(self) -> DirtyList {
        let mut paths: Vec<DirtyPath> = Vec::new();
        for (path, tracked) in self.tracked {
            let Tracked {
                staged,
                unstaged,
                renamed_from,
                submodule,
            } = tracked;
            if !self.conflicts.contains_key(&path) {
                paths.push(DirtyPath {
                    renamed_from: renamed_from.map(|from| BytePath::new(Vec::from(from))),
                    submodule,
                    ..DirtyPath::new(
                        BytePath::new(Vec::from(path)),
                        Status::Changed { staged, unstaged },
                    )
                });
            }
        }
        let conflicts = self.conflicts.into_iter();
        paths.extend(conflicts.map(|(path, conflict)| {
            DirtyPath::new(BytePath::new(Vec::from(path)), Status::Conflicted(conflict))
        }));
        let untracked = self.untracked.into_iter();
        paths.extend(
            untracked.map(|path| DirtyPath::new(BytePath::new(Vec::from(path)), Status::Untracked)),
        );
        paths.retain(|it| !is_own(it.path.as_bytes().as_bstr()));
        paths.sort_by_cached_key(DirtyPath::key);
        let digest = digest(&paths);
        let total = u64::try_from(paths.len()).unwrap_or(u64::MAX);
        paths.truncate(DIRTY_CAP);
        DirtyList {
            paths,
            total,
            digest,
        }
    }
}

fn is_own(path: &BStr) -> bool {
    path.split(|byte| *byte == b'/')
        .any(|part| part == OWN_DIRECTORY)
}

fn digest(paths: &[DirtyPath]) -> String {
    let mut hasher = Sha256::new();
    for it in paths {
        hasher.update(it.path.as_bytes());
        hasher.update(b"\0");
        hasher.update(it.status.letters());
        if let Some(from) = &it.renamed_from {
            hasher.update(from.as_bytes());
        }
        hasher.update(b"\0");
        hasher.update(it.submodule.map(String::from).unwrap_or_default());
        hasher.update(b"\0");
    }
    hex_prefix(&hasher.finalize())
}

/// 128 bits are enough to tell two states of one file apart.
pub(super) fn hex_prefix(hash: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    hash.iter()
        .take(16)
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)])
        .collect()
}
