//! Order and shape of the list.

use super::*;

fn row(name: &str, standing: Standing) -> Row {
    Row {
        warnings: Vec::new(),
        ..Row::unreadable(name, standing, String::new())
    }
}

fn used(used: u64) -> Usage {
    Usage {
        used: Some(Tokens(used)),
        window: Some(Tokens(200_000)),
        ..Usage::default()
    }
}

#[test]
fn what_just_forgot_comes_first_and_what_ended_last() {
    let degraded = Row {
        phase: Some("degraded"),
        ..row("forgot", Standing::Open)
    };
    let full = Row {
        usage: used(170_000),
        ..row("full", Standing::Open)
    };
    let fuller = Row {
        usage: used(190_000),
        ..row("fuller", Standing::Owned)
    };
    let near = Row {
        usage: Usage {
            automatic: Some(Tokens(100_000)),
            ..used(95_000)
        },
        ..row("near its automatic range", Standing::Open)
    };
    let busy = Row {
        attempt: Some(Attempt {
            id: "a1".to_owned(),
            stage: "typed",
        }),
        ..row("compacting", Standing::Owned)
    };
    // An ended session that was full needs nobody.
    let ended = Row {
        usage: used(199_000),
        phase: Some("degraded"),
        ..row("ended", Standing::Retired)
    };
    let mut rows = vec![
        ended,
        row("theirs", Standing::Foreign),
        row("broken", Standing::Unreadable),
        row("crashed", Standing::Crashed),
        row("open", Standing::Open),
        row("owned", Standing::Owned),
        near,
        full,
        fuller,
        busy,
        degraded,
    ];
    sort(&mut rows);
    let order: Vec<String> = rows.iter().map(Row::title).collect();
    assert_eq!(
        order,
        [
            "forgot",
            "compacting",
            "fuller",
            "full",
            "near its automatic range",
            "owned",
            "open",
            "crashed",
            "broken",
            "theirs",
            "ended"
        ]
    );
}

#[test]
fn the_table_is_as_wide_as_the_terminal_and_holds_no_control_characters() {
    let hostile = Row {
        project: "/p/\u{1b}[2J\u{202e}evil".to_owned(),
        branch: Some("m\u{1b}]0;x\u{7}".to_owned()),
        usage: used(84_000),
        warnings: vec!["two\nlines".to_owned()],
        last_event_at: Some(Timestamp::from_unix_ms(-60_000)),
        ..row("a\u{9b}b", Standing::Owned)
    };
    let now = Timestamp::from_unix_ms(0);
    let text = table(std::slice::from_ref(&hostile), now, None);
    assert_eq!(
        text,
        "state  harness  session  project   branch  phase  context       heard\n\
         owned  -        ab       [2Jevil   m]0;x   -      84k/200k 42%  60 s   ! two lines"
            .replace("[2Jevil   ", "[2Jevil  ")
            .replace("project   ", "project  ")
    );
    for cols in [1, 5, 40] {
        let text = table(std::slice::from_ref(&hostile), now, Some(cols));
        assert!(
            text.lines().all(|line| line.chars().count() <= cols),
            "{text}"
        );
    }
}

#[test]
fn a_filter_looks_at_names_places_and_states() {
    let row = Row {
        project: "/home/u/Parser".to_owned(),
        branch: Some("lexer".to_owned()),
        ..row("docs", Standing::Crashed)
    };
    let found = ["parser", "LEX", "docs", "crash", "nothing"].map(|filter| row.matches(filter));
    assert_eq!(found, [true, true, true, true, false]);
}

#[test]
fn a_list_in_a_narrow_terminal_keeps_every_word_of_its_warnings() {
    let now = Timestamp::from_unix_ms(1_780_000_000_000);
    let heard = |name: &str, standing, ago: i64| Row {
        adapter: Some(HarnessId::new("claude-code")),
        project: format!("/home/u/{name}-project"),
        branch: Some("feature/a-long-name".to_owned()),
        phase: Some("checkpointed"),
        usage: used(84_000),
        last_event_at: Some(Timestamp::from_unix_ms(1_780_000_000_000 - ago)),
        ..row(name, standing)
    };
    let degraded = Row {
        phase: Some("degraded"),
        warnings: vec![
            "the harness reported a compaction without a checkpoint".to_owned(),
            "3 damaged lines in the log".to_owned(),
        ],
        ..heard("lexer", Standing::Open, 12_000)
    };
    let broken = Row::unreadable(
        "0f3c9a",
        Standing::Unreadable,
        "/home/u/a-path-that-is-far-longer-than-most-of-the-terminals/state.json was written by a newer harn (format 99)"
            .to_owned(),
    );
    let rows = [
        degraded,
        heard("parser", Standing::Owned, 500_000),
        broken,
        heard("\u{6f22}\u{5b57}", Standing::Retired, 2_000_000_000),
    ];
    for cols in [120, 80, 60, 40] {
        let text = table(&rows, now, Some(cols));
        insta::assert_snapshot!(format!("sessions_{cols}"), text);
        assert!(text.lines().all(|line| line.width() <= cols), "{text}");
        // Broken lines are joined again.
        let words = |text: &str| text.split_whitespace().collect::<String>();
        for warning in rows.iter().flat_map(|row| &row.warnings) {
            assert!(words(&text).contains(&words(warning)), "{warning}: {text}");
        }
        assert!(text.lines().all(|line| line.trim() != "!"), "{text}");
    }
    for cols in 1..40 {
        let text = table(&rows, now, Some(cols));
        assert!(text.lines().all(|line| line.width() <= cols), "{text}");
    }
}

#[test]
fn a_moment_ahead_is_told_as_one_and_never_as_an_age() {
    let now = Timestamp::from_unix_ms(1_780_000_000_000);
    let at = |ms: i64| Timestamp::from_unix_ms(ms);
    let told = [
        at(0),
        at(1_779_999_999_000),
        at(1_780_000_001_500),
        at(1_780_000_009_000),
        at(4_102_444_800_000),
    ]
    .map(|at| (distance(at, now), ago(at, now)));
    let expected = [
        ("56 y", "56 y ago"),
        ("1 s", "1 s ago"),
        // Written while the list was being made.
        ("0 s", "0 s ago"),
        ("in 9 s", "in 9 s"),
        ("in 73 y", "in 73 y"),
    ];
    assert_eq!(
        told,
        expected.map(|(distance, ago)| (distance.to_owned(), ago.to_owned()))
    );
}
