use std::io::Write as _;

use proptest::prelude::*;

use super::*;

const SMALL: Limits = Limits {
    line_bytes: 40,
    back_bytes: 1 << 20,
    forward_bytes: 1 << 20,
};

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

/// All lines of one look, in the order they came.
fn look(follower: &mut Follower) -> (Vec<String>, Progress) {
    let mut lines = Vec::new();
    let progress = follower
        .poll(&mut |line, _| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    (lines, progress)
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    (dir, path)
}

#[test]
fn the_tail_comes_newest_first_and_then_what_is_appended() {
    let (_dir, path) = place();
    append(&path, b"one\ntwo\nthr");
    let mut follower = Follower::new(&path, SMALL, None);
    let (lines, progress) = look(&mut follower);
    assert_eq!(lines, ["two", "one"]);
    assert_eq!(progress.start, Some(Start::First));
    assert_eq!(look(&mut follower).0, [""; 0]);
    append(&path, b"ee\nfour\nfi");
    let (lines, progress) = look(&mut follower);
    assert_eq!(
        (lines, progress.start),
        (vec!["three".into(), "four".into()], None)
    );
    // Another process goes on where this one stopped.
    let mut next = Follower::new(&path, SMALL, follower.position());
    append(&path, b"ve\n");
    assert_eq!(look(&mut next).0, ["five"]);
    assert_eq!(look(&mut follower).0, ["five"]);
}

#[test]
fn a_reader_that_has_enough_stops_the_walk_back() {
    let (_dir, path) = place();
    append(&path, b"one\ntwo\nthree\n");
    let mut lines = Vec::new();
    Follower::new(&path, SMALL, None)
        .poll(&mut |line, _| {
            lines.push(line.to_vec());
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(lines, [b"three"]);
}

#[test]
fn a_file_that_was_replaced_cut_or_rewritten_is_read_again() {
    let (dir, path) = place();
    append(&path, b"one\ntwo\n");
    let mut follower = Follower::new(&path, SMALL, None);
    look(&mut follower);
    let other = dir.path().join("other");
    append(&other, b"new one\n");
    std::fs::rename(&other, &path).unwrap();
    let (lines, progress) = look(&mut follower);
    assert_eq!(
        (lines, progress.start),
        (vec!["new one".into()], Some(Start::Replaced))
    );
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    append(&path, b"x\n");
    let (lines, progress) = look(&mut follower);
    assert_eq!(
        (lines, progress.start),
        (vec!["x".into()], Some(Start::Truncated))
    );
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    append(&path, b"y\nz\n");
    let (lines, progress) = look(&mut follower);
    assert_eq!(
        (lines, progress.start),
        (vec!["z".into(), "y".into()], Some(Start::Rewritten))
    );
    std::fs::remove_file(&path).unwrap();
    let gone = follower.poll(&mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(gone, Err(FollowError::Missing { .. })));
    append(&path, b"back\n");
    assert_eq!(look(&mut follower).0, ["back"]);
}

#[test]
fn the_first_line_is_given_whole_or_not_at_all() {
    let (_dir, path) = place();
    let follower = Follower::new(&path, SMALL, None);
    assert!(matches!(
        follower.first_line(),
        Err(FollowError::Missing { .. })
    ));
    append(&path, b"hea");
    assert_eq!(follower.first_line().unwrap(), None);
    append(&path, b"d\nsecond\n");
    assert_eq!(follower.first_line().unwrap(), Some(b"head".to_vec()));
    assert_eq!(follower.position(), None);
    let (_dir, path) = place();
    let follower = Follower::new(&path, SMALL, None);
    append(&path, &[b'x'; 41]);
    append(&path, b"\n");
    assert_eq!(follower.first_line().unwrap(), None);
}

#[test]
fn a_line_that_is_too_long_is_skipped_and_counted() {
    let (_dir, path) = place();
    let long = [b'x'; 100];
    append(&path, b"one\n");
    append(&path, &long);
    append(&path, b"\ntwo\n");
    let mut follower = Follower::new(&path, SMALL, None);
    let (lines, progress) = look(&mut follower);
    assert_eq!(
        (lines, progress.oversized),
        (vec!["two".into(), "one".into()], 1)
    );
    append(&path, &long);
    let (lines, progress) = look(&mut follower);
    assert_eq!((lines.len(), progress.oversized), (0, 1));
    append(&path, &long);
    append(&path, b"\nthree\n");
    let (lines, progress) = look(&mut follower);
    assert_eq!((lines, progress.oversized), (vec!["three".into()], 0));
}

#[test]
fn an_unfinished_line_too_long_for_the_first_look_is_passed_over() {
    let (_dir, path) = place();
    append(&path, &[b'x'; 100]);
    let mut follower = Follower::new(&path, SMALL, None);
    assert_eq!(look(&mut follower).0, [""; 0]);
    append(&path, b"xx\ntwo\n");
    assert_eq!(look(&mut follower).0, ["two"]);
}

#[test]
fn too_much_at_once_is_read_from_its_tail() {
    let (_dir, path) = place();
    append(&path, b"one\n");
    let limits = Limits {
        forward_bytes: 8,
        back_bytes: 9,
        ..SMALL
    };
    let mut follower = Follower::new(&path, limits, None);
    look(&mut follower);
    append(&path, b"two\nthree\nfour\n");
    let (lines, progress) = look(&mut follower);
    assert_eq!(
        (lines, progress.start),
        (vec!["four".into()], Some(Start::Behind))
    );
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in [dir.path().to_owned(), fifo, PathBuf::from("/dev/null")] {
        let told = Follower::new(&path, SMALL, None).poll(&mut |_, _| ControlFlow::Continue(()));
        assert!(
            matches!(told, Err(FollowError::NotAFile { .. })),
            "{path:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_growth_gives_the_same_lines(
        lines in proptest::collection::vec("[a-z]{0,30}", 1..12),
        cuts in proptest::collection::vec(0_usize..300, 0..6),
    ) {
        let (_dir, path) = place();
        append(&path, b"");
        let mut text = lines.join("\n");
        text.push('\n');
        let mut follower = Follower::new(&path, SMALL, None);
        look(&mut follower);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        cuts.push(text.len());
        let mut from = 0;
        let mut seen = Vec::new();
        for cut in cuts {
            append(&path, &text.as_bytes()[from..cut]);
            from = cut;
            seen.extend(look(&mut follower).0);
        }
        prop_assert_eq!(&seen, &lines);
        let (mut back, _) = look(&mut Follower::new(&path, SMALL, None));
        back.reverse();
        prop_assert_eq!(&back, &lines);
    }
}
