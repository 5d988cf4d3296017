//! A URL as the engine needs it: the addresses to connect to, and the request's host and path.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Error, ensure};
use net::{Address, Endpoint};
use results::Secrets;
use results::secrets::{basic, url_shown};
use wire::url::{self, Destination, Scheme, Url};

use crate::secret;

/// The longest time for a first connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// One target to load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    /// The URL as it was given, without secrets and without its fragment.
    pub(crate) url: String,
    pub(crate) scheme: Scheme,
    pub(crate) host: String,
    /// The port, if the URL names one.
    pub(crate) port: Option<u16>,
    /// The value of `Host`.
    pub(crate) authority: String,
    /// The path with the query; never empty.
    pub(crate) path: String,
    /// The value of `Authorization` that the URL's user information makes.
    pub(crate) authorization: Option<String>,
    /// The addresses, used by the connections in turn.
    pub(crate) endpoints: Vec<Endpoint>,
}

/// The options that decide the addresses of a target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding<'a> {
    /// `all` or the `first` of the name's addresses, or a list; one for all URLs or one for each.
    pub(crate) addresses: &'a [String],
    /// `HOST:PORT` instead of the URL's.
    pub(crate) connect_to: Option<&'a str>,
    /// Local addresses, used in turn.
    pub(crate) sources: &'a [IpAddr],
}

impl Target {
    pub(crate) fn is_secured(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// Returns the port for messages: as it was given, or else the scheme.
    pub(crate) fn service(&self) -> String {
        self.port.map_or_else(|| self.scheme.name().to_owned(), |port| port.to_string())
    }

    pub(crate) fn for_script(&self) -> script::Target {
        script::Target {
            url: self.url.clone(),
            scheme: self.scheme.name().to_owned(),
            host: self.host.clone(),
            port: self.port.map(|port| port.to_string()),
            path: self.path.clone(),
        }
    }
}

/// The most targets of a load, and the most that all its shards have together: each has ten histograms on each shard.
const MOST_TARGETS: usize = 256;
const MOST_OF_SHARDS: usize = 1024;
/// The megabytes of these histograms, with their share in those of the whole load.
const MEGABYTES: usize = 4;

/// Reads the URLs and looks their names up, once.
pub(crate) fn resolve(
    urls: &[String],
    finding: &Finding<'_>,
    secrets: &Secrets,
) -> anyhow::Result<Vec<Target>> {
    let (given, of) = (finding.addresses.len(), urls.len());
    ensure!(
        of <= MOST_TARGETS,
        "{of} URLs: a load has {MOST_TARGETS} at most, as each has its own distributions ({MEGABYTES} MB for each \
         thread that makes load); start several loads, and combine their documents by `benchwright merge`"
    );
    ensure!(
        given == 1 || given == of,
        "--address is given {given} times for {of} URLs; give it once for all, or once for each"
    );
    urls.iter()
        .zip(finding.addresses.iter().cycle())
        .map(|(url, address)| {
            secret::check_names(url)?;
            secret::check(url, secrets)?;
            let target = Target { url: url_shown(url), ..parse(&secrets.reveal_in_url(url))? };
            if !target.endpoints.is_empty() {
                return Ok(target);
            }
            let (host, port) = match finding.connect_to {
                Some(place) => host_and_port(place)?,
                None => (target.host.clone(), target.port.unwrap_or(target.scheme.port())),
            };
            let addresses = addresses(&host, port, address)
                .with_context(|| format!("finding the address of {}", target.url))?;
            Ok(Target { endpoints: endpoints(&addresses, finding.sources)?, ..target })
        })
        .collect()
}

/// Fails if the distributions of so many targets on so many shards need too much memory.
pub(crate) fn check_memory(targets: usize, shards: usize) -> Result<(), String> {
    if targets * shards <= MOST_OF_SHARDS {
        return Ok(());
    }
    Err(format!(
        "{targets} URLs on {shards} threads: each URL has its own distributions, {MEGABYTES} MB for each thread, and \
         a load has {MOST_OF_SHARDS} of them at most\n  use --shards {}, or start several loads and combine their \
         documents by `benchwright merge`",
        MOST_OF_SHARDS / targets
    ))
}

/// Finds the endpoints of a host.
pub(crate) fn find(host: &str, port: u16, finding: &Finding<'_>) -> anyhow::Result<Vec<Endpoint>> {
    let wanted = finding.addresses.first().map_or("first", String::as_str);
    let addresses =
        addresses(host, port, wanted).with_context(|| format!("finding the address of {host}"))?;
    endpoints(&addresses, finding.sources)
}

/// Opens and closes a connection, to check that it can be made.
pub(crate) fn connects(endpoint: &Endpoint) -> io::Result<()> {
    match &endpoint.address {
        Address::Inet(address) => TcpStream::connect_timeout(address, TIMEOUT).map(drop),
        Address::Unix(path) => UnixStream::connect(path).map(drop),
    }
}

/// Combines each address with each source, so that connections spread over both.
fn endpoints(addresses: &[SocketAddr], sources: &[IpAddr]) -> anyhow::Result<Vec<Endpoint>> {
    if sources.is_empty() {
        return Ok(addresses.iter().copied().map(Endpoint::from).collect());
    }
    let mut endpoints = Vec::new();
    for source in sources {
        for &address in addresses {
            ensure!(
                source.is_ipv4() == address.is_ipv4(),
                "--source {source} cannot reach {address}: they are of different families"
            );
            endpoints.push(Endpoint { address: Address::Inet(address), source: Some(*source) });
        }
    }
    Ok(endpoints)
}

fn parse(url: &str) -> anyhow::Result<Target> {
    let parsed = url::parse(url).map_err(|why| Error::msg(with_remedy(url, why)))?;
    let Url { scheme, user_info, place, authority, target } = parsed;
    let (host, port, endpoints) = match place {
        Destination::Host(host, port) => (host, port, Vec::new()),
        Destination::Socket(path) => {
            let address = Address::Unix(PathBuf::from(path));
            ("localhost".to_owned(), None, vec![Endpoint { address, source: None }])
        }
    };
    Ok(Target {
        url: url.to_owned(),
        scheme,
        host,
        port,
        authority,
        path: target,
        authorization: user_info.as_deref().map(basic),
        endpoints,
    })
}

/// Returns the error of what is no URL. An option `--json` without `=` takes no file, so that one is read as a URL,
/// and an experiment is a file. What may have a password is not repeated.
fn with_remedy(url: &str, why: String) -> String {
    let is_file = |end: &str| url.ends_with(end) && !url.contains("://") && !url.contains('@');
    match () {
        () if is_file(".json") => {
            format!("{why}; to write the document to this file, write `--json={url}`")
        }
        () if is_file(".yaml") || is_file(".yml") => {
            format!("{why}; to run the experiment in this file, write `benchwright run {url}`")
        }
        () => why,
    }
}

fn host_and_port(place: &str) -> anyhow::Result<(String, u16)> {
    let refusal = |why| format!("--connect-to {place}: {why}; write --connect-to HOST:PORT");
    let (host, port) = url::host_and_port(place).map_err(|why| Error::msg(refusal(why)))?;
    let port = port.with_context(|| refusal("it names no port".to_owned()))?;
    Ok((host.to_owned(), port))
}

/// Returns `all` or the `first` of the name's addresses, or those of the list.
fn addresses(host: &str, port: u16, wanted: &str) -> anyhow::Result<Vec<SocketAddr>> {
    match wanted {
        "all" | "first" => {
            let found: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
            ensure!(!found.is_empty(), "`{host}` has no address");
            let count = if wanted == "first" { 1 } else { found.len() };
            Ok(found[..count].to_vec())
        }
        list => list.split(',').map(|address| listed(address.trim(), port)).collect(),
    }
}

fn listed(address: &str, port: u16) -> anyhow::Result<SocketAddr> {
    let with_port = address.parse::<SocketAddr>();
    let bare = address.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, port));
    with_port.or(bare).ok().with_context(|| {
        format!(
            "`{address}` is not a valid address; write --address all, first, or 127.0.0.1:8080,…"
        )
    })
}

#[cfg(test)]
mod tests;
