//! Calls between processes: gRPC over plain HTTP/2. Services and statuses are tonic's, messages
//! prost's; the connections are ours, over the `h2` library, for two needs of the applications: one
//! shared connection to each replica, used in turn, and a bound on everything that a peer may do.
//! Every call has one request and one reply, each of which is one message; with tonic's own stubs,
//! which are made for streams, a request took a fifth more CPU. This module does not depend on the
//! services that are called.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use h2::{Ping, PingPong, RecvStream};
use http::{HeaderName, HeaderValue};
use tokio::time;
use tonic::Status;

pub mod addresses;
pub mod message;
pub mod peers;
pub mod server;

mod guard;

pub use addresses::Addresses;
pub use peers::Peers;
pub use server::Calls;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// A function that a server calls with the path of a call and its message; the reply is a message
/// as well.
pub type Answering = Arc<dyn Fn(&str, Bytes) -> Answered + Send + Sync>;
pub type Answered = Pin<Box<dyn Future<Output = Result<Bytes, Status>> + Send>>;

/// A service in other processes: the generated traits of all services are implemented for it.
#[derive(Clone)]
pub struct Remote(pub Peers);

/// Returns several services as one. Each answers the calls whose path begins with the text beside it.
pub fn together<const N: usize>(services: [(&'static str, Answering); N]) -> Answering {
    Arc::new(move |path, message| {
        let called = services.iter().find(|(beginning, _)| path.starts_with(beginning));
        called.map_or_else(|| unknown(path), |(_, service)| service(path, message))
    })
}

/// Returns the reply to a call of an unknown method.
pub fn unknown(path: &str) -> Answered {
    let status = Status::unimplemented(format!("unknown method {path}"));
    Box::pin(std::future::ready(Err(status)))
}

/// The longest message: the longest of an application is a page of a timeline. Requests have their
/// own bound.
pub const LARGEST_MESSAGE: usize = 1 << 20;

/// Returns true if the peer answers a ping in this time.
async fn is_alive(pings: &mut PingPong, within: Duration) -> bool {
    matches!(time::timeout(within, pings.ping(Ping::opaque())).await, Ok(Ok(_)))
}

/// Returns everything that comes on a stream. It is used only when it is complete, and until then
/// its bytes count against the windows of its peer. `check` refuses a message that is too long
/// while it arrives.
async fn whole(
    body: &mut RecvStream,
    check: impl Fn(&[u8]) -> Result<(), Status>,
) -> Result<Bytes, Status> {
    let mut parts = BytesMut::new();
    while let Some(data) = body.data().await {
        let data = data.map_err(|error| broken(&error))?;
        if parts.is_empty() && body.is_end_stream() {
            check(&data)?;
            release(body, data.len())?;
            return Ok(data);
        }
        parts.extend_from_slice(&data);
        check(&parts)?;
    }
    release(body, parts.len())?;
    Ok(parts.freeze())
}

fn release(body: &mut RecvStream, length: usize) -> Result<(), Status> {
    body.flow_control().release_capacity(length).map_err(|error| broken(&error))
}

fn broken(error: &h2::Error) -> Status {
    Status::unavailable(format!("the connection broke: {error}"))
}
