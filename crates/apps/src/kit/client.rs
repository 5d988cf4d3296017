//! An HTTP/1.1 client of one server, which keeps its connections for later requests.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time;

use super::lock::lock;

const LONGEST_CONNECT: Duration = Duration::from_secs(1);

/// The most bytes of a response.
const LARGEST_RESPONSE: usize = 1 << 20;
/// The most bytes of a response's head.
const LARGEST_HEAD: usize = 64 << 10;

/// The most connections that are kept without a request.
const MOST_IDLE: usize = 1024;

pub struct Client {
    address: String,
    /// True once no connection is kept any more.
    is_closed: AtomicBool,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

/// The reason why there is no response.
#[derive(Debug)]
pub enum Failure {
    /// Nothing was sent: another server may get the request.
    Unsent(Box<Request<Full<Bytes>>>, String),
    /// The request may have been processed.
    Broken(String),
}

impl Client {
    pub fn new(address: &str) -> Self {
        let address = address.to_owned();
        Client { address, is_closed: AtomicBool::new(false), idle: Mutex::default() }
    }

    /// Keeps no connections any more; requests in progress still finish.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        lock(&self.idle).clear();
    }

    /// Sends a request and returns the whole response. If the connection was closed before anything
    /// was sent, another one is used.
    pub async fn ask(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Bytes>, Failure> {
        loop {
            let kept = self.take_idle();
            let is_kept = kept.is_some();
            let mut link = match kept {
                Some(link) => link,
                None => match connect(&self.address).await {
                    Ok(link) => link,
                    Err(why) => return Err(Failure::Unsent(Box::new(request), why)),
                },
            };
            match link.try_send_request(request).await {
                Ok(response) => {
                    let response = whole(response).await.map_err(Failure::Broken)?;
                    self.keep(link);
                    return Ok(response);
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) if is_kept => request = unsent,
                    Some(unsent) => {
                        return Err(Failure::Unsent(Box::new(unsent), error.error().to_string()));
                    }
                    None => return Err(Failure::Broken(error.error().to_string())),
                },
            }
        }
    }

    fn take_idle(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = lock(&self.idle);
        // The last one was used last, so it is the least likely to be closed.
        std::iter::from_fn(|| idle.pop()).find(SendRequest::is_ready)
    }

    fn keep(&self, link: SendRequest<Full<Bytes>>) {
        let mut idle = lock(&self.idle);
        let is_closed = self.is_closed.load(Ordering::Relaxed);
        if idle.len() < MOST_IDLE && !is_closed && !link.is_closed() {
            idle.push(link);
        }
    }
}

/// Opens a connection; its task ends with the returned value.
pub async fn connect(address: &str) -> Result<SendRequest<Full<Bytes>>, String> {
    let connecting = async {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        // A request must not wait for the acknowledgement of the one before it.
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let mut settings = http1::Builder::new();
        settings.max_buf_size(LARGEST_HEAD).title_case_headers(true);
        let opened = settings.handshake(TokioIo::new(stream)).await;
        opened.map_err(|error| error.to_string())
    };
    let late = || Err(format!("no connection within {LONGEST_CONNECT:?}"));
    let opened = time::timeout(LONGEST_CONNECT, connecting).await.unwrap_or_else(|_| late());
    let (link, connection) = opened?;
    // Its error goes to the request in progress.
    tokio::spawn(async { drop(connection.await) });
    Ok(link)
}

/// Returns a response with its body.
async fn whole(response: Response<Incoming>) -> Result<Response<Bytes>, String> {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, LARGEST_RESPONSE).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    Ok(Response::from_parts(head, body))
}
