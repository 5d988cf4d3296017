//! A well-behaved caller of one service, over the plain `h2` library, on its own connection.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::{self, ResponseFuture, SendRequest};
use http::{HeaderMap, Request};
use prost::Message;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

const LONGEST_ANSWER: Duration = Duration::from_secs(10);

pub(crate) struct Grpc {
    runtime: Runtime,
    address: SocketAddr,
    link: SendRequest<Bytes>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status code of gRPC.
    pub(crate) code: i32,
    pub(crate) message: String,
    /// The message, without the five bytes before it.
    pub(crate) body: Bytes,
}

/// Returns a message with its prefix.
pub(crate) fn framed(is_compressed: u8, length: u32, body: &[u8]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(is_compressed);
    bytes.put_u32(length);
    bytes.extend_from_slice(body);
    bytes.freeze()
}

impl Grpc {
    pub(crate) fn connect(address: SocketAddr) -> Grpc {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let link = runtime.block_on(async {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (link, connection) = client::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            link
        });
        Grpc { runtime, address, link }
    }

    pub(crate) fn call(
        &self,
        path: &str,
        message: &impl Message,
        timeout: Option<Duration>,
    ) -> Answer {
        self.end(self.begin(path, message, timeout))
    }

    /// Sends a call, without waiting for its reply.
    pub(crate) fn begin(
        &self,
        path: &str,
        message: &impl Message,
        timeout: Option<Duration>,
    ) -> ResponseFuture {
        let body = message.encode_to_vec();
        self.send(path, framed(0, body.len() as u32, &body), timeout)
    }

    /// Does the same with bytes that need not be a message.
    pub(crate) fn send(
        &self,
        path: &str,
        body: Bytes,
        timeout: Option<Duration>,
    ) -> ResponseFuture {
        let mut request = Request::post(format!("http://{}{path}", self.address))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", format!("{}m", timeout.as_millis()));
        }
        let ready = self.link.clone().ready();
        let mut link = self.runtime.block_on(ready).unwrap();
        let (answer, mut stream) = link.send_request(request.body(()).unwrap(), false).unwrap();
        stream.send_data(body, true).unwrap();
        // The connection runs only while we wait for something, and has to be woken first.
        self.runtime.block_on(async {
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        });
        answer
    }

    pub(crate) fn end(&self, answer: ResponseFuture) -> Answer {
        let answer = async { timeout(LONGEST_ANSWER, received(answer)).await };
        self.runtime.block_on(answer).expect("an answer in time")
    }
}

async fn received(answer: ResponseFuture) -> Answer {
    let (head, mut stream) = answer.await.unwrap().into_parts();
    let mut bytes = BytesMut::new();
    while let Some(data) = stream.data().await {
        let data = data.unwrap();
        stream.flow_control().release_capacity(data.len()).unwrap();
        bytes.extend_from_slice(&data);
    }
    let trailers = stream.trailers().await.unwrap();
    let body = bytes.freeze();
    read(&trailers.unwrap_or(head.headers), body.slice(5.min(body.len())..))
}

fn read(headers: &HeaderMap, body: Bytes) -> Answer {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let code = text("grpc-status").expect("a status").parse().unwrap();
    let message = text("grpc-message").unwrap_or_default().replace("%20", " ");
    Answer { code, message, body }
}
