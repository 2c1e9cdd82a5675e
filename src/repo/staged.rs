//! What the index holds beyond HEAD's tree. A directory whose tree id the index has cached is not
//! looked into, so a clean index costs one comparison.

use std::cmp::Ordering;
use std::ops::Range;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use gix::index::entry::{Flags, Mode};
use gix::index::extension::Tree as CachedTree;
use gix::index::{Entry, State};
use gix::objs::tree::EntryKind;

use super::budget::Budget;
use super::error::RepoError;
use crate::continuity::snapshot::Change;

/// A file on one side only: what a rename is made of.
#[derive(Debug, Clone)]
pub(super) struct Lone {
    pub(super) path: BString,
    pub(super) id: ObjectId,
    pub(super) kind: Mode,
}

#[derive(Debug, Default)]
pub(super) struct Staged {
    pub(super) deleted: Vec<Lone>,
    pub(super) added: Vec<Lone>,
    pub(super) changed: Vec<(BString, Change)>,
}

struct Comparison<'a> {
    repo: &'a gix::Repository,
    index: &'a State,
    budget: Budget<'a>,
    staged: Staged,
}

/// One tree entry, owned: `(name, kind, id)`.
type Node = (BString, Mode, ObjectId);

/// `tree` is HEAD's, `None` on an unborn branch.
pub(super) fn staged(
    repo: &gix::Repository,
    tree: Option<ObjectId>,
    index: &State,
    budget: Budget<'_>,
) -> Result<Staged, RepoError> {
    let mut comparison = Comparison {
        repo,
        index,
        budget,
        staged: Staged::default(),
    };
    let all = 0..index.entries().len();
    match tree {
        Some(tree) => comparison.tree(tree, BStr::new(""), all, index.tree())?,
        None => comparison.added(all),
    }
    Ok(comparison.staged)
}

impl Comparison<'_> {
    fn tree(
        &mut self,
        id: ObjectId,
        dir: &BStr,
        entries: Range<usize>,
        cached: Option<&CachedTree>,
    ) -> Result<(), RepoError> {
        let is_cached = cached.is_some_and(|it| {
            it.id == id && it.num_entries.map(|n| n as usize) == Some(entries.len())
        });
        if is_cached {
            return Ok(());
        }
        let mut at = entries.start;
        for (name, kind, id) in self.read(id)? {
            let path = joined(dir, &name);
            let key = if kind == Mode::DIR {
                joined(&path, b"/")
            } else {
                path
            };
            at = self.skip_before(&key, kind, at..entries.end);
            let same = at..self.end_of(&key, kind, at..entries.end);
            at = same.end;
            let sparse = self.entry(same.start).filter(|it| it.mode.is_sparse());
            match (kind == Mode::DIR, same.is_empty(), sparse) {
                (true, true, _) => self.deleted_tree(id, key.as_bstr())?,
                (true, false, Some(sparse)) if same.len() == 1 => {
                    if sparse.id != id {
                        self.staged.changed.push((key, Change::Modified));
                    }
                }
                (true, false, _) => {
                    let children = cached.map(|it| it.children.as_slice()).unwrap_or_default();
                    let child = children
                        .iter()
                        .find(|it| it.name.as_slice() == name.as_slice());
                    self.tree(id, key.as_bstr(), same, child)?;
                }
                (false, true, _) => self.staged.deleted.push(Lone {
                    path: key,
                    id,
                    kind,
                }),
                (false, false, _) => self.file(
                    Lone {
                        path: key,
                        id,
                        kind,
                    },
                    same.start,
                ),
            }
        }
        self.added(at..entries.end);
        Ok(())
    }

    fn entry(&self, at: usize) -> Option<&Entry> {
        self.index.entries().get(at)
    }

    fn read(&self, id: ObjectId) -> Result<Vec<Node>, RepoError> {
        self.budget.check()?;
        let tree = self
            .repo
            .find_tree(id)
            .map_err(RepoError::read("a tree of HEAD"))?;
        let mut nodes = Vec::new();
        for entry in tree.iter() {
            let entry = entry.map_err(RepoError::read("a tree of HEAD"))?;
            let kind = match entry.mode().kind() {
                EntryKind::Tree => Mode::DIR,
                EntryKind::Blob => Mode::FILE,
                EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
                EntryKind::Link => Mode::SYMLINK,
                EntryKind::Commit => Mode::COMMIT,
            };
            nodes.push((entry.filename().to_owned(), kind, entry.object_id()));
        }
        Ok(nodes)
    }

    /// Entries that sort before a tree's next name are new in the index.
    fn skip_before(&mut self, key: &BString, kind: Mode, entries: Range<usize>) -> usize {
        let backing = self.index.path_backing();
        let slice = self
            .index
            .entries()
            .get(entries.clone())
            .unwrap_or_default();
        let before = |path: &BStr| match kind {
            // `a/…` belongs to directory `a/`; everything below it sorts after `a/` itself.
            Mode::DIR => path.as_bytes() < key.as_bytes(),
            _ => path.as_bytes().cmp(key.as_bytes()) == Ordering::Less,
        };
        let end = entries.start + slice.partition_point(|it| before(it.path_in(backing)));
        self.added(entries.start..end);
        end
    }

    fn end_of(&self, key: &BString, kind: Mode, entries: Range<usize>) -> usize {
        let backing = self.index.path_backing();
        let slice = self
            .index
            .entries()
            .get(entries.clone())
            .unwrap_or_default();
        let is_same = |path: &BStr| match kind {
            Mode::DIR => path.starts_with(key),
            _ => path == key,
        };
        entries.start + slice.partition_point(|it| is_same(it.path_in(backing)))
    }

    fn file(&mut self, tree: Lone, at: usize) {
        let Some(entry) = self.entry(at) else { return };
        if entry.stage_raw() != 0 {
            return;
        }
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            self.staged.deleted.push(tree);
        } else if family(entry.mode) != family(tree.kind) {
            self.staged.changed.push((tree.path, Change::TypeChanged));
        } else if entry.id != tree.id || entry.mode != tree.kind {
            self.staged.changed.push((tree.path, Change::Modified));
        }
    }

    fn added(&mut self, entries: Range<usize>) {
        for entry in self.index.entries().get(entries).unwrap_or_default() {
            if entry.stage_raw() == 0 && !entry.flags.contains(Flags::INTENT_TO_ADD) {
                let path = entry.path_in(self.index.path_backing()).to_owned();
                self.staged.added.push(Lone {
                    path,
                    id: entry.id,
                    kind: entry.mode,
                });
            }
        }
    }

    fn deleted_tree(&mut self, id: ObjectId, dir: &BStr) -> Result<(), RepoError> {
        for (name, kind, id) in self.read(id)? {
            let mut path = joined(dir, &name);
            if kind == Mode::DIR {
                path.push_byte(b'/');
                self.deleted_tree(id, path.as_bstr())?;
            } else {
                self.staged.deleted.push(Lone { path, id, kind });
            }
        }
        Ok(())
    }
}

fn joined(dir: &[u8], name: &[u8]) -> BString {
    [dir, name].concat().into()
}

/// Files differ from links and submodules in type, among themselves only in mode.
fn family(mode: Mode) -> Mode {
    if mode == Mode::FILE_EXECUTABLE {
        Mode::FILE
    } else {
        mode
    }
}
