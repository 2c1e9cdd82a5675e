//! Where each model was compacted by itself, over all sessions of this user: what a harness does, not what it promises.
//!
//! One small file in the state directory, written when a harness's own record tells of an automatic compaction. It may be
//! removed at any time; nothing but what is shown rests on it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::event::HarnessId;
use crate::store::dir::{Dir, DirError, Durability};
use crate::store::format::{self, Read};
use crate::store::home;
use crate::store::layout::Layout;
use crate::telemetry::meter::Automatic;

const FILE: &str = "automatic.json";
const LOCK: &str = "automatic.lock";
const LIMIT_BYTES: u64 = 256 * 1024;
/// Compactions of one harness that are remembered, over all its models.
const KEPT: usize = 64;
/// Another session writes for a few milliseconds; a compaction that is not kept is no loss.
const PATIENCE: Duration = Duration::from_millis(50);

/// By harness, oldest first.
type Seen = BTreeMap<String, Vec<Automatic>>;

/// Keeps one more.
pub fn learn(layout: &Layout, harness: &HarnessId, automatic: &Automatic) -> Result<(), DirError> {
    let dir = home::ensure(layout)?;
    let _held = dir.lock(LOCK, PATIENCE)?;
    let Some(mut seen) = read(&dir)? else {
        return Ok(());
    };
    let kept = seen.entry(harness.as_str().to_owned()).or_default();
    kept.push(automatic.clone());
    let excess = kept.len().saturating_sub(KEPT);
    kept.drain(..excess);
    match format::AUTOMATIC.write(&seen) {
        Ok(bytes) => dir.replace(FILE, &bytes, Durability::Atomic),
        Err(error) => Err(DirError::Io {
            what: "write",
            path: dir.path().join(FILE),
            source: std::io::Error::other(error),
        }),
    }
}

/// What is remembered of a harness, oldest first.
pub fn known(layout: &Layout, harness: &HarnessId) -> Vec<Automatic> {
    let seen = home::open(layout).and_then(|dir| match dir {
        Some(dir) => read(&dir),
        None => Ok(None),
    });
    match seen {
        Ok(seen) => seen
            .and_then(|mut seen| seen.remove(harness.as_str()))
            .unwrap_or_default(),
        Err(error) => {
            tracing::debug!(%error, "what was learnt of compactions is not read");
            Vec::new()
        }
    }
}

/// `None`: written by a newer harn, and left as it is.
fn read(dir: &Dir) -> Result<Option<Seen>, DirError> {
    let bytes = dir.read(FILE, LIMIT_BYTES)?.unwrap_or_default();
    Ok(match format::AUTOMATIC.read(&bytes) {
        Read::Ours(seen) => Some(seen),
        Read::Foreign | Read::Damaged(_) => Some(Seen::new()),
        Read::Newer(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Tokens;

    fn layout(base: &std::path::Path) -> Layout {
        Layout {
            base: base.to_owned(),
            gathered: true,
            config: base.join("config.toml"),
        }
    }

    fn at(model: &str, tokens: u64) -> Automatic {
        Automatic {
            model: Some(model.to_owned()),
            tokens: Tokens(tokens),
            window: Some(Tokens(200_000)),
        }
    }

    #[test]
    fn what_was_seen_is_kept_by_harness_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let layout = layout(dir.path());
        let (one, other) = (HarnessId::new("one"), HarnessId::new("other"));
        assert_eq!(known(&layout, &one), []);
        for count in 0..70 {
            learn(&layout, &one, &at("m", count)).unwrap();
        }
        learn(&layout, &other, &at("n", 1)).unwrap();
        let seen = known(&layout, &one);
        assert_eq!((seen.len(), &seen[0]), (KEPT, &at("m", 6)));
        assert_eq!(known(&layout, &other), [at("n", 1)]);
    }

    #[test]
    fn a_damaged_file_is_begun_anew_and_a_newer_one_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let layout = layout(dir.path());
        let harness = HarnessId::new("one");
        let home = home::ensure(&layout).unwrap();
        home.replace(FILE, b"{\0", Durability::Atomic).unwrap();
        learn(&layout, &harness, &at("m", 1)).unwrap();
        assert_eq!(known(&layout, &harness), [at("m", 1)]);
        let newer = r#"{"format":"harn-automatic/2","content":{}}"#;
        home.replace(FILE, newer.as_bytes(), Durability::Atomic)
            .unwrap();
        learn(&layout, &harness, &at("m", 2)).unwrap();
        assert_eq!(
            std::fs::read_to_string(dir.path().join(FILE)).unwrap(),
            newer
        );
    }
}
