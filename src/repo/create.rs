//! Makes a small repository with one commit, without the git binary. Only for directories of harn's own.

use std::path::Path;

use gix::objs::tree::{Entry, EntryKind};

use super::error::RepoError;

/// Makes `root` a repository on `main` whose only commit holds these files, which are there already.
pub fn create(root: &Path, files: &[(&str, &str)], message: &str) -> Result<(), RepoError> {
    let failed = |what| RepoError::read(what);
    let repo = gix::init(root).map_err(failed("a new repository"))?;
    let mut tree = gix::objs::Tree::empty();
    for (name, text) in files {
        let id = repo.write_blob(text).map_err(failed("a new blob"))?;
        tree.entries.push(Entry {
            mode: EntryKind::Blob.into(),
            filename: (*name).into(),
            oid: id.detach(),
        });
    }
    tree.entries.sort();
    let tree = repo
        .write_object(&tree)
        .map_err(failed("a new tree"))?
        .detach();
    let author = gix::actor::SignatureRef {
        name: "Demo".into(),
        email: "demo@example.invalid".into(),
        time: "1767225600 +0000",
    };
    let no_parents: [gix::ObjectId; 0] = [];
    repo.commit_as(author, author, "HEAD", message, tree, no_parents)
        .map_err(failed("a new commit"))?;
    let mut index = repo.index_from_tree(&tree).map_err(failed("a new index"))?;
    index
        .write(gix::index::write::Options::default())
        .map_err(failed("a new index"))
}
