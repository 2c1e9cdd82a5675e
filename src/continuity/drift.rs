//! How a repository differs from what a capsule remembers of it, said in a few lines.
//!
//! Pure. The one rule: a thing is called unchanged only if both sides are known and equal; whatever
//! could not be compared is a finding of its own. Called by the briefing and by `harn context diff`.

use std::collections::BTreeMap;

use super::byte_path::{BytePath, printable};
use super::snapshot::{
    Branch, Change, Dirty, DirtyList, DirtyPath, Head, Key, Operation, RepoSnapshot, RepoState,
    Status,
};

/// Everything found, most telling first. Empty: all was compared and nothing differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// One side (or both) says nothing about the repository.
    RepositoryUnknown {
        side: Side,
        why: String,
    },
    NeverARepository,
    BecameRepository,
    NoLongerRepository,
    /// Another worktree, or another repository: their files are not compared.
    OtherWorktree {
        before: BytePath,
        now: BytePath,
    },
    Branch {
        before: Branch,
        now: Branch,
    },
    BranchUnknown {
        side: Side,
    },
    /// `None`: a branch without a commit.
    Commit {
        before: Option<String>,
        now: Option<String>,
    },
    CommitUnknown {
        side: Side,
    },
    OperationBegun(Operation),
    OperationEnded(Operation),
    DirtyUnknown {
        side: Side,
        why: String,
    },
    NewlyDirty(Vec<DirtyPath>),
    NoLongerDirty(Vec<DirtyPath>),
    /// Dirty on both sides, in another way now.
    StatusChanged(Vec<(DirtyPath, DirtyPath)>),
    /// Dirty in the same way, with other bytes.
    ContentChanged(Vec<BytePath>),
    /// Dirty in the same way; whether the bytes differ was not recorded.
    ContentUnknown(Vec<BytePath>),
    /// Paths beyond the listed ones: certainly or only possibly different.
    Beyond {
        certain: bool,
        before: u64,
        now: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Before,
    Now,
    Both,
}

/// The last line of a drift that found something.
const ADVICE: &str = "re-check before editing";

impl Drift {
    pub fn between(before: &RepoState, now: &RepoState) -> Self {
        let findings = match (before, now) {
            (RepoState::Known(before), RepoState::Known(now)) => compared(before, now),
            (RepoState::NotARepository, RepoState::NotARepository) => {
                vec![Finding::NeverARepository]
            }
            (RepoState::NotARepository, RepoState::Known(_)) => vec![Finding::BecameRepository],
            (RepoState::Known(_), RepoState::NotARepository) => vec![Finding::NoLongerRepository],
            (before, now) => unknown(before, now),
        };
        Self { findings }
    }

    /// Everything could be compared, and nothing differs.
    pub fn is_none(&self) -> bool {
        self.findings.is_empty()
    }

    /// Short printable lines, naming at most `paths` paths each; never empty.
    pub fn lines(&self, paths: usize) -> Vec<String> {
        if self.is_none() {
            return vec!["repository: as at the checkpoint (branch, HEAD, dirty paths)".to_owned()];
        }
        let mut lines: Vec<String> = self.findings.iter().map(|it| it.line(paths)).collect();
        lines.push(ADVICE.to_owned());
        lines
    }
}

fn unknown(before: &RepoState, now: &RepoState) -> Vec<Finding> {
    let why = |state: &RepoState| match state {
        RepoState::Known(_) => None,
        RepoState::NotARepository => Some("not a git repository".to_owned()),
        RepoState::TimedOut => Some("timed out".to_owned()),
        RepoState::Failed { reason } => Some(reason.clone()),
    };
    [(Side::Before, why(before)), (Side::Now, why(now))]
        .into_iter()
        .filter_map(|(side, why)| Some(Finding::RepositoryUnknown { side, why: why? }))
        .collect()
}

fn compared(before: &RepoSnapshot, now: &RepoSnapshot) -> Vec<Finding> {
    if before.root != now.root || before.common_dir != now.common_dir {
        let (before, now) = (before.root.clone(), now.root.clone());
        return vec![Finding::OtherWorktree { before, now }];
    }
    let mut findings = Vec::new();
    findings.extend(branch(&before.head, &now.head));
    findings.extend(commit(&before.head, &now.head));
    if before.operation != now.operation {
        findings.extend(before.operation.map(Finding::OperationEnded));
        findings.extend(now.operation.map(Finding::OperationBegun));
    }
    match (&before.dirty, &now.dirty) {
        (Dirty::Known(before), Dirty::Known(now)) => findings.extend(dirty(before, now)),
        (before, now) => {
            for (side, dirty) in [(Side::Before, before), (Side::Now, now)] {
                if let Dirty::Unknown { reason } = dirty {
                    findings.push(Finding::DirtyUnknown {
                        side,
                        why: reason.clone(),
                    });
                }
            }
        }
    }
    findings
}

fn missing<T>(before: Option<&T>, now: Option<&T>) -> Option<Side> {
    match (before, now) {
        (None, None) => Some(Side::Both),
        (None, Some(_)) => Some(Side::Before),
        (Some(_), None) => Some(Side::Now),
        (Some(_), Some(_)) => None,
    }
}

fn branch(before: &Head, now: &Head) -> Option<Finding> {
    if let Some(side) = missing(before.branch.as_ref(), now.branch.as_ref()) {
        return Some(Finding::BranchUnknown { side });
    }
    let (before, now) = (before.branch.clone()?, now.branch.clone()?);
    // The first commit of a branch is told by its id, not as another branch.
    (branch_name(&before) != branch_name(&now)).then_some(Finding::Branch { before, now })
}

fn branch_name(branch: &Branch) -> Option<&BytePath> {
    match branch {
        Branch::Branch(name) | Branch::Unborn(name) => Some(name),
        Branch::Detached => None,
    }
}

fn commit(before: &Head, now: &Head) -> Option<Finding> {
    let known = |head: &Head| match (&head.branch, &head.commit) {
        (_, Some(id)) => Some(Some(id.clone())),
        (Some(Branch::Unborn(_)), None) => Some(None),
        (_, None) => None,
    };
    let (before, now) = (known(before), known(now));
    if let Some(side) = missing(before.as_ref(), now.as_ref()) {
        return Some(Finding::CommitUnknown { side });
    }
    let (before, now) = (before?, now?);
    (before != now).then_some(Finding::Commit { before, now })
}

/// Only paths within what *both* lists show can be compared one by one: a path that sorts after
/// the end of a cut list may have been there all along. The digests speak for the rest.
fn dirty(before: &DirtyList, now: &DirtyList) -> Vec<Finding> {
    let end = |list: &DirtyList| list.paths.iter().map(DirtyPath::key).max();
    let limits: Vec<Option<Key>> = [before, now]
        .into_iter()
        .filter(|list| list.is_cut())
        .map(end)
        .collect();
    let shown = |key: &Key| {
        limits
            .iter()
            .all(|limit| limit.as_ref().is_some_and(|limit| key <= limit))
    };
    let by_key = |list: &DirtyList| -> BTreeMap<Key, DirtyPath> {
        let keyed = list.paths.iter().map(|it| (it.key(), it.clone()));
        keyed.filter(|(key, _)| shown(key)).collect()
    };
    let (old, new) = (by_key(before), by_key(now));

    let newly: Vec<_> = new
        .values()
        .filter(|it| !old.contains_key(&it.key()))
        .cloned()
        .collect();
    let gone: Vec<_> = old
        .values()
        .filter(|it| !new.contains_key(&it.key()))
        .cloned()
        .collect();
    let (mut restated, mut content, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    for (was, is) in old
        .values()
        .filter_map(|was| Some((was, new.get(&was.key())?)))
    {
        let same_state = was.status == is.status
            && was.renamed_from == is.renamed_from
            && was.submodule == is.submodule;
        match (&was.fingerprint, &is.fingerprint) {
            (_, _) if !same_state => restated.push((was.clone(), is.clone())),
            (Some(was_bytes), Some(is_bytes)) if was_bytes == is_bytes => {}
            (Some(_), Some(_)) => content.push(is.path.clone()),
            (_, _) if has_content(is) => unread.push(is.path.clone()),
            (_, _) => {}
        }
    }

    let mut findings = Vec::new();
    let explained = !(newly.is_empty() && gone.is_empty() && restated.is_empty());
    push_some(&mut findings, newly, Finding::NewlyDirty);
    push_some(&mut findings, gone, Finding::NoLongerDirty);
    push_some(&mut findings, restated, Finding::StatusChanged);
    push_some(&mut findings, content, Finding::ContentChanged);
    push_some(&mut findings, unread, Finding::ContentUnknown);
    if !limits.is_empty() && before.digest != now.digest {
        let (before, now) = (before.total, now.total);
        findings.push(Finding::Beyond {
            certain: !explained,
            before,
            now,
        });
    } else if !limits.is_empty() {
        // The same paths in the same states; their bytes beyond the lists were never read.
        findings.push(Finding::Beyond {
            certain: false,
            before: before.total,
            now: now.total,
        });
    }
    findings
}

fn has_content(path: &DirtyPath) -> bool {
    !matches!(path.status, Status::Changed { staged, unstaged }
        if unstaged == Change::Deleted || (staged == Change::Deleted && unstaged == Change::Unchanged))
}

fn push_some<T>(findings: &mut Vec<Finding>, found: Vec<T>, finding: fn(Vec<T>) -> Finding) {
    if !found.is_empty() {
        findings.push(finding(found));
    }
}

impl Finding {
    /// One printable line.
    pub fn line(&self, paths: usize) -> String {
        let names = |list: &[DirtyPath]| named(list.iter().map(|it| it.path.display()), paths);
        let plain = |list: &[BytePath]| named(list.iter().map(BytePath::display), paths);
        match self {
            Self::RepositoryUnknown { side, why } => {
                format!(
                    "repository {}: unknown ({})",
                    side.when(),
                    printable(why.as_bytes())
                )
            }
            Self::NeverARepository => {
                "not a git repository: what changed in it is unknown".to_owned()
            }
            Self::BecameRepository => {
                "was not a git repository at the checkpoint, is one now".to_owned()
            }
            Self::NoLongerRepository => {
                "was a git repository at the checkpoint, is none now".to_owned()
            }
            Self::OtherWorktree { before, now } => format!(
                "different worktree: {} -> {} (files not compared)",
                before.display(),
                now.display()
            ),
            Self::Branch { before, now } => {
                format!("branch {} -> {}", branch_label(before), branch_label(now))
            }
            Self::BranchUnknown { side } => format!("branch {}: unknown", side.when()),
            Self::Commit { before, now } => {
                format!(
                    "HEAD {} -> {}",
                    commit_label(before.as_ref()),
                    commit_label(now.as_ref())
                )
            }
            Self::CommitUnknown { side } => format!("HEAD {}: unknown", side.when()),
            Self::OperationBegun(operation) => format!("{} now in progress", operation.name()),
            Self::OperationEnded(operation) => {
                format!("{} no longer in progress", operation.name())
            }
            Self::DirtyUnknown { side, why } => {
                format!(
                    "dirty paths {}: unknown ({})",
                    side.when(),
                    printable(why.as_bytes())
                )
            }
            Self::NewlyDirty(list) => format!("newly dirty: {}", names(list)),
            Self::NoLongerDirty(list) => format!("no longer dirty: {}", names(list)),
            Self::StatusChanged(list) => {
                let each = list.iter().map(|(was, is)| {
                    format!(
                        "{} ({} -> {})",
                        is.path.display(),
                        was.describe(),
                        is.describe()
                    )
                });
                format!("still dirty, differently: {}", named(each, paths))
            }
            Self::ContentChanged(list) => format!("dirty before, edited since: {}", plain(list)),
            Self::ContentUnknown(list) => {
                format!("still dirty, content not compared: {}", plain(list))
            }
            Self::Beyond {
                certain,
                before,
                now,
            } => format!(
                "beyond the listed paths: others {} (dirty in all: {before} -> {now})",
                if *certain {
                    "changed"
                } else {
                    "may have changed"
                }
            ),
        }
    }
}

impl Side {
    fn when(self) -> &'static str {
        match self {
            Self::Before => "at the checkpoint",
            Self::Now => "now",
            Self::Both => "at the checkpoint and now",
        }
    }
}

fn named(names: impl ExactSizeIterator<Item = String>, limit: usize) -> String {
    let more = names.len().saturating_sub(limit);
    let shown: Vec<String> = names.take(limit).collect();
    match (shown.is_empty(), more) {
        (true, more) => format!("{more} paths"),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} (+{more} more)", shown.join(", ")),
    }
}

fn branch_label(branch: &Branch) -> String {
    match branch {
        Branch::Branch(name) => name.display(),
        Branch::Unborn(name) => format!("{} (no commit yet)", name.display()),
        Branch::Detached => "(detached)".to_owned(),
    }
}

fn commit_label(commit: Option<&String>) -> String {
    commit.map_or("(no commit yet)".to_owned(), |id| {
        printable(id.as_bytes()).chars().take(8).collect()
    })
}
