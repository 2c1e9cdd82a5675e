//! Finds and opens a repository, with nothing allowed that could run a program.

use std::fs;
use std::path::{Path, PathBuf};

use gix::sec::Permission;

use super::error::RepoError;
use crate::continuity::snapshot::Head;

/// What stands at a place on the way up from a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Worktree(PathBuf),
    Bare,
}

/// The root of the worktree that holds `cwd`, symlinks resolved; `None` outside of one.
pub fn worktree_root(cwd: &Path) -> Option<PathBuf> {
    match find(cwd)? {
        Place::Worktree(root) => Some(root),
        Place::Bare => None,
    }
}

/// Where HEAD stands, and nothing else: cheap enough to be looked at again and again.
pub fn head(cwd: &Path) -> Option<Head> {
    let repo = open(&worktree_root(cwd)?).ok()?;
    super::head::head(&repo).ok()
}

/// The name of the branch that the repository around `cwd` is on, from its HEAD file alone: for those who look at hundreds.
/// None where HEAD is detached, or kept in another way.
pub fn branch(cwd: &Path) -> Option<String> {
    let dot_git = cwd
        .ancestors()
        .map(|dir| dir.join(".git"))
        .find(|path| fs::symlink_metadata(path).is_ok())?;
    let git_dir = if dot_git.is_dir() {
        dot_git
    } else {
        let text = short_text(&dot_git)?;
        dot_git.parent()?.join(text.strip_prefix("gitdir: ")?)
    };
    let head = short_text(&git_dir.join("HEAD"))?;
    let name = head.strip_prefix("ref: refs/heads/")?;
    (name != ".invalid").then(|| name.to_owned())
}

/// A regular file of a line; whatever else stands there is not waited for.
fn short_text(path: &Path) -> Option<String> {
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    Some(text.trim_end().to_owned())
}

pub(super) fn find(cwd: &Path) -> Option<Place> {
    let cwd = fs::canonicalize(cwd).ok()?;
    cwd.ancestors().find_map(|dir| {
        if is_git_entry(&dir.join(".git")) {
            Some(Place::Worktree(dir.to_path_buf()))
        } else if dir.file_name().is_none_or(|name| name != ".git") && is_git_dir(dir) {
            Some(Place::Bare)
        } else {
            None
        }
    })
}

/// A `.git` that git would stop at: a repository directory, or a file that points to one.
pub(super) fn is_git_entry(dot_git: &Path) -> bool {
    match fs::metadata(dot_git) {
        Ok(meta) if meta.is_dir() => is_git_dir(dot_git),
        Ok(meta) => meta.is_file(),
        Err(_) => false,
    }
}

fn is_git_dir(dir: &Path) -> bool {
    fs::symlink_metadata(dir.join("HEAD")).is_ok()
        && dir.join("objects").is_dir()
        && dir.join("refs").is_dir()
}

/// Opens the repository of the worktree at `root`.
pub(super) fn open(root: &Path) -> Result<gix::Repository, RepoError> {
    let dot_git = root.join(".git");
    let repo = gix::open_opts(&dot_git, options()).map_err(|source| RepoError::Open {
        path: dot_git,
        source: Box::new(source),
    })?;
    let storage = repo
        .config_snapshot()
        .string("extensions.refStorage")
        .map(|it| it.to_string());
    if let Some(storage) = storage.filter(|it| !it.eq_ignore_ascii_case("files")) {
        return Err(RepoError::RefStorage(storage));
    }
    let workdir = repo.workdir().ok_or(RepoError::Bare)?;
    match fs::canonicalize(workdir) {
        Ok(workdir) if workdir == root => Ok(repo),
        Ok(_) => Err(RepoError::ForeignWorktree),
        Err(source) => Err(RepoError::Worktree {
            path: workdir.to_path_buf(),
            source,
        }),
    }
}

/// Configuration files are read, because `core.*` and the user's ignore file are part of the
/// truth; the environment is not, and the git binary is never asked for anything.
fn options() -> gix::open::Options {
    let mut permissions = gix::open::Permissions::isolated();
    permissions.config = gix::open::permissions::Config {
        git_binary: false,
        system: true,
        git: true,
        user: true,
        env: false,
        includes: true,
    };
    permissions.attributes = gix::open::permissions::Attributes {
        git_binary: false,
        system: true,
        git: true,
    };
    permissions.env.home = Permission::Allow;
    permissions.env.xdg_config_home = Permission::Allow;
    gix::open::Options::default()
        .permissions(permissions)
        .open_path_as_is(true)
}

/// The worktree that contains `root` as its submodule: the git directory of a submodule lies in
/// `modules/` of its superproject's.
pub(super) fn superproject(root: &Path, common_dir: &Path) -> Option<PathBuf> {
    let inside = common_dir.ancestors().find(|dir| {
        dir.file_name().is_some_and(|name| name == "modules")
            && dir.parent().is_some_and(is_git_dir)
    });
    inside.and_then(|_| worktree_root(root.parent()?))
}
