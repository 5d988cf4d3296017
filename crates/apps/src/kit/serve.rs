//! A server that no peer can harm: everything that a peer may send, keep open or leave unfinished
//! has a bound. It serves HTTP/1.1, and on the same port the calls of [`rpc`] to clients that begin
//! with HTTP/2's preface. It does not depend on what is served.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use bytes::BytesMut;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};
use tokio::task;
use tokio::time::{self, Instant};

use super::rpc::{self, Calls};
use super::statistics::Statistics;

/// The beginning of an HTTP/2 connection (RFC 9113, 3.4); no HTTP/1.1 method begins like this.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// The parts of a body that are read before others get their turn.
const FRAMES_IN_TURN: usize = 8;

/// The most connections that wait to be accepted. Beyond them a connection is not refused: its
/// peer's kernel tries again a second later. The kernel allows no more than this anyway.
const BACKLOG: u32 = 4096;

/// The most bytes of a response that the server takes at once. What bodies and responses have beyond one
/// piece has a bound together; the rest is bounded by the number of connections. So large ones cannot
/// keep out small ones.
const PIECE: usize = 16 << 10;

/// The head of a request.
pub type Head = hyper::http::request::Parts;

/// A response whose body is there as a whole.
pub type FullResponse = Response<Full<Bytes>>;

/// The application that is served.
pub trait Site: Send + Sync + 'static {
    /// Answers a request that has arrived. Its body is empty unless it was kept.
    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = FullResponse> + Send;

    /// Returns true if the body of this request is kept for the answer. Other bodies are read and
    /// dropped.
    fn keeps_body(&self, _: &Head) -> bool {
        false
    }

    /// Called for every connection that is refused because of the limit.
    fn refused_connection(&self);

    /// Returns the gRPC calls that are served on the same port, if any.
    fn calls(&self) -> Option<&Calls> {
        None
    }
}

/// Bounds on what peers may do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Further connections are closed at once while this many are open.
    pub connections: usize,
    /// The most bytes of a request line with its headers; a longer one is refused with 431 or 414.
    pub head_bytes: usize,
    /// The most bytes of a body; a longer one is refused with 413.
    pub body_bytes: usize,
    /// The most bytes beyond one piece of all bodies that are kept at the same time; bodies with further
    /// ones are refused with 503, and counted.
    pub kept_bytes: usize,
    /// The most bytes of all large responses that are not yet written, because their peers do not read
    /// them; further ones are replaced by 503, and counted.
    pub unsent_bytes: usize,
    /// The interval between looks at a request that has begun to arrive. If the same request is
    /// still unfinished at the next look, the connection is closed: so it has between one and two
    /// intervals. A look costs nothing per request, unlike a timer for each. The same holds for a
    /// response of which nothing could be written.
    pub look: Duration,
    /// The longest time for requests in flight at the end.
    pub ending: Duration,
    /// For tests: every request blocks the thread for this time.
    pub delay: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 16 << 10,
            head_bytes: 64 << 10,
            body_bytes: 1 << 20,
            kept_bytes: 64 << 20,
            unsent_bytes: 256 << 20,
            look: Duration::from_secs(15),
            ending: Duration::from_secs(1),
            delay: None,
        }
    }
}

/// The signals that ask a process to end, those of batch systems among them.
const ENDING: [libc::c_int; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGXCPU,
];

/// Resolves when the process gets a signal that asks it to end. All of these are caught from now on.
pub fn told_to_end() -> anyhow::Result<impl Future<Output = ()>> {
    let caught = ENDING.map(|number| signal(SignalKind::from_raw(number)));
    let caught: io::Result<Vec<_>> = caught.into_iter().collect();
    let mut caught = caught.context("catching signals")?;
    Ok(poll_fn(move |context| {
        match caught.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }))
}

/// Listens, after raising the limit of open files to the system's maximum.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // With fewer, connections are refused earlier; nothing else depends on it.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
    let bind = || {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    bind().with_context(|| format!("listening on {address}"))
}

/// Serves until `ending`, then lets requests in flight finish, within bounds.
pub async fn until(
    ending: impl Future<Output = ()>,
    listener: TcpListener,
    limits: Limits,
    statistics: Arc<Statistics>,
    site: Arc<impl Site>,
) {
    let open = Arc::new(Open {
        count: AtomicUsize::new(0),
        left: Notify::new(),
        bodies: Semaphore::new(limits.kept_bytes),
        responses: Arc::new(Semaphore::new(limits.unsent_bytes)),
        statistics,
    });
    let (end, ended) = watch::channel(());
    tokio::select! {
        () = ending => {}
        () = accept(&listener, limits, &open, ended, site) => {}
    }
    drop(listener);
    drop(end);
    // Requests that do not finish in time are dropped with the runtime.
    let _ = time::timeout(limits.ending, open.none_left()).await;
}

async fn accept(
    listener: &TcpListener,
    limits: Limits,
    open: &Arc<Open>,
    ended: watch::Receiver<()>,
    site: Arc<impl Site>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The usual cause is too many open files: others have to close first.
            time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let Some(place) = Open::enter(open, limits.connections) else {
            open.statistics.refuse();
            site.refused_connection();
            continue;
        };
        tokio::spawn(serve(stream, limits, ended.clone(), place, Arc::clone(&site)));
    }
}

/// Runs one connection until it ends. Its errors matter only to its peer, which sees them.
async fn serve(
    stream: TcpStream,
    limits: Limits,
    mut ended: watch::Receiver<()>,
    place: Counted,
    site: Arc<impl Site>,
) {
    // Without it a response may wait for the acknowledgement of the previous one: slow, but
    // correct.
    let _ = stream.set_nodelay(true);
    // A connection without data costs a file and a waiting task.
    let mut first = [0; PREFACE.len()];
    let peeked = tokio::select! {
        peeked = stream.peek(&mut first) => peeked,
        _ = ended.changed() => return,
    };
    let Ok(length @ 1..) = peeked else { return };
    if let Some(calls) = site.calls()
        && PREFACE.starts_with(&first[..length])
    {
        return rpc::server::serve(stream, calls.clone(), ended).await;
    }
    let arrival = Arc::new(Arrival::default());
    let watched = Watched { stream, arrival: Arc::clone(&arrival) };
    let service = service_fn(|request| answer(request, limits, &arrival, &place.0, &*site));
    let connection = http1::Builder::new()
        .title_case_headers(true)
        // One copied buffer costs 5 % less per request than a vectored write of two.
        .writev(false)
        .max_header_size(limits.head_bytes)
        .max_buf_size(2 * limits.head_bytes)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(watched), service);
    let mut connection = pin!(connection);
    let mut look = pin!(time::sleep(limits.look));
    let (mut seen, mut seen_blocked) = (None, None);
    let mut is_ending = false;
    loop {
        tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            () = look.as_mut() => {
                let (unfinished, blocked) = (arrival.unfinished(), arrival.blocked());
                let is_stuck = unfinished.is_some() && unfinished == seen;
                if is_stuck || blocked.is_some() && blocked == seen_blocked {
                    return;
                }
                (seen, seen_blocked) = (unfinished, blocked);
                look.as_mut().reset(Instant::now() + limits.look);
            }
            _ = ended.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    limits: Limits,
    arrival: &Arrival,
    open: &Open,
    site: &impl Site,
) -> Result<Response<Pieces>, Infallible> {
    let _in_hand = open.statistics.serve();
    let (head, body) = request.into_parts();
    let kept = if body.is_end_stream() {
        Ok(Kept::default())
    } else {
        let room = site.keeps_body(&head).then_some(&open.bodies);
        read_body(body, limits.body_bytes, room).await
    };
    arrival.finished();
    keep_busy(limits.delay);
    Ok(match kept {
        // The room is taken until the answer is there.
        Ok(Kept { bytes, room: _room }) => {
            let response = site.answer(Request::from_parts(head, bytes.freeze())).await;
            bounded(response, open).await
        }
        Err(Refused::TooLarge) => refusal(StatusCode::PAYLOAD_TOO_LARGE, "body too large\n"),
        Err(Refused::NoRoom) => {
            open.statistics.refuse();
            refusal(StatusCode::SERVICE_UNAVAILABLE, "too many bodies at once\n")
        }
    })
}

/// Returns a response in pieces, if there is room until its peer has read it.
async fn bounded(response: FullResponse, open: &Open) -> Response<Pieces> {
    let (head, mut body) = response.into_parts();
    // It has one frame, or none if it is empty.
    let data = body.frame().await.and_then(Result::ok).and_then(|frame| frame.into_data().ok());
    let rest = data.unwrap_or_default();
    let mut room = None;
    if PIECE < rest.len() {
        let length = u32::try_from(rest.len()).ok();
        let taken = length.map(|length| Arc::clone(&open.responses).try_acquire_many_owned(length));
        let Some(Ok(taken)) = taken else {
            open.statistics.refuse();
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many responses at once\n");
        };
        room = Some(taken);
    }
    Response::from_parts(head, Pieces { rest, _room: room })
}

/// A body that the server takes piece by piece, as its peer reads: taken as a whole, a large one
/// would stay in the server's buffer, and leave a large buffer to its connection.
struct Pieces {
    rest: Bytes,
    /// The room of a body of more than one piece until it is taken.
    _room: Option<OwnedSemaphorePermit>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// Blocks the only thread for a while, as slow work would.
#[expect(clippy::disallowed_methods, reason = "this is what a slow service does")]
pub(crate) fn keep_busy(delay: Option<Duration>) {
    if let Some(length) = delay {
        std::thread::sleep(length);
    }
}

/// A body, and the room that it takes; both are empty if it was dropped.
#[derive(Default)]
struct Kept<'a> {
    bytes: BytesMut,
    room: Option<SemaphorePermit<'a>>,
}

enum Refused {
    /// It is longer than a body may be, or never ended well.
    TooLarge,
    NoRoom,
}

/// Reads a body of at most `most` bytes. It is kept if there is `room`, and otherwise dropped.
async fn read_body(
    body: Incoming,
    most: usize,
    room: Option<&Semaphore>,
) -> Result<Kept<'_>, Refused> {
    let mut body = pin!(body);
    let mut length = 0;
    let mut kept = Kept::default();
    for frames in 1.. {
        let Some(frame) = body.frame().await else { break };
        // Tiny chunks are much work, so others get their turn.
        if frames % FRAMES_IN_TURN == 0 {
            task::yield_now().await;
        }
        let Ok(frame) = frame else { return Err(Refused::TooLarge) };
        let Some(data) = frame.data_ref() else { continue };
        length += data.len();
        if length > most {
            return Err(Refused::TooLarge);
        }
        if let Some(room) = room {
            kept.add(data, room)?;
        }
    }
    Ok(kept)
}

impl<'a> Kept<'a> {
    fn add(&mut self, data: &[u8], room: &'a Semaphore) -> Result<(), Refused> {
        let before = self.bytes.len();
        let more = (before + data.len()).max(PIECE) - before.max(PIECE);
        let more = u32::try_from(more).map_err(|_| Refused::TooLarge)?;
        let more = room.try_acquire_many(more).map_err(|_| Refused::NoRoom)?;
        match &mut self.room {
            Some(taken) => taken.merge(more),
            none => *none = Some(more),
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

/// Returns the response to a request that was not read to its end.
fn refusal(code: StatusCode, text: &'static str) -> Response<Pieces> {
    let rest = Bytes::from_static(text.as_bytes());
    let mut response = Response::new(Pieces { rest, _room: None });
    *response.status_mut() = code;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The arrival of a connection's requests, and the departure of its responses.
#[derive(Default)]
struct Arrival {
    finished: AtomicU64,
    has_begun: AtomicBool,
    written: AtomicU64,
    is_blocked: AtomicBool,
}

impl Arrival {
    fn begun(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    fn finished(&self) {
        // Only the task of this connection writes, so nothing is lost between load and store.
        self.finished.store(self.finished.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.has_begun.store(false, Ordering::Relaxed);
    }

    /// Notes the outcome of an attempt to write.
    fn wrote(&self, wrote: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(length)) = wrote {
            let written = self.written.load(Ordering::Relaxed) + *length as u64;
            self.written.store(written, Ordering::Relaxed);
        }
        self.is_blocked.store(wrote.is_pending(), Ordering::Relaxed);
    }

    /// Returns the bytes written so far if the peer has to read before more can be written.
    fn blocked(&self) -> Option<u64> {
        let is_blocked = self.is_blocked.load(Ordering::Relaxed);
        is_blocked.then(|| self.written.load(Ordering::Relaxed))
    }

    /// Returns the number of the request that has arrived only in part.
    fn unfinished(&self) -> Option<u64> {
        let number = self.finished.load(Ordering::Relaxed);
        self.has_begun.load(Ordering::Relaxed).then_some(number)
    }
}

/// A stream that records the arrival and the departure of bytes.
struct Watched {
    stream: TcpStream,
    arrival: Arc<Arrival>,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.arrival.begun();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.arrival.wrote(&wrote);
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.arrival.wrote(&wrote);
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The open connections.
struct Open {
    count: AtomicUsize,
    left: Notify,
    /// A permit for each byte of the bodies that may still be kept.
    bodies: Semaphore,
    /// A permit for each byte of the large responses that may still be unsent.
    responses: Arc<Semaphore>,
    statistics: Arc<Statistics>,
}

/// One open connection; it is counted until this is dropped.
struct Counted(Arc<Open>);

impl Open {
    fn enter(open: &Arc<Open>, most: usize) -> Option<Counted> {
        if open.count.load(Ordering::Relaxed) >= most {
            return None;
        }
        open.count.fetch_add(1, Ordering::Relaxed);
        open.statistics.connected(1);
        Some(Counted(Arc::clone(open)))
    }

    async fn none_left(&self) {
        while self.count.load(Ordering::Relaxed) > 0 {
            self.left.notified().await;
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
        self.0.statistics.connected(-1);
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests;
