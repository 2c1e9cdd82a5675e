//! Odd repositories, each read by git and by harn.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::fixture::{Repo, agrees, bytes_name, git, init, rows, try_git, write};

#[test]
fn a_clean_worktree_has_no_dirty_path() {
    let repo = Repo::with(&["a", "dir/b", "dir/deep/c"]);
    assert_eq!(repo.rows(), []);
    repo.agrees();
}

#[test]
fn an_unstaged_edit_of_the_first_path_keeps_its_first_letter() {
    let repo = Repo::with(&["a.ts", "b.ts"]);
    repo.write("a.ts", "edited\n");
    assert_eq!(
        repo.rows(),
        [(b"a.ts".to_vec(), ".M".to_owned(), None, None)]
    );
    repo.agrees();
}

#[test]
fn an_edit_of_the_same_size_is_found_by_content() {
    let repo = Repo::with(&["a", "b"]);
    repo.write("a", "b\n");
    assert_eq!(repo.rows(), [(b"a".to_vec(), ".M".to_owned(), None, None)]);
    repo.write("a", "a\n");
    assert_eq!(repo.rows(), []);
    repo.agrees();
}

#[test]
fn staged_unstaged_deleted_and_new_files_are_told_apart() {
    let repo = Repo::with(&["a", "b", "c", "d", "dir/e", "dir/f", "kept/g"]);
    repo.write("a", "staged\n");
    repo.write("new/staged", "x\n");
    repo.git(["rm", "-q", "--cached", "b"]);
    repo.git(["rm", "-q", "dir/e"]);
    repo.git(["add", "a", "new"]);
    repo.write("a", "staged, then edited\n");
    repo.write("untracked/one", "1");
    repo.write("untracked/two", "2");
    fs::create_dir(repo.root.join("empty")).unwrap();
    fs::remove_file(repo.root.join("c")).unwrap();
    fs::remove_dir_all(repo.root.join("kept")).unwrap();
    repo.agrees();
}

#[test]
fn every_kind_of_name_survives() {
    let repo = Repo::with(&[
        "a b.txt",
        "ä.txt",
        "x -> y.txt",
        "\"q\".txt",
        "nl\nname.txt",
        "old",
    ]);
    for name in [
        "a b.txt",
        "ä.txt",
        "x -> y.txt",
        "\"q\".txt",
        "nl\nname.txt",
    ] {
        repo.write(name, "edited");
    }
    #[cfg(target_os = "linux")]
    repo.write(bytes_name(b"bad\xff.txt"), "untracked");
    repo.write(bytes_name(b"tab\t"), "untracked");
    repo.git(["mv", "old", "new name.txt"]);
    repo.agrees();
}

#[test]
fn renames_are_found_when_identical_and_when_alike() {
    let repo = Repo::with(&["identical", "moved/same"]);
    let lines: String = (0..40)
        .flat_map(|n| ["line number ".to_owned(), n.to_string(), "\n".to_owned()])
        .collect();
    repo.write("alike", &lines);
    repo.write("unlike", &lines.replace("line", "another"));
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "more"]);
    repo.git(["mv", "identical", "renamed"]);
    repo.git(["mv", "moved/same", "elsewhere"]);
    repo.git(["mv", "alike", "alike2"]);
    repo.write("alike2", &lines.replace("number 3", "number three"));
    repo.git(["rm", "-q", "unlike"]);
    repo.write("brand-new", "nothing in common\n");
    repo.git(["add", "-A"]);
    repo.write("renamed", "and edited");
    repo.agrees();
    repo.git(["config", "status.renames", "false"]);
    repo.agrees();
}

#[test]
fn an_unborn_branch_has_a_name_and_no_commit() {
    let repo = Repo::unborn();
    repo.agrees();
    repo.write("staged", "x");
    repo.write("untracked", "x");
    repo.git(["add", "staged"]);
    repo.agrees();
}

#[test]
fn a_detached_head_agrees() {
    let repo = Repo::with(&["a"]);
    repo.git(["checkout", "-q", "--detach"]);
    repo.write("a", "edited");
    repo.agrees();
}

#[test]
fn linked_worktrees_are_read_apart() {
    let repo = Repo::with(&["a", "b"]);
    let linked = repo.beside("linked");
    repo.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ]);
    repo.write("a", "edited in main");
    write(&linked.join("b"), b"edited in linked");
    repo.agrees();
    agrees(&linked);
    assert_eq!(
        rows(&linked),
        [(b"b".to_vec(), ".M".to_owned(), None, None)]
    );
}

fn with_submodule() -> Repo {
    let repo = Repo::with(&["a"]);
    let other = repo.beside("other");
    fs::create_dir(&other).unwrap();
    init(&other);
    write(&other.join("inner"), b"inner\n");
    git(&other, ["add", "-A"]);
    git(&other, ["commit", "-qm", "inner"]);
    repo.git([
        "submodule",
        "--quiet",
        "add",
        other.to_str().unwrap(),
        "sub",
    ]);
    repo.git(["commit", "-qm", "with submodule"]);
    for (key, value) in [("user.name", "Test"), ("user.email", "t@example.org")] {
        git(&repo.root.join("sub"), ["config", key, value]);
    }
    repo
}

#[test]
fn a_clean_submodule_is_clean() {
    with_submodule().agrees();
}

#[test]
fn a_dirty_submodule_says_in_what_way() {
    let repo = with_submodule();
    let sub = repo.root.join("sub");
    write(&sub.join("inner"), b"edited\n");
    repo.agrees();
    write(&sub.join("untracked"), b"");
    repo.agrees();
    git(&sub, ["commit", "-qam", "moved on"]);
    repo.agrees();
    agrees(&sub);
    repo.git(["config", "submodule.sub.ignore", "untracked"]);
    repo.agrees();
    repo.git(["config", "submodule.sub.ignore", "all"]);
    repo.agrees();
}

#[test]
fn a_submodule_that_moved_or_was_removed_is_no_phantom() {
    let repo = with_submodule();
    repo.git(["mv", "sub", "moved"]);
    repo.agrees();
    repo.git(["commit", "-qm", "moved"]);
    repo.agrees();
    repo.git(["submodule", "--quiet", "deinit", "-f", "moved"]);
    repo.agrees();
    fs::remove_dir(repo.root.join("moved")).unwrap();
    repo.agrees();
}

#[test]
fn sparse_checkouts_agree_with_and_without_a_sparse_index() {
    let repo = Repo::with(&["a", "in/b", "out/c", "out/deep/d", "other/e"]);
    repo.git(["sparse-checkout", "set", "--cone", "in"]);
    repo.write("in/b", "edited");
    repo.agrees();
    repo.git(["sparse-checkout", "reapply", "--sparse-index"]);
    repo.agrees();
}

#[test]
fn a_file_present_outside_the_sparse_cone_counts() {
    let repo = Repo::with(&["a", "in/b", "out/c"]);
    repo.git(["sparse-checkout", "set", "--cone", "in"]);
    repo.write("out/c", "edited");
    repo.agrees();
}

#[test]
fn files_the_user_told_git_not_to_look_at_are_clean() {
    let repo = Repo::with(&["assumed", "skipped", "gone", "seen"]);
    repo.git(["update-index", "--assume-unchanged", "assumed"]);
    repo.git(["update-index", "--skip-worktree", "skipped", "gone"]);
    for name in ["assumed", "skipped", "seen"] {
        repo.write(name, "edited");
    }
    fs::remove_file(repo.root.join("gone")).unwrap();
    repo.agrees();
}

#[test]
fn ignored_nests_follow_every_ignore_file() {
    let repo = Repo::with(&["src/a", "tracked/inside/b"]);
    repo.write(".gitignore", "*.log\n/build/\n!keep.log\ntracked/\n");
    repo.write("src/.gitignore", "generated/*\n!generated/kept\n");
    repo.write(".git/info/exclude", "private\n");
    for name in [
        "x.log",
        "keep.log",
        "build/out",
        "src/generated/dropped",
        "src/generated/kept",
        "src/build/not-anchored",
        "only-ignored/deep/y.log",
        "some-ignored/deep/y.log",
        "some-ignored/deep/z",
        "private/key",
        "nest/.gitignore",
        "tracked/inside/new",
        "own/data",
    ] {
        repo.write(name, "x");
    }
    repo.write("own/.gitignore", "*\n");
    repo.agrees();
    repo.git(["add", "-f", "tracked/inside/new"]);
    repo.agrees();
}

#[test]
fn a_nested_repository_is_one_untracked_entry() {
    let repo = Repo::with(&["a"]);
    for nested in ["nested", "deep/nested"] {
        let root = repo.root.join(nested);
        fs::create_dir_all(&root).unwrap();
        init(&root);
    }
    write(&repo.root.join("nested/file"), b"x");
    repo.agrees();
}

#[test]
fn a_repository_behind_a_symlink_is_read_like_any_other() {
    let repo = Repo::with(&["a"]);
    repo.write("a", "edited");
    repo.write("new", "x");
    let link = repo.beside("link");
    symlink(&repo.root, &link).unwrap();
    agrees(&link);
}

fn diverged() -> Repo {
    let repo = Repo::with(&[
        "both",
        "ours",
        "theirs",
        "edited",
        "mine-gone",
        "theirs-gone",
    ]);
    repo.git(["checkout", "-qb", "side"]);
    repo.write("both", "side\n");
    repo.write("added", "side\n");
    repo.write("mine-gone", "side\n");
    repo.git(["rm", "-q", "theirs-gone"]);
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "side"]);
    repo.git(["checkout", "-q", "main"]);
    repo.write("both", "main\n");
    repo.write("added", "main\n");
    repo.write("theirs-gone", "main\n");
    repo.git(["rm", "-q", "mine-gone"]);
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "main"]);
    repo
}

#[test]
fn conflicts_of_a_merge_a_rebase_and_a_cherry_pick_agree() {
    for command in [
        &["merge", "side"][..],
        &["rebase", "side"],
        &["cherry-pick", "side"],
    ] {
        let repo = diverged();
        assert!(!try_git(&repo.root, command).status.success());
        repo.agrees();
        repo.write("both", "half resolved\n");
        fs::remove_file(repo.root.join("added")).unwrap();
        repo.agrees();
    }
}

#[test]
fn a_conflict_between_a_file_and_a_directory_agrees() {
    let repo = Repo::with(&["a"]);
    repo.git(["checkout", "-qb", "side"]);
    repo.write("x/inside", "dir\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "dir"]);
    repo.git(["checkout", "-q", "main"]);
    repo.write("x", "file\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "file"]);
    assert!(!try_git(&repo.root, ["merge", "side"]).status.success());
    repo.agrees();
}

#[test]
fn modes_links_and_types_that_change_agree() {
    let repo = Repo::with(&["mode", "to-link", "to-dir", "dir/to-file", "staged"]);
    symlink("mode", repo.root.join("link")).unwrap();
    symlink("mode", repo.root.join("link-to-file")).unwrap();
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "links"]);
    fs::set_permissions(repo.root.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["to-link", "to-dir", "link", "link-to-file", "staged"] {
        fs::remove_file(repo.root.join(name)).unwrap();
    }
    symlink("mode", repo.root.join("to-link")).unwrap();
    symlink("elsewhere", repo.root.join("link")).unwrap();
    symlink("mode", repo.root.join("staged")).unwrap();
    repo.write("link-to-file", "mode");
    repo.write("to-dir/inside", "x");
    fs::remove_dir_all(repo.root.join("dir")).unwrap();
    repo.write("dir", "now a file");
    repo.git(["add", "staged"]);
    repo.agrees();
}

#[test]
fn a_directory_replaced_by_a_link_hides_its_files() {
    let repo = Repo::with(&["a", "dir/b", "target/b"]);
    fs::remove_dir_all(repo.root.join("dir")).unwrap();
    symlink("target", repo.root.join("dir")).unwrap();
    repo.agrees();
}

#[test]
fn an_intent_to_add_is_an_unstaged_addition() {
    let repo = Repo::with(&["a"]);
    repo.write("intended", "x");
    repo.write("dir/gone", "x");
    repo.git(["add", "-N", "intended", "dir/gone"]);
    repo.agrees();
    fs::remove_file(repo.root.join("dir/gone")).unwrap();
    repo.agrees();
}

#[test]
fn line_endings_are_compared_as_git_converts_them() {
    let repo = Repo::with(&["plain"]);
    repo.git(["config", "core.autocrlf", "true"]);
    repo.write("crlf", "one\r\ntwo\r\n");
    repo.write("attr.txt", "one\r\ntwo\r\n");
    repo.write(".gitattributes", "attr.txt text eol=lf\n*.bin -text\n");
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "endings"]);
    repo.agrees();
    for name in ["crlf", "attr.txt", "plain"] {
        let bytes = fs::read(repo.root.join(name)).unwrap();
        fs::remove_file(repo.root.join(name)).unwrap();
        write(&repo.root.join(name), &bytes);
    }
    repo.agrees();
    repo.write("crlf", "one\r\ntwX\r\n");
    repo.write("plain", "plain\r\n");
    repo.agrees();
}

#[test]
fn a_split_index_and_an_old_index_version_agree() {
    let repo = Repo::with(&["a", "b", "dir/c"]);
    repo.git(["update-index", "--split-index"]);
    repo.write("b", "staged");
    repo.git(["add", "b"]);
    repo.agrees();
    repo.git(["update-index", "--no-split-index"]);
    repo.git(["update-index", "--index-version", "4"]);
    repo.write("dir/c", "edited");
    repo.agrees();
}

#[test]
fn a_cached_tree_of_another_commit_is_not_taken_for_heads() {
    let repo = Repo::with(&["a", "dir/b"]);
    repo.write("a", "second\n");
    repo.write("dir/b", "second\n");
    repo.git(["commit", "-qam", "second"]);
    repo.git(["reset", "-q", "--soft", "HEAD~1"]);
    assert_eq!(repo.rows().len(), 2);
    repo.agrees();
}

#[test]
fn an_edit_too_young_for_its_stats_is_found_by_content() {
    let repo = Repo::with(&["a"]);
    repo.git(["config", "core.trustctime", "false"]);
    repo.git(["config", "core.checkStat", "minimal"]);
    let hour = std::time::Duration::from_hours(1);
    let path = repo.root.join("a");
    let later = fs::metadata(&path).unwrap().modified().unwrap() + hour;
    let postdate = || {
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(later)
            .unwrap();
    };
    repo.write("a", "1\n");
    postdate();
    repo.git(["commit", "-qam", "young"]);
    repo.write("a", "2\n");
    postdate();
    assert_eq!(repo.rows(), [(b"a".to_vec(), ".M".to_owned(), None, None)]);
    repo.agrees();
}

#[test]
fn a_large_worktree_is_walked_by_threads_and_agrees() {
    let repo = Repo::unborn();
    for dir in 0..50 {
        for file in 0..60 {
            repo.write(format!("d{dir}/sub{}/f{file}", file % 3), "x");
        }
    }
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "many"]);
    for dir in 0..50 {
        repo.write(format!("d{dir}/sub1/f1"), "edited");
        repo.write(format!("d{dir}/new"), "new");
    }
    repo.git(["add", "d7"]);
    fs::remove_dir_all(repo.root.join("d9/sub2")).unwrap();
    repo.agrees();
}
