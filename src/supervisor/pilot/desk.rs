//! What a pilot is given, what it may be told, and its handle.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::ear::Hearing;
use super::flight::Flight;
use crate::adapter::recipe::Recipe;
use crate::compaction::{Focus, Origin, Settled};
use crate::event::{EventBody, SessionId, Timestamp, Tokens};
use crate::store::Layout;
use crate::supervisor::run::Run;
use crate::terminal::{Keyboard, spawn_deaf};

/// The user's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    pub compact_at: Option<Tokens>,
    pub continue_after: bool,
    pub allow_agent: bool,
}

/// What a pilot needs.
#[derive(Debug)]
pub struct Setup {
    pub layout: Layout,
    pub run: Run,
    pub recipe: Recipe,
    pub has_launch_key: bool,
    pub rules: Rules,
    pub keyboard: Keyboard,
    pub hearing: Hearing,
}

/// Appends an event to the log of a session.
pub type Recording = Box<dyn Fn(&SessionId, EventBody) + Send>;
/// Writes a session's work down; where.
pub type HandOver = Box<dyn Fn(&SessionId) -> Option<String> + Send>;

/// How the pilot reaches the rest of harn.
#[expect(missing_debug_implementations, reason = "holds closures")]
pub struct Means {
    pub now: fn() -> Timestamp,
    pub instant: fn() -> Instant,
    /// Saves a checkpoint of this session and says how it went.
    pub checkpoint: Box<dyn Fn(&SessionId) -> String + Send>,
    /// Appends events to the session's log.
    pub record: Recording,
    /// Tells the user in one line.
    pub tell: Box<dyn Fn(&str) + Send>,
    /// Writes the work down for a fresh session; where, and how to start it.
    pub hand_over: HandOver,
}

/// A request from outside.
#[derive(Debug)]
pub struct Call {
    pub id: u64,
    pub origin: Origin,
    pub focus: Option<Focus>,
    /// Milliseconds; none: the caller does not wait.
    pub wait_ms: Option<u64>,
    pub answers: Sender<Answer>,
}

/// What a caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What the attempt is at.
    Progress(String),
    Settled(Box<Settled>),
}

#[derive(Debug)]
pub enum Message {
    Call(Call),
    /// The caller has gone.
    Hung(u64),
    /// The key in the overlay.
    Key,
    /// The session does something.
    Stirred,
    /// The session is over.
    Over,
}

/// The running pilot, for `command::run`.
#[derive(Debug)]
pub struct Pilot {
    messages: Sender<Message>,
    thread: JoinHandle<()>,
}

impl Pilot {
    /// Starts the thread.
    pub fn start(setup: Setup, means: Means) -> std::io::Result<Self> {
        let (messages, received) = channel();
        let mut flight = Flight::new(setup, means);
        let thread = spawn_deaf("pilot", move || flight.run(&received))?;
        Ok(Self { messages, thread })
    }

    pub fn messages(&self) -> Sender<Message> {
        self.messages.clone()
    }

    /// The session is over: whatever is open is settled and told.
    pub fn end(self) {
        drop(self.messages);
        if self.thread.join().is_err() {
            tracing::warn!("the pilot ended badly");
        }
    }
}
