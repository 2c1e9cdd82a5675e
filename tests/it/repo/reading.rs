//! What a reading must never do, and what it says where git has no word.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use harn::continuity::snapshot::{Branch, Dirty, Operation, Upstream};
use harn::continuity::{BytePath, Drift, RepoState};

use super::fixture::{Repo, dirty, git, init, snapshot, state, try_git, write};

#[test]
fn a_clean_filter_of_the_repository_never_runs_and_its_files_are_unknown() {
    let repo = Repo::with(&["a.dat", "b.txt"]);
    let marker = repo.beside("marker");
    let script = format!("touch '{}'; cat", marker.display());
    repo.write(".gitattributes", "*.dat filter=evil diff=evil\n");
    for key in [
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.textconv",
        "core.fsmonitor",
    ] {
        repo.git(["config", key, &script]);
    }
    for hook in ["post-index-change", "pre-commit", "fsmonitor-watchman"] {
        let path = repo.root.join(".git/hooks").join(hook);
        write(&path, format!("#!/bin/sh\n{script}\n").as_bytes());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    repo.write("a.dat", "A.dat\n");
    repo.write("b.txt", "edited\n");
    let found: Vec<_> = dirty(&repo.root)
        .iter()
        .map(|it| (it.path.encode(), it.describe()))
        .collect();
    let row = |path: &str, said: &str| (path.to_owned(), said.to_owned());
    assert_eq!(
        found,
        [
            row(".gitattributes", "untracked"),
            row("a.dat", "unknown (needs a filter)"),
            row("b.txt", "modified"),
        ]
    );
    assert!(!marker.exists());
}

#[test]
fn a_filter_attribute_without_a_program_is_compared_plainly() {
    let repo = Repo::with(&["a.dat"]);
    repo.write(".gitattributes", "*.dat filter=nobody\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "attributes"]);
    repo.write("a.dat", "A.dat\n");
    repo.agrees();
}

#[test]
fn a_reading_leaves_the_index_alone() {
    let repo = Repo::with(&["a", "b"]);
    repo.write("a", "a\n");
    let index = repo.root.join(".git/index");
    let identity = || {
        let meta = fs::metadata(&index).unwrap();
        (
            meta.ino(),
            meta.mtime(),
            meta.mtime_nsec(),
            fs::read(&index).unwrap(),
        )
    };
    let before = identity();
    repo.snapshot();
    assert_eq!(identity(), before);
}

#[test]
fn two_hundred_readings_beside_a_committer_disturb_neither() {
    let repo = Repo::with(&["a"]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let committer = scope.spawn(|| {
            let mut commits = 0;
            while !done.load(Ordering::Relaxed) {
                repo.write("a", &format!("{commits}"));
                git(&repo.root, ["commit", "-qam", "again"]);
                commits += 1;
            }
            commits
        });
        let mut failures = Vec::new();
        for _ in 0..200 {
            let read = state(&repo.root);
            let is_whole =
                matches!(&read, RepoState::Known(it) if matches!(it.dirty, Dirty::Known(_)));
            if !is_whole {
                failures.push(read);
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(committer.join().unwrap() > 0);
        assert_eq!(failures, []);
    });
}

#[test]
fn a_place_without_a_repository_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    assert_eq!(state(scratch.path()), RepoState::NotARepository);
    assert_eq!(harn::repo::worktree_root(scratch.path()), None);
    assert_eq!(
        state(&scratch.path().join("absent")),
        RepoState::NotARepository
    );
}

#[test]
fn bare_corrupt_and_foreign_formats_are_failures_with_a_reason() {
    let reason = |dir: &Path| {
        let state = state(dir);
        let RepoState::Failed { reason } = state else {
            panic!("{state:?}")
        };
        reason
    };
    let bare = tempfile::tempdir().unwrap();
    git(bare.path(), ["init", "-q", "--bare"]);
    assert_eq!(reason(bare.path()), "the repository has no worktree (bare)");

    let repo = Repo::with(&["a"]);
    repo.write(".git/HEAD", "garbage\n");
    assert!(
        reason(&repo.root).contains("HEAD"),
        "{}",
        reason(&repo.root)
    );

    let repo = Repo::with(&["a"]);
    repo.git(["config", "core.repositoryFormatVersion", "1"]);
    repo.git(["config", "extensions.refStorage", "reftable"]);
    assert!(
        reason(&repo.root).contains("reftable"),
        "{}",
        reason(&repo.root)
    );
}

#[test]
fn a_damaged_index_leaves_head_known_and_dirty_paths_unknown() {
    let repo = Repo::with(&["a"]);
    repo.write(".git/index", "DIRC garbage");
    let read = repo.snapshot();
    assert_eq!(
        read.head.branch,
        Some(Branch::Branch(BytePath::new("main")))
    );
    assert!(
        matches!(read.dirty, Dirty::Unknown { .. }),
        "{:?}",
        read.dirty
    );
}

#[test]
fn no_time_at_all_is_a_timeout_and_a_call_off_leaves_the_dirty_paths_unknown() {
    let repo = Repo::with(&["a"]);
    assert_eq!(
        harn::repo::snapshot_within(&repo.root, Duration::ZERO),
        RepoState::TimedOut
    );
    let read = harn::repo::snapshot(&repo.root, Duration::from_secs(9), &AtomicBool::new(true));
    let RepoState::Known(read) = read else {
        panic!("{read:?}")
    };
    assert_eq!(
        read.dirty,
        Dirty::Unknown {
            reason: "timed out".to_owned()
        }
    );
}

#[test]
fn head_names_branch_unborn_and_detached() {
    let repo = Repo::unborn();
    let branch = || repo.snapshot().head.branch;
    assert_eq!(branch(), Some(Branch::Unborn(BytePath::new("main"))));
    repo.git(["commit", "-q", "--allow-empty", "-m", "first"]);
    assert_eq!(branch(), Some(Branch::Branch(BytePath::new("main"))));
    repo.git(["checkout", "-qb", "feature/x"]);
    assert_eq!(branch(), Some(Branch::Branch(BytePath::new("feature/x"))));
    repo.git(["checkout", "-q", "--detach"]);
    assert_eq!(branch(), Some(Branch::Detached));
}

#[test]
fn an_operation_in_progress_is_named() {
    let repo = Repo::with(&["a"]);
    repo.git(["checkout", "-qb", "side"]);
    repo.write("a", "side");
    repo.git(["commit", "-qam", "side"]);
    repo.git(["checkout", "-q", "main"]);
    repo.write("a", "main");
    repo.git(["commit", "-qam", "main"]);
    let operation = || repo.snapshot().operation;
    assert_eq!(operation(), None);
    for (start, stop, name) in [
        (
            &["merge", "side"][..],
            &["merge", "--abort"][..],
            Operation::Merge,
        ),
        (
            &["rebase", "side"],
            &["rebase", "--abort"],
            Operation::Rebase,
        ),
        (
            &["cherry-pick", "side"],
            &["cherry-pick", "--abort"],
            Operation::CherryPick,
        ),
        (
            &["revert", "HEAD~1"],
            &["revert", "--abort"],
            Operation::Revert,
        ),
        (
            &["bisect", "start"],
            &["bisect", "reset"],
            Operation::Bisect,
        ),
    ] {
        drop(try_git(&repo.root, start));
        assert_eq!(operation(), Some(name));
        repo.git(stop);
        assert_eq!(operation(), None);
    }
}

#[test]
fn the_upstream_is_counted_both_ways() {
    let repo = Repo::with(&["a"]);
    let clone = repo.beside("clone");
    repo.git([
        "clone",
        "-q",
        repo.root.to_str().unwrap(),
        clone.to_str().unwrap(),
    ]);
    init(&clone);
    for _ in 0..2 {
        repo.git(["commit", "-q", "--allow-empty", "-m", "theirs"]);
    }
    for _ in 0..3 {
        git(&clone, ["commit", "-q", "--allow-empty", "-m", "ours"]);
    }
    git(&clone, ["fetch", "-q"]);
    let expected = Upstream {
        name: BytePath::new("origin/main"),
        ahead: 3,
        behind: 2,
    };
    assert_eq!(snapshot(&clone).upstream, Some(expected));
    assert_eq!(repo.snapshot().upstream, None);
}

#[test]
fn a_linked_worktree_with_a_relative_gitdir_knows_its_common_directory() {
    let repo = Repo::with(&["a"]);
    let linked = repo.beside("linked");
    repo.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ]);
    write(
        &linked.join(".git"),
        b"gitdir: ../repo/.git/worktrees/linked\n",
    );
    let read = snapshot(&linked);
    assert_eq!(
        (read.root, read.common_dir, read.linked),
        (
            BytePath::from(linked.as_path()),
            BytePath::from(repo.root.join(".git").as_path()),
            true
        )
    );
    assert!(!repo.snapshot().linked);
}

#[test]
fn a_submodule_names_its_superproject() {
    let repo = Repo::with(&["a"]);
    let other = Repo::with(&["inner"]);
    repo.git([
        "submodule",
        "--quiet",
        "add",
        other.root.to_str().unwrap(),
        "sub",
    ]);
    let read = snapshot(&repo.root.join("sub"));
    assert_eq!(read.root, BytePath::from(repo.root.join("sub").as_path()));
    assert_eq!(read.superproject, Some(BytePath::from(repo.root.as_path())));
    assert_eq!(repo.snapshot().superproject, None);
}

#[test]
fn a_repository_of_another_user_is_still_read() {
    let repo = Repo::with(&["a"]);
    repo.write("a", "edited");
    let nobody = nix::unistd::Uid::from_raw(65534);
    for path in [&repo.root, &repo.root.join(".git")] {
        // Only the superuser can give a directory away; git then refuses to read it.
        if nix::unistd::chown(path, Some(nobody), None).is_err() {
            return;
        }
    }
    assert_eq!(repo.rows(), [(b"a".to_vec(), ".M".to_owned(), None, None)]);
}

#[test]
fn harns_own_directory_is_never_dirty() {
    let repo = Repo::with(&["a", "sub/b"]);
    repo.write(".harnery/context/x/state.json", "{}");
    repo.write("sub/.harnery/context/x/state.json", "{}");
    assert_eq!(repo.rows(), []);
    assert!(!harn::repo::is_tracked(&repo.root, Path::new(".harnery")).unwrap());
    repo.git(["add", "-f", ".harnery/context"]);
    assert!(harn::repo::is_tracked(&repo.root, Path::new(".harnery")).unwrap());
    assert_eq!(repo.rows(), []);
    repo.write(".harnery2", "x");
    repo.git(["add", ".harnery2"]);
    repo.git(["rm", "-rqf", "--cached", ".harnery"]);
    assert!(!harn::repo::is_tracked(&repo.root, Path::new(".harnery")).unwrap());
}

#[test]
fn an_edit_inside_a_dirty_file_is_drift_and_a_rewrite_of_the_same_bytes_is_none() {
    let repo = Repo::with(&["a", "b"]);
    repo.write("a", "first edit\n");
    let before = state(&repo.root);
    repo.write("a", "first edit\n");
    assert_eq!(
        Drift::between(&before, &state(&repo.root)),
        Drift::default()
    );
    repo.write("a", "other edit\n");
    assert_eq!(
        Drift::between(&before, &state(&repo.root)).lines(5),
        ["dirty before, edited since: a", "re-check before editing"]
    );
}

#[test]
fn beyond_the_cap_an_added_file_is_still_drift() {
    let repo = Repo::with(&["a"]);
    for n in 0..300 {
        repo.write(format!("f{n:03}"), "x");
    }
    let before = state(&repo.root);
    repo.write("zz", "beyond");
    assert_eq!(
        Drift::between(&before, &state(&repo.root)).lines(5),
        [
            "beyond the listed paths: others changed (dirty in all: 300 -> 301)",
            "re-check before editing"
        ]
    );
}

#[test]
fn a_pipe_in_place_of_a_tracked_file_does_not_block() {
    let repo = Repo::with(&["a"]);
    fs::remove_file(repo.root.join("a")).unwrap();
    nix::unistd::mkfifo(&repo.root.join("a"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    nix::unistd::mkfifo(&repo.root.join("new"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(repo.rows().len(), 1);
}
