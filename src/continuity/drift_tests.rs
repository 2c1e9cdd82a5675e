//! What `drift` must say, and what it must never say.

use proptest::prelude::*;

use super::byte_path::BytePath;
use super::drift::{Drift, Finding, Side};
use super::snapshot::{
    Branch, Change, Dirty, DirtyList, DirtyPath, Head, Operation, RepoSnapshot, RepoState, Status,
};

const MODIFIED: Status = Status::Changed {
    staged: Change::Unchanged,
    unstaged: Change::Modified,
};

fn path(name: &str) -> DirtyPath {
    DirtyPath {
        fingerprint: Some("same".to_owned()),
        ..DirtyPath::new(BytePath::new(name), MODIFIED)
    }
}

/// A list as `crate::repo` makes it: sorted, cut at `cap`, with a digest of all.
fn list(names: &[&str], cap: usize) -> DirtyList {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    DirtyList {
        digest: sorted.join("\0"),
        total: sorted.len() as u64,
        paths: sorted.into_iter().take(cap).map(path).collect(),
    }
}

fn repo(dirty: DirtyList) -> RepoSnapshot {
    RepoSnapshot {
        root: BytePath::new("/w"),
        common_dir: BytePath::new("/w/.git"),
        linked: false,
        superproject: None,
        head: Head {
            branch: Some(Branch::Branch(BytePath::new("main"))),
            commit: Some("1111111111111111".to_owned()),
        },
        operation: None,
        upstream: None,
        dirty: Dirty::Known(dirty),
    }
}

fn known(snapshot: RepoSnapshot) -> RepoState {
    RepoState::Known(Box::new(snapshot))
}

fn between(before: RepoSnapshot, now: RepoSnapshot) -> Vec<Finding> {
    Drift::between(&known(before), &known(now)).findings
}

fn lines(before: &RepoState, now: &RepoState) -> Vec<String> {
    Drift::between(before, now).lines(5)
}

#[test]
fn the_same_repository_has_not_drifted() {
    let state = known(repo(list(&["a", "b"], 9)));
    assert_eq!(
        lines(&state, &state),
        ["repository: as at the checkpoint (branch, HEAD, dirty paths)"]
    );
}

#[test]
fn outside_git_nothing_is_called_unchanged() {
    let none = RepoState::NotARepository;
    assert_eq!(
        lines(&none, &none),
        [
            "not a git repository: what changed in it is unknown",
            "re-check before editing"
        ]
    );
}

#[test]
fn a_side_that_failed_or_timed_out_is_unknown_and_says_why() {
    let repository = known(repo(list(&[], 9)));
    let failed = RepoState::Failed {
        reason: "bad HEAD\u{1b}".to_owned(),
    };
    assert_eq!(
        lines(&repository, &failed),
        [
            r"repository now: unknown (bad HEAD\x1b)",
            "re-check before editing"
        ]
    );
    assert_eq!(
        lines(&RepoState::TimedOut, &failed),
        [
            "repository at the checkpoint: unknown (timed out)",
            r"repository now: unknown (bad HEAD\x1b)",
            "re-check before editing"
        ]
    );
}

#[test]
fn a_repository_that_appears_or_vanishes_is_told() {
    let repository = known(repo(list(&[], 9)));
    let drift = |a: &RepoState, b: &RepoState| Drift::between(a, b).findings;
    assert_eq!(
        drift(&RepoState::NotARepository, &repository),
        [Finding::BecameRepository]
    );
    assert_eq!(
        drift(&repository, &RepoState::NotARepository),
        [Finding::NoLongerRepository]
    );
}

#[test]
fn the_first_commit_of_a_branch_is_a_change_of_head() {
    let mut before = repo(list(&[], 9));
    before.head = Head {
        branch: Some(Branch::Unborn(BytePath::new("main"))),
        commit: None,
    };
    let now = repo(list(&[], 9));
    assert_eq!(
        lines(&known(before), &known(now)),
        [
            "HEAD (no commit yet) -> 11111111",
            "re-check before editing"
        ]
    );
}

#[test]
fn a_missing_branch_or_id_is_unknown_on_that_side() {
    let mut now = repo(list(&[], 9));
    now.head = Head {
        branch: None,
        commit: None,
    };
    assert_eq!(
        between(repo(list(&[], 9)), now),
        [
            Finding::BranchUnknown { side: Side::Now },
            Finding::CommitUnknown { side: Side::Now }
        ]
    );
}

#[test]
fn branch_head_and_operation_are_each_told() {
    let mut now = repo(list(&[], 9));
    now.head = Head {
        branch: Some(Branch::Detached),
        commit: Some("22222222222".to_owned()),
    };
    now.operation = Some(Operation::Rebase);
    let mut before = repo(list(&[], 9));
    before.operation = Some(Operation::Merge);
    assert_eq!(
        lines(&known(before), &known(now)),
        [
            "branch main -> (detached)",
            "HEAD 11111111 -> 22222222",
            "merge no longer in progress",
            "rebase now in progress",
            "re-check before editing"
        ]
    );
}

#[test]
fn files_of_another_worktree_are_not_mixed_in() {
    let mut now = repo(list(&["elsewhere"], 9));
    now.root = BytePath::new("/other");
    assert_eq!(
        between(repo(list(&["here"], 9)), now),
        [Finding::OtherWorktree {
            before: BytePath::new("/w"),
            now: BytePath::new("/other")
        }]
    );
}

#[test]
fn staging_the_first_path_is_neither_an_addition_nor_a_removal() {
    let before = repo(list(&["a.ts"], 9));
    let mut staged = path("a.ts");
    staged.status = Status::Changed {
        staged: Change::Modified,
        unstaged: Change::Unchanged,
    };
    let mut now = repo(list(&["a.ts"], 9));
    now.dirty = Dirty::Known(DirtyList {
        paths: vec![staged.clone()],
        total: 1,
        digest: "other".to_owned(),
    });
    assert_eq!(
        between(before, now),
        [Finding::StatusChanged(vec![(path("a.ts"), staged)])]
    );
}

#[test]
fn an_edit_inside_an_already_dirty_file_is_drift() {
    let mut edited = list(&["a"], 9);
    edited.paths[0].fingerprint = Some("other".to_owned());
    assert_eq!(
        between(repo(list(&["a"], 9)), repo(edited)),
        [Finding::ContentChanged(vec![BytePath::new("a")])]
    );
}

#[test]
fn content_that_was_not_read_is_not_called_unchanged() {
    let mut unread = list(&["a"], 9);
    unread.paths[0].fingerprint = None;
    assert_eq!(
        between(repo(list(&["a"], 9)), repo(unread)),
        [Finding::ContentUnknown(vec![BytePath::new("a")])]
    );
}

#[test]
fn a_file_added_beyond_the_cap_is_seen() {
    assert_eq!(
        between(
            repo(list(&["a", "b", "c"], 2)),
            repo(list(&["a", "b", "c", "d"], 2))
        ),
        [Finding::Beyond {
            certain: true,
            before: 3,
            now: 4
        }]
    );
}

#[test]
fn a_path_pushed_beyond_the_cap_is_not_called_clean() {
    assert_eq!(
        between(
            repo(list(&["b", "c", "d"], 2)),
            repo(list(&["a", "b", "c", "d"], 2))
        ),
        [
            Finding::NewlyDirty(vec![path("a")]),
            Finding::Beyond {
                certain: false,
                before: 3,
                now: 4
            }
        ]
    );
}

#[test]
fn a_rename_with_an_arrow_in_its_name_stays_one_path() {
    let mut renamed = path("x -> y");
    renamed.renamed_from = Some(BytePath::new("old"));
    let mut now = list(&["x -> y"], 9);
    now.paths = vec![renamed.clone()];
    now.digest = "other".to_owned();
    assert_eq!(
        between(repo(list(&[], 9)), repo(now)),
        [Finding::NewlyDirty(vec![renamed])]
    );
}

#[test]
fn unknown_dirty_paths_are_said_to_be_unknown() {
    let mut now = repo(list(&[], 9));
    now.dirty = Dirty::Unknown {
        reason: "index is damaged".to_owned(),
    };
    assert_eq!(
        lines(&known(repo(list(&["a"], 9))), &known(now)),
        [
            "dirty paths now: unknown (index is damaged)",
            "re-check before editing"
        ]
    );
}

#[test]
fn long_lists_are_cut_and_counted() {
    let now = list(&["a\u{202e}", "b", "c"], 9);
    let drift = Drift::between(&known(repo(list(&[], 9))), &known(repo(now)));
    assert_eq!(
        drift.lines(2),
        [
            r"newly dirty: a\u{202e}, b (+1 more)",
            "re-check before editing"
        ]
    );
}

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[a-e]{1,2}", 0..12).prop_map(|set| set.into_iter().collect())
}

proptest! {
    /// Whatever the caps: a path said to be newly dirty or clean again really is, and two
    /// different sets are never called the same.
    #[test]
    fn no_cap_makes_drift_lie(
        before in names(), now in names(), cap_before in 0_usize..12, cap_now in 0_usize..12,
    ) {
        let (old, new) = (before, now);
        let findings = between(repo(list_of(&old, cap_before)), repo(list_of(&new, cap_now)));
        for finding in &findings {
            if let Finding::NewlyDirty(paths) = finding {
                for it in paths {
                    prop_assert!(!old.contains(&it.path.encode()) && new.contains(&it.path.encode()));
                }
            } else if let Finding::NoLongerDirty(paths) = finding {
                for it in paths {
                    prop_assert!(old.contains(&it.path.encode()) && !new.contains(&it.path.encode()));
                }
            } else {
                let is_beyond = matches!(finding, Finding::Beyond { certain, .. } if !certain || old != new);
                prop_assert!(is_beyond, "{finding:?}");
            }
        }
        prop_assert!(old == new || !findings.is_empty());
        let uncut = old.len() <= cap_before && new.len() <= cap_now;
        prop_assert!(!uncut || findings.is_empty() == (old == new));
    }
}

fn list_of(names: &[String], cap: usize) -> DirtyList {
    list(&names.iter().map(String::as_str).collect::<Vec<_>>(), cap)
}
