//! A scratch repository made by the real git, and the two readings that must agree.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use harn::continuity::snapshot::{Dirty, DirtyPath};
use harn::continuity::{RepoSnapshot, RepoState};

pub(crate) struct Repo {
    scratch: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

/// One dirty path as porcelain v2 tells it: path, letters, the old name, the submodule's letters.
pub(crate) type Row = (Vec<u8>, String, Option<Vec<u8>>, Option<String>);

impl Repo {
    /// A repository without a commit.
    pub(crate) fn unborn() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap().join("repo");
        let repo = Self { scratch, root };
        fs::create_dir(&repo.root).unwrap();
        init(&repo.root);
        repo
    }

    /// A repository with one commit of these files, each holding its own name.
    pub(crate) fn with(names: &[&str]) -> Self {
        let repo = Self::unborn();
        for name in names {
            repo.write(name, &format!("{name}\n"));
        }
        repo.git(["add", "-A"]);
        repo.git(["commit", "-q", "--allow-empty", "-m", "first"]);
        repo
    }

    /// A place beside the worktree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.scratch.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<OsStr>, text: &str) {
        write(&self.root.join(name.as_ref()), text.as_bytes());
    }

    pub(crate) fn git<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Vec<u8> {
        git(&self.root, args)
    }

    pub(crate) fn snapshot(&self) -> RepoSnapshot {
        snapshot(&self.root)
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        rows(&self.root)
    }

    /// harn and git tell the same.
    #[track_caller]
    pub(crate) fn agrees(&self) {
        agrees(&self.root);
    }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().write_all(bytes).unwrap();
}

pub(crate) fn init(root: &Path) {
    git(root, ["init", "-q", "-b", "main"]);
    for (key, value) in [
        ("user.name", "Test"),
        ("user.email", "test@example.org"),
        ("commit.gpgsign", "false"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
    ] {
        git(root, ["config", key, value]);
    }
}

pub(crate) fn command<I: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_EDITOR", "true")
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir);
    command
}

pub(crate) fn try_git<I: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = I>) -> Output {
    command(dir, args).output().unwrap()
}

#[track_caller]
pub(crate) fn git<I: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = I>) -> Vec<u8> {
    let output = try_git(dir, args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

pub(crate) fn state(cwd: &Path) -> RepoState {
    harn::repo::snapshot(cwd, Duration::from_secs(30), &AtomicBool::new(false))
}

#[track_caller]
pub(crate) fn snapshot(cwd: &Path) -> RepoSnapshot {
    let state = state(cwd);
    let RepoState::Known(snapshot) = state else {
        panic!("{state:?}")
    };
    *snapshot
}

#[track_caller]
pub(crate) fn dirty(cwd: &Path) -> Vec<DirtyPath> {
    match snapshot(cwd).dirty {
        Dirty::Known(list) => list.paths,
        Dirty::Unknown { reason } => panic!("{reason}"),
    }
}

#[track_caller]
pub(crate) fn rows(cwd: &Path) -> Vec<Row> {
    let row = |it: DirtyPath| {
        (
            it.path.as_bytes().to_vec(),
            it.status.letters(),
            it.renamed_from.map(|from| from.as_bytes().to_vec()),
            it.submodule.map(String::from),
        )
    };
    dirty(cwd).into_iter().map(row).collect()
}

#[track_caller]
pub(crate) fn agrees(cwd: &Path) {
    let told = git(
        cwd,
        ["status", "--porcelain=v2", "-z", "--untracked-files=normal"],
    );
    assert_eq!(printed(&rows(cwd)), printed(&parse(&told)));
    let head = snapshot(cwd).head;
    let id = try_git(cwd, ["rev-parse", "-q", "--verify", "HEAD"]);
    let id = String::from_utf8(id.stdout).unwrap();
    assert_eq!(
        head.commit.as_deref(),
        Some(id.trim()).filter(|id| !id.is_empty())
    );
}

fn printed(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .map(|it| format!("{} {it:?}", String::from_utf8_lossy(&it.0)))
        .collect()
}

fn parse(porcelain: &[u8]) -> Vec<Row> {
    let mut fields = porcelain
        .split(|byte| *byte == 0)
        .filter(|it| !it.is_empty());
    let mut rows = Vec::new();
    while let Some(line) = fields.next() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let columns = match line[0] {
            b'1' => 9,
            b'2' => 10,
            b'u' => 11,
            b'?' => 2,
            other => panic!("{other}"),
        };
        let parts: Vec<&[u8]> = line.splitn(columns, |byte| *byte == b' ').collect();
        let path = parts[columns - 1].to_vec();
        if line[0] == b'?' {
            rows.push((path, "??".to_owned(), None, None));
            continue;
        }
        let from = (line[0] == b'2').then(|| fields.next().unwrap().to_vec());
        let submodule = text(parts[2]);
        let submodule = (submodule.starts_with('S') && submodule != "S...").then_some(submodule);
        rows.push((path, text(parts[1]), from, submodule));
    }
    rows.sort_by_key(|(path, letters, _, _)| (path.clone(), letters == "??"));
    rows
}

pub(crate) fn bytes_name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}
