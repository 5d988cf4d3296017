//! The serving side of a connection. What a peer sends is bounded in size, in number and in time;
//! anything beyond that is refused with a status, and a peer that breaks the protocol loses its
//! connection.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{PingPong, RecvStream, SendStream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Version};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::task;
use tokio::time::{self, Instant};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use super::guard::Guarded;
use super::message::PREFIX;
use super::{Answering, GRPC, GRPC_STATUS, is_alive, whole};
use crate::kit::serve::keep_busy;
use crate::kit::statistics::Statistics;

#[cfg(test)]
mod tests;

/// The most requests of one connection in progress at once; the peer queues the others. With 1,024
/// a peer that begins them and goes away made others wait 3.7 times as long, with 256 1.9 times.
const STREAMS: u32 = 256;

const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// The most bytes of a request's headers.
const LARGEST_HEAD: u32 = 16 << 10;

/// The longest message of a request; the application's longest has less than 1 KB.
const LARGEST_REQUEST: usize = 64 << 10;
const WINDOW: u32 = (PREFIX + LARGEST_REQUEST) as u32;
/// The most bytes of the unfinished requests of one connection.
const CONNECTION_WINDOW: u32 = 256 << 10;

/// The longest time from the beginning of a request until all of it has arrived.
const LONGEST_ARRIVAL: Duration = Duration::from_secs(5);

/// The longest time for a caller to read a response; after it the response is dropped.
const LONGEST_TAKING: Duration = Duration::from_secs(5);

/// The most bytes of all responses that wait because their callers do not read.
const UNREAD: usize = 192 << 20;

/// The most bytes of a frame. The `h2` library copies frames of less than 1 KiB into one buffer,
/// and writes a longer one by itself, with one more system call each.
const LARGEST_COPIED: usize = 1023;

/// The most calls that one connection begins before others get their turn. With 8 instead of 32 a
/// server made a third more system calls.
const IN_TURN: usize = 32;

/// The longest time for an answer to a ping; after it the peer is disconnected. A peer that reads
/// nothing keeps our responses in memory, and a peer whose request never ends keeps the received
/// part.
const LONGEST_PONG: Duration = Duration::from_secs(15);
const BETWEEN_PINGS: Duration = Duration::from_secs(15);

/// The longest time from the opening of a connection to the HTTP/2 handshake.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// The longest time for a call without a deadline, including its arrival.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// The calls that a process serves.
#[derive(Clone)]
pub struct Calls {
    answering: Answering,
    /// A function that gets the status of each ended call, and its duration.
    ended: Arc<dyn Fn(Code, Duration) + Send + Sync>,
    statistics: Arc<Statistics>,
    /// Further calls are refused while this many are in progress.
    most: usize,
    /// A permit for each byte of the responses that wait because their callers do not read; without
    /// them a response is dropped.
    unread: Arc<Semaphore>,
    /// For tests: every call blocks the thread for this time.
    delay: Option<Duration>,
}

impl Calls {
    pub fn new(
        answering: Answering,
        statistics: Arc<Statistics>,
        most: usize,
        delay: Option<Duration>,
        ended: impl Fn(Code, Duration) + Send + Sync + 'static,
    ) -> Self {
        let unread = Arc::new(Semaphore::new(UNREAD));
        Calls { answering, ended: Arc::new(ended), statistics, most, unread, delay }
    }
}

/// Runs one connection until it ends.
pub(crate) async fn serve<S>(stream: S, calls: Calls, mut ended: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream = Guarded::new(stream, Arc::clone(&calls.statistics));
    let mut settings = h2::server::Builder::new();
    settings.max_concurrent_streams(STREAMS).max_header_list_size(LARGEST_HEAD);
    settings.initial_window_size(WINDOW);
    settings.initial_connection_window_size(CONNECTION_WINDOW);
    let handshake = time::timeout(LONGEST_HANDSHAKE, settings.handshake::<_, Bytes>(stream));
    let Ok(Ok(mut connection)) = handshake.await else { return };
    let pings = connection.ping_pong().expect("it is taken only once");
    let mut silence = pin!(silence(pings, BETWEEN_PINGS, LONGEST_PONG));
    let mut begun = Vec::with_capacity(IN_TURN);
    let mut in_turn = 0;
    let mut is_ending = false;
    loop {
        tokio::select! {
            biased;
            is_open = poll_fn(|context| poll_begun(&mut connection, &mut begun, context)) => {
                in_turn += begun.len();
                let began = Instant::now();
                for (request, respond) in begun.drain(..) {
                    begin(answer(request, respond, calls.clone(), began)).await;
                }
                if !is_open {
                    return;
                }
                if IN_TURN <= in_turn {
                    in_turn = 0;
                    task::yield_now().await;
                }
            }
            _ = ended.changed(), if !is_ending => {
                is_ending = true;
                connection.graceful_shutdown();
            }
            () = silence.as_mut() => return,
        }
    }
}

/// Collects the calls that have arrived, as many as begin in one turn; false if no more will come:
/// the peer has gone, or broke the protocol and got an error. The calls begin only after this, so
/// that responses that are ready at once are written at once.
fn poll_begun<S>(
    connection: &mut Connection<S, Bytes>,
    begun: &mut Vec<(Request<RecvStream>, SendResponse<Bytes>)>,
    context: &mut Context<'_>,
) -> Poll<bool>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while begun.len() < IN_TURN {
        match connection.poll_accept(context) {
            Poll::Ready(Some(Ok(call))) => begun.push(call),
            Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(false),
            Poll::Pending if begun.is_empty() => return Poll::Pending,
            Poll::Pending => break,
        }
    }
    Poll::Ready(true)
}

/// Runs a call. Most calls never wait; only a call that has to wait becomes a task.
async fn begin(call: impl Future<Output = ()> + Send + 'static) {
    let mut call = Box::pin(call);
    if poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await.is_pending() {
        tokio::spawn(call);
    }
}

/// Ends when the peer does not answer a ping: it has gone, reads nothing, or never ends a request.
async fn silence(mut pings: PingPong, between: Duration, longest: Duration) {
    loop {
        time::sleep(between).await;
        if !is_alive(&mut pings, longest).await {
            return;
        }
    }
}

/// Runs one call. If the peer goes away its call is cancelled.
async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    calls: Calls,
    began: Instant,
) {
    let (head, mut body) = request.into_parts();
    let arrived = tokio::select! {
        biased;
        arrived = time::timeout_at(began + LONGEST_ARRIVAL, whole(&mut body, check)) => arrived,
        _ = poll_fn(|context| respond.poll_reset(context)) => {
            return (calls.ended)(Code::Cancelled, began.elapsed());
        }
    };
    let late = || Err(Status::deadline_exceeded("the request took too long to arrive"));
    let message = match arrived.unwrap_or_else(|_| late()) {
        Ok(message) if calls.statistics.in_hand() < calls.most => message,
        Ok(_) => {
            calls.statistics.refuse();
            let status = Status::resource_exhausted("too many calls at once");
            return refuse(&mut respond, status, &calls);
        }
        Err(status) => return refuse(&mut respond, status, &calls),
    };
    if let Some(encoding) = head.headers.get(GRPC_ENCODING).filter(|one| *one != "identity") {
        let mut status = Status::unimplemented(format!("messages in {encoding:?} are not read"));
        status
            .metadata_mut()
            .insert("grpc-accept-encoding", MetadataValue::from_static("identity"));
        return refuse(&mut respond, status, &calls);
    }
    let in_hand = calls.statistics.serve();
    keep_busy(calls.delay);
    let timeout = deadline(&head.headers).unwrap_or(LONGEST_CALL).min(LONGEST_CALL);
    let answered = tokio::select! {
        biased;
        answered = (calls.answering)(head.uri.path(), message) => answered,
        _ = poll_fn(|context| respond.poll_reset(context)) => {
            return (calls.ended)(Code::Cancelled, began.elapsed());
        }
        () = time::sleep_until(began + timeout) => {
            Err(Status::deadline_exceeded("the call took too long"))
        }
    };
    // Callers that do not read their responses must not use up the calls that may be in progress.
    drop(in_hand);
    let code = match answered {
        Ok(message) => send(&mut respond, message, &calls.unread).await,
        Err(status) => send_status(&mut respond, status),
    };
    (calls.ended)(code, began.elapsed());
}

/// Refuses a message as soon as its length is known.
fn check(arrived: &[u8]) -> Result<(), Status> {
    let Some(&[_, a, b, c, d]) = arrived.first_chunk::<PREFIX>() else { return Ok(()) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if LARGEST_REQUEST < length.max(arrived.len() - PREFIX) {
        let text = format!("a message may have {LARGEST_REQUEST} bytes, not {length}");
        return Err(Status::resource_exhausted(text));
    }
    Ok(())
}

/// Sends a whole response; returns the code of the call.
async fn send(respond: &mut SendResponse<Bytes>, message: Bytes, unread: &Semaphore) -> Code {
    let mut head = Response::new(());
    *head.version_mut() = Version::HTTP_2;
    *head.headers_mut() = HeaderMap::with_capacity(1);
    head.headers_mut().insert(CONTENT_TYPE, GRPC);
    // The caller may be gone; then nothing is sent.
    let Ok(mut stream) = respond.send_response(head, false) else { return Code::Cancelled };
    // A stream that is dropped in the middle is reset.
    if send_data(&mut stream, message, unread).await.is_none() {
        return Code::Cancelled;
    }
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
    let _ = stream.send_trailers(trailers);
    Code::Ok
}

/// Sends bytes as the peer reads them. If the peer does not read, it waits with a limited number of
/// bytes, and only for a limited time.
async fn send_data(
    stream: &mut SendStream<Bytes>,
    mut data: Bytes,
    unread: &Semaphore,
) -> Option<()> {
    let mut until = None;
    let mut room = None;
    while !data.is_empty() {
        stream.reserve_capacity(data.len());
        let capacity = match stream.capacity() {
            0 => {
                if room.is_none() {
                    let length = u32::try_from(data.len()).ok()?;
                    room = Some(unread.try_acquire_many(length).ok()?);
                }
                let until = *until.get_or_insert_with(|| Instant::now() + LONGEST_TAKING);
                let taken = poll_fn(|context| stream.poll_capacity(context));
                time::timeout_at(until, taken).await.ok()??.ok()?
            }
            there => there,
        };
        let length = data.len().min(capacity).min(LARGEST_COPIED);
        stream.send_data(data.split_to(length), false).ok()?;
    }
    Some(())
}

/// Sends a status without a message; returns its code.
fn send_status(respond: &mut SendResponse<Bytes>, status: Status) -> Code {
    let code = status.code();
    let head = status.into_http::<()>();
    let _ = respond.send_response(head, true);
    code
}

/// Sends the status of a call that was not run.
fn refuse(respond: &mut SendResponse<Bytes>, status: Status, calls: &Calls) {
    (calls.ended)(send_status(respond, status), Duration::ZERO);
}

/// Returns the deadline that the caller sets: `grpc-timeout`, up to eight digits and a unit.
fn deadline(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout").map(HeaderValue::as_bytes)?;
    let (unit, digits) = text.split_last()?;
    let is_number = (1..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let amount: u64 = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    Some(match unit {
        b'H' => Duration::from_secs(amount * 3600),
        b'M' => Duration::from_secs(amount * 60),
        b'S' => Duration::from_secs(amount),
        b'm' => Duration::from_millis(amount),
        b'u' => Duration::from_micros(amount),
        b'n' => Duration::from_nanos(amount),
        _ => return None,
    })
}
