//! Draws the README's picture from a real run: `cargo run --release --example picture > docs/picture/harn.svg`.
//!
//! Starts `harn run -- demo` in a terminal of its own, waits until the text named by the first argument is on the screen
//! (by default the last words of the demo's story, with the briefing above them), and prints that screen as an SVG.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const ROWS: u16 = 30;
const COLS: u16 = 100;
/// Pixels of one cell, and the frame around them.
const CELL: (f32, f32) = (8.4, 18.0);
const FRAME: (f32, f32) = (16.0, 54.0);
/// How long the program may print nothing before it counts as stuck.
const PATIENCE: Duration = Duration::from_mins(1);
/// After the text is there, the rest of its frame.
const SETTLE: Duration = Duration::from_millis(400);

const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d5d8de";
/// The sixteen colours a terminal calls its own.
const PALETTE: [&str; 16] = [
    "#2b2f38", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4",
    "#5c6370", "#ef7f88", "#a9d58a", "#f0d08f", "#74bef7", "#d48cea", "#69c8d3", "#ffffff",
];

fn main() -> Result<()> {
    let text = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "That is what harn does".to_owned());
    let screen = capture(&text)?;
    let svg = draw(&screen);
    std::io::stdout()
        .write_all(svg.as_bytes())
        .context("printing the picture")
}

/// The screen once `text` is on it.
fn capture(text: &str) -> Result<vt100::Screen> {
    let size = PtySize {
        rows: ROWS,
        cols: COLS,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).context("opening a PTY")?;
    let mut command = CommandBuilder::new(harn()?);
    command.args(["run", "--", "demo"]);
    command.cwd(std::env::current_dir()?);
    command.env("TERM", "xterm-256color");
    let mut child = pair
        .slave
        .spawn_command(command)
        .context("starting the demo")?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader()?;
    let (sender, chunks) = mpsc::channel();
    std::thread::spawn(move || {
        let mut chunk = [0; 8192];
        while let Ok(count) = reader.read(&mut chunk) {
            let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            if sender.send(bytes.to_vec()).is_err() {
                break;
            }
        }
    });
    let (rows, cols) = (NonZeroU16::new(ROWS), NonZeroU16::new(COLS));
    let (Some(rows), Some(cols)) = (rows, cols) else {
        bail!("a terminal of no size")
    };
    let mut parser = vt100::Parser::default();
    parser.set_size(rows, cols);
    let mut patience = PATIENCE;
    let mut found = false;
    loop {
        match chunks.recv_timeout(patience) {
            Ok(bytes) => parser.process(&bytes),
            Err(_) if found => break,
            Err(error) => {
                child.kill()?;
                bail!(
                    "{text:?} did not appear ({error}):\n{}",
                    parser.screen().contents()
                );
            }
        }
        if !found && parser.screen().contents().contains(text) {
            found = true;
            patience = SETTLE;
        }
    }
    child.kill()?;
    Ok(parser.screen().clone())
}

/// The binary beside this example.
fn harn() -> Result<PathBuf> {
    let example = std::env::current_exe()?;
    let folder = example
        .parent()
        .and_then(|it| it.parent())
        .context("no target folder")?;
    let path = folder.join("harn");
    if !path.exists() {
        bail!(
            "{} is not built: cargo build --release first",
            path.display()
        );
    }
    Ok(path)
}

/// A run of cells that look alike.
#[derive(PartialEq, Clone)]
struct Style {
    front: String,
    back: Option<String>,
    is_bold: bool,
    is_dim: bool,
}

fn draw(screen: &vt100::Screen) -> String {
    let width = f32::from(COLS).mul_add(CELL.0, FRAME.0 * 2.0);
    let height = f32::from(ROWS).mul_add(CELL.1, FRAME.1 + FRAME.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"harn run -- demo: a compaction, and the briefing after it\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{BACKGROUND}\"/>\n"
    );
    for (at, colour) in [(20, "#ff5f57"), (40, "#febc2e"), (60, "#28c840")] {
        let dot = format!("<circle cx=\"{at}\" cy=\"20\" r=\"6\" fill=\"{colour}\"/>\n");
        svg.push_str(&dot);
    }
    svg.push_str(
        "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\" xml:space=\"preserve\">\n",
    );
    for row in 0..ROWS {
        draw_row(screen, row, &mut svg);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn draw_row(screen: &vt100::Screen, row: u16, svg: &mut String) {
    let mut col = 0;
    while col < COLS {
        let Some((style, first)) = cell(screen, row, col) else {
            col += 1;
            continue;
        };
        let start = col;
        let mut text = first;
        col += 1;
        while let Some((next, more)) = cell(screen, row, col).filter(|_| col < COLS) {
            if next != style {
                break;
            }
            text.push_str(&more);
            col += 1;
        }
        let (x, y) = (
            f32::from(start).mul_add(CELL.0, FRAME.0),
            f32::from(row).mul_add(CELL.1, FRAME.1),
        );
        let length = f32::from(col - start) * CELL.0;
        let mut out = String::new();
        let written = draw_run(&mut out, &style, &text, (x, y, length));
        if written.is_ok() {
            svg.push_str(&out);
        }
    }
}

fn draw_run(
    out: &mut String,
    style: &Style,
    text: &str,
    (x, y, length): (f32, f32, f32),
) -> std::fmt::Result {
    if let Some(back) = &style.back {
        let top = y - CELL.1 + 5.0;
        writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{}\" fill=\"{back}\"/>",
            CELL.1
        )?;
    }
    if text.trim().is_empty() {
        return Ok(());
    }
    let weight = if style.is_bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let dim = if style.is_dim { " opacity=\"0.6\"" } else { "" };
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" fill=\"{}\"{weight}{dim}>{text}</text>",
        style.front
    )
}

/// A cell's look and text; a blank for an empty one.
fn cell(screen: &vt100::Screen, row: u16, col: u16) -> Option<(Style, String)> {
    let cell = screen.cell(row, col)?;
    let mut front = colour(cell.fgcolor()).unwrap_or_else(|| FOREGROUND.to_owned());
    let mut back = colour(cell.bgcolor());
    if cell.inverse() {
        let behind = back.unwrap_or_else(|| BACKGROUND.to_owned());
        back = Some(std::mem::replace(&mut front, behind));
    }
    let text = if cell.has_contents() {
        cell.contents().to_owned()
    } else {
        " ".to_owned()
    };
    Some((
        Style {
            front,
            back,
            is_bold: cell.bold(),
            is_dim: cell.dim(),
        },
        text,
    ))
}

fn colour(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(index @ 0..=15) => {
            PALETTE.get(usize::from(index)).map(|it| (*it).to_owned())
        }
        vt100::Color::Idx(index @ 16..=231) => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
            let index = index - 16;
            let (red, green, blue) = (index / 36, index / 6 % 6, index % 6);
            Some(format!(
                "#{:02x}{:02x}{:02x}",
                level(red),
                level(green),
                level(blue)
            ))
        }
        vt100::Color::Idx(index) => {
            let grey = 8 + (index - 232) * 10;
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}
