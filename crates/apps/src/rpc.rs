//! Calls between processes: gRPC over plain HTTP/2. Messages, stubs and statuses are tonic's; the
//! connections are ours, over the `h2` library, for what the application needs of them: one shared
//! connection to each replica, taken in turn, and a bound on everything that a peer may do.
//! Nothing here knows what is called.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::{Ping, PingPong, RecvStream};
use http_body::{Body, Frame};
use tokio::time;
use tonic::Status;

pub mod addresses;
mod codec;
pub mod peers;
pub mod server;

mod guard;

pub use addresses::Addresses;
pub use codec::Codec;
pub use peers::Peers;
pub use server::Calls;

/// No message of ours is longer: the longest has some 50 KB. Requests have a bound of their own.
pub const LARGEST_MESSAGE: usize = 256 << 10;

/// Whether the peer answers a ping in this time.
async fn is_alive(pings: &mut PingPong, within: Duration) -> bool {
    matches!(time::timeout(within, pings.ping(Ping::opaque())).await, Ok(Ok(_)))
}

/// The body of an answer as it comes.
#[derive(Debug)]
pub struct Receiving(RecvStream);

impl Body for Receiving {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let stream = &mut self.0;
        if let Some(data) = ready!(stream.poll_data(context)) {
            let frame = data.and_then(|data| {
                stream.flow_control().release_capacity(data.len())?;
                Ok(Frame::data(data))
            });
            return Poll::Ready(Some(frame.map_err(|error| broken(&error))));
        }
        let trailers = ready!(stream.poll_trailers(context));
        Poll::Ready(match trailers {
            Ok(Some(trailers)) => Some(Ok(Frame::trailers(trailers))),
            Ok(None) => None,
            Err(error) => Some(Err(broken(&error))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}

fn broken(error: &h2::Error) -> Status {
    Status::unavailable(format!("the connection broke: {error}"))
}
