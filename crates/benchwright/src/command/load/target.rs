//! A URL as the engine needs it: where to connect, and what to say there.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use anyhow::{Context, bail, ensure};
use http::Uri;

/// One thing to load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    /// As it was given.
    pub(crate) url: String,
    pub(crate) host: String,
    /// Only if the URL names one.
    pub(crate) port: Option<u16>,
    /// What `Host` says.
    pub(crate) authority: String,
    /// With the query; never empty.
    pub(crate) path: String,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Target {
    /// Stands for a target where nothing will be sent.
    pub(crate) fn nowhere() -> Target {
        parse("http://127.0.0.1/").expect("this is a URL")
    }

    pub(crate) fn for_script(&self) -> script::Target {
        script::Target {
            url: self.url.clone(),
            scheme: "http".to_owned(),
            host: self.host.clone(),
            port: self.port.map(|port| port.to_string()),
            path: self.path.clone(),
        }
    }
}

/// Reads the URLs and looks their names up, once; `wanted` is one for all or one for each.
pub(crate) fn resolve(urls: &[String], wanted: &[String]) -> anyhow::Result<Vec<Target>> {
    let (given, of) = (wanted.len(), urls.len());
    ensure!(
        given == 1 || given == of,
        "--address is given {given} times for {of} URLs; give it once for all, or once for each"
    );
    urls.iter()
        .zip(wanted.iter().cycle())
        .map(|(url, address)| {
            let target = parse(url)?;
            let port = target.port.unwrap_or(80);
            let addresses = addresses(&target.host, port, address)
                .with_context(|| format!("finding the address of {url}"))?;
            Ok(Target { addresses, ..target })
        })
        .collect()
}

fn parse(url: &str) -> anyhow::Result<Target> {
    // A fragment is for whoever reads the answer; it is not sent.
    let sent = url.split('#').next().unwrap_or(url);
    let uri: Uri = sent
        .parse()
        .with_context(|| format!("`{url}` is no URL; write for example http://127.0.0.1:8080/"))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => bail!("`{url}`: TLS is not supported yet; load the plain port"),
        Some(scheme) => bail!("`{url}`: `{scheme}` is not supported; there is `http`"),
        None => bail!("`{url}` has no scheme; write http://{url}"),
    }
    let authority = uri.authority().context("a URL names a host")?;
    ensure!(
        !authority.as_str().contains('@'),
        "`{url}` has user information; send it as --header 'Authorization: …'"
    );
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    ensure!(!host.is_empty(), "`{url}` names no host");
    Ok(Target {
        url: url.to_owned(),
        host: host.to_owned(),
        port: authority.port_u16(),
        authority: authority.as_str().to_owned(),
        path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        addresses: Vec::new(),
    })
}

/// `all` or `first` of the name's addresses, or those of the list.
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
        format!("`{address}` is no address; write --address all, first, or 127.0.0.1:8080,…")
    })
}

#[cfg(test)]
mod tests;
