use super::*;
use crate::adapter::manifest::Basis;
use crate::adapter::registry;

#[test]
fn nothing_that_is_claimed_drifts_from_what_the_recordings_show() {
    for manifest in registry::all() {
        let lines = replay(&manifest, &Recordings::of(&manifest));
        let drift: Vec<_> = lines
            .iter()
            .filter(|line| line.verdict == Verdict::Drift)
            .collect();
        assert_eq!(drift, Vec::<&Line>::new(), "{}", manifest.id);
        assert_eq!(lines.len(), manifest.claims.len(), "{}", manifest.id);
    }
}

#[test]
fn a_claim_that_was_changed_and_a_recording_that_is_gone_are_drift() {
    let verdict = |manifest: &Manifest, recordings: &Recordings, dimension| {
        let lines = replay(manifest, recordings);
        lines
            .into_iter()
            .find(|line| line.dimension == dimension)
            .map(|line| line.verdict)
    };
    for id in ["claude-code", "codex"] {
        let mut manifest = registry::load(id).unwrap();
        let recordings = Recordings::of(&manifest);
        for dimension in Dimension::ALL {
            let honest = manifest.claims[&dimension].support;
            let claim = manifest.claims.get_mut(&dimension).unwrap();
            claim.support = match honest {
                Support::Unsupported => Support::Supported,
                Support::Supported | Support::Partial | Support::Unknown => Support::Unsupported,
            };
            assert_eq!(
                verdict(&manifest, &recordings, dimension),
                Some(Verdict::Drift),
                "{id} {dimension:?}"
            );
            manifest.claims.get_mut(&dimension).unwrap().support = honest;
        }
        let fewer = Recordings::of(&manifest).without("PreCompact");
        assert_eq!(
            verdict(&manifest, &fewer, Dimension::PreSignal),
            Some(Verdict::Drift)
        );
    }
}

/// A verified claim has evidence, and what it names is there.
#[test]
fn no_claim_is_verified_without_evidence() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for manifest in registry::all() {
        for (dimension, claim) in &manifest.claims {
            let is_shown = claim.basis != Basis::Verified || !claim.evidence.is_empty();
            assert!(is_shown, "{} {dimension:?}", manifest.id);
            for evidence in &claim.evidence {
                let below = if evidence.starts_with("fixtures/") {
                    root.join("adapters").join(manifest.id.as_str())
                } else {
                    root.to_owned()
                };
                assert!(below.join(evidence).exists(), "{}: {evidence}", manifest.id);
            }
        }
        let is_verified = manifest
            .claims
            .values()
            .any(|claim| claim.basis == Basis::Verified);
        assert_eq!(is_verified, manifest.verified.is_some(), "{}", manifest.id);
    }
}

/// The verdict on one dimension, and what was seen.
fn line(manifest: &Manifest, recordings: &Recordings, dimension: Dimension) -> (Verdict, String) {
    let lines = replay(manifest, recordings).into_iter();
    let mut of = lines.filter(|line| line.dimension == dimension);
    let line = of.next().unwrap();
    (line.verdict, line.seen)
}

fn bytes_of(recordings: &Recordings, path: &str) -> Vec<u8> {
    let (_, bytes) = recordings.below(path).next().unwrap();
    bytes.to_vec()
}

#[test]
fn a_recording_that_is_not_whole_is_drift_and_named() {
    type Spoil<'a> = &'a dyn Fn(&[u8], usize) -> Vec<u8>;
    let transcript = "fixtures/transcript/manual_compact.jsonl";
    let rollout = "fixtures/rollout/manual-compact-local.jsonl";
    let records = [Dimension::Telemetry, Dimension::TriggerOwned];
    let cut = |bytes: &[u8], count: usize| bytes[..bytes.len() - count].to_vec();
    let odd = |bytes: &[u8], _: usize| [b"{nonsense\n", bytes].concat();
    let table: [(&str, &str, Spoil<'_>, usize, &[Dimension]); 7] = [
        ("claude-code", transcript, &cut, 1, &records),
        ("claude-code", transcript, &cut, 40, &records),
        ("codex", rollout, &cut, 40, &records),
        ("codex", rollout, &odd, 0, &records),
        (
            "claude-code",
            "fixtures/statusline/after_turn.json",
            &cut,
            40,
            &[Dimension::Telemetry],
        ),
        (
            "codex",
            "fixtures/osc-timelines.json",
            &cut,
            4,
            &[Dimension::TriggerOwned],
        ),
        (
            "codex",
            "fixtures/hook/Stop.json",
            &cut,
            4,
            &[
                Dimension::PreSignal,
                Dimension::PostSignal,
                Dimension::Injection,
                Dimension::Resume,
            ],
        ),
    ];
    for (id, path, spoil, count, dimensions) in table {
        let manifest = registry::load(id).unwrap();
        let whole = bytes_of(&Recordings::of(&manifest), path);
        let recordings = Recordings::of(&manifest).with(path, spoil(&whole, count));
        for dimension in Dimension::ALL {
            let (verdict, seen) = line(&manifest, &recordings, dimension);
            let is_drift = verdict == Verdict::Drift;
            assert_eq!(
                is_drift,
                dimensions.contains(&dimension),
                "{path} {dimension:?} {seen}"
            );
            let name = path.rsplit('/').next().unwrap();
            assert!(
                !is_drift || seen.contains(name),
                "{path} {dimension:?}: {seen}"
            );
        }
    }
}

#[test]
fn recorded_reports_of_the_clients_state_are_replayed() {
    let manifest = registry::load("codex").unwrap();
    let whole = Recordings::of(&manifest);
    let (verdict, seen) = line(&manifest, &whole, Dimension::TriggerOwned);
    assert_eq!(verdict, Verdict::Supported);
    assert!(seen.ends_with("recorded reports of its state"), "{seen}");
    let path = "fixtures/osc-timelines.json";
    for text in [
        r#"{"t": [[0.1, "7501", "state=idle:app=codex"], [0.2, "7501", "state=dancing:app=codex"]]}"#,
        r#"{"t": [[0.1, "9", "7501;state=idle"]]}"#,
        r#"{"t": []}"#,
    ] {
        let recordings = Recordings::of(&manifest).with(path, text.as_bytes().to_vec());
        let (verdict, seen) = line(&manifest, &recordings, Dimension::TriggerOwned);
        assert_eq!(verdict, Verdict::Drift, "{text}: {seen}");
    }
    let none = Recordings::of(&manifest).without("osc-timelines");
    assert_eq!(
        line(&manifest, &none, Dimension::TriggerOwned).0,
        Verdict::Drift
    );
}

#[test]
fn a_claim_in_part_is_held_against_what_shows_the_missing_part() {
    let manifest = registry::load("claude-code").unwrap();
    let without_failures = Recordings::of(&manifest).without("compact_failures");
    let (verdict, seen) = line(&manifest, &without_failures, Dimension::PreSignal);
    assert_eq!(verdict, Verdict::Drift);
    let told = "claimed in part, and nothing recorded shows what is missing: ";
    assert!(seen.starts_with(told), "{seen}");
    // Whoever claims the whole of it is held against the same.
    let mut bold = registry::load("codex").unwrap();
    bold.claims.get_mut(&Dimension::PreSignal).unwrap().support = Support::Supported;
    let (verdict, seen) = line(&bold, &Recordings::of(&bold), Dimension::PreSignal);
    assert_eq!(verdict, Verdict::Drift);
    assert!(seen.contains("came to nothing"), "{seen}");
    let mut shy = registry::load("codex").unwrap();
    shy.claims.get_mut(&Dimension::Resume).unwrap().support = Support::Partial;
    assert_eq!(
        line(&shy, &Recordings::of(&shy), Dimension::Resume).0,
        Verdict::Drift
    );
    let mut bold = registry::load("claude-code").unwrap();
    bold.claims.get_mut(&Dimension::Resume).unwrap().support = Support::Supported;
    assert_eq!(
        line(&bold, &Recordings::of(&bold), Dimension::Resume).0,
        Verdict::Drift
    );
}

#[test]
fn evidence_of_telemetry_that_holds_no_measurement_is_drift() {
    for (id, path) in [
        ("claude-code", "fixtures/transcript/manual_compact.jsonl"),
        ("codex", "fixtures/rollout/manual-compact-local.jsonl"),
    ] {
        let manifest = registry::load(id).unwrap();
        let recordings = Recordings::of(&manifest).with(path, b"{}\n".to_vec());
        let (verdict, seen) = line(&manifest, &recordings, Dimension::Telemetry);
        assert_eq!(verdict, Verdict::Drift, "{id}");
        assert_eq!(
            seen,
            format!("no measurement in {path}, which is named as evidence")
        );
    }
}
