use proptest::prelude::*;

use super::*;
use crate::continuity::capsule::{Compaction, Origin, Parts};
use crate::continuity::state::{Note, Said, Touched};
use crate::event::{CheckpointTrigger, HarnessId, SessionId};

fn capsule(work: Work) -> Capsule {
    let at = Timestamp::from_unix_ms(0);
    let parts = Parts {
        id: "c".into(),
        generation: 3,
        trigger: CheckpointTrigger::PreCompact,
        at,
        compaction: Some(Compaction {
            attempt: "a1".into(),
            trigger: CompactionTrigger::Manual,
            instructions: Some("keep the API notes".into()),
        }),
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
        work,
        context: None,
        repo: RepoState::NotARepository,
    };
    Capsule::seal(parts).unwrap().0
}

fn facts() -> Facts<'static> {
    Facts {
        tag: "[harn:g3:7f2a91]".into(),
        now: Timestamp::from_unix_ms(200_000),
        trigger: CompactionTrigger::Manual,
        drift: vec![
            "branch main -> topic".into(),
            "re-check before editing".into(),
        ],
        capsule_path: Some("/p/000003.json"),
        transcript: Some("/t.jsonl"),
        mode: Some("plan"),
    }
}

fn note(kind: NoteKind, text: &str) -> Note {
    Note {
        kind,
        text: text.into(),
        origin: NoteOrigin::Terminal,
        at: Timestamp::from_unix_ms(0),
    }
}

fn work() -> Work {
    let at = Timestamp::from_unix_ms(0);
    Work {
        request: Some(Said {
            text: "make the parser\nfaster\x1b[2J".into(),
            at,
        }),
        summary: Some(Said {
            text: "I changed the lexer.".into(),
            at,
        }),
        notes: vec![
            note(NoteKind::Keep, "never use curl; use ./bin/api"),
            note(NoteKind::Next, "measure it"),
        ],
        touched: vec![Touched {
            path: "/p/src/lexer.rs".into(),
            at,
        }],
        last_tool: None,
        in_flight: Vec::new(),
    }
}

#[test]
fn a_briefing_says_what_matters_first_and_where_the_rest_is() {
    insta::assert_snapshot!(render(&Basis::Checkpoint(&capsule(work())), &facts()), @r"
    [harn:g3:7f2a91] Work state recorded by harn: checkpoint 3, saved 3 min ago (manual compaction).
    This is recorded data, not a message from the user. Go on with the work below; where it differs from what you see, trust what you see.
    Open request, in the user's words:
    > make the parser
    > faster[2J
    Next step, as noted:
    - measure it
    Must keep, verbatim:
    - never use curl; use ./bin/api
    Mode: plan. The plan is not approved yet; changes still need the user's approval.
    Repository since the checkpoint:
    - branch main -> topic
    - re-check before editing
    Repository at the checkpoint: none (not a git worktree).
    Files you wrote, newest first:
    - /p/src/lexer.rs
    Your last answer began: I changed the lexer.
    The compaction was asked to keep: keep the API notes
    Whole checkpoint: /p/000003.json
    Transcript with everything before the compaction: /t.jsonl
    ");
}

#[test]
fn an_older_checkpoint_is_called_older_and_none_is_called_none() {
    let capsule = capsule(work());
    let first = |basis: Basis<'_>| render(&basis, &facts()).lines().next().unwrap().to_owned();
    assert_eq!(
        first(Basis::Older(&capsule)),
        "[harn:g3:7f2a91] Work state recorded by harn: no checkpoint was made for this compaction; this is \
         checkpoint 3, saved 3 min ago, which predates it (manual compaction)."
    );
    assert_eq!(
        first(Basis::State(&work())),
        "[harn:g3:7f2a91] Work state recorded by harn: no checkpoint exists; this is what harn saw of the \
         session (manual compaction)."
    );
}

#[test]
fn a_briefing_never_tells_the_agent_to_begin_anew() {
    let text = render(&Basis::Checkpoint(&capsule(work())), &facts()).to_lowercase();
    for word in [
        "restart",
        "start up",
        "startup",
        "re-initial",
        "reinitial",
        "start over",
    ] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn the_tag_and_the_request_survive_any_flood() {
    let mut work = work();
    let at = Timestamp::from_unix_ms(0);
    work.notes = (0..20)
        .map(|_| note(NoteKind::Keep, &"n".repeat(500)))
        .collect();
    work.touched = (0..100)
        .map(|n| Touched {
            path: format!("/{n}/{}", "d".repeat(300)),
            at,
        })
        .collect();
    let text = render(&Basis::Checkpoint(&capsule(work)), &facts());
    assert!(text.chars().count() <= LIMIT_CHARS);
    assert!(
        text.starts_with("[harn:g3:7f2a91]") && text.contains("> make the parser\n> faster[2J\n")
    );
    assert!(text.contains("17 more notes in the checkpoint file"));
}

proptest! {
    #[test]
    fn no_input_makes_a_briefing_too_long_or_puts_a_control_character_in(
        request in any::<String>(),
        note_text in any::<String>(),
        paths in proptest::collection::vec(any::<String>(), 0..120),
        drift in proptest::collection::vec(any::<String>(), 0..120),
    ) {
        let at = Timestamp::from_unix_ms(0);
        let work = Work {
            request: Some(Said { text: request.repeat(60), at }),
            summary: Some(Said { text: request, at }),
            notes: (0..20).map(|_| note(NoteKind::Keep, &note_text)).collect(),
            touched: paths.into_iter().map(|path| Touched { path, at }).collect(),
            last_tool: None,
        in_flight: Vec::new(),
        };
        let text = render(&Basis::State(&work), &Facts { drift, ..facts() });
        prop_assert!(text.chars().count() <= LIMIT_CHARS);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }
}
