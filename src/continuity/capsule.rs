//! The continuity capsule: one bounded record of the work at one moment.
//!
//! Pure. `command/` gathers the parts and `store` writes the bytes. A capsule is never refused for its size: what
//! does not fit is cut by priority and named in `truncated`. Credentials are masked before anything is kept.

use serde::{Deserialize, Serialize};

use super::mask::mask;
use super::snapshot::{Dirty, RepoState};
use super::state::{Said, Work};
use crate::event::{
    CheckpointTrigger, CompactionTrigger, HarnessId, RunId, SCHEMA, SessionId, Timestamp,
};
use crate::telemetry::ContextSample;
use crate::text::shorten;

/// Marks a file as a capsule of harn's, with the version of its format.
pub const FORMAT: &str = "harn-capsule/1";
/// A capsule's file is never larger, in bytes.
pub const LIMIT_BYTES: usize = 32 * 1024;
/// Characters kept of a prompt.
pub const REQUEST_CHARS: usize = 4_000;
/// Characters kept of the agent's last answer.
pub const SUMMARY_CHARS: usize = 600;

/// The compaction a capsule was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    pub attempt: String,
    pub trigger: CompactionTrigger,
    /// What the user typed behind the compact command.
    pub instructions: Option<String>,
}

/// Whose work it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub session: SessionId,
    pub adapter: HarnessId,
    pub run: Option<RunId>,
    pub model: Option<String>,
    pub transcript: Option<String>,
    /// The directory that owns the state, and where the agent stood: they differ after a `cd` or in a worktree.
    pub project: Option<String>,
    pub cwd: Option<String>,
    /// The permission mode of the harness.
    pub mode: Option<String>,
}

/// What is stored in `capsules/NNNNNN.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capsule {
    pub format: String,
    pub schema: u32,
    pub id: String,
    pub generation: u64,
    pub trigger: CheckpointTrigger,
    pub at: Timestamp,
    pub compaction: Option<Compaction>,
    pub origin: Origin,
    pub work: Work,
    /// The newest measurement that still stood.
    #[serde(default)]
    pub context: Option<ContextSample>,
    pub repo: RepoState,
    /// Names of the parts that were cut to fit.
    pub truncated: Vec<String>,
}

/// What a capsule is made from.
#[derive(Clone, Debug)]
pub struct Parts {
    pub id: String,
    pub generation: u64,
    pub trigger: CheckpointTrigger,
    pub at: Timestamp,
    pub compaction: Option<Compaction>,
    pub origin: Origin,
    pub work: Work,
    pub context: Option<ContextSample>,
    pub repo: RepoState,
}

impl Capsule {
    /// Makes a capsule and its file's bytes, at most `LIMIT_BYTES` of them.
    pub fn seal(parts: Parts) -> Result<(Self, Vec<u8>), serde_json::Error> {
        let mut capsule = Self {
            format: FORMAT.to_owned(),
            schema: SCHEMA,
            id: parts.id,
            generation: parts.generation,
            trigger: parts.trigger,
            at: parts.at,
            compaction: parts.compaction.map(|compaction| Compaction {
                instructions: compaction.instructions.as_deref().map(mask),
                ..compaction
            }),
            origin: parts.origin,
            work: masked(parts.work),
            context: parts.context,
            repo: parts.repo,
            truncated: Vec::new(),
        };
        let mut bytes = capsule.bytes()?;
        for (name, cut) in CUTS {
            if bytes.len() <= LIMIT_BYTES {
                break;
            }
            if cut(&mut capsule) {
                capsule.truncated.push((*name).to_owned());
                bytes = capsule.bytes()?;
            }
        }
        Ok((capsule, bytes))
    }

    fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// The mark by which a briefing is found again in a transcript: `[harn:g3:7f2a91]`.
    pub fn tag(&self) -> String {
        tag(self.generation, &self.id)
    }
}

/// A briefing's mark; `id` is a capsule's, or an attempt's where there is no capsule.
pub fn tag(generation: u64, id: &str) -> String {
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(id.as_bytes());
    let hex = crate::text::hex(hash.get(..3).unwrap_or_default());
    format!("[harn:g{generation}:{hex}]")
}

fn masked(mut work: Work) -> Work {
    let said = [
        (&mut work.request, REQUEST_CHARS),
        (&mut work.summary, SUMMARY_CHARS),
    ];
    for (said, limit) in said {
        if let Some(Said { text, .. }) = said {
            *text = mask(&shorten(text, limit));
        }
    }
    for note in &mut work.notes {
        note.text = mask(&note.text);
    }
    work
}

/// Cuts one part; false when there was nothing to cut.
type Cut = fn(&mut Capsule) -> bool;

/// Least needed first. The last ones together bound the file: nothing else in a capsule grows.
const CUTS: &[(&str, Cut)] = &[
    ("repo.dirty.fingerprints", |capsule| {
        dirty(capsule, |paths| {
            for path in paths {
                path.fingerprint = None;
            }
        })
    }),
    ("work.touched", |capsule| {
        keep_last(&mut capsule.work.touched, 30)
    }),
    ("repo.dirty.paths", |capsule| {
        dirty(capsule, |paths| paths.truncate(40))
    }),
    ("work.summary", |capsule| {
        shorten_said(&mut capsule.work.summary, 200)
    }),
    ("compaction.instructions", |capsule| {
        let Some(text) = capsule
            .compaction
            .as_mut()
            .and_then(|c| c.instructions.as_mut())
        else {
            return false;
        };
        *text = shorten(text, 500);
        true
    }),
    ("work.touched", |capsule| {
        keep_last(&mut capsule.work.touched, 5)
    }),
    ("repo.dirty.paths", |capsule| {
        dirty(capsule, |paths| paths.truncate(5))
    }),
    ("work.request", |capsule| {
        shorten_said(&mut capsule.work.request, 1_000)
    }),
    ("work.notes", |capsule| {
        keep_last(&mut capsule.work.notes, 8)
    }),
    ("work.touched", |capsule| {
        keep_last(&mut capsule.work.touched, 0)
    }),
    ("repo.dirty.paths", |capsule| dirty(capsule, Vec::clear)),
    ("compaction.instructions", |capsule| {
        capsule
            .compaction
            .as_mut()
            .is_some_and(|c| c.instructions.take().is_some())
    }),
];

fn dirty(capsule: &mut Capsule, cut: impl FnOnce(&mut Vec<super::snapshot::DirtyPath>)) -> bool {
    let RepoState::Known(repo) = &mut capsule.repo else {
        return false;
    };
    let Dirty::Known(list) = &mut repo.dirty else {
        return false;
    };
    cut(&mut list.paths);
    true
}

fn keep_last<T>(list: &mut Vec<T>, count: usize) -> bool {
    let excess = list.len().saturating_sub(count);
    list.drain(..excess);
    excess > 0
}

fn shorten_said(said: &mut Option<Said>, limit: usize) -> bool {
    let Some(said) = said else { return false };
    said.text = shorten(&said.text, limit);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuity::state::{Note, NoteKind, NoteOrigin, Touched};

    fn parts() -> Parts {
        let at = Timestamp::from_unix_ms(0);
        Parts {
            id: "c1".into(),
            generation: 3,
            trigger: CheckpointTrigger::PreCompact,
            at,
            compaction: None,
            origin: Origin {
                session: SessionId::new("s"),
                adapter: HarnessId::new("demo"),
                run: None,
                model: None,
                transcript: None,
                project: None,
                cwd: None,
                mode: None,
            },
            work: Work::default(),
            context: None,
            repo: RepoState::NotARepository,
        }
    }

    #[test]
    fn a_capsule_that_fits_is_whole_and_reads_back() {
        let (capsule, bytes) = Capsule::seal(parts()).unwrap();
        assert_eq!(serde_json::from_slice::<Capsule>(&bytes).unwrap(), capsule);
        assert_eq!(capsule.truncated, Vec::<String>::new());
        assert!(capsule.tag().starts_with("[harn:g3:") && capsule.tag().len() == 16);
    }

    #[test]
    fn an_oversized_capsule_is_cut_by_priority_and_never_refused() {
        let mut parts = parts();
        let at = parts.at;
        parts.work.request = Some(Said {
            text: "ü".repeat(10_000),
            at,
        });
        parts.work.notes = (0..20)
            .map(|_| Note {
                kind: NoteKind::Keep,
                text: "\u{1}".repeat(500),
                origin: NoteOrigin::Terminal,
                at,
            })
            .collect();
        parts.work.touched = (0..100)
            .map(|n| Touched {
                path: format!("{n}/{}", "p".repeat(400)),
                at,
            })
            .collect();
        let (capsule, bytes) = Capsule::seal(parts).unwrap();
        assert!(bytes.len() <= LIMIT_BYTES, "{} bytes", bytes.len());
        assert_eq!(
            capsule.truncated.first().map(String::as_str),
            Some("work.touched")
        );
        assert_eq!(
            capsule.work.touched.last().unwrap().path.get(..3),
            Some("99/")
        );
    }
}
