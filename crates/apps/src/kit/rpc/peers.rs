//! The calling side: a service as its callers see it, whatever the number of its replicas.
//!
//! Each replica has one connection, which all calls share. Calls use the connected replicas in
//! turn. A replica whose connection breaks, or that does not answer a ping, is skipped until it can
//! be reached again: only the calls that it had in progress fail.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::bail;
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{PingPong, Reason, RecvStream};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version, header};
use prost::Message;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time;
use tonic::{Code, Response, Status};

use super::message::{self, PREFIX};
use super::{Addresses, GRPC, LARGEST_MESSAGE, broken, is_alive, whole};
use crate::kit::lock::lock;
use crate::kit::statistics::Statistics;
use crate::kit::timeout::{self, Pause};

/// The most bytes of the unread replies of one connection. The `h2` library announces room only
/// when half of it is free, so a message may have at most half of it.
const CONNECTION_WINDOW: u32 = 2 << 20;

/// The longest time for an answer to a ping; after it the replica is treated as dead. It is longer
/// than the delay of a living replica on a busy machine.
const LONGEST_PONG: Duration = Duration::from_secs(3);
const BETWEEN_PINGS: Duration = Duration::from_secs(1);

const LONGEST_CONNECT: Duration = Duration::from_secs(1);

/// The interval at which a list that may change is read.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// The interval at which names are looked up while their replicas can be called. A server of names
/// lets its answers be kept for about as long, and has many callers.
const BETWEEN_LOOKUPS: Duration = Duration::from_secs(5);

/// The replicas of one service.
#[derive(Clone)]
pub struct Peers(Arc<Inner>);

struct Inner {
    /// The name of the service, for messages.
    service: &'static str,
    replicas: Mutex<Arc<[Arc<Replica>]>>,
    next: AtomicUsize,
    deadline: Duration,
    statistics: Arc<Statistics>,
    following: Mutex<Option<AbortHandle>>,
}

struct Replica {
    address: String,
    authority: Authority,
    /// Present while it is connected.
    link: Mutex<Option<SendRequest<Bytes>>>,
    /// True once it has left the list: it is not connected again.
    is_gone: AtomicBool,
}

impl Peers {
    /// Connects, and waits until a replica can be called, but no longer than `within`. A call may take
    /// as long as `deadline`.
    pub async fn connect(
        service: &'static str,
        addresses: &Addresses,
        deadline: Duration,
        within: Duration,
        statistics: Arc<Statistics>,
    ) -> anyhow::Result<Peers> {
        let inner = Arc::new(Inner {
            service,
            replicas: Mutex::new(Arc::from([])),
            next: AtomicUsize::new(0),
            deadline,
            statistics,
            following: Mutex::default(),
        });
        inner.replace(first_look(addresses, within).await?);
        if addresses.may_change() {
            let following = tokio::spawn(follow(Arc::downgrade(&inner), addresses.clone()));
            *lock(&inner.following) = Some(following.abort_handle());
        }
        let peers = Peers(inner);
        if !timeout::until(within, || peers.can_be_reached()).await {
            let addresses = peers.0.addresses().join(", ");
            bail!("no replica of {service} can be reached at {addresses}");
        }
        Ok(peers)
    }

    pub fn service(&self) -> &'static str {
        self.0.service
    }

    /// Returns true if a replica is connected now.
    pub fn can_be_reached(&self) -> bool {
        self.0.can_be_reached()
    }
}

/// Returns the addresses at the start. A name may not be known yet: in a cluster it appears with its
/// first replica. A list without names is right or wrong at once.
async fn first_look(addresses: &Addresses, within: Duration) -> anyhow::Result<BTreeSet<String>> {
    let mut last = addresses.look().await;
    if last.is_ok() || !addresses.has_names() {
        return last;
    }
    let looking = async {
        let mut pause = Pause::first();
        while last.is_err() {
            pause.rest().await;
            last = addresses.look().await;
        }
    };
    // After that time the last error says why.
    let _ = time::timeout(within, looking).await;
    last
}

impl Inner {
    fn can_be_reached(&self) -> bool {
        lock(&self.replicas).iter().any(|replica| lock(&replica.link).is_some())
    }

    /// Returns the next connected replica.
    fn pick(&self) -> Option<(Arc<Replica>, SendRequest<Bytes>)> {
        let replicas = Arc::clone(&lock(&self.replicas));
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        (0..replicas.len()).find_map(|further| {
            let replica = &replicas[first.wrapping_add(further) % replicas.len()];
            let link = lock(&replica.link).clone()?;
            Some((Arc::clone(replica), link))
        })
    }

    /// Returns the next replica that takes a call now.
    async fn ready(&self) -> Result<(Arc<Replica>, SendRequest<Bytes>), Status> {
        let service = self.service;
        loop {
            let Some((replica, link)) = self.pick() else {
                return Err(Status::unavailable(format!("no replica of {service} can be reached")));
            };
            // Nothing was sent to a replica that is not ready, so another one may be tried.
            match link.ready().await {
                Ok(link) => return Ok((replica, link)),
                Err(_) => drop(lock(&replica.link).take()),
            }
        }
    }

    fn failed(&self, replica: &Replica, error: &h2::Error) -> Status {
        let service = self.service;
        if error.reason() == Some(Reason::REFUSED_STREAM) {
            return Status::resource_exhausted(format!("{service} refuses more calls"));
        }
        Status::unavailable(format!("{service} at {}: {error}", replica.address))
    }

    fn addresses(&self) -> Vec<String> {
        lock(&self.replicas).iter().map(|replica| replica.address.clone()).collect()
    }

    /// Keeps the replicas that are still listed, connects new ones and drops the others: their
    /// calls in progress still finish.
    fn replace(&self, addresses: BTreeSet<String>) {
        let mut replicas = lock(&self.replicas);
        let (kept, gone): (Vec<_>, Vec<_>) = replicas
            .iter()
            .map(Arc::clone)
            .partition(|replica| addresses.contains(&replica.address));
        for replica in gone {
            replica.is_gone.store(true, Ordering::Relaxed);
            *lock(&replica.link) = None;
        }
        let is_new = |address: &String| kept.iter().all(|replica| replica.address != *address);
        let new = addresses
            .iter()
            .filter(|address| is_new(address))
            .filter_map(|one| Replica::connect(one));
        *replicas = new.chain(kept.iter().map(Arc::clone)).collect();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.replace(BTreeSet::new());
        if let Some(following) = lock(&self.following).take() {
            following.abort();
        }
    }
}

/// Reads a list that may change, until nothing calls its replicas any more. A list that cannot be
/// read at the moment changes nothing.
async fn follow(inner: std::sync::Weak<Inner>, addresses: Addresses) {
    let mut known = None;
    let mut looked = time::Instant::now();
    loop {
        time::sleep(BETWEEN_LOOKS).await;
        let can_be_reached = match inner.upgrade() {
            Some(inner) => inner.can_be_reached(),
            None => return,
        };
        if addresses.has_names() && can_be_reached && looked.elapsed() < BETWEEN_LOOKUPS {
            continue;
        }
        looked = time::Instant::now();
        let Ok(found) = addresses.look().await else { continue };
        let Some(inner) = inner.upgrade() else { return };
        if known.as_ref() != Some(&found) {
            inner.replace(found.clone());
            known = Some(found);
        }
    }
}

impl Replica {
    /// Builds the head of a call. HTTP/2 requires scheme and authority with the path.
    fn request(&self, path: &'static str) -> Request<()> {
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.authority.clone());
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.path_and_query(path).build().expect("services name a path");
        *request.version_mut() = Version::HTTP_2;
        let headers = request.headers_mut();
        *headers = HeaderMap::with_capacity(2);
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        headers.insert(header::CONTENT_TYPE, GRPC);
        request
    }

    fn connect(address: &str) -> Option<Arc<Replica>> {
        let replica = Arc::new(Replica {
            address: address.to_owned(),
            authority: address.parse().ok()?,
            link: Mutex::default(),
            is_gone: Default::default(),
        });
        tokio::spawn(Arc::clone(&replica).stay_connected());
        Some(replica)
    }

    async fn stay_connected(self: Arc<Self>) {
        let mut pause = Pause::first();
        while !self.is_gone.load(Ordering::Relaxed) {
            if self.be_connected().await {
                pause = Pause::first();
            }
            pause.rest().await;
        }
    }

    /// Runs one connection until it ends; returns true if it was established.
    async fn be_connected(&self) -> bool {
        let connecting = async {
            let stream = TcpStream::connect(&self.address).await.ok()?;
            // A request must not wait for the acknowledgement of the one before it.
            stream.set_nodelay(true).ok()?;
            let mut settings = h2::client::Builder::new();
            settings.enable_push(false);
            // A reply is released only when all of it is there.
            settings.initial_window_size((PREFIX + LARGEST_MESSAGE) as u32);
            settings.initial_connection_window_size(CONNECTION_WINDOW);
            settings.handshake::<_, Bytes>(stream).await.ok()
        };
        let Ok(Some((link, mut connection))) = time::timeout(LONGEST_CONNECT, connecting).await
        else {
            return false;
        };
        let pings = connection.ping_pong().expect("it is taken only once");
        let mut was_connected = false;
        tokio::select! {
            _ = connection => {}
            () = self.be_called(link, pings, &mut was_connected) => {}
        }
        *lock(&self.link) = None;
        was_connected
    }

    /// Offers a connection for calls until a ping is unanswered. The kernel connects even to a
    /// process that hangs, so the replica gets calls only after it has answered a ping.
    async fn be_called(
        &self,
        link: SendRequest<Bytes>,
        mut pings: PingPong,
        was_connected: &mut bool,
    ) {
        if !is_alive(&mut pings, LONGEST_CONNECT).await {
            return;
        }
        *was_connected = true;
        if !self.is_gone.load(Ordering::Relaxed) {
            *lock(&self.link) = Some(link);
        }
        while is_alive(&mut pings, LONGEST_PONG).await {
            time::sleep(BETWEEN_PINGS).await;
        }
    }
}

impl Peers {
    /// Calls a method of the next replica. The call counts as waiting for others, and ends with the
    /// deadline.
    pub async fn call<Asked: Message, Reply: Message + Default>(
        &self,
        path: &'static str,
        asked: Asked,
    ) -> Result<Response<Reply>, Status> {
        let Inner { deadline, service, statistics, .. } = &*self.0;
        let call = pin!(self.0.call(path, message::framed(&asked)));
        let reply = timeout::within(*deadline, service, statistics, call).await?;
        message::read(reply).map(Response::new)
    }
}

impl Inner {
    async fn call(&self, path: &'static str, message: Bytes) -> Result<Bytes, Status> {
        loop {
            let (replica, mut link) = self.ready().await?;
            let sent = link.send_request(replica.request(path), false);
            let asked = match sent {
                // The end of the stream is sent with its only bytes.
                Ok((response, mut stream)) => match stream.send_data(message.clone(), true) {
                    Ok(()) => response.await,
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            match asked {
                Ok(response) => return reply(response).await,
                // This connection takes no more calls, so the next attempt does not use it.
                Err(error) if is_untouched(&error) => {}
                Err(error) => return Err(self.failed(&replica, &error)),
            }
        }
    }
}

/// Returns the message of a successful response.
async fn reply(response: http::Response<RecvStream>) -> Result<Bytes, Status> {
    let (head, mut body) = response.into_parts();
    if head.status != StatusCode::OK {
        return Err(Status::unavailable(format!("answered with HTTP's {}", head.status)));
    }
    // A response with a status only has it in the head.
    if let Some(status) = Status::from_header_map(&head.headers) {
        return Err(status);
    }
    let message = whole(&mut body, |arrived| match arrived.len() - PREFIX.min(arrived.len()) {
        0..=LARGEST_MESSAGE => Ok(()),
        length => Err(Status::out_of_range(format!("a message of more than {length} bytes"))),
    });
    let message = message.await?;
    let trailers = body.trailers().await.map_err(|error| broken(&error))?;
    match trailers.as_ref().and_then(Status::from_header_map) {
        Some(status) if status.code() == Code::Ok => Ok(message),
        Some(status) => Err(status),
        None => Err(Status::internal("the answer has no status")),
    }
}

/// Returns true if a call was not processed. A replica that ends names the last call that it took;
/// later ones fail with this error, and those that it took do not.
fn is_untouched(error: &h2::Error) -> bool {
    error.is_go_away() && error.is_remote() && error.reason() == Some(Reason::NO_ERROR)
}
