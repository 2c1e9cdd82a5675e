//! Compares the bytes of files whose stats differ, and takes fingerprints. Line endings, `ident`
//! and encodings are converted as git would; a clean filter is *named*, never run.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use gix::bstr::{BStr, BString};
use gix::filter::plumbing::Pipeline;
use gix::filter::plumbing::pipeline::CrlfRoundTripCheck;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::index::entry::Mode;
use gix::index::{Entry, State};
use gix::objs::Kind;
use gix::prelude::Find as _;
use gix::worktree::stack::state::attributes::Source;
use nix::fcntl::OFlag;
use sha2::{Digest as _, Sha256};

use super::budget::Budget;
use super::dirty::hex_prefix;
use super::error::RepoError;
use crate::continuity::snapshot::{Change, DirtyList, Status};

/// Bytes of one file, and of all files together, that fingerprints may read.
const FINGERPRINT_FILE_BYTES: u64 = 1024 * 1024;
const FINGERPRINT_TOTAL_BYTES: u64 = 16 * 1024 * 1024;

pub(super) struct Comparer<'a> {
    repo: &'a gix::Repository,
    index: &'a State,
    root: &'a Path,
    attributes: gix::AttributeStack<'a>,
    pipeline: Pipeline,
    /// Filters that would run a program when a file is added.
    drivers: Vec<BString>,
    selected: gix::attrs::search::Outcome,
}

impl<'a> Comparer<'a> {
    pub(super) fn new(
        repo: &'a gix::Repository,
        index: &'a State,
        root: &'a Path,
    ) -> Result<Self, RepoError> {
        let mut options =
            gix::filter::Pipeline::options(repo).map_err(RepoError::read("filter settings"))?;
        let runs = |it: &gix::filter::plumbing::Driver| it.clean.is_some() || it.process.is_some();
        let drivers = options
            .drivers
            .iter()
            .filter(|it| runs(it))
            .map(|it| it.name.clone())
            .collect();
        // Without drivers the pipeline has no program it could start.
        options.drivers = Vec::new();
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        let context = repo
            .command_context()
            .map_err(RepoError::read("filter settings"))?;
        let mut selected = gix::attrs::search::Outcome::default();
        selected.initialize_with_selection(
            &gix::attrs::search::MetadataCollection::default(),
            ["filter"],
        );
        Ok(Self {
            repo,
            index,
            root,
            attributes: repo
                .attributes_only(index, Source::WorktreeThenIdMapping)
                .map_err(RepoError::read("attributes"))?,
            pipeline: Pipeline::new(context, repo.object_hash(), options),
            drivers,
            selected,
        })
    }

    /// Whether the file's bytes are still the entry's; `size` is the file's now.
    pub(super) fn change(&mut self, entry: &Entry, size: u64, budget: Budget<'_>) -> Change {
        let path = entry.path(self.index);
        let full = self.root.join(std::ffi::OsStr::from_bytes(path));
        if entry.mode == Mode::SYMLINK {
            return self.link_change(entry, &full);
        }
        if self.needs_filter(path) {
            return Change::Unknown;
        }
        // As git: a size that was recorded and differs is a change without a look inside. Zero is
        // also what git records for "not known".
        let recorded = u64::from(entry.stat.size);
        if recorded != 0 && recorded != size & u64::from(u32::MAX) {
            return Change::Modified;
        }
        match self.hash(&full, path, size, budget) {
            Some(id) if id == entry.id => Change::Unchanged,
            Some(_) => Change::Modified,
            None => Change::Unknown,
        }
    }

    fn link_change(&self, entry: &Entry, path: &Path) -> Change {
        let target = match fs::read_link(path) {
            Ok(target) => target.into_os_string().into_vec(),
            Err(_) => match open_regular(path).and_then(|mut file| read_all(&mut file)) {
                Ok(bytes) => bytes,
                Err(_) => return Change::Unknown,
            },
        };
        match gix::objs::compute_hash(self.repo.object_hash(), Kind::Blob, &target) {
            Ok(id) if id == entry.id => Change::Unchanged,
            Ok(_) => Change::Modified,
            Err(_) => Change::Unknown,
        }
    }

    fn needs_filter(&mut self, path: &BStr) -> bool {
        if self.drivers.is_empty() {
            return false;
        }
        let Ok(platform) = self.attributes.at_entry(path, None) else {
            return true;
        };
        self.selected.reset();
        platform.matching_attributes(&mut self.selected);
        self.selected
            .iter_selected()
            .any(|it| match it.assignment.state {
                gix::attrs::StateRef::Value(name) => {
                    self.drivers.iter().any(|it| it == name.as_bstr())
                }
                gix::attrs::StateRef::Set
                | gix::attrs::StateRef::Unset
                | gix::attrs::StateRef::Unspecified => false,
            })
    }

    fn hash(
        &mut self,
        full: &Path,
        path: &BStr,
        size: u64,
        budget: Budget<'_>,
    ) -> Option<gix::ObjectId> {
        let file = open_regular(full).ok()?;
        let Self {
            repo,
            index,
            attributes,
            pipeline,
            ..
        } = self;
        let platform = attributes.at_entry(path, None).ok()?;
        let converted = pipeline
            .convert_to_git(
                file,
                Path::new(std::ffi::OsStr::from_bytes(path)),
                &mut |_, out| {
                    platform.matching_attributes(out);
                },
                &mut |buf| {
                    let Some(entry) = index.entry_by_path(path) else {
                        return Ok(None);
                    };
                    let found = repo.objects.try_find(&entry.id, buf)?;
                    Ok(found.filter(|it| it.kind == Kind::Blob).map(|_| ()))
                },
            )
            .ok()?;
        let hash = repo.object_hash();
        match converted {
            ToGitOutcome::Unchanged(mut file) => gix::objs::compute_stream_hash(
                hash,
                Kind::Blob,
                &mut file,
                size,
                &mut gix::utils::progress::Discard,
                budget.interrupt(),
            )
            .ok(),
            ToGitOutcome::Buffer(bytes) => gix::objs::compute_hash(hash, Kind::Blob, bytes).ok(),
            ToGitOutcome::Process(_) => None,
        }
    }
}

/// Gives each listed file a prefix of its sha256, as long as bytes and time last.
pub(super) fn fingerprint(root: &Path, list: &mut DirtyList, budget: Budget<'_>) {
    let mut left = FINGERPRINT_TOTAL_BYTES;
    for it in &mut list.paths {
        if budget.is_over() || left == 0 {
            return;
        }
        let is_gone = matches!(
            it.status,
            Status::Changed {
                unstaged: Change::Deleted,
                ..
            }
        );
        if it.path.as_bytes().ends_with(b"/") || it.submodule.is_some() || is_gone {
            continue;
        }
        let path = root.join(it.path.to_path_buf());
        let bytes = match fs::read_link(&path) {
            Ok(target) => Some(target.into_os_string().into_vec()),
            Err(_) => open_regular(&path)
                .ok()
                .filter(|file| {
                    file.metadata()
                        .is_ok_and(|it| it.len() <= FINGERPRINT_FILE_BYTES.min(left))
                })
                .and_then(|mut file| read_all(&mut file).ok()),
        };
        if let Some(bytes) = bytes {
            left = left.saturating_sub(bytes.len() as u64);
            it.fingerprint = Some(hex_prefix(&Sha256::digest(&bytes)));
        }
    }
}

/// Never follows a link and never waits: what was a file a moment ago may be a pipe now.
fn open_regular(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

fn read_all(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
