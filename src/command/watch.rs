//! `harn watch`: the dashboard in the user's terminal. One thread draws; keys, signals, news and requests come in on a queue.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use ratatui_core::buffer::Buffer;

use super::dispatch::{BUG, complain};
use super::lookout::{Lookout, News};
use super::session::Session;
use super::{briefing, clock, overlay, place};
use crate::compaction::Outcome;
use crate::dashboard::{self, Ask, Model, Page};
use crate::event::{RunId, SCHEMA, SessionId};
use crate::exit::Exit;
use crate::store::{Layout, index};
use crate::supervisor::control::{self, RequestKind, RequestWire};
use crate::supervisor::run;
use crate::terminal::{self, Heard, Listener, Stage, Stop, contained, deafly, fault, spawn_deaf};
use crate::text::printable;

/// Ages grow on the screen.
const TICK: Duration = Duration::from_secs(1);
/// As long as a person waits for a compaction.
const WAIT_MS: u64 = 300_000;
const GIT_LIMIT: Duration = Duration::from_secs(2);
const QUEUE: usize = 64;

/// What comes in.
enum Input {
    Heard(Heard),
    News(News),
    Progress(String, String),
    Settled(String, Outcome, Option<String>),
    Said(String),
    Page(Page),
    /// A thread that the dashboard cannot do without panicked.
    Broken(String),
}

pub(super) fn run() -> anyhow::Result<Exit> {
    let is_dumb = place::var("TERM").is_none_or(|term| term == "dumb");
    if is_dumb || !terminal::is_present() {
        complain(
            &"the dashboard needs a terminal on standard input and output",
            Some("the same as text: harn sessions"),
        );
        return Ok(Exit::Usage);
    }
    let layout = place::layout()?;
    let has_color = place::var("NO_COLOR").is_none();
    let (send, received) = sync_channel(QUEUE);
    // Before the terminal is taken: whatever ends harn from here on is heard.
    let listener = Listener::open().context("cannot listen to the terminal")?;
    let mut stage = Stage::open(has_color).context("cannot take the terminal")?;
    let keys = send.clone();
    spawn_deaf("listener", move || listen_safely(listener, &keys))?;
    let news = send.clone();
    let tell = Arc::new(move |news_item| news.send(Input::News(news_item)).is_ok());
    // The watcher of files has a thread of its own.
    let lookout = deafly(|| Lookout::start(layout.clone(), tell))??;
    let mut watching = Watching {
        layout,
        model: Model::default(),
        lookout,
        send,
        broken: None,
    };
    let ended = watching.run(&mut stage, &received);
    drop(stage);
    if let Some(why) = watching.broken {
        complain(&format!("internal error: {why}"), Some(BUG));
    }
    Ok(ended)
}

fn listen_safely(mut listener: Listener, inputs: &SyncSender<Input>) {
    if let Err(why) = contained(|| listen(&mut listener, inputs)) {
        tell(inputs, Input::Broken(why));
        // As below: while the dashboard ends, signals end nothing.
        std::thread::park();
    }
}

fn listen(listener: &mut Listener, inputs: &SyncSender<Input>) {
    loop {
        let heard = listener.hear().unwrap_or_else(|error| {
            tracing::warn!(%error, "the terminal cannot be listened to");
            vec![Heard::Ending(nix::libc::SIGHUP)]
        });
        for one in heard {
            if matches!(one, Heard::Keys(_)) {
                fault::strike("watch-listener");
            }
            let is_last = matches!(one, Heard::Ending(_));
            if inputs.send(Input::Heard(one)).is_err() {
                return;
            }
            if is_last {
                // The dashboard ends; the signals stay held until the process is gone.
                std::thread::park();
            }
        }
    }
}

struct Watching {
    layout: Layout,
    model: Model,
    lookout: Lookout,
    send: SyncSender<Input>,
    /// What a panic beside this thread said.
    broken: Option<String>,
}

impl Watching {
    fn run(&mut self, stage: &mut Stage, inputs: &Receiver<Input>) -> Exit {
        loop {
            let area = stage.area();
            let mut cells = Buffer::empty(area);
            dashboard::paint(&self.model, clock::now(), area, &mut cells);
            if self.model.is_read {
                fault::strike("watch-draw");
            }
            if let Err(error) = stage.show(cells) {
                tracing::debug!(%error, "a picture was lost");
            }
            let first = match inputs.recv_timeout(TICK) {
                Ok(input) => input,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Exit::Failed,
            };
            // Whatever has come meanwhile makes one picture.
            for input in std::iter::once(first).chain(inputs.try_iter()) {
                if let Some(exit) = self.take(input, stage) {
                    return exit;
                }
            }
        }
    }

    fn take(&mut self, input: Input, stage: &mut Stage) -> Option<Exit> {
        match input {
            Input::Heard(Heard::Keys(bytes)) => {
                fault::strike("watch-main");
                for key in dashboard::keys(&bytes) {
                    match self.model.press(key) {
                        Some(Ask::Quit) => return Some(Exit::Ok),
                        Some(Ask::Stop) => {
                            if let Some(exit) = stop(stage, Stop::Job) {
                                return Some(exit);
                            }
                        }
                        Some(ask) => self.answer(ask),
                        None => {}
                    }
                }
            }
            Input::Heard(Heard::Resized) => stage.forget(),
            Input::Heard(Heard::Stopping) => return stop(stage, Stop::Alone),
            Input::Heard(Heard::Continued) => {
                if let Err(error) = stage.renew() {
                    tracing::debug!(%error, "the terminal was not taken again");
                }
            }
            Input::Heard(Heard::Ending(signal)) => {
                let code = u8::try_from(signal).unwrap_or_default();
                return Some(Exit::Program(128 + code));
            }
            Input::News(News::Rows(rows)) => {
                if let Some(ask) = self.model.take_rows(rows) {
                    self.answer(ask);
                }
            }
            Input::News(News::Detail(detail)) => self.model.take_detail(*detail),
            Input::News(News::Drift(session, lines)) => self.model.take_drift(&session, lines),
            Input::News(News::Failed(why)) => self.model.message = Some(why),
            Input::News(News::Broken(why)) | Input::Broken(why) => {
                self.broken = Some(why);
                return Some(Exit::Internal);
            }
            Input::Progress(name, text) => self.model.progress(&name, &text),
            Input::Settled(name, outcome, reason) => {
                self.model.settled(&name, outcome, reason.as_deref());
            }
            Input::Said(text) => self.model.message = Some(text),
            Input::Page(page) => self.model.page = Some(page),
        }
        None
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Quit | Ask::Stop => {}
            Ask::Look => {
                let session = self.model.current().and_then(|row| row.session.clone());
                self.lookout.look_at(session);
            }
            Ask::Compact(run) => {
                let (layout, name) = (self.layout.clone(), self.model.name());
                self.beside(move |send| compact(&layout, &run, &name, send));
            }
            Ask::Checkpoint(session) => self.beside(move |send| {
                tell(send, Input::Said(overlay::save_checkpoint(&session)));
            }),
            Ask::Briefing(session) => {
                let layout = self.layout.clone();
                self.beside(move |send| {
                    let page = page(&layout, &session);
                    tell(send, page.map_or_else(Input::Said, Input::Page));
                });
            }
        }
    }

    /// Whatever may take long never holds the screen.
    fn beside(&mut self, work: impl FnOnce(&SyncSender<Input>) + Send + 'static) {
        let send = self.send.clone();
        let safely = move || {
            let done = contained(|| {
                fault::strike("watch-request");
                work(&send);
            });
            if let Err(why) = done {
                tell(&send, Input::Said(format!("internal error: {why}")));
            }
        };
        if let Err(error) = spawn_deaf("request", safely) {
            self.model.message = Some(format!("cannot be done: {error}"));
        }
    }
}

/// Stops; an exit where the terminal is not to be had again.
fn stop(stage: &mut Stage, stop: Stop) -> Option<Exit> {
    let failed = stage.stop(stop).err()?;
    tracing::warn!(%failed, "the terminal was not taken again");
    Some(Exit::Failed)
}

fn tell(send: &SyncSender<Input>, input: Input) {
    if send.send(input).is_err() {
        tracing::debug!("the dashboard is gone");
    }
}

/// Asks the run, and tells what it answers. When the dashboard ends first, the run sees the caller go and withdraws.
fn compact(layout: &Layout, id: &RunId, name: &str, send: &SyncSender<Input>) {
    let settled = |outcome, reason: String| Input::Settled(name.to_owned(), outcome, Some(reason));
    let found = run::live(layout)
        .unwrap_or_default()
        .into_iter()
        .find(|live| live.run.id == *id)
        .and_then(|live| live.run.socket);
    let Some(socket) = found else {
        let why = "the harn that hosts the session is gone".to_owned();
        return tell(send, settled(Outcome::Refused, why));
    };
    let request = RequestWire {
        schema: SCHEMA,
        request: RequestKind::Compact,
        focus: None,
        wait_ms: WAIT_MS,
    };
    let mut progress = |text: &str| tell(send, Input::Progress(name.to_owned(), text.to_owned()));
    let answer = control::ask(&socket, &request, &mut progress);
    tell(
        send,
        match answer {
            Ok(Ok(done)) => Input::Settled(name.to_owned(), done.outcome, done.reason),
            Ok(Err(why)) => settled(Outcome::Refused, why),
            // It may have been typed by then.
            Err(error) => settled(
                Outcome::Unconfirmed,
                format!("the run does not answer: {error}"),
            ),
        },
    );
}

/// The briefing that the session would get now.
fn page(layout: &Layout, id: &SessionId) -> Result<Page, String> {
    let entry = index::find(layout, id)
        .map_err(|error| error.to_string())?
        .ok_or("the session is not known any more")?;
    let session = Session::glance(layout, &entry).map_err(|error| error.to_string())?;
    let attempt = session.state.attempt.as_ref().map(|it| it.id.clone());
    let prepared = briefing::prepare(
        &session,
        &attempt.unwrap_or_default(),
        clock::now(),
        GIT_LIMIT,
    );
    let title = format!("briefing of {}", crate::text::one_line(id.as_str()));
    let lines = printable(&prepared.text)
        .lines()
        .map(str::to_owned)
        .collect();
    Ok(Page {
        title,
        lines,
        top: 0,
    })
}
