//! HTTP on 127.0.0.1, on a thread of its own: reads requests, logs them, sends the protocol's answers at their pace.
//!
//! It knows no model API; a [`Protocol`] says what a request is and how it is answered.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread::JoinHandle;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

use super::answer::{Answer, Chunk};
use super::log::{Ending, Kind, RequestLog};

/// A model API: what requests are, and how they are answered.
pub trait Protocol: Send + Sync + 'static {
    fn kind(&self, method: &str, path: &str, body: &Value) -> Kind;
    fn answer(&self, exchange: &Exchange<'_>) -> Answer;
}

/// One request as a protocol sees it.
#[derive(Debug)]
pub struct Exchange<'a> {
    pub n: usize,
    pub kind: Kind,
    pub method: &'a str,
    pub path: &'a str,
    pub body: &'a Value,
    pub body_bytes: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("listen on loopback")]
    Listen(#[source] io::Error),
    #[error("start the server's thread")]
    Thread(#[source] io::Error),
}

/// A running server; dropping it ends its connections and its thread.
#[derive(Debug)]
pub struct Server<P> {
    protocol: Arc<P>,
    log: Arc<RequestLog>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<P: Protocol> Server<P> {
    pub fn start(protocol: P) -> Result<Self, StartError> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(StartError::Listen)?;
        let address = listener.local_addr().map_err(StartError::Listen)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener).map_err(StartError::Listen)?
        };
        let (protocol, log) = (Arc::new(protocol), Arc::new(RequestLog::default()));
        let (stop, stopped) = oneshot::channel();
        let room = Room {
            protocol: Arc::clone(&protocol),
            log: Arc::clone(&log),
        };
        let thread = std::thread::Builder::new()
            .name("rehearsal".to_owned())
            .spawn(move || runtime.block_on(accept(&listener, &Arc::new(room), stopped)))
            .map_err(StartError::Thread)?;
        Ok(Self {
            protocol,
            log,
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// What a client's base address setting takes.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    pub fn log(&self) -> &RequestLog {
        &self.log
    }
}

impl<P> Drop for Server<P> {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            tracing::warn!("the rehearsal server's thread panicked");
        }
    }
}

struct Room<P> {
    protocol: Arc<P>,
    log: Arc<RequestLog>,
}

/// Until `stopped`; the runtime, dropped after it, takes the open connections along.
async fn accept<P: Protocol>(
    listener: &TcpListener,
    room: &Arc<Room<P>>,
    mut stopped: oneshot::Receiver<()>,
) {
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::spawn(converse(stream, Arc::clone(room)))),
                Err(error) => tracing::debug!(%error, "accept a connection"),
            },
        }
    }
}

async fn converse<P: Protocol>(stream: TcpStream, room: Arc<Room<P>>) {
    let service = service_fn(|request| exchange(&room, request));
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a client's connection ended early");
    }
}

async fn exchange<P: Protocol>(
    room: &Room<P>,
    request: Request<Incoming>,
) -> Result<Response<Chunks>, hyper::Error> {
    let (head, body) = request.into_parts();
    let raw = body.collect().await?.to_bytes();
    let body: Value = serde_json::from_slice(&raw).unwrap_or_default();
    let method = head.method.as_str();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let kind = room.protocol.kind(method, path, &body);
    let ending = room
        .log
        .open(kind, method.to_owned(), path.to_owned(), body.clone());
    let exchange = Exchange {
        n: ending.n(),
        kind,
        method,
        path,
        body: &body,
        body_bytes: raw.len(),
    };
    let answer = room.protocol.answer(&exchange);
    // A client that leaves here drops this future, and with it `ending`.
    sleep(answer.delay).await;
    Ok(respond(answer, ending))
}

fn respond(answer: Answer, ending: Ending) -> Response<Chunks> {
    let request_id = format!("req_rehearsal{:06}", ending.n());
    let status = answer.status;
    let mut builder = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, answer.content_type)
        .header("request-id", request_id);
    if answer.chunks.len() == 1 {
        builder = builder.header(header::CONTENT_LENGTH, answer.len_bytes());
    }
    let body = Chunks {
        left: answer.chunks.into(),
        pause: None,
        status,
        ending: Some(ending),
    };
    builder.body(body).unwrap_or_else(|error| {
        tracing::error!(%error, "a scripted answer is no HTTP answer");
        let nothing = Chunks {
            left: VecDeque::new(),
            pause: None,
            status: 500,
            ending: None,
        };
        let mut response = Response::new(nothing);
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

/// A body of timed chunks; whoever drops it early leaves an aborted entry in the log.
struct Chunks {
    left: VecDeque<Chunk>,
    pause: Option<Pin<Box<Sleep>>>,
    status: u16,
    ending: Option<Ending>,
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let Some(next) = this.left.front() else {
            return Poll::Ready(None);
        };
        if !next.after.is_zero() {
            let after = next.after;
            let pause = this.pause.get_or_insert_with(|| Box::pin(sleep(after)));
            ready!(pause.as_mut().poll(context));
            this.pause = None;
        }
        let chunk = this.left.pop_front();
        if this.left.is_empty()
            && let Some(mut ending) = this.ending.take()
        {
            ending.done(this.status);
        }
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk.bytes))))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::time::Duration;

    use serde_json::json;

    use super::super::log::End;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Answers every request with its path, `/slow` over an hour.
    struct Echo;

    impl Protocol for Echo {
        fn kind(&self, _: &str, path: &str, _: &Value) -> Kind {
            if path == "/slow" {
                Kind::Main
            } else {
                Kind::Other
            }
        }

        fn answer(&self, exchange: &Exchange<'_>) -> Answer {
            let first = Chunk::event(&json!({"type": exchange.path}));
            let late = Chunk::now("late").after(Duration::from_hours(1));
            match exchange.kind {
                Kind::Main => Answer::events(vec![first, late]),
                Kind::Summary | Kind::Side | Kind::CountTokens | Kind::Other => {
                    Answer::json(201, &json!({"n": exchange.n, "body": exchange.body}))
                }
            }
        }
    }

    fn send(server: &Server<Echo>, path: &str, body: &str) -> std::net::TcpStream {
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    #[test]
    fn a_request_is_answered_and_logged() {
        let server = Server::start(Echo).unwrap();
        let mut text = String::new();
        send(&server, "/x?y=1", "{\"a\":1}")
            .read_to_string(&mut text)
            .unwrap();
        assert!(text.starts_with("HTTP/1.1 201 Created\r\n"), "{text}");
        assert!(
            text.ends_with("\r\n\r\n{\"n\":1,\"body\":{\"a\":1}}"),
            "{text}"
        );
        let entry = server
            .log()
            .wait_done(Kind::Other, 1, LIMIT)
            .unwrap()
            .remove(0);
        assert_eq!(
            (entry.path.as_str(), &*entry.body),
            ("/x?y=1", &json!({"a": 1}))
        );
        assert_eq!(entry.end, Some(End::Done(201)));
    }

    #[test]
    fn a_client_that_leaves_a_stream_is_logged_as_aborted() {
        let server = Server::start(Echo).unwrap();
        let mut stream = send(&server, "/slow", "");
        let mut first = [0; 64];
        let seen = stream.read(&mut first).unwrap();
        assert!(first.starts_with(b"HTTP/1.1 200"), "{seen} bytes");
        assert_eq!(server.log().all().remove(0).end, None);
        drop(stream);
        let is_aborted = |entries: &[super::super::Entry]| entries[0].end == Some(End::Aborted);
        assert!(server.log().wait_until(LIMIT, is_aborted).is_some());
    }

    #[test]
    fn stopping_ends_open_streams_and_closes_the_port() {
        let server = Server::start(Echo).unwrap();
        let mut stream = send(&server, "/slow", "");
        server.log().wait_for(Kind::Main, 1, LIMIT).unwrap();
        let address = server.address;
        drop(server);
        let mut rest = Vec::new();
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        }
        let refused = std::net::TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
