//! A model of the program's screen, for those who have to look at it. The one user of vt100.
//!
//! Fed beside the byte path through a bounded queue. What does not fit is dropped, and then nothing is claimed of a row until it
//! has been written anew: every cell is marked as unknown, and the marks go as the program paints over them. A panic of the model
//! costs the same and no more. It answers nothing and knows no harness.

use std::fmt::{self, Write as _};
use std::io;
use std::num::NonZeroU16;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::signal;
use super::size::Size;

/// Bytes that may wait. More than a full repaint of any screen; in a flood most of it is soon painted over anyway.
const BACKLOG_BYTES: usize = 256 * 1024;
/// The model works in strides: in a flood it would otherwise take the byte path's processor. Once it has lost something, what
/// is painted meanwhile is soon painted over, so it waits longer and then looks at the newest only.
const STRIDE: Duration = Duration::from_millis(20);
const FLOOD_STRIDE: Duration = Duration::from_millis(120);
const FLOOD_BYTES: usize = 64 * 1024;
/// Stands for a cell whose content was lost; a private character that no program draws a screen with.
const UNKNOWN: char = '\u{10ffd}';
/// vt100 is unsound below two cells a side.
const LEAST: u16 = 2;

/// One cell of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Empty where nothing was printed, and in a wide character's second half.
    pub text: String,
    /// Faint, as programs show what only suggests.
    pub is_dim: bool,
    pub is_inverse: bool,
}

/// The model itself, without queue and thread.
pub struct Model {
    parser: vt100::Parser,
    rows: u16,
    cols: u16,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({}x{})", self.rows, self.cols)
    }
}

impl Model {
    pub fn new(rows: u16, cols: u16) -> Self {
        let (rows, cols) = (rows.max(LEAST), cols.max(LEAST));
        Self {
            parser: parser(rows, cols),
            rows,
            cols,
        }
    }

    pub fn process(&mut self, bytes: &[u8]) {
        let parser = &mut self.parser;
        if panic::catch_unwind(AssertUnwindSafe(|| parser.process(bytes))).is_err() {
            self.lose();
        }
    }

    pub fn set_size(&mut self, rows: u16, cols: u16) {
        (self.rows, self.cols) = (rows.max(LEAST), cols.max(LEAST));
        let (rows, cols) = (cells(self.rows), cells(self.cols));
        let parser = &mut self.parser;
        if panic::catch_unwind(AssertUnwindSafe(|| parser.set_size(rows, cols))).is_err() {
            self.lose();
        }
    }

    /// Output is missing from here on: nothing on the screen is known.
    pub fn lose(&mut self) {
        self.parser = parser(self.rows, self.cols);
        let row: String = std::iter::repeat_n(UNKNOWN, usize::from(self.cols)).collect();
        let mut screen = String::new();
        for number in 1..=self.rows {
            write!(screen, "\x1b[{number};1H{row}").unwrap_or_default();
        }
        screen.push_str("\x1b[H");
        self.parser.process(screen.as_bytes());
    }

    pub fn size(&self) -> (u16, u16) {
        (self.rows, self.cols)
    }

    /// A row counted from 0; `None` where something of it is not known.
    pub fn row(&self, row: u16) -> Option<Vec<Cell>> {
        let screen = self.parser.screen();
        let mut found = Vec::with_capacity(usize::from(self.cols));
        for col in 0..self.cols {
            let cell = screen.cell(row, col)?;
            if cell.contents().starts_with(UNKNOWN) {
                return None;
            }
            found.push(Cell {
                text: cell.contents().to_owned(),
                is_dim: cell.dim(),
                is_inverse: cell.inverse(),
            });
        }
        Some(found)
    }

    /// A row's text without what trails.
    pub fn text(&self, row: u16) -> Option<String> {
        let mut text = String::new();
        for cell in self.row(row)? {
            text.push_str(if cell.text.is_empty() {
                " "
            } else {
                &cell.text
            });
        }
        text.truncate(text.trim_end().len());
        Some(text)
    }

    /// Row and column; `None` while anything on the screen is unknown, for then the cursor may be anywhere.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        let is_known = (0..self.rows).all(|row| self.row(row).is_some());
        is_known.then(|| self.parser.screen().cursor_position())
    }

    pub fn is_alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }
}

fn parser(rows: u16, cols: u16) -> vt100::Parser {
    vt100::Parser::new(cells(rows), cells(cols), 0)
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count.max(LEAST)).unwrap_or(NonZeroU16::MIN)
}

#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    size: Option<(u16, u16)>,
    has_lost: bool,
    is_over: bool,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    model: Mutex<Model>,
}

/// The byte path's end.
#[derive(Debug)]
pub struct ScreenFeed(Arc<Shared>);

/// The looking end.
#[derive(Debug, Clone)]
pub struct Screen(Arc<Shared>);

/// A screen of this size and the thread that keeps it.
pub fn screen(size: Size) -> io::Result<(ScreenFeed, Screen)> {
    let shared = Arc::new(Shared {
        queue: Mutex::new(Queue::default()),
        filled: Condvar::new(),
        model: Mutex::new(Model::new(size.rows, size.cols)),
    });
    let kept = Arc::clone(&shared);
    signal::spawn_deaf("screen", move || keep(&kept))?;
    Ok((ScreenFeed(Arc::clone(&shared)), Screen(shared)))
}

impl ScreenFeed {
    /// Copies what fits; never waits for the model.
    pub fn push(&self, bytes: &[u8]) {
        let mut queue = lock(&self.0.queue);
        let was_empty = queue.bytes.is_empty();
        if queue.has_lost || queue.bytes.len() + bytes.len() > BACKLOG_BYTES {
            // The newest of a flood is what is left on the screen.
            queue.has_lost = true;
            if bytes.len() > BACKLOG_BYTES / 2 || queue.bytes.len() > FLOOD_BYTES {
                queue.bytes.clear();
            }
        }
        if bytes.len() <= BACKLOG_BYTES {
            queue.bytes.extend_from_slice(bytes);
        }
        drop(queue);
        if was_empty {
            self.0.filled.notify_one();
        }
    }

    pub fn resize(&self, size: Size) {
        lock(&self.0.queue).size = Some((size.rows, size.cols));
        self.0.filled.notify_one();
    }
}

impl Drop for ScreenFeed {
    fn drop(&mut self) {
        lock(&self.0.queue).is_over = true;
        self.0.filled.notify_one();
    }
}

impl Screen {
    /// Looks at the screen as it is by now.
    pub fn look<T>(&self, look: impl FnOnce(&Model) -> T) -> T {
        look(&lock(&self.0.model))
    }
}

fn keep(shared: &Shared) {
    let mut bytes = Vec::new();
    loop {
        let mut queue = lock(&shared.queue);
        while queue.bytes.is_empty() && queue.size.is_none() {
            if queue.is_over {
                return;
            }
            queue = shared
                .filled
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let size = queue.size.take();
        let has_lost = std::mem::take(&mut queue.has_lost);
        std::mem::swap(&mut queue.bytes, &mut bytes);
        let start = if has_lost {
            place(&bytes, bytes.len().saturating_sub(FLOOD_BYTES))
        } else {
            Some(0)
        };
        // Until the program says where it goes nobody knows where its text lands.
        queue.has_lost = start.is_none();
        drop(queue);
        let mut model = lock(&shared.model);
        if let Some((rows, cols)) = size {
            model.set_size(rows, cols);
        }
        if has_lost {
            model.lose();
        }
        if let Some(bytes) = start.and_then(|start| bytes.get(start..)) {
            model.process(bytes);
        }
        drop(model);
        bytes.clear();
        if bytes.capacity() > BACKLOG_BYTES / 4 {
            bytes = Vec::new();
        }
        thread::sleep(if has_lost { FLOOD_STRIDE } else { STRIDE });
    }
}

/// The first sequence from here on that goes to a place of the screen whatever was before.
fn place(bytes: &[u8], mut from: usize) -> Option<usize> {
    while let Some(at) = memchr::memchr(0x1b, bytes.get(from..)?) {
        let start = from + at;
        if bytes.get(start + 1) != Some(&b'[') {
            from = start + 1;
            continue;
        }
        let rest = bytes.get(start + 2..)?;
        let count = rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
            .count();
        if rest.get(count) == Some(&b'H') {
            return Some(start);
        }
        from = start + 2;
    }
    None
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_lost_is_unknown_until_it_is_painted_over() {
        let mut model = Model::new(4, 10);
        model.process(b"one\r\ntwo");
        assert_eq!(
            (model.text(0).as_deref(), model.cursor()),
            (Some("one"), Some((1, 3)))
        );
        model.lose();
        assert_eq!((model.text(0), model.cursor()), (None, None));
        model.process(b"\x1b[2;1Hab");
        assert_eq!(model.text(1), None);
        model.process(b"\x1b[K");
        assert_eq!(
            (model.text(0), model.text(1).as_deref()),
            (None, Some("ab"))
        );
        model.process(b"\x1b[H\x1b[2J");
        assert_eq!(
            (model.text(3).as_deref(), model.cursor()),
            (Some(""), Some((0, 0)))
        );
    }

    #[test]
    fn faint_text_is_told_from_typed_text() {
        let mut model = Model::new(2, 10);
        model.process(b"> \x1b[2mTry\x1b[0m");
        let row = model.row(0).unwrap();
        let dim: Vec<bool> = row.iter().take(5).map(|cell| cell.is_dim).collect();
        assert_eq!(dim, [false, false, true, true, true]);
    }

    #[test]
    fn panic_of_the_model_costs_the_screen_and_nothing_else() {
        let mut model = Model::new(24, 80);
        // One of those that vt100 0.18.1 falls over.
        model.process("\x1b[99G\x1b[47B\u{260e}\u{fe0f}\x1b[r\x1b[5535b".as_bytes());
        model.process(b"\x1b[0m\x1b[H\x1b[2Jalive");
        assert_eq!(model.text(0).as_deref(), Some("alive"));
    }

    #[test]
    fn flood_is_bounded_and_the_end_of_it_is_seen() {
        let size = Size {
            rows: 5,
            cols: 20,
            width_px: 0,
            height_px: 0,
        };
        let (feed, screen) = screen(size).unwrap();
        let chunk = vec![b'x'; 64 * 1024];
        for _ in 0..200 {
            feed.push(&chunk);
            assert!(lock(&feed.0.queue).bytes.capacity() <= 2 * BACKLOG_BYTES);
        }
        feed.push(b"\x1b[0m\x1b[H\x1b[2Jend");
        let seen = || screen.look(|model| model.text(0)) == Some("end".to_owned());
        for _ in 0..1000 {
            if seen() {
                break;
            }
            thread::park_timeout(Duration::from_millis(5));
        }
        assert!(seen());
    }

    proptest! {
        #[test]
        fn any_bytes_and_sizes_are_survived(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            rows in 0_u16..9, cols in 0_u16..9, text in "(\u{4f60}|\u{260e}\u{fe0f}|a|\u{1b}\\[K|\u{1b}\\[9G){0,20}",
        ) {
            let mut model = Model::new(rows, cols);
            model.process(text.as_bytes());
            model.set_size(cols, rows);
            model.process(&bytes);
            model.process(text.as_bytes());
            model.set_size(rows, cols);
            model.process(b"\x18\x1b[0m\x1bc\x1b[HA");
            prop_assert_eq!(model.text(0), Some("A".to_owned()));
        }
    }
}
