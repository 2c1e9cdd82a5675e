//! Each family of sequences and keys by itself: out of the program, and into it, with the overlay off and with the row.

use super::hosted::{LIMIT, content};
use crate::support::{Pty, Size, TestEnv};

/// What programs print, by name. With the row on, those marked are harn's to rewrite or to hold; `overlay` and the filter
/// have their tests.
const PRINTED: &[(&str, &[u8], Row)] = &[
    (
        "renditions",
        b"\x1b[38;2;1;2;3m\x1b[4:3m\x1b[58:2::9:8:7mX\x1b[0m",
        Row::Passes,
    ),
    (
        "keyboard protocol",
        b"\x1b[>1u\x1b[=5;1u\x1b[<u",
        Row::Passes,
    ),
    ("modified keys", b"\x1b[>4;2m\x1b[>4;0m", Row::Passes),
    ("paste mode", b"\x1b[?2004h\x1b[?2004l", Row::Passes),
    (
        "mouse modes",
        b"\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?1006l\x1b[?1003l\x1b[?1000l",
        Row::Passes,
    ),
    ("focus mode", b"\x1b[?1004h\x1b[?1004l", Row::Passes),
    (
        "synchronised update",
        b"\x1b[?2026hZ\x1b[?2026l",
        Row::Passes,
    ),
    ("size reports", b"\x1b[?2048h\x1b[?2048l", Row::Passes),
    (
        "colour scheme reports",
        b"\x1b[?2031h\x1b[?2031l",
        Row::Passes,
    ),
    (
        "alternate screen",
        b"\x1b[?1049hA\x1b[?1049l",
        Row::Rewrites,
    ),
    ("scrollback erasure", b"\x1b[3J", Row::Passes),
    ("scroll region", b"\x1b[1;20r\x1b[r", Row::Rewrites),
    ("cursor shape", b"\x1b[5 q\x1b[0 q", Row::Passes),
    (
        "cursor moves",
        b"\x1b[5;7Ha\x1b[2Ab\x1b[3Dc\x1b[Gd\x1b[9de\x1b[Ef",
        Row::Passes,
    ),
    (
        "line edits",
        b"\x1b[3;3Habc\x1b[2D\x1b[@\x1b[P\x1b[X\x1b[K\x1b[1K\x1b[2K",
        Row::Passes,
    ),
    ("title, ended by BEL", b"\x1b]0;a title\x07", Row::Passes),
    ("title, ended by ST", b"\x1b]2;a title\x1b\\", Row::Passes),
    ("directory", b"\x1b]7;file://h/tmp\x1b\\", Row::Passes),
    (
        "link",
        b"\x1b]8;id=1;https://e.test/\x1b\\L\x1b]8;;\x1b\\",
        Row::Passes,
    ),
    ("notification", b"\x1b]9;done\x07", Row::Passes),
    ("progress", b"\x1b]9;4;1;50\x07", Row::Passes),
    (
        "notification with a title",
        b"\x1b]777;notify;t;b\x1b\\",
        Row::Passes,
    ),
    (
        "notification with an id",
        b"\x1b]99;i=1;hello\x1b\\",
        Row::Passes,
    ),
    (
        "prompt marks",
        b"\x1b]133;A\x07$ \x1b]133;B\x07",
        Row::Passes,
    ),
    ("clipboard", b"\x1b]52;c;aGVsbG8=\x07", Row::Passes),
    (
        "inline file",
        b"\x1b]1337;File=inline=1:AAAA\x07",
        Row::Passes,
    ),
    (
        "colour queries",
        b"\x1b]10;?\x1b\\\x1b]11;?\x07",
        Row::Passes,
    ),
    ("attribute queries", b"\x1b[c\x1b[>c\x1b[>q", Row::Passes),
    ("cursor query", b"\x1b[6n", Row::Passes),
    ("mode query", b"\x1b[?2026$p", Row::Passes),
    ("keyboard query", b"\x1b[?u", Row::Passes),
    ("size queries", b"\x1b[14t\x1b[16t\x1b[18t", Row::Passes),
    (
        "sixel image",
        b"\x1bPq#0;2;0;0;0#0~~@@vv\x1b\\",
        Row::Passes,
    ),
    (
        "image by APC",
        b"\x1b_Gf=24,s=1,v=1;AAAA\x1b\\",
        Row::Passes,
    ),
    (
        "passed through a multiplexer",
        b"\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\",
        Row::Passes,
    ),
    (
        "C1 bytes and no UTF-8",
        b"\xff\xfea\x80\x9bmb\xc3(",
        Row::Passes,
    ),
    (
        "wide, joined and combining",
        "漢字👩‍👩‍👧é👍🏽".as_bytes(),
        Row::Passes,
    ),
    (
        "a string without an end",
        b"\x1b]0;never ended",
        Row::Passes,
    ),
    ("a sequence without an end", b"\x1b[1;2;3", Row::Rewrites),
];

/// What is typed, by name.
const TYPED: &[(&str, &[u8])] = &[
    ("escape alone", b"\x1b"),
    ("arrow", b"\x1b[A"),
    ("arrow in application mode", b"\x1bOA"),
    ("Alt+Enter", b"\x1b\r"),
    ("Shift+Enter", b"\x1b[13;2u"),
    ("release", b"\x1b[97;1:3u"),
    ("modified key", b"\x1b[27;2;13~"),
    ("mouse", b"\x1b[<0;10;10M\x1b[<0;10;10m"),
    ("focus", b"\x1b[I\x1b[O"),
    (
        "replies",
        b"\x1b[?62;22c\x1b]11;rgb:1111/1111/1111\x1b\\\x1b[12;40R",
    ),
    ("UTF-8", "漢é👍🏽".as_bytes()),
    ("NUL", b"\0"),
    (
        "Ctrl+A to Ctrl+L",
        b"\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c",
    ),
    ("Enter", b"\r"),
    (
        "Ctrl+N to Ctrl+Z",
        b"\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a",
    ),
    ("the rest of the controls", b"\x1c\x1d\x1f\x7f"),
    ("bracketed paste", b"\x1b[200~one\rtwo\x1e\x1b[A\x1b[201~"),
];

/// What the overlay row does with a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Passes,
    Rewrites,
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn run(env: &TestEnv, overlay: &str, script: &str) -> Pty {
    let command = env.harn(["run", "--overlay", overlay, "--", "/bin/sh", "-c", script]);
    Pty::spawn(command, 40, 120)
}

#[test]
fn each_family_that_a_program_prints_reaches_the_terminal_as_it_is() {
    let env = TestEnv::new();
    for (name, bytes, row) in PRINTED {
        env.write("family", bytes);
        for overlay in ["off", "row"] {
            let mut pty = run(&env, overlay, "stty raw; cat family");
            assert_eq!(pty.wait_exit(LIMIT), 0, "{name}");
            let raw = pty.raw();
            if overlay == "off" {
                assert_eq!(raw, *bytes, "{name}");
            } else if *row == Row::Passes {
                assert!(
                    contains(&raw, bytes),
                    "{name}: {:?}",
                    String::from_utf8_lossy(&raw)
                );
            }
        }
    }
}

/// In one write, and byte by byte.
#[test]
fn each_family_survives_being_written_in_pieces() {
    let env = TestEnv::new();
    let all: Vec<u8> = PRINTED
        .iter()
        .filter(|(name, _, row)| *row == Row::Passes && !name.contains("without an end"))
        .flat_map(|(_, bytes, _)| bytes.to_vec())
        .collect();
    env.write("family", &all);
    let script = "stty raw; perl -e '$| = 1; open F, \"family\"; binmode F; print while $/ = \\1, defined($_ = <F>)'";
    for overlay in ["off", "row"] {
        let mut pty = run(&env, overlay, script);
        assert_eq!(pty.wait_exit(LIMIT), 0);
        assert!(contains(&pty.raw(), &all), "{overlay}");
    }
}

#[test]
fn each_key_reaches_the_program_as_it_is() {
    let env = TestEnv::new();
    for (name, bytes) in TYPED {
        for overlay in ["off", "row"] {
            let script = format!("stty raw -echo; echo ready; head -c {} >got", bytes.len());
            let mut pty = run(&env, overlay, &script);
            pty.wait_text("ready");
            pty.send(bytes);
            assert_eq!(pty.wait_exit(LIMIT), 0, "{name}, {overlay}");
            assert_eq!(
                content(&env.project().join("got")),
                *bytes,
                "{name}, {overlay}"
            );
        }
    }
}

#[test]
fn smallest_terminals_are_survived() {
    let env = TestEnv::new();
    let script = "printf 'wrapped 漢字漢字 \\033[5;5Hzz\\033[2J\\r\\n\\r\\nabc\\033[?1049h\\033[1;9r\\033c'; exit 3";
    for (rows, cols) in [(1, 1), (2, 10), (0, 0), (1, 500), (500, 1), (8, 500)] {
        for overlay in ["off", "row", "title"] {
            let size = Size {
                rows,
                cols,
                width: 0,
                height: 0,
            };
            let command = env.harn(["run", "--overlay", overlay, "--", "/bin/sh", "-c", script]);
            let mut pty = Pty::spawn_sized(command, size);
            assert_eq!(pty.wait_exit(LIMIT), 3, "{rows}x{cols}, {overlay}");
        }
    }
}
