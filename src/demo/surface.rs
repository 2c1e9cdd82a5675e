//! Where the agent is seen and heard: a screen with a keyboard, or plain lines.
//!
//! Plain lines serve a pipe (`-p`, a closed input) and a terminal that knows nothing else. There a line is a prompt; in a
//! pipe nobody can answer a dialog, so the answer is no.

use std::collections::VecDeque;
use std::io;

use super::agent::Agent;
use super::dialog::Answer;
use super::entry::Entry;
use super::key::{Decoder, Key};
use super::line::Line;
use super::paint::Painter;
use super::tty::{self, Tty};
use super::{signs, view};

/// A busy screen is drawn this often.
pub(super) const TICK_MS: u64 = 120;
/// Width of plain lines.
const PLAIN_COLS: usize = 78;

#[derive(Debug)]
pub(super) enum Surface {
    Screen(Screen),
    Plain(Plain),
}

#[derive(Debug)]
pub(super) struct Screen {
    tty: Option<Tty>,
    painter: Painter,
    size: (usize, usize),
    /// Paragraphs of the history that are on the screen.
    printed: usize,
    pending: String,
}

#[derive(Debug)]
pub(super) struct Plain {
    is_terminal: bool,
    has_input: bool,
    partial: Vec<u8>,
    lines: VecDeque<String>,
    printed: usize,
}

impl Surface {
    /// `prompt` is that of `-p`: answered before, and empty: instead of, what stands in the input.
    pub(super) fn open(prompt: Option<&str>) -> io::Result<Self> {
        if prompt.is_none() && tty::is_capable() {
            let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            return Ok(Self::Screen(Screen {
                tty: Some(Tty::hold()?),
                painter: Painter::new(has_colour),
                size: tty::size(),
                printed: 0,
                pending: String::new(),
            }));
        }
        let prompt = prompt.filter(|prompt| !prompt.is_empty());
        Ok(Self::Plain(Plain {
            is_terminal: tty::is_present(),
            has_input: prompt.is_none(),
            partial: Vec::new(),
            lines: prompt.map(str::to_owned).into_iter().collect(),
            printed: 0,
        }))
    }

    pub(super) fn is_screen(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    pub(super) fn is_for_people(&self) -> bool {
        match self {
            Self::Screen(_) => true,
            Self::Plain(plain) => plain.is_terminal && plain.has_input,
        }
    }

    pub(super) fn is_listening(&self) -> bool {
        match self {
            Self::Screen(_) => true,
            Self::Plain(plain) => plain.has_input,
        }
    }

    /// Reads what the user has typed; false when the user is gone.
    pub(super) fn hear(
        &mut self,
        agent: &mut Agent,
        decoder: &mut Decoder,
        now: u64,
    ) -> io::Result<bool> {
        let bytes = tty::read()?;
        match (self, bytes) {
            (Self::Screen(_), Some(bytes)) => agent.press(&decoder.push(&bytes), now),
            (Self::Screen(_), None) => return Ok(false),
            (Self::Plain(plain), Some(bytes)) => {
                if plain.is_terminal && !bytes.is_empty() {
                    // A line typed at a story stops it, whatever it says.
                    agent.press(&[Key::Esc], now);
                }
                plain.take_in(&bytes);
            }
            (Self::Plain(plain), None) => plain.close_input(),
        }
        Ok(true)
    }

    /// Plain lines: everything asked is answered and nothing more can come.
    pub(super) fn is_done(&mut self, agent: &mut Agent) -> bool {
        match self {
            Self::Screen(_) => false,
            Self::Plain(plain) => plain.serve(agent),
        }
    }

    pub(super) fn show(&mut self, agent: &Agent, signs: &str) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.show(agent, signs),
            Self::Plain(plain) => plain.show(agent),
        }
    }

    pub(super) fn resized(&mut self, agent: &Agent) {
        if let Self::Screen(screen) = self {
            screen.resized(agent);
        }
    }

    pub(super) fn suspend(&mut self, agent: &Agent) -> io::Result<()> {
        let Self::Screen(screen) = self else {
            return Ok(());
        };
        tty::write(&screen.painter.erase())?;
        if let Some(tty) = &screen.tty {
            tty.suspend()?;
        }
        screen.resized(agent);
        Ok(())
    }

    /// Gives the terminal back, the history left in it.
    pub(super) fn close(&mut self, agent: &Agent) {
        if let Self::Screen(screen) = self {
            let last = screen.painter.erase() + signs::farewell(agent.setup.like);
            if let Err(error) = tty::write(&last) {
                tracing::debug!(%error, "the terminal is gone");
            }
            screen.tty = None;
        }
    }
}

impl Screen {
    fn show(&mut self, agent: &Agent, signs: &str) -> io::Result<()> {
        let (cols, rows) = self.size;
        let history = lines_from(agent, self.printed, cols);
        self.printed = agent.history.len();
        let picture = view::live(agent, cols, rows);
        let drawn = self.painter.paint(&history, picture);
        let bytes = std::mem::take(&mut self.pending) + signs + &drawn;
        if bytes.is_empty() {
            return Ok(());
        }
        tty::write(&bytes)
    }

    /// Draws everything again: what the terminal made of the old rows is anybody's guess.
    fn resized(&mut self, agent: &Agent) {
        self.size = tty::size();
        let (cols, rows) = self.size;
        self.pending.push_str(&self.painter.wipe(rows));
        let room = rows.saturating_sub(view::live(agent, cols, rows).lines.len());
        let mut first = agent.history.len();
        let mut height = 0;
        while first > 0 {
            let entry = agent.history.get(first - 1);
            height += entry.map_or(0, |entry| view::paragraph(entry, cols).len());
            if height > room {
                break;
            }
            first -= 1;
        }
        self.printed = first.min(self.printed);
    }
}

impl Plain {
    fn take_in(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            self.lines
                .push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
    }

    fn close_input(&mut self) {
        self.has_input = false;
        if !self.partial.is_empty() {
            self.take_in(b"\n");
        }
    }

    /// Answers dialogs and submits the next line once the agent is free; true when all is done.
    fn serve(&mut self, agent: &mut Agent) -> bool {
        if agent.asked.is_some() {
            if !self.is_terminal {
                agent.print(Entry::Info("Nobody can be asked here.".into()));
                agent.answered(&Answer::Cancelled);
            } else if let Some(line) = self.lines.pop_front() {
                let row = line.trim().parse::<usize>().unwrap_or(1).saturating_sub(1);
                agent.answered(&Answer::Chosen(row));
            }
            agent.advance(agent.now);
            return false;
        }
        if !agent.is_free() {
            return false;
        }
        while let Some(line) = self.lines.pop_front() {
            if line.is_empty() {
                continue;
            }
            let (draft, is_bash) = match line.strip_prefix('!') {
                Some(command) => (command.to_owned(), true),
                None => (line, false),
            };
            agent.submit(draft, is_bash);
            agent.advance(agent.now);
            return false;
        }
        !self.has_input && agent.is_at_rest()
    }

    fn show(&mut self, agent: &Agent) -> io::Result<()> {
        let lines = if self.is_terminal {
            lines_from(agent, self.printed, PLAIN_COLS)
        } else {
            answers_from(agent, self.printed)
        };
        self.printed = agent.history.len();
        if lines.is_empty() {
            return Ok(());
        }
        let text: String = lines.iter().map(|line| line.plain() + "\n").collect();
        match tty::write(&text) {
            // Whoever read it has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}

/// A last word, after `close`.
pub(super) fn say(text: &str) {
    if let Err(error) = tty::write(&format!("\n{text}\n")) {
        tracing::debug!(%error, "the terminal is gone");
    }
}

fn lines_from(agent: &Agent, first: usize, cols: usize) -> Vec<Line> {
    let new = agent.history.iter().skip(first);
    new.flat_map(|entry| view::paragraph(entry, cols)).collect()
}

/// For a pipe: what the agent says, without marks and without what the reader has said.
fn answers_from(agent: &Agent, first: usize) -> Vec<Line> {
    use super::line::Tone;
    let new = agent.history.iter().skip(first);
    new.flat_map(|entry| match entry {
        Entry::Assistant(text) | Entry::Fact(text) | Entry::Info(text) | Entry::Error(text) => text
            .lines()
            .map(|line| Line::of(Tone::Plain, line))
            .collect(),
        Entry::Tool { result, .. } => result
            .iter()
            .map(|line| Line::of(Tone::Plain, line))
            .collect(),
        Entry::Title(_) | Entry::User(_) | Entry::Note(_) => Vec::new(),
    })
    .collect()
}
