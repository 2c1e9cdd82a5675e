//! What a repository looked like at one moment, as it is stored in a capsule.
//!
//! Plain data: `crate::repo` fills it in, [`super::drift`] compares two of them. Each fact that can
//! be missing is missing by name, so that nothing absent can be read as "clean" or "unchanged".

use serde::{Deserialize, Serialize};

use super::byte_path::BytePath;

/// How many dirty paths a snapshot lists; the rest is held by [`DirtyList::digest`].
pub const DIRTY_CAP: usize = 200;

/// A repository at one moment, or why nothing can be said about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RepoState {
    Known(Box<RepoSnapshot>),
    NotARepository,
    TimedOut,
    Failed { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoSnapshot {
    /// The worktree's root, absolute, symlinks resolved.
    pub root: BytePath,
    /// The directory shared by all worktrees of one repository.
    pub common_dir: BytePath,
    /// A worktree made by `git worktree add`, not the main one.
    #[serde(default)]
    pub linked: bool,
    /// The root of the repository of which this one is a submodule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superproject: Option<BytePath>,
    pub head: Head,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// Absent: there is no upstream, or it could not be counted in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    pub dirty: Dirty,
}

/// Where `HEAD` stands. A field that is absent is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The full id of the commit; an unborn branch has none, and that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub enum Branch {
    Branch(BytePath),
    Detached,
    /// A branch without a commit yet.
    Unborn(BytePath),
}

/// What `git status` would say is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    Merge,
    Rebase,
    CherryPick,
    Revert,
    Bisect,
    Am,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    /// Short name, such as `origin/main`.
    pub name: BytePath,
    pub ahead: u64,
    pub behind: u64,
}

/// The dirty paths, or why they are not known (the rest of a snapshot still is).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Dirty {
    Known(DirtyList),
    Unknown { reason: String },
}

/// Sorted by path. `paths` is always the *first* ones; a capsule that must shrink cuts its tail
/// and leaves `total` and `digest` as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirtyList {
    pub paths: Vec<DirtyPath>,
    pub total: u64,
    /// Of every path and its status, listed or not.
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirtyPath {
    /// A directory ends with `/`.
    pub path: BytePath,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<BytePath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submodule: Option<Submodule>,
    /// A prefix of the sha256 of the file's bytes; absent: not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// See [`DirtyPath::key`].
pub type Key = (BytePath, bool);

/// The two letters of `git status --porcelain=v2`, `??` for untracked. Stored as those letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Status {
    Untracked,
    Conflicted(Conflict),
    Changed { staged: Change, unstaged: Change },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    Unchanged,
    Modified,
    TypeChanged,
    Added,
    Deleted,
    Renamed,
    /// Only a program of the repository (a clean filter) could tell.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conflict {
    BothDeleted,
    AddedByUs,
    DeletedByThem,
    AddedByThem,
    DeletedByUs,
    BothAdded,
    BothModified,
}

/// What differs in a submodule; stored as in porcelain v2 (`SC..`, `S.MU`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "three independent facts, named as git does"
)]
pub struct Submodule {
    pub commit: bool,
    pub modified: bool,
    pub untracked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a status: {0}")]
pub struct StatusError(String);

impl Change {
    pub fn letter(self) -> char {
        match self {
            Self::Unchanged => '.',
            Self::Modified => 'M',
            Self::TypeChanged => 'T',
            Self::Added => 'A',
            Self::Deleted => 'D',
            Self::Renamed => 'R',
            Self::Unknown => '?',
        }
    }

    fn from_letter(letter: char) -> Option<Self> {
        [
            Self::Unchanged,
            Self::Modified,
            Self::TypeChanged,
            Self::Added,
            Self::Deleted,
            Self::Renamed,
            Self::Unknown,
        ]
        .into_iter()
        .find(|change| change.letter() == letter)
    }
}

impl Conflict {
    const ALL: [Self; 7] = [
        Self::BothDeleted,
        Self::AddedByUs,
        Self::DeletedByThem,
        Self::AddedByThem,
        Self::DeletedByUs,
        Self::BothAdded,
        Self::BothModified,
    ];

    pub fn letters(self) -> &'static str {
        match self {
            Self::BothDeleted => "DD",
            Self::AddedByUs => "AU",
            Self::DeletedByThem => "UD",
            Self::AddedByThem => "UA",
            Self::DeletedByUs => "DU",
            Self::BothAdded => "AA",
            Self::BothModified => "UU",
        }
    }
}

impl Status {
    pub fn letters(self) -> String {
        match self {
            Self::Untracked => "??".to_owned(),
            Self::Conflicted(conflict) => conflict.letters().to_owned(),
            Self::Changed { staged, unstaged } => {
                [staged.letter(), unstaged.letter()].iter().collect()
            }
        }
    }
}

impl From<Status> for String {
    fn from(status: Status) -> Self {
        status.letters()
    }
}

impl TryFrom<String> for Status {
    type Error = StatusError;

    fn try_from(text: String) -> Result<Self, StatusError> {
        if text == "??" {
            return Ok(Self::Untracked);
        }
        if let Some(conflict) = Conflict::ALL.into_iter().find(|it| it.letters() == text) {
            return Ok(Self::Conflicted(conflict));
        }
        let mut letters = text.chars().map(Change::from_letter);
        match (
            letters.next().flatten(),
            letters.next().flatten(),
            letters.next(),
        ) {
            (Some(staged), Some(unstaged), None) => Ok(Self::Changed { staged, unstaged }),
            (_, _, _) => Err(StatusError(text)),
        }
    }
}

impl From<Submodule> for String {
    fn from(submodule: Submodule) -> Self {
        let letter = |set: bool, letter: char| if set { letter } else { '.' };
        let Submodule {
            commit,
            modified,
            untracked,
        } = submodule;
        [
            'S',
            letter(commit, 'C'),
            letter(modified, 'M'),
            letter(untracked, 'U'),
        ]
        .iter()
        .collect()
    }
}

impl TryFrom<String> for Submodule {
    type Error = StatusError;

    fn try_from(text: String) -> Result<Self, StatusError> {
        let found = Self {
            commit: text.contains('C'),
            modified: text.contains('M'),
            untracked: text.contains('U'),
        };
        if String::from(found) == text {
            Ok(found)
        } else {
            Err(StatusError(text))
        }
    }
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::Am => "am",
        }
    }
}

impl Branch {
    /// For people, without what a terminal would act on.
    pub fn describe(&self) -> String {
        match self {
            Self::Branch(name) => format!("branch {}", name.display()),
            Self::Unborn(name) => format!("branch {} (no commit yet)", name.display()),
            Self::Detached => "no branch (detached HEAD)".to_owned(),
        }
    }
}

impl Head {
    /// Digits of a commit id that tell it apart for a person.
    const SHORT: usize = 10;

    pub fn describe(&self) -> String {
        let branch = self
            .branch
            .as_ref()
            .map_or("branch unknown".to_owned(), Branch::describe);
        match self.short_commit() {
            Some(commit) => format!("{branch}, HEAD {commit}"),
            None => branch,
        }
    }

    pub fn short_commit(&self) -> Option<&str> {
        self.commit
            .as_deref()
            .map(|commit| commit.get(..Self::SHORT).unwrap_or(commit))
    }
}

impl DirtyPath {
    /// The path and what is with it.
    pub fn line(&self) -> String {
        format!("{} ({})", self.path.display(), self.describe())
    }

    pub fn new(path: BytePath, status: Status) -> Self {
        Self {
            path,
            status,
            renamed_from: None,
            submodule: None,
            fingerprint: None,
        }
    }

    /// What a list is sorted by. One path can stand in it twice: removed from the index, and
    /// untracked since.
    pub fn key(&self) -> Key {
        (self.path.clone(), self.status == Status::Untracked)
    }

    /// For people: `M.` becomes `staged`, `.?` becomes `unknown (needs a filter)`.
    pub fn describe(&self) -> String {
        match self.status {
            Status::Untracked => "untracked".to_owned(),
            Status::Conflicted(_) => "conflicted".to_owned(),
            Status::Changed {
                unstaged: Change::Unknown,
                ..
            } => "unknown (needs a filter)".to_owned(),
            Status::Changed { staged, unstaged } => {
                let said = |change: Change| match change {
                    Change::Unchanged => None,
                    Change::Modified => Some("modified"),
                    Change::TypeChanged => Some("type changed"),
                    Change::Added => Some("added"),
                    Change::Deleted => Some("deleted"),
                    Change::Renamed => Some("renamed"),
                    Change::Unknown => Some("unknown"),
                };
                match (said(staged), said(unstaged)) {
                    (Some(staged), Some(unstaged)) => format!("{staged}, staged; then {unstaged}"),
                    (Some(staged), None) => format!("{staged}, staged"),
                    (None, Some(unstaged)) => unstaged.to_owned(),
                    (None, None) => "unchanged".to_owned(),
                }
            }
        }
    }
}

impl DirtyList {
    /// Whether paths beyond the listed ones exist.
    pub fn is_cut(&self) -> bool {
        self.total > u64::try_from(self.paths.len()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> RepoSnapshot {
        let changed = Status::Changed {
            staged: Change::Renamed,
            unstaged: Change::Modified,
        };
        RepoSnapshot {
            root: BytePath::new("/w"),
            common_dir: BytePath::new("/w/.git"),
            linked: false,
            superproject: None,
            head: Head {
                branch: Some(Branch::Branch(BytePath::new("main"))),
                commit: Some("0123456789012345678901234567890123456789".to_owned()),
            },
            operation: Some(Operation::CherryPick),
            upstream: Some(Upstream {
                name: BytePath::new("origin/main"),
                ahead: 1,
                behind: 2,
            }),
            dirty: Dirty::Known(DirtyList {
                paths: vec![DirtyPath {
                    renamed_from: Some(BytePath::new("old")),
                    submodule: Some(Submodule {
                        commit: true,
                        modified: false,
                        untracked: true,
                    }),
                    fingerprint: Some("ab".to_owned()),
                    ..DirtyPath::new(BytePath::new("bad\u{7}"), changed)
                }],
                total: 1,
                digest: "d".to_owned(),
            }),
        }
    }

    #[test]
    fn a_known_repository_is_tagged_json_that_reads_back() {
        let state = RepoState::Known(Box::new(snapshot()));
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(
            json,
            concat!(
                r#"{"state":"known","root":"/w","common_dir":"/w/.git","linked":false,"#,
                r#""head":{"branch":{"kind":"branch","name":"main"},"#,
                r#""commit":"0123456789012345678901234567890123456789"},"#,
                r#""operation":"cherry-pick","#,
                r#""upstream":{"name":"origin/main","ahead":1,"behind":2},"#,
                r#""dirty":{"state":"known","paths":[{"path":"\"bad\\x07\"","status":"RM","#,
                r#""renamed_from":"old","submodule":"SC.U","fingerprint":"ab"}],"#,
                r#""total":1,"digest":"d"}}"#
            )
        );
        assert_eq!(serde_json::from_str::<RepoState>(&json).unwrap(), state);
    }

    #[test]
    fn each_unknown_state_has_a_name_of_its_own() {
        let states = [
            (RepoState::NotARepository, r#"{"state":"not_a_repository"}"#),
            (RepoState::TimedOut, r#"{"state":"timed_out"}"#),
            (
                RepoState::Failed {
                    reason: "x".to_owned(),
                },
                r#"{"state":"failed","reason":"x"}"#,
            ),
        ];
        for (state, json) in states {
            assert_eq!(serde_json::to_string(&state).unwrap(), json);
            assert_eq!(serde_json::from_str::<RepoState>(json).unwrap(), state);
        }
    }

    #[test]
    fn every_status_reads_back_from_its_two_letters() {
        let changes =
            ['.', 'M', 'T', 'A', 'D', 'R', '?'].map(|it| Change::from_letter(it).unwrap());
        let changed = changes.iter().flat_map(|&staged| {
            changes
                .iter()
                .map(move |&unstaged| Status::Changed { staged, unstaged })
        });
        let conflicts = Conflict::ALL.into_iter().map(Status::Conflicted);
        for status in changed.chain(conflicts).chain([Status::Untracked]) {
            // These four are a conflict's letters, or "untracked"; no change is ever both.
            if let Status::Changed { .. } = status
                && ["??", "DD", "AA"].contains(&status.letters().as_str())
            {
                continue;
            }
            assert_eq!(Status::try_from(status.letters()), Ok(status));
        }
        assert_eq!(
            Status::try_from("M".to_owned()),
            Err(StatusError("M".to_owned()))
        );
    }
}
