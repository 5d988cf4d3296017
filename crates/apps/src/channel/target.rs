//! A URL that events are sent to.

use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;
use std::{fmt, iter};

use hyper::body::Bytes;
use hyper::{Response, Uri};
use tokio::time;

use super::connection::{Connection, Ended};
use super::event::Event;
use super::metrics::Metrics;
use crate::kit::lock::lock;

const LONGEST_CONNECT: Duration = Duration::from_secs(1);

/// A URL as written on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    /// The host and the port to connect to.
    address: String,
    host: String,
    path: String,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a URL; write for example http://127.0.0.1:8081/");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        if uri.scheme_str() != Some("http") || authority.as_str().contains('@') {
            return Err(wrong());
        }
        let port = match authority.as_str().strip_prefix(authority.host()).ok_or_else(wrong)? {
            "" => 80,
            port => port[1..].parse::<u16>().map_err(|_| wrong())?,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Url {
            text: text.to_owned(),
            address: format!("{}:{port}", authority.host()),
            host: authority.to_string(),
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A URL with the connections to its server.
pub struct Target {
    pub url: Url,
    /// The beginning of the head of each request.
    head: Vec<u8>,
    /// The longest time to open a connection, and from then on for the responses.
    within: Duration,
    idle: Mutex<Vec<Connection>>,
}

/// The outcome of one attempt to deliver an event: the response, or the reason why there is none.
pub type Attempt = Result<Response<Bytes>, String>;

impl Target {
    /// Returns a target whose requests have these `fields`, each with its line end.
    pub fn new(url: &Url, fields: &str, within: Duration) -> Self {
        let Url { path, host, .. } = url;
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{fields}").into();
        Target { url: url.clone(), head, within, idle: Mutex::default() }
    }

    /// Sends events over one connection without waiting for the responses to those before, and hands
    /// over the outcome of each, in their order.
    ///
    /// If the connection breaks, the first event without a response has failed, and the others are
    /// sent again. If there is no response in time, all that have none have failed.
    pub async fn attempt(
        &self,
        events: &[&Event],
        metrics: &Metrics,
        mut ended: impl FnMut(Attempt),
    ) {
        metrics.attempted(events.len());
        let mut left = events;
        let mut requests = Vec::new();
        while !left.is_empty() {
            let mut connection = match self.connection().await {
                Ok(connection) => connection,
                Err(why) => return left.iter().for_each(|_| ended(Err(why.clone()))),
            };
            requests.clear();
            left.iter().for_each(|event| event.write_request(&self.head, &mut requests));
            let mut answered = 0;
            let exchange = connection.exchange(&requests, left.len(), |response| {
                answered += 1;
                ended(Ok(response));
            });
            let outcome = time::timeout(self.within, exchange).await;
            left = &left[answered..];
            match outcome {
                Ok(Ok(())) => self.keep(connection),
                Ok(Err(Ended::Closing)) => {}
                Ok(Err(Ended::Broken(why))) => {
                    ended(Err(why));
                    left = &left[1..];
                }
                Err(_) => {
                    let late = || Err(format!("no response within {:?}", self.within));
                    return left.iter().for_each(|_| ended(late()));
                }
            }
        }
    }

    pub async fn attempt_one(&self, event: &Event, metrics: &Metrics) -> Attempt {
        let mut outcome = None;
        self.attempt(&[event], metrics, |attempt| outcome = Some(attempt)).await;
        outcome.expect("each event has an outcome")
    }

    async fn connection(&self) -> Result<Connection, String> {
        // The last one was used last, so it is the least likely to be closed.
        let kept = || iter::from_fn(|| lock(&self.idle).pop()).find(Connection::is_open);
        if let Some(connection) = kept() {
            return Ok(connection);
        }
        let within = self.within.min(LONGEST_CONNECT);
        let opened = time::timeout(within, Connection::open(&self.url.address)).await;
        opened.unwrap_or_else(|_| Err(format!("no connection within {within:?}")))
    }

    /// Keeps a connection. There are no more than deliveries at once.
    fn keep(&self, connection: Connection) {
        if connection.is_open() {
            lock(&self.idle).push(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_an_address_a_host_and_a_path() {
        let url: Url = "http://127.0.0.1:8081/in?x=1".parse().unwrap();
        assert_eq!((&*url.address, &*url.host), ("127.0.0.1:8081", "127.0.0.1:8081"));
        assert_eq!(url.path, "/in?x=1");
        let short: Url = "http://sink".parse().unwrap();
        assert_eq!((&*short.address, &*short.path), ("sink:80", "/"));
    }

    #[test]
    fn what_is_not_a_url_is_refused_with_the_remedy() {
        for wrong in ["", "127.0.0.1:80", "https://x/", "http://", "http://a@b/", "http://x:99999/"]
        {
            let error = wrong.parse::<Url>().unwrap_err();
            assert!(error.ends_with("write for example http://127.0.0.1:8081/"), "{error}");
        }
    }
}
