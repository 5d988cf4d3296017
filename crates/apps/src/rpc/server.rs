//! The answering side of a connection. What a peer sends is bounded in size, in number and in
//! time; what comes beyond that is refused with a status, and a peer that breaks the protocol
//! loses its connection.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body as _;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{self, Instant};
use tonic::body::Body;
use tonic::{Code, Status};
use tower_service::Service;

use super::Receiving;
use crate::account::Account;
use crate::serve::keep_busy;

#[cfg(test)]
mod tests;

/// Requests of one connection that may be in hand at once; the peer keeps the others.
const STREAMS: u32 = 1024;

/// Bytes of a request's headers.
const LARGEST_HEAD: u32 = 16 << 10;

/// Who has opened a connection speaks HTTP/2 within this time.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// A call that says nothing else may take this long, its arrival included.
const LONGEST_CALL: Duration = Duration::from_secs(30);

pub type Answered = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// What tonic makes of a service.
pub trait Answers:
    Service<Request<Receiving>, Response = Response<Body>, Error = Infallible, Future = Answered>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Answers for S where
    S: Service<
            Request<Receiving>,
            Response = Response<Body>,
            Error = Infallible,
            Future = Answered,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// The calls that a process answers.
#[derive(Clone)]
pub struct Calls {
    answer: Arc<dyn Fn(Request<Receiving>) -> Answered + Send + Sync>,
    /// Told how each call ended, and how long it took.
    ended: Arc<dyn Fn(Code, Duration) + Send + Sync>,
    account: Arc<Account>,
    /// Calls in hand beyond this many are refused.
    most: usize,
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
        Calls { answer: Arc::new(answer), ended: Arc::new(ended), account, most, delay }
    }
}

/// One connection's life.
pub(crate) async fn serve(stream: TcpStream, calls: Calls, mut ended: watch::Receiver<()>) {
    let mut settings = h2::server::Builder::new();
    settings.max_concurrent_streams(STREAMS).max_header_list_size(LARGEST_HEAD);
    let handshake = time::timeout(LONGEST_HANDSHAKE, settings.handshake::<_, Bytes>(stream));
    let Ok(Ok(mut connection)) = handshake.await else { return };
    let mut is_ending = false;
    loop {
        tokio::select! {
            biased;
            next = connection.accept() => match next {
                Some(Ok((request, respond))) => {
                    tokio::spawn(answer(request, respond, calls.clone()));
                }
                // The peer has gone, or broke the protocol and was told so.
                Some(Err(_)) | None => return,
            },
            _ = ended.changed(), if !is_ending => {
                is_ending = true;
                connection.graceful_shutdown();
            }
        }
    }
}

/// One call's life. A peer that has gone takes its call with it.
async fn answer(request: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>, calls: Calls) {
    let began = Instant::now();
    if calls.most <= calls.account.in_hand() {
        calls.account.refuse();
        (calls.ended)(Code::ResourceExhausted, Duration::ZERO);
        let status = Status::resource_exhausted("too many calls at once");
        return send_only(&mut respond, status);
    }
    let in_hand = calls.account.serve();
    keep_busy(calls.delay);
    let patience = deadline(request.headers()).unwrap_or(LONGEST_CALL).min(LONGEST_CALL);
    let answered = tokio::select! {
        biased;
        answered = (calls.answer)(request.map(Receiving)) => answered,
        _ = poll_fn(|context| respond.poll_reset(context)) => {
            return (calls.ended)(Code::Cancelled, began.elapsed());
        }
        () = time::sleep(patience) => {
            Ok(Status::deadline_exceeded("the call took too long").into_http())
        }
    };
    let Ok(answered) = answered;
    let code = send(&mut respond, answered, began + patience).await;
    drop(in_hand);
    (calls.ended)(code, began.elapsed());
}

/// Sends a whole answer; the code it ends with.
async fn send(respond: &mut SendResponse<Bytes>, answer: Response<Body>, until: Instant) -> Code {
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
        match time::timeout_at(until, send_data(&mut stream, data)).await {
            Ok(Some(())) => {}
            Ok(None) => return Code::Cancelled,
            Err(_) => {
                stream.send_reset(Reason::CANCEL);
                return Code::DeadlineExceeded;
            }
        }
    }
    Code::Unknown
}

/// Sends bytes as the peer takes them, so that one that reads nothing costs no memory.
async fn send_data(stream: &mut SendStream<Bytes>, mut data: Bytes) -> Option<()> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len());
        let capacity = match stream.capacity() {
            0 => poll_fn(|context| stream.poll_capacity(context)).await?.ok()?,
            there => there,
        };
        stream.send_data(data.split_to(capacity.min(data.len())), false).ok()?;
    }
    Some(())
}

/// An answer without a message.
fn send_only(respond: &mut SendResponse<Bytes>, status: Status) {
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
