//! The dashboard as keys and news change it, and as it is drawn at several sizes.

use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;
use crate::dashboard::{Standing, Usage, paint};
use crate::event::{HarnessId, Timestamp, Tokens};

const NOW: i64 = 1_780_000_000_000;

fn row(name: &str, standing: Standing) -> Row {
    Row {
        session: Some(SessionId::new(name)),
        adapter: Some(HarnessId::new("demo")),
        project: format!("/home/u/{name}"),
        branch: Some("main".to_owned()),
        phase: Some("observing"),
        usage: Usage {
            used: Some(Tokens(84_000)),
            window: Some(Tokens(200_000)),
            ..Usage::default()
        },
        last_event_at: Some(Timestamp::from_unix_ms(NOW - 12_000)),
        warnings: Vec::new(),
        name: None,
        ..Row::unreadable("", standing, String::new())
    }
}

fn owned(name: &str) -> Row {
    Row {
        run: Some(RunId::new("r1")),
        name: Some(name.to_owned()),
        takes_requests: true,
        ..row(name, Standing::Owned)
    }
}

fn picture(model: &Model, cols: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(cols, rows)).unwrap();
    terminal
        .draw(|frame| {
            let area = frame.area();
            paint(
                model,
                Timestamp::from_unix_ms(NOW),
                area,
                frame.buffer_mut(),
            );
        })
        .unwrap();
    terminal.backend().to_string()
}

fn full() -> Model {
    let mut model = Model::default();
    let degraded = Row {
        phase: Some("degraded"),
        warnings: vec![
            "the harness reported a compaction \u{1b}[2Jwithout a checkpoint".to_owned(),
        ],
        ..row("lexer", Standing::Open)
    };
    let rows = vec![
        owned("parser"),
        degraded,
        row("old", Standing::Retired),
        Row::unreadable(
            "f00d",
            Standing::Unreadable,
            "the index entry is damaged".to_owned(),
        ),
    ];
    model.take_rows(rows);
    let mut detail = Detail {
        session: Some(SessionId::new("lexer")),
        capsule: vec![
            "3 saved 2026-05-28T20:20:00.000Z".to_owned(),
            "> fix it".to_owned(),
        ],
        notes: vec!["keep: never use curl".to_owned()],
        ..Detail::default()
    };
    for number in 0..30 {
        detail
            .events
            .push_back(format!("20:26:{number:02}Z  {number}  tool.started"));
    }
    model.take_detail(detail);
    model.take_drift(&SessionId::new("lexer"), vec!["HEAD moved".to_owned()]);
    model
}

#[test]
fn the_dashboard_reads_the_same_at_several_sizes() {
    let model = full();
    for (cols, rows) in [(80, 24), (132, 40), (40, 10)] {
        insta::assert_snapshot!(format!("watch_{cols}x{rows}"), picture(&model, cols, rows));
    }
}

#[test]
fn any_size_and_200_sessions_are_drawn() {
    let mut model = full();
    let many = (0..200).map(|number| row(&format!("s{number:03}"), Standing::Open));
    model.take_rows(many.collect());
    model.press(Key::End);
    assert!(picture(&model, 80, 24).contains("s199"));
    for cols in 1..20 {
        for rows in 1..20 {
            picture(&model, cols, rows);
        }
    }
    model.page = Some(Page {
        title: "t".to_owned(),
        lines: vec!["l".to_owned()],
        top: 9,
    });
    picture(&model, 1, 1);
}

#[test]
fn the_selection_stays_with_its_session_while_others_come_and_go() {
    let mut model = full();
    assert_eq!(model.press(Key::Down), Some(Ask::Look));
    assert_eq!(model.name(), "parser");
    let rows = vec![row("new", Standing::Open), owned("parser")];
    assert_eq!(
        (model.take_rows(rows), model.name()),
        (None, "parser".to_owned())
    );
    assert_eq!(
        model.take_rows(vec![row("new", Standing::Open)]),
        Some(Ask::Look)
    );
    assert_eq!(model.name(), "new");
    model.take_rows(Vec::new());
    assert_eq!(model.current(), None);
}

#[test]
fn only_an_owned_session_is_asked_to_compact() {
    let mut model = full();
    assert_eq!(model.press(Key::Char('c')), None);
    assert!(
        model
            .message
            .as_ref()
            .unwrap()
            .starts_with("not hosted by harn")
    );
    model.press(Key::Down);
    assert_eq!(
        model.press(Key::Char('c')),
        Some(Ask::Compact(RunId::new("r1")))
    );
}

#[test]
fn only_a_confirmed_outcome_is_called_compacted() {
    let mut model = full();
    let all = [
        Outcome::Confirmed,
        Outcome::Skipped,
        Outcome::Refused,
        Outcome::Failed,
        Outcome::Cancelled,
        Outcome::Misfired,
        Outcome::Unconfirmed,
        Outcome::Pending,
    ];
    for outcome in all {
        model.settled("parser", outcome, None);
        let message = model.message.clone().unwrap();
        assert_eq!(
            message.contains("compacted"),
            outcome == Outcome::Confirmed,
            "{message}"
        );
    }
}

#[test]
fn a_filter_narrows_the_list_until_it_is_taken_back() {
    let mut model = full();
    for key in "/PARS".chars() {
        model.press(Key::Char(key));
    }
    assert_eq!(
        (model.visible.len(), model.name()),
        (1, "parser".to_owned())
    );
    assert_eq!(model.press(Key::Enter), None);
    assert!(picture(&model, 80, 24).contains("1 match \"PARS\""));
    model.press(Key::Escape);
    assert_eq!(model.visible.len(), 4);
}
