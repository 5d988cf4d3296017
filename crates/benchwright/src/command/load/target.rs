//! A URL as the engine needs it: the addresses to connect to, and the request's host and path.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use http::Uri;
use net::{Address, Endpoint};

/// The longest time for a first connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// One target to load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    /// The URL as it was given.
    pub(crate) url: String,
    pub(crate) scheme: Scheme,
    pub(crate) host: String,
    /// The port, if the URL names one.
    pub(crate) port: Option<u16>,
    /// The value of `Host`.
    pub(crate) authority: String,
    /// The path with the query; never empty.
    pub(crate) path: String,
    /// The addresses, used by the connections in turn.
    pub(crate) endpoints: Vec<Endpoint>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
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

/// Reads the URLs and looks their names up, once.
pub(crate) fn resolve(urls: &[String], finding: &Finding<'_>) -> anyhow::Result<Vec<Target>> {
    let (given, of) = (finding.addresses.len(), urls.len());
    ensure!(
        given == 1 || given == of,
        "--address is given {given} times for {of} URLs; give it once for all, or once for each"
    );
    urls.iter()
        .zip(finding.addresses.iter().cycle())
        .map(|(url, address)| {
            let target = parse(url)?;
            if !target.endpoints.is_empty() {
                return Ok(target);
            }
            let (host, port) = match finding.connect_to {
                Some(place) => host_and_port(place)?,
                None => (target.host.clone(), target.port.unwrap_or(target.scheme.port())),
            };
            let addresses = addresses(&host, port, address)
                .with_context(|| format!("finding the address of {url}"))?;
            Ok(Target { endpoints: endpoints(&addresses, finding.sources)?, ..target })
        })
        .collect()
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
    if let Some(rest) = url.strip_prefix("http+unix://") {
        return unix(url, rest);
    }
    // A fragment is not sent.
    let sent = url.split('#').next().unwrap_or(url);
    let uri: Uri = sent.parse().with_context(|| {
        format!("`{url}` is not a valid URL; write for example http://127.0.0.1:8080/")
    })?;
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(scheme) => {
            bail!("`{url}`: `{scheme}` is not supported; there are `http`, `https` and `http+unix`")
        }
        None => bail!("`{url}` has no scheme; write http://{url}"),
    };
    let authority = uri.authority().context("a URL names a host")?;
    ensure!(
        !authority.as_str().contains('@'),
        "`{url}` has user information; send it as --header 'Authorization: …'"
    );
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    ensure!(!host.is_empty(), "`{url}` names no host");
    Ok(Target {
        url: url.to_owned(),
        scheme,
        host: host.to_owned(),
        port: authority.port_u16(),
        authority: authority.as_str().to_owned(),
        path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        endpoints: Vec::new(),
    })
}

/// Reads `http+unix://%2Frun%2Fa.sock/path`: the escaped path of the socket is in place of the
/// host.
fn unix(url: &str, rest: &str) -> anyhow::Result<Target> {
    let rest = rest.split('#').next().unwrap_or(rest);
    let (socket, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    };
    let socket = unescaped(socket).filter(|socket| socket.starts_with('/')).with_context(|| {
        format!("`{url}` names no socket; write for example http+unix://%2Frun%2Fa.sock/path")
    })?;
    let address = Address::Unix(PathBuf::from(socket));
    Ok(Target {
        url: url.to_owned(),
        scheme: Scheme::Http,
        host: "localhost".to_owned(),
        port: None,
        authority: "localhost".to_owned(),
        path: path.to_owned(),
        endpoints: vec![Endpoint { address, source: None }],
    })
}

/// Replaces escapes: `%2F` becomes `/`.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn host_and_port(place: &str) -> anyhow::Result<(String, u16)> {
    let refusal = || format!("`{place}` is not a host and port; write --connect-to HOST:PORT");
    let (host, port) = place.rsplit_once(':').with_context(refusal)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ensure!(!host.is_empty(), refusal());
    Ok((host.to_owned(), port.parse().ok().with_context(refusal)?))
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
