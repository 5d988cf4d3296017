//! The requests that a source describes, and what the user wishes of it.

use std::collections::BTreeMap;

use measure::Nanos;
use wire::url::{self, Destination};

/// The most requests of a mix; further ones stand there, but are not sent.
pub(crate) const MOST_REQUESTS: usize = 64;

/// The wishes of the user.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// True if requests that may change data are sent, too.
    pub writes: bool,
    /// True if the files of a page are, too: images, fonts, styles and scripts.
    pub files: bool,
    /// True if the requests of a HAR are the steps of one session.
    pub journey: bool,
    /// The URL of the service, in place of the one that the source names.
    pub base: Option<String>,
    /// The URL that the source was read from.
    pub from: Option<String>,
}

/// The requests that a source describes.
#[derive(Debug, Default)]
pub struct Described {
    /// Its name for people.
    pub title: Option<String>,
    /// The URL of the service, without a path.
    pub endpoint: String,
    /// The reason for this URL, if it is not stated.
    pub endpoint_guess: Option<String>,
    /// The reason for the beginning of all paths, if it is not stated.
    pub paths_guess: Option<String>,
    pub requests: Vec<Request>,
    /// The reason for all weights, if the source does not say them.
    pub weights_guess: Option<String>,
    /// The steps of a session, if one was asked for.
    pub steps: Vec<Step>,
    pub rates: Option<Rates>,
    /// The things that were left out or changed, in sentences.
    pub said: Vec<String>,
    /// The variables of the environment that stand for secrets, each with what it is the value of.
    pub variables: BTreeMap<String, String>,
}

/// A request of a mix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub weight: u64,
    pub label: String,
    pub method: String,
    /// With placeholders of a mix.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// The values that a session takes from its response: by their names, the source of each.
    pub captures: BTreeMap<String, String>,
    /// The facts that the source has of it.
    pub facts: Vec<String>,
    /// The things that the source does not say, each with its reason.
    pub guesses: Vec<String>,
    /// The reason why it is not sent.
    pub left_out: Option<String>,
}

/// A step of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The request with this place.
    Request(usize),
    Think(Nanos),
}

/// The rate of all requests of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    pub requests: u64,
    /// The minutes in which there were some.
    pub minutes: u64,
    /// The mean of the usual minute, and of the busiest one.
    pub median_per_s: f64,
    pub peak_per_s: f64,
}

/// Returns true for a method that only reads.
pub(crate) fn reads(method: &str) -> bool {
    ["GET", "HEAD"].contains(&method)
}

/// Returns a URL without user information, path and query, and its path without the last slash. An error names the
/// remedy.
pub(crate) fn server(url: &str) -> Result<(String, String), String> {
    let parsed = url::parse(url)?;
    let path = crate::target::path(&parsed.target).trim_end_matches('/').to_owned();
    let origin = match &parsed.place {
        Destination::Socket(_) => {
            let end = url.find("://").map_or(0, |at| at + "://".len());
            let length = url[end..].find(['/', '?', '#']).unwrap_or(url.len() - end);
            url[..end + length].to_owned()
        }
        Destination::Host(..) => format!("{}://{}", parsed.scheme, parsed.authority),
    };
    Ok((origin, path))
}

/// The remedy where a source names no server.
pub(crate) const NO_SERVER: &str = "it does not name its server; add --base http://HOST:PORT";
