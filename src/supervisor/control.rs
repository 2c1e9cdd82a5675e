//! The control socket of an owned run: JSON lines, one request a connection, answered until it is settled.
//!
//! The socket is 0600 in a 0700 directory of the user's own, and the peer's uid is checked besides. The peer's process decides
//! whether a request comes from inside the session; what a request says of itself does not. There is no request that types text.
//! Unknown, oversized and slow requests get an error and nothing else happens.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Uid;
use serde::{Deserialize, Serialize};

use super::pilot::{Answer, Call, Message};
use crate::compaction::{Focus, Origin, Settled};
use crate::event::{RunId, SCHEMA};
use crate::process::{self, Process};
use crate::store::dir::{Dir, DirError};
use crate::terminal::spawn_deaf;

/// The kernel's limit for the path of a socket, the final zero included, on the strictest system.
pub const PATH_LIMIT_BYTES: usize = 104;
/// A request is one line of at most so many bytes.
const REQUEST_BYTES: u64 = 4096;
/// A request has to be there by then.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// Connections served at the same time.
const CONNECTIONS: usize = 16;
/// Between two looks whether the caller is still there.
const LOOK: Duration = Duration::from_millis(100);
/// Inherited by everything below a run.
const RUN_ID: &str = "HARN_RUN_ID";
/// Blocks of a refused request that are read and dropped.
const DRAIN_BLOCKS: u32 = 256;
/// Longest wait that is granted, in milliseconds.
const WAIT_MS: u64 = 24 * 3_600 * 1_000;

/// What may be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestWire {
    pub schema: u32,
    pub request: RequestKind,
    #[serde(default)]
    pub focus: Option<String>,
    /// Milliseconds; 0: not at all.
    #[serde(default)]
    pub wait_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    Compact,
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerWire {
    pub schema: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Box<Settled>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(transparent)]
    Store(#[from] DirError),
    #[error("{path} is longer than the {PATH_LIMIT_BYTES} bytes that a socket's path may have", path = .0.display())]
    Long(PathBuf),
    #[error("cannot listen at {path}: {source}", path = path.display())]
    Listen { path: PathBuf, source: io::Error },
}

/// The first of these directories in which a socket of this name has room, made where it is missing.
pub fn place(candidates: &[Dir], name: &str) -> Result<PathBuf, ControlError> {
    let mut path = PathBuf::new();
    for dir in candidates {
        path = dir.path().join(name);
        if path.as_os_str().len() < PATH_LIMIT_BYTES {
            return Ok(path);
        }
    }
    Err(ControlError::Long(path))
}

/// Listens until the process ends; the path goes with the returned handle.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
}

/// The client, as soon as it runs.
pub type ClientOf = Arc<dyn Fn() -> Option<Process> + Send + Sync>;

struct Server {
    messages: Sender<Message>,
    /// The client: whatever is below it asks from inside the session.
    client: ClientOf,
    run: RunId,
    instant: fn() -> Instant,
    calls: AtomicU64,
    open: AtomicUsize,
}

impl Control {
    /// `client` is asked at each request; it may start later than the socket.
    pub fn listen(
        path: PathBuf,
        run: RunId,
        messages: Sender<Message>,
        client: ClientOf,
        instant: fn() -> Instant,
    ) -> Result<Self, ControlError> {
        let fail = |path: &Path, source| ControlError::Listen {
            path: path.to_owned(),
            source,
        };
        let listener = UnixListener::bind(&path).map_err(|source| fail(&path, source))?;
        let control = Self { path };
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&control.path, mode)
            .map_err(|source| fail(&control.path, source))?;
        let server = Arc::new(Server {
            messages,
            client,
            run,
            instant,
            calls: AtomicU64::new(1),
            open: AtomicUsize::new(0),
        });
        spawn_deaf("control", move || accept(&listener, &server))
            .map_err(|source| fail(&control.path, source))?;
        Ok(control)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the socket stays");
        }
    }
}

fn accept(listener: &UnixListener, server: &Arc<Server>) {
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a request was not taken");
                // Out of descriptors, most likely: not in a hot loop.
                std::thread::sleep(LOOK);
                continue;
            }
        };
        let is_full = server.open.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS;
        let serving = Arc::clone(server);
        let spawned = spawn_deaf("request", move || {
            if is_full {
                fail(&stream, "too many requests at once");
            } else if let Err(error) = serve(&stream, &serving) {
                tracing::debug!(%error, "a request broke off");
            }
            serving.open.fetch_sub(1, Ordering::SeqCst);
        });
        if let Err(error) = spawned {
            server.open.fetch_sub(1, Ordering::SeqCst);
            tracing::warn!(%error, "a request is not served");
        }
    }
}

fn serve(stream: &UnixStream, server: &Server) -> io::Result<()> {
    let peer = peer::of(stream)?;
    if peer.uid != Uid::effective().as_raw() {
        fail(stream, "another user's request");
        return Ok(());
    }
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    let request = match read_request(stream, server.instant) {
        Ok(request) => request,
        Err(why) => {
            fail(stream, &why);
            drain(stream);
            return Ok(());
        }
    };
    let focus = match request
        .focus
        .map(|focus| focus.parse::<Focus>())
        .transpose()
    {
        Ok(focus) => focus,
        Err(error) => {
            fail(stream, &error.to_string());
            return Ok(());
        }
    };
    let (answers, answered) = channel();
    let id = server.calls.fetch_add(1, Ordering::SeqCst);
    let call = Call {
        id,
        origin: server.origin(peer.pid),
        focus,
        wait_ms: Some(request.wait_ms.min(WAIT_MS)).filter(|ms| *ms > 0),
        answers,
    };
    if server.messages.send(Message::Call(call)).is_err() {
        fail(stream, "the run is ending");
        return Ok(());
    }
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(Answer::Progress(text)) => {
                let line = AnswerWire {
                    progress: Some(text),
                    ..AnswerWire::new()
                };
                if line.send(stream).is_err() {
                    return hang(server, id);
                }
            }
            Ok(Answer::Settled(settled)) => {
                let line = AnswerWire {
                    settled: Some(settled),
                    ..AnswerWire::new()
                };
                return line.send(stream);
            }
            Err(RecvTimeoutError::Timeout) if has_hung_up(stream) => return hang(server, id),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                fail(stream, "the run has ended");
                return Ok(());
            }
        }
    }
}

fn hang(server: &Server, id: u64) -> io::Result<()> {
    server
        .messages
        .send(Message::Hung(id))
        .map_err(|_gone| io::Error::other("the run has ended"))
}

impl Server {
    /// Where a peer cannot be placed it counts as inside: there it may do less.
    fn origin(&self, pid: Option<u32>) -> Origin {
        let Some(client) = (self.client)() else {
            return Origin::Agent;
        };
        let Some(seen) = pid.and_then(process::see) else {
            return Origin::Agent;
        };
        // A process that was cut loose from the session still carries the run's variable.
        let is_inside = process::is_at_or_below(&seen, client)
            || process::has_variable(seen.process.pid, RUN_ID, self.run.as_str());
        if is_inside {
            Origin::Agent
        } else {
            Origin::Terminal
        }
    }
}

impl AnswerWire {
    fn new() -> Self {
        Self {
            schema: SCHEMA,
            progress: None,
            settled: None,
            error: None,
        }
    }

    fn send(&self, mut stream: &UnixStream) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        stream.write_all(&line)
    }
}

fn fail(stream: &UnixStream, why: &str) {
    let line = AnswerWire {
        error: Some(why.to_owned()),
        ..AnswerWire::new()
    };
    if let Err(error) = line.send(stream) {
        tracing::debug!(%error, why, "a request was refused");
    }
}

/// What is left unread would take the answer with it when the connection is closed.
fn drain(mut stream: &UnixStream) {
    let is_closed =
        stream.shutdown(Shutdown::Write).is_ok() && stream.set_read_timeout(Some(LOOK)).is_ok();
    let mut block = [0; 4096];
    let mut left = DRAIN_BLOCKS;
    while is_closed && left > 0 && matches!(stream.read(&mut block), Ok(count) if count > 0) {
        left -= 1;
    }
}

/// One line, within its limits of size and time.
fn read_request(mut stream: &UnixStream, instant: fn() -> Instant) -> Result<RequestWire, String> {
    let read = |error: io::Error| format!("the request cannot be read: {error}");
    let end = instant() + REQUEST_TIME;
    let mut line = Vec::new();
    let mut block = [0; 512];
    while memchr::memchr(b'\n', &line).is_none() {
        let left = end.saturating_duration_since(instant());
        if left.is_zero() {
            return Err("the request did not come in time".into());
        }
        stream.set_read_timeout(Some(left)).map_err(read)?;
        match stream.read(&mut block) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(block.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                return Err("the request did not come in time".into());
            }
            Err(error) => return Err(read(error)),
        }
        if line.len() as u64 > REQUEST_BYTES {
            return Err(format!("the request is longer than {REQUEST_BYTES} bytes"));
        }
    }
    let text = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let request: RequestWire =
        serde_json::from_slice(text).map_err(|error| format!("no such request: {error}"))?;
    if request.schema == SCHEMA {
        Ok(request)
    } else {
        Err(format!("schema {} is not known", request.schema))
    }
}

fn has_hung_up(stream: &UnixStream) -> bool {
    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
    if poll(&mut fds, PollTimeout::ZERO).is_err() {
        return false;
    }
    let [fd] = fds;
    let flags = fd.revents().unwrap_or(PollFlags::empty());
    // Nothing is to be said after the request: what is readable is the end.
    !flags.is_empty()
}

mod peer {
    use std::io;
    use std::os::unix::net::UnixStream;

    /// Who is at the other end.
    pub(super) struct Peer {
        pub(super) uid: u32,
        /// None where the system does not tell.
        pub(super) pid: Option<u32>,
    }

    #[cfg(target_os = "linux")]
    pub(super) fn of(stream: &UnixStream) -> io::Result<Peer> {
        use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
        let found = getsockopt(stream, PeerCredentials)?;
        Ok(Peer {
            uid: found.uid(),
            pid: u32::try_from(found.pid()).ok().filter(|pid| *pid > 0),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(stream: &UnixStream) -> io::Result<Peer> {
        use nix::sys::socket::{getsockopt, sockopt::LocalPeerPid};
        let (uid, _) = nix::unistd::getpeereid(stream)?;
        let pid = getsockopt(stream, LocalPeerPid).ok();
        Ok(Peer {
            uid: uid.as_raw(),
            pid: pid.and_then(|pid| u32::try_from(pid).ok()),
        })
    }
}

/// Whether somebody listens there. Asks nothing: whoever listens takes a connection without a request for one that broke off.
pub fn is_heard(socket: &Path) -> io::Result<()> {
    let stream = nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Unix,
        nix::sys::socket::SockType::Stream,
        nix::sys::socket::SockFlag::empty(),
        None,
    )?;
    // A queue that nobody empties would hold the asker up for ever.
    nix::fcntl::fcntl(
        &stream,
        nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK),
    )?;
    let address = nix::sys::socket::UnixAddr::new(socket)?;
    Ok(nix::sys::socket::connect(stream.as_raw_fd(), &address)?)
}

/// Asks a run and passes on what it answers; `progress` is called for each line before the last.
pub fn ask(
    socket: &Path,
    request: &RequestWire,
    progress: &mut dyn FnMut(&str),
) -> io::Result<Result<Box<Settled>, String>> {
    let mut stream = UnixStream::connect(socket)?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let reader = io::BufReader::new(stream);
    for line in io::BufRead::lines(reader) {
        let answer: AnswerWire = serde_json::from_str(&line?)?;
        if let Some(settled) = answer.settled {
            return Ok(Ok(settled));
        }
        if let Some(error) = answer.error {
            return Ok(Err(error));
        }
        if let Some(text) = answer.progress {
            progress(&text);
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
