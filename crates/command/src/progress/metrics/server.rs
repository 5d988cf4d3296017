//! The server of one page, which anybody may reach. Whatever a peer sends or withholds, it has bounds: the
//! connections, the bytes of a head (those of a body are never read), and the time of a connection, which
//! has one request. The end of a run waits for no peer.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time;

/// The content type of the page.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Further connections are closed at once while this many are open.
pub(super) const MOST_CONNECTIONS: usize = 32;
/// The most bytes of a request line with its headers: the least that the library allows.
const MOST_HEAD: usize = 8 << 10;
/// The longest time of a connection, from its beginning to the last byte of the response.
const LONGEST: Duration = Duration::from_secs(5);
/// The pause after a connection could not be accepted, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves a page, which is made for each request.
    pub(super) fn listen(
        address: SocketAddr,
        page: impl Fn() -> String + Send + Sync + 'static,
    ) -> io::Result<Server> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let (end, ended) = oneshot::channel();
        let serving = async move {
            tokio::select! {
                () = accept(listener, Arc::new(page)) => {}
                _ = ended => {}
            }
        };
        // What is still open ends with the runtime.
        let serve = move || runtime.block_on(serving);
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
        Ok(Server { address, end: Some(end), thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The thread waits for nothing else; its own panic was printed.
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

type Page = dyn Fn() -> String + Send + Sync;

async fn accept(listener: TcpListener, page: Arc<Page>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            time::sleep(PAUSE).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        let page = Arc::clone(&page);
        tokio::spawn(async move {
            // Whatever ends it, the peer sees a closed connection.
            let _ = time::timeout(LONGEST, serve(stream, &*page)).await;
            drop(permit);
        });
    }
}

async fn serve(stream: TcpStream, page: &Page) -> hyper::Result<()> {
    let respond = |request: Request<Incoming>| {
        let response = respond(&request, page);
        async move { Ok::<_, Infallible>(response) }
    };
    http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MOST_HEAD)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service_fn(respond))
        .await
}

fn respond(request: &Request<Incoming>, page: &Page) -> Response<Full<Bytes>> {
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    let is_ours = ["/metrics", "/"].contains(&request.uri().path());
    let (status, text) = match (is_read, is_ours) {
        (true, true) => (StatusCode::OK, page()),
        (true, false) => (StatusCode::NOT_FOUND, "the figures are at /metrics\n".to_owned()),
        (false, _) => (StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    if status == StatusCode::OK {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(OPENMETRICS));
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        fields.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
