//! The filter against two terminal models that were written by others: whatever the program prints, its rows, cursor and
//! pen are those of a plain terminal of one row less, and the last row is the overlay.

use std::num::NonZeroU16;

use proptest::prelude::*;
use proptest::sample::select;

use super::filter::{Face, Filter};

const COLS: u16 = 12;

/// A terminal as far as it can be compared.
trait Model {
    fn new(rows: u16, cols: u16) -> Self;
    fn feed(&mut self, bytes: &[u8]);
    fn set_size(&mut self, rows: u16, cols: u16);
    /// The first rows with their renditions, and the cursor.
    fn shown(&self, rows: u16) -> Vec<String>;
    fn text(&self, row: u16) -> String;
}

/// vt100's own parser loses characters when one is cut, so both models get whole ones.
struct Vt100(vt100::Parser, Vec<u8>);

impl Model for Vt100 {
    fn new(rows: u16, cols: u16) -> Self {
        Self(vt100::Parser::new(cells(rows), cells(cols), 0), Vec::new())
    }

    fn feed(&mut self, bytes: &[u8]) {
        let text = whole(&mut self.1, bytes);
        self.0.process(text.as_bytes());
    }

    fn set_size(&mut self, rows: u16, cols: u16) {
        self.0.set_size(cells(rows), cells(cols));
    }

    fn shown(&self, rows: u16) -> Vec<String> {
        let screen = self.0.screen();
        let cols = screen.size().1.get();
        let mut shown: Vec<String> = (0..rows)
            .map(|row| {
                let cells = (0..cols).filter_map(|col| screen.cell(row, col));
                cells.map(look).collect::<Vec<_>>().join("|")
            })
            .collect();
        shown.push(format!(
            "{:?} {}",
            screen.cursor_position(),
            screen.hide_cursor()
        ));
        shown
    }

    fn text(&self, row: u16) -> String {
        let cols = self.0.screen().size().1.get();
        let row = self.0.screen().rows(0, cols).nth(usize::from(row));
        row.unwrap_or_default().trim_end().to_owned()
    }
}

struct Avt(avt::Terminal, Vec<u8>);

impl Model for Avt {
    fn new(rows: u16, cols: u16) -> Self {
        Self(
            avt::Terminal::new(cols.into(), rows.into()).unwrap(),
            Vec::new(),
        )
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.0.feed(whole(&mut self.1, bytes).as_str());
    }

    fn set_size(&mut self, rows: u16, cols: u16) {
        self.0.resize(cols.into(), rows.into());
    }

    fn shown(&self, rows: u16) -> Vec<String> {
        let screen = self.0.screen();
        let line = |row| screen.line(usize::from(row)).unwrap();
        let mut shown: Vec<String> = (0..rows)
            .map(|row| line(row).cells().iter().map(compact).collect())
            .collect();
        let cursor = self.0.cursor();
        shown.push(format!("{cursor:?}"));
        shown
    }

    fn text(&self, row: u16) -> String {
        let line = self.0.screen().line(usize::from(row)).map(avt::Line::text);
        line.unwrap_or_default().trim_end().to_owned()
    }
}

fn look(cell: &vt100::Cell) -> String {
    let (fg, bg) = (cell.fgcolor(), cell.bgcolor());
    let look = format!("{fg:?}{bg:?}{}{}", cell.bold(), cell.inverse());
    let look = look.replace("Default", "").replace("false", "");
    format!("{}{look}", cell.contents())
}

/// The whole characters so far.
fn whole(kept: &mut Vec<u8>, bytes: &[u8]) -> String {
    kept.extend_from_slice(bytes);
    let count = match std::str::from_utf8(kept) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    String::from_utf8(kept.drain(..count).collect()).unwrap()
}

fn compact(cell: &avt::Cell) -> String {
    let pen = format!("{:?}", cell.pen());
    let pen = pen.replace(
        "Pen { foreground: None, background: None, intensity: Normal, attrs: 0 }",
        "",
    );
    let pen = pen
        .replace(", intensity: Normal, attrs: 0", "")
        .replace("None", "");
    format!("{}{pen}|", cell.char())
}

fn edited(filter: &mut Filter) -> Vec<u8> {
    let mut edited = Vec::new();
    filter.take_edited(&mut edited);
    edited
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

/// A plain terminal and a filtered one of a row more, side by side.
struct Pair<M> {
    rows: u16,
    plain: M,
    outer: M,
    filter: Filter,
}

impl<M: Model> Pair<M> {
    fn new(rows: u16) -> Self {
        let mut pair = Self {
            rows,
            plain: M::new(rows, COLS),
            outer: M::new(rows + 1, COLS),
            filter: Filter::new(Face::Row, rows, COLS),
        };
        pair.filter.set_row(b"bar");
        pair.filtered(b"");
        pair
    }

    fn filtered(&mut self, mut bytes: &[u8]) {
        loop {
            let fed = self.filter.feed(bytes);
            let output = match fed.passed {
                Some(count) => bytes[..count].to_vec(),
                None => edited(&mut self.filter),
            };
            self.outer.feed(&output);
            bytes = &bytes[fed.consumed..];
            if bytes.is_empty() {
                return;
            }
        }
    }

    fn print(&mut self, bytes: &[u8]) {
        self.plain.feed(bytes);
        self.filtered(bytes);
    }

    fn resize(&mut self, rows: u16) {
        self.rows = rows;
        self.plain.set_size(rows, COLS);
        self.outer.set_size(rows + 1, COLS);
        self.filter.resize(Face::Row, rows, COLS);
        self.filtered(b"");
    }

    fn check(&self, told: &str) -> Result<(), TestCaseError> {
        let (plain, outer) = (self.plain.shown(self.rows), self.outer.shown(self.rows));
        prop_assert_eq!(plain, outer, "after {:?}", told);
        Ok(())
    }

    fn has_row(&self, row: &str) -> bool {
        self.outer.text(self.rows) == row
    }
}

/// What a program may print; both models know it and mean the same by it.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let number = 1_u16..9;
    let fixed = select(vec![
        "\x1b[r",
        "\x1b[J",
        "\x1b[2J",
        "\x1b[H\x1b[2J",
        "\x1b[H\x1b[J",
        "\x1b[3J",
        "\x1b[1J",
        "\x1b[K",
        "\x1b[2K",
        "\x1b[1K",
        "\x1b[H",
        "\x1b[99;1H",
        "\x1b[99B",
        "\x1b[9d",
        "\x1b[31m",
        "\x1b[0m",
        "\x1b[1;44m",
        "\x1b[7m",
        "\x1b[38;5;17m",
        "\x1b[39;27m",
        "\x1b[?6h",
        "\x1b[?6l",
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b[?25l",
        "\x1b[?25h",
        "\x1b]0;title\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b]8;;\x1b\\",
        "\x1bPq#0\x1b\\",
        "\x1b[?1049h\x1b[H",
        "\x1b[?1049l",
        "\x1bc",
        "\r",
        "\n",
        "\r\n",
        "\t",
        "text",
        "wide界",
        "ünï",
        "\u{2500}\u{2500}\u{2500}",
        "eleven char",
        "a line that is longer than the screen",
        "\x1b[c",
        "\x1b[6n",
        "\x1b[>1u",
        "\x1b[<u",
        "\r\n\n\n\n",
        "\x1b[;H",
        "\x1b[1;99r",
        "\x1b[2;4r",
        "\x1b[3;5r",
        "\x1b[2;4r\x1b[6;1Hbelow\n\n",
        "\x1b[1;2r\x1b[9;9Hlast row wraps",
        "\x1bM",
        "\r\x1b[L",
        "\r\x1b[M",
        "\x1b[2S",
        "\x1b[T",
        "\x1b[X",
        "\x1b[2@",
        "\x1b[2P",
        "x\x1b[3b",
        "\x1b7\x1b[r\x1b8",
        "\x1b7",
        "\x1b8",
    ]);
    prop_oneof![
        6 => fixed.prop_map(|text| text.as_bytes().to_vec()),
        2 => (number.clone(), 1_u16..13).prop_map(|(row, col)| format!("\x1b[{row};{col}H").into_bytes()),
        2 => (number, select(vec!['A', 'B', 'C', 'D', 'G', 'd', 'E', 'F']))
            .prop_map(|(count, last)| format!("\x1b[{count}{last}").into_bytes()),
        1 => "[ -~]{1,20}".prop_map(String::into_bytes),
    ]
}

/// What one model does in a way of its own, left out for it.
fn has_part(piece: &[u8], parts: &[&[u8]]) -> bool {
    parts
        .iter()
        .any(|part| piece.windows(part.len()).any(|window| window == *part))
}

fn run<M: Model>(pieces: &[Vec<u8>], cuts: &[usize], is_quiet: bool) -> Result<(), TestCaseError> {
    let mut pair = Pair::<M>::new(7);
    // Where the cursor starts is known to no filter; a program that asks for it by saving comes later.
    pair.print(b"\x1b[H");
    let bytes = settled(pieces).concat();
    let mut at = 0;
    let mut row = "bar".to_owned();
    let told = String::from_utf8_lossy(&bytes).into_owned();
    for (turn, cut) in cuts.iter().cycle().enumerate() {
        let end = (at + cut).min(bytes.len());
        if !is_quiet {
            row = format!("row {turn}");
            pair.filter.set_row(row.as_bytes());
        }
        pair.print(&bytes[at..end]);
        if !pair.filter.wants_draw() {
            prop_assert!(pair.has_row(&row), "{:?} in {:?}", pair.outer.text(7), told);
        }
        at = end;
        if at == bytes.len() {
            break;
        }
    }
    pair.check(&told)?;
    // What does not show: the pen, the saved cursor, the region.
    pair.print(b"\x1b\\\x1b[?2026l\x1b]8;;\x1b\\");
    pair.check(&told)?;
    let is_saved_apart = !told.contains("1049");
    pair.print(if is_saved_apart {
        b"x\x1b8y\n\n"
    } else {
        b"xy\n\n"
    });
    pair.check(&told)?;
    pair.print(b"\x1b[?6l\x1b7\x1b[2;3H\x1b[31mz");
    pair.filter.set_row(b"last");
    pair.print(b"");
    pair.check(&told)?;
    prop_assert!(pair.has_row("last"), "{:?}", pair.outer.text(7));
    Ok(())
}

/// In the last column terminals differ in what an erasure or a step does to the wrap that is due. Below a region that decides
/// about a row, and before a save about what is saved, so there the column is set first.
fn settled(pieces: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let has_region = pieces
        .iter()
        .any(|piece| has_part(piece, &[b";4r", b";5r", b";2r", b"\x1b7"]));
    let settle = |piece: &Vec<u8>| {
        let is_step = piece.starts_with(b"\x1b[")
            && piece
                .last()
                .is_some_and(|last| b"KJX@PCDABdM".contains(last));
        let is_touchy =
            is_step || piece == b"\n" || piece == b"\t" || has_part(piece, &[b"\x1b7", b"\x1bM"]);
        let prefix: &[u8] = if has_region && is_touchy {
            b"\x1b[5G"
        } else {
            b""
        };
        [prefix, piece].concat()
    };
    pieces.iter().map(settle).collect()
}

/// vt100 keeps a region, an origin mode and a saved place for each screen, but one pen for both; its cursor leaves the region from above.
const NOT_VT100: [&[u8]; 1] = [b"\x1b[?6h"];
/// avt repeats what stands left of the cursor, and forgets the alternate screen's cursor.
const NOT_AVT: [&[u8]; 5] = [b"\x1b[3b", b"99r", b"\x1b[L", b"\x1b[M", b"\x1bc"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn rows_cursor_and_pen_are_those_of_a_plain_vt100(
        pieces in proptest::collection::vec(piece(), 0..40),
        cuts in proptest::collection::vec(1_usize..9, 1..9),
        is_quiet in any::<bool>(),
    ) {
        let mut pieces: Vec<_> = pieces.into_iter().filter(|piece| !has_part(piece, &NOT_VT100)).collect();
        let has_region = pieces.iter().any(|piece| has_part(piece, &[b";4r", b";5r", b";2r"]));
        pieces.retain(|piece| !has_region || !matches!(piece.last(), Some(b'A' | b'B' | b'E' | b'F')));
        for piece in &mut pieces {
            if piece == b"\x1b[2;4r" || piece == b"\x1b[3;5r" {
                piece.extend_from_slice(b"\x1b[H");
            }
            if has_part(piece, &[b"1049"]) {
                piece.splice(0..0, *b"\x1b[r\x1b[0m");
            }
        }
        if pieces.iter().any(|piece| has_part(piece, &[b"1049"])) {
            pieces.retain(|piece| !has_part(piece, &[b"\x1b7", b"\x1b8"]));
        }
        run::<Vt100>(&pieces, &cuts, is_quiet)?;
    }

    #[test]
    fn rows_cursor_and_pen_are_those_of_a_plain_avt(
        pieces in proptest::collection::vec(piece(), 0..40),
        cuts in proptest::collection::vec(1_usize..9, 1..9),
        is_quiet in any::<bool>(),
    ) {
        let pieces: Vec<_> = pieces.into_iter().filter(|piece| !has_part(piece, &NOT_AVT)).collect();
        run::<Avt>(&pieces, &cuts, is_quiet)?;
    }
}

/// What a flood is made of, and what breaks its stretches off.
fn flood() -> impl Strategy<Value = Vec<u8>> {
    let line = select(vec![
        "a line\r\n",
        "\x1b[31mred\x1b[0m\r\n",
        "\x1b[38;2;1;2;3mcolour\x1b[39m \x1b[1mbold\x1b[22m\r\n",
        "\x1b[48;5;17mstays\r\n",
        "\x1b[m\r\n",
        "\x1b[2Kover\rwritten\x1b[K\r\n",
        "no feed\r",
        "\x1b[5Gx\x1b[2D\r\n",
        "wide界\u{2500}\u{2500}\r\n",
        "a line that is longer than the screen\r\n",
        "tab\there\x08\r\n",
        "\n",
        "no return ",
    ]);
    let other = select(vec![
        "\x1b[3A\x1b[2K",
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b7",
        "\x1b8",
        "\x1b[H",
        "\x1b[J",
        "x\x1b[3b",
        "\x1b]0;t\x07",
    ]);
    prop_oneof![40 => line, 1 => other].prop_map(|text| text.as_bytes().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn flood_leaves_what_it_leaves_on_a_plain_vt100(
        pieces in proptest::collection::vec(flood(), 40..200),
        cuts in proptest::collection::vec(200_usize..2000, 1..9),
    ) {
        run::<Vt100>(&pieces, &cuts, false)?;
    }

    #[test]
    fn flood_leaves_what_it_leaves_on_a_plain_avt(
        pieces in proptest::collection::vec(flood(), 40..200),
        cuts in proptest::collection::vec(200_usize..2000, 1..9),
    ) {
        let pieces: Vec<_> = pieces.into_iter().filter(|piece| !has_part(piece, &NOT_AVT)).collect();
        run::<Avt>(&pieces, &cuts, false)?;
    }
}

/// Each destroys the row of a terminal that is not filtered; cut at any byte the row stands, and nothing waits.
#[test]
fn row_survives_what_would_destroy_it_cut_at_any_byte() {
    let destroyers: [&[u8]; 12] = [
        b"\x1b[r\n\n\n\n\n\n\n\n\n",
        b"\x1b[2J",
        b"\x1b[3;1H\x1b[J",
        b"\x1bc",
        b"\x1b[!p\x1b[H\n\n\n\n\n\n\n\n\n",
        b"\x1b[?1049h\x1b[2J\x1b[?1049l",
        b"\x1b[99;99Htext that wraps at the end",
        b"\x1b[2;4r\x1b[99;1H\n\n\n\x1b[r",
        b"\x1b[3J\x1b[2J\x1b[H",
        b"\x1b[?6h\x1b[99;1H\n\x1b[?6l",
        b"\x1b[0;0r\x1b[99E\x1b[99e",
        b"\x1b[?2026h\x1b[2J\x1b[?2026l",
    ];
    for stream in destroyers {
        for cut in 0..=stream.len() {
            for is_vt100 in [true, false] {
                let row = if is_vt100 {
                    shown_row::<Vt100>(stream, cut)
                } else {
                    shown_row::<Avt>(stream, cut)
                };
                assert_eq!(
                    row,
                    "bar",
                    "{:?} cut at {cut}",
                    String::from_utf8_lossy(stream)
                );
            }
        }
    }
}

fn shown_row<M: Model>(stream: &[u8], cut: usize) -> String {
    let mut pair = Pair::<M>::new(7);
    pair.print(b"\x1b[H");
    pair.print(&stream[..cut]);
    pair.print(&stream[cut..]);
    assert!(!pair.filter.wants_draw());
    pair.outer.text(7)
}

#[test]
fn output_that_needs_no_change_is_passed_as_it_is() {
    let mut filter = Filter::new(Face::Row, 23, 80);
    filter.feed(b"");
    let plain =
        b"\x1b[2;1H\x1b[31mtext\x1b[0m\r\n\x1b[K\x1b]0;title\x07\xe2\x94\x80\x1b[?2026h\x1b[?2026l";
    let fed = filter.feed(plain);
    assert_eq!((fed.consumed, fed.passed), (plain.len(), Some(plain.len())));
    // What is cut off is held.
    let fed = filter.feed(b"text\x1b[3");
    assert_eq!((fed.consumed, fed.passed), (7, Some(4)));
    filter.feed(b"1m");
    assert_eq!(edited(&mut filter), b"\x1b[31m");
}

#[test]
fn nothing_is_drawn_inside_a_sequence_a_string_a_character_or_an_update() {
    let open: [&[u8]; 5] = [
        b"\x1b[3",
        b"\x1b]0;tit",
        b"\xe2\x94",
        b"\x1b[?2026h",
        b"\x1bPq",
    ];
    for start in open {
        let mut filter = Filter::new(Face::Row, 23, 80);
        filter.set_row(b"old");
        filter.feed(start);
        filter.set_row(b"new");
        let fed = filter.feed(b"");
        let is_held = start == b"\x1b[3";
        // A sequence that is held has not reached the terminal, so it is no obstacle.
        let expected = if is_held {
            (None, false)
        } else {
            (Some(0), true)
        };
        assert_eq!((fed.passed, filter.wants_draw()), expected, "{start:?}");
    }
}

#[test]
fn edited_output_is_bounded() {
    let mut filter = Filter::new(Face::Row, 199, 80);
    filter.feed(b"\x1b[H");
    let flood = b"\x1b[2J".repeat(16 * 1024);
    let (mut rest, mut most) = (&flood[..], 0);
    while !rest.is_empty() {
        let fed = filter.feed(rest);
        most = most.max(edited(&mut filter).len());
        rest = &rest[fed.consumed..];
    }
    assert!(most < 80 * 1024, "{most}");
}

proptest! {
    /// After a change of size the program paints anew; until then terminals differ in what they keep.
    #[test]
    fn row_and_screen_are_right_again_after_any_change_of_size(
        sizes in proptest::collection::vec(8_u16..20, 1..6),
        pieces in proptest::collection::vec(piece(), 0..8),
    ) {
        let pieces: Vec<_> = pieces.into_iter().filter(|piece| !has_part(piece, &NOT_VT100)).collect();
        let mut pair = Pair::<Vt100>::new(9);
        for rows in sizes {
            pair.print(b"\x1b[0m\x1b[r\x1b[?1049l\x1b[H");
            pair.filtered(&pieces.concat());
            pair.filtered(b"\x18\x1b\\\x1b[?2026l\x1b]8;;\x1b\\");
            pair.resize(rows);
            pair.print(b"\x1b[0m\x1b[?6l\x1b[?25h\x1b7\x1b[r\x1b[?1049l\x1b[H\x1b[2Jpainted\r\nanew");
            let (plain, outer) = (pair.plain.shown(rows), pair.outer.shown(rows));
            prop_assert_eq!(plain.last(), outer.last());
            prop_assert_eq!(pair.outer.text(0), "painted");
            prop_assert!(pair.has_row("bar"), "{:?}", pair.outer.text(rows));
        }
    }
}
