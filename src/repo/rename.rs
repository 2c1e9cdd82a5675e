//! Pairs staged deletions with staged additions: same bytes first, then bytes that are alike.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::index::entry::Mode;

use super::budget::Budget;
use super::staged::{Lone, Staged};

/// Pairs of files compared by content at most; beyond it only identical files are paired.
const MAX_PAIRS: usize = 2_500;
/// Larger files (bytes) are paired only when identical.
const MAX_BYTES: u64 = 512 * 1024;
/// Share of the larger file that must be common, as in git.
const MIN_PERCENT: u64 = 50;
/// Bytes after which a line without an end is cut.
const LINE_BYTES: usize = 64;

/// Takes renames out of `staged` and returns them as `(from, to)`.
pub(super) fn renames(
    repo: &gix::Repository,
    staged: &mut Staged,
    budget: Budget<'_>,
) -> Vec<(Lone, Lone)> {
    let mut pairs = identical(staged);
    if staged.deleted.len().saturating_mul(staged.added.len()) <= MAX_PAIRS {
        pairs.extend(alike(repo, staged, budget));
    }
    pairs
}

fn identical(staged: &mut Staged) -> Vec<(Lone, Lone)> {
    let mut by_id: HashMap<ObjectId, Vec<Lone>> = HashMap::new();
    for lone in staged.deleted.drain(..) {
        by_id.entry(lone.id).or_default().push(lone);
    }
    let mut pairs = Vec::new();
    let empty = ObjectId::empty_blob(gix::hash::Kind::Sha1);
    staged.added.retain(|added| {
        let Some(sources) = by_id.get_mut(&added.id).filter(|_| added.id != empty) else {
            return true;
        };
        let same_name = |it: &Lone| name(&it.path) == name(&added.path);
        let Some(at) = sources
            .iter()
            .position(|it| same_name(it) && can_pair(it, added))
            .or_else(|| sources.iter().position(|it| can_pair(it, added)))
        else {
            return true;
        };
        pairs.push((sources.remove(at), added.clone()));
        false
    });
    staged.deleted = by_id.into_values().flatten().collect();
    staged.deleted.sort_by(|a, b| a.path.cmp(&b.path));
    pairs
}

fn alike(repo: &gix::Repository, staged: &mut Staged, budget: Budget<'_>) -> Vec<(Lone, Lone)> {
    if staged.deleted.is_empty() || staged.added.is_empty() {
        return Vec::new();
    }
    let Some(old) = spectra(repo, &staged.deleted, budget) else {
        return Vec::new();
    };
    let Some(new) = spectra(repo, &staged.added, budget) else {
        return Vec::new();
    };
    let mut scores = Vec::new();
    for (from, (deleted, old)) in staged.deleted.iter().zip(&old).enumerate() {
        for (to, (added, new)) in staged.added.iter().zip(&new).enumerate() {
            let (Some(old), Some(new)) = (old, new) else {
                continue;
            };
            let percent = old.percent_in_common(new);
            if can_pair(deleted, added) && percent >= MIN_PERCENT {
                scores.push((percent, name(&deleted.path) == name(&added.path), from, to));
            }
        }
    }
    // Best first; among equals the one that kept its name, then the first in order.
    scores
        .sort_by_key(|&(percent, same_name, from, to)| (u64::MAX - percent, !same_name, from, to));
    let (mut used_from, mut used_to) = (Vec::new(), Vec::new());
    for (_, _, from, to) in scores {
        if !used_from.contains(&from) && !used_to.contains(&to) {
            used_from.push(from);
            used_to.push(to);
        }
    }
    let found: Vec<_> = used_from
        .iter()
        .zip(&used_to)
        .filter_map(|(&from, &to)| {
            Some((
                staged.deleted.get(from)?.clone(),
                staged.added.get(to)?.clone(),
            ))
        })
        .collect();
    staged
        .deleted
        .retain(|it| found.iter().all(|(from, _)| from.path != it.path));
    staged
        .added
        .retain(|it| found.iter().all(|(_, to)| to.path != it.path));
    found
}

fn can_pair(from: &Lone, to: &Lone) -> bool {
    let is_file = |mode: Mode| mode == Mode::FILE || mode == Mode::FILE_EXECUTABLE;
    from.kind == to.kind || (is_file(from.kind) && is_file(to.kind))
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit_once_str("/").map_or(path, |(_, name)| name)
}

/// How many bytes a file has of each of its lines.
struct Spectrum {
    bytes: u64,
    lines: HashMap<Vec<u8>, u64>,
}

impl Spectrum {
    fn of(data: &[u8]) -> Self {
        let mut lines = HashMap::new();
        for line in data.lines_with_terminator() {
            for piece in line.chunks(LINE_BYTES) {
                *lines.entry(piece.to_vec()).or_default() += piece.len() as u64;
            }
        }
        Self {
            bytes: data.len() as u64,
            lines,
        }
    }

    fn percent_in_common(&self, other: &Self) -> u64 {
        let larger = self.bytes.max(other.bytes);
        let common: u64 = self
            .lines
            .iter()
            .filter_map(|(line, bytes)| other.lines.get(line).map(|it| (*it).min(*bytes)))
            .sum();
        (common * 100).checked_div(larger).unwrap_or_default()
    }
}

/// `None` when time is up; `None` inside for what is not compared by content.
fn spectra(
    repo: &gix::Repository,
    files: &[Lone],
    budget: Budget<'_>,
) -> Option<Vec<Option<Spectrum>>> {
    files
        .iter()
        .map(|file| {
            if budget.is_over() {
                return None;
            }
            let is_small = file.kind != Mode::COMMIT
                && repo
                    .find_header(file.id)
                    .is_ok_and(|it| (1..=MAX_BYTES).contains(&it.size()));
            let blob = if is_small {
                repo.find_blob(file.id).ok()
            } else {
                None
            };
            Some(blob.map(|blob| Spectrum::of(&blob.data)))
        })
        .collect()
}
