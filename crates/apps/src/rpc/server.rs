//! The answering side of a connection. What a peer sends is bounded in size, in number and in
//! time; what comes beyond that is refused with a status, and a peer that breaks the protocol
//! loses its connection.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{PingPong, Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body as _;
use http_body_util::Full;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::task;
use tokio::time::{self, Instant};
use tonic::body::Body;
use tonic::{Code, Status};
use tower_service::Service;

use super::guard::Guarded;
use super::{broken, is_alive};
use crate::account::Account;
use crate::serve::keep_busy;

#[cfg(test)]
mod tests;

/// Requests of one connection that may be in hand at once; the peer keeps the others. With 1,024 a
/// peer that begins them and goes made others wait 3.7 times as long, with this 1.9.
const STREAMS: u32 = 256;

/// Bytes of a request's headers.
const LARGEST_HEAD: u32 = 16 << 10;

/// A message that is asked with is at most this long; the longest of ours has less than 1 KB.
const LARGEST_REQUEST: usize = 64 << 10;
/// What stands before it: whether it is compressed, and its length.
const PREFIX: usize = 5;
const WINDOW: u32 = (PREFIX + LARGEST_REQUEST) as u32;
/// Bytes of the unfinished requests of one connection.
const CONNECTION_WINDOW: u32 = 256 << 10;

/// All of a request is here in this time after its beginning.
const LONGEST_ARRIVAL: Duration = Duration::from_secs(5);

/// An answer that its caller does not take in this time is dropped.
const LONGEST_TAKING: Duration = Duration::from_secs(5);

/// Calls begun by one connection before others have their turn.
const IN_TURN: u32 = 8;

/// A peer that does not answer a ping in this time is let go. One that reads nothing holds what we
/// have to say to it, and one whose request never ends holds what it said.
const LONGEST_PONG: Duration = Duration::from_secs(15);
const BETWEEN_PINGS: Duration = Duration::from_secs(15);

/// Who has opened a connection speaks HTTP/2 within this time.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// A call that says nothing else may take this long, its arrival included.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// A request of which everything has come.
pub type Asked = Full<Bytes>;
pub type Answered = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// What tonic makes of a service.
pub trait Answers:
    Service<Request<Asked>, Response = Response<Body>, Error = Infallible, Future = Answered>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Answers for S where
    S: Service<Request<Asked>, Response = Response<Body>, Error = Infallible, Future = Answered>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// The calls that a process answers.
#[derive(Clone)]
pub struct Calls {
    answer: Arc<dyn Fn(Request<Asked>) -> Answered + Send + Sync>,
    /// Told how each call ended, and how long it took.
    ended: Arc<dyn Fn(Code, Duration) + Send + Sync>,
    account: Arc<Account>,
    /// Calls in hand beyond this many are refused.
    most: usize,
    /// Answers that their callers do not take, beyond this many, are dropped.
    untaken: Arc<Semaphore>,
    /// For tests: every call keeps the thread this long.
    delay: Option<Duration>,
}

impl Calls {
    pub fn new(
        service: impl Answers,
        account: Arc<Account>,
        most: usize,
        delay: Option<Duration>,
        ended: impl Fn(Code, Duration) + Send + Sync + 'static,
    ) -> Self {
        let answer = move |request| service.clone().call(request);
        let untaken = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Calls { answer: Arc::new(answer), ended: Arc::new(ended), account, most, untaken, delay }
    }
}

/// One connection's life.
pub(crate) async fn serve<S>(stream: S, calls: Calls, mut ended: watch::Receiver<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let stream = Guarded::new(stream, Arc::clone(&calls.account));
    let mut settings = h2::server::Builder::new();
    settings.max_concurrent_streams(STREAMS).max_header_list_size(LARGEST_HEAD);
    settings.initial_window_size(WINDOW);
    settings.initial_connection_window_size(CONNECTION_WINDOW);
    let handshake = time::timeout(LONGEST_HANDSHAKE, settings.handshake::<_, Bytes>(stream));
    let Ok(Ok(mut connection)) = handshake.await else { return };
    let pings = connection.ping_pong().expect("nobody else took it");
    let mut silence = pin!(silence(pings, BETWEEN_PINGS, LONGEST_PONG));
    let mut begun: u32 = 0;
    let mut is_ending = false;
    loop {
        tokio::select! {
            biased;
            next = connection.accept() => match next {
                Some(Ok((request, respond))) => {
                    tokio::spawn(answer(request, respond, calls.clone()));
                    begun += 1;
                    if begun.is_multiple_of(IN_TURN) {
                        task::yield_now().await;
                    }
                }
                // The peer has gone, or broke the protocol and was told so.
                Some(Err(_)) | None => return,
            },
            _ = ended.changed(), if !is_ending => {
                is_ending = true;
                connection.graceful_shutdown();
            }
            () = silence.as_mut() => return,
        }
    }
}

/// Ends when the peer does not answer: it has gone, reads nothing, or never ends what it sends.
async fn silence(mut pings: PingPong, between: Duration, longest: Duration) {
    loop {
        time::sleep(between).await;
        if !is_alive(&mut pings, longest).await {
            return;
        }
    }
}

/// One call's life. A peer that has gone takes its call with it.
async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, calls: Calls) {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let arrived = tokio::select! {
        biased;
        arrived = time::timeout(LONGEST_ARRIVAL, whole(body)) => arrived,
        _ = poll_fn(|context| respond.poll_reset(context)) => {
            return (calls.ended)(Code::Cancelled, began.elapsed());
        }
    };
    let late = || Err(Status::deadline_exceeded("the request took too long to arrive"));
    let message = match arrived.unwrap_or_else(|_| late()) {
        Ok(message) if calls.account.in_hand() < calls.most => message,
        Ok(_) => {
            calls.account.refuse();
            let status = Status::resource_exhausted("too many calls at once");
            return refuse(&mut respond, status, &calls);
        }
        Err(status) => return refuse(&mut respond, status, &calls),
    };
    let in_hand = calls.account.serve();
    keep_busy(calls.delay);
    let patience = deadline(&head.headers).unwrap_or(LONGEST_CALL).min(LONGEST_CALL);
    let request = Request::from_parts(head, Full::new(message));
    let answered = tokio::select! {
        biased;
        answered = (calls.answer)(request) => answered,
        _ = poll_fn(|context| respond.poll_reset(context)) => {
            return (calls.ended)(Code::Cancelled, began.elapsed());
        }
        () = time::sleep_until(began + patience) => {
            Ok(Status::deadline_exceeded("the call took too long").into_http())
        }
    };
    // Those who take no answers must not use up the calls that may be in hand.
    drop(in_hand);
    let Ok(answered) = answered;
    let code = send(&mut respond, answered, &calls.untaken).await;
    (calls.ended)(code, began.elapsed());
}

/// Everything that is asked. Until it is here nothing is done with it, and its bytes count against
/// the windows of its peer: one that finishes nothing makes us keep no more than these.
async fn whole(mut body: RecvStream) -> Result<Bytes, Status> {
    let mut parts = BytesMut::new();
    while let Some(data) = body.data().await {
        let data = data.map_err(|error| broken(&error))?;
        if parts.is_empty() && body.is_end_stream() {
            check(&data)?;
            let released = body.flow_control().release_capacity(data.len());
            return released.map(|()| data).map_err(|error| broken(&error));
        }
        parts.extend_from_slice(&data);
        check(&parts)?;
    }
    let released = body.flow_control().release_capacity(parts.len());
    released.map_err(|error| broken(&error))?;
    Ok(parts.freeze())
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

/// Sends a whole answer; the code it ends with.
async fn send(
    respond: &mut SendResponse<Bytes>,
    answer: Response<Body>,
    untaken: &Semaphore,
) -> Code {
    let (head, body) = answer.into_parts();
    let mut body = pin!(body);
    let code = code_of(&head.headers);
    if body.is_end_stream() {
        // Who asked may have gone; then nobody is told.
        let _ = respond.send_response(Response::from_parts(head, ()), true);
        return code.unwrap_or(Code::Unknown);
    }
    let Ok(mut stream) = respond.send_response(Response::from_parts(head, ()), false) else {
        return Code::Cancelled;
    };
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else {
            stream.send_reset(Reason::INTERNAL_ERROR);
            return Code::Internal;
        };
        let frame = match frame.into_trailers() {
            Ok(trailers) => {
                let code = code_of(&trailers);
                let _ = stream.send_trailers(trailers);
                return code.unwrap_or(Code::Unknown);
            }
            Err(frame) => frame,
        };
        let data = frame.into_data().unwrap_or_default();
        // Whoever waits no longer gets a reset.
        let sent = time::timeout(LONGEST_TAKING, send_data(&mut stream, data, untaken)).await;
        if sent.ok().flatten().is_none() {
            return Code::Cancelled;
        }
    }
    Code::Unknown
}

/// Sends bytes as the peer takes them. Of those who take nothing only so many are waited for.
async fn send_data(
    stream: &mut SendStream<Bytes>,
    mut data: Bytes,
    untaken: &Semaphore,
) -> Option<()> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len());
        let capacity = match stream.capacity() {
            0 => {
                let _place = untaken.try_acquire().ok()?;
                poll_fn(|context| stream.poll_capacity(context)).await?.ok()?
            }
            there => there,
        };
        stream.send_data(data.split_to(capacity.min(data.len())), false).ok()?;
    }
    Some(())
}

/// An answer without a message, to what was not even tried.
fn refuse(respond: &mut SendResponse<Bytes>, status: Status, calls: &Calls) {
    (calls.ended)(status.code(), Duration::ZERO);
    let head = status.into_http::<Body>().into_parts().0;
    let _ = respond.send_response(Response::from_parts(head, ()), true);
}

fn code_of(headers: &HeaderMap) -> Option<Code> {
    headers.get("grpc-status").map(|code| Code::from_bytes(code.as_bytes()))
}

/// What a caller grants: `grpc-timeout`, up to eight digits and a unit.
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
