//! The addresses of the replicas of a service: a list that may change while it is used.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};
use tokio::net::lookup_host;

#[cfg(test)]
mod tests;

/// Addresses as written on a command line: `127.0.0.1:7001,127.0.0.1:7002`, or `@FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Hosts and ports. A name means all of its addresses, and is looked up repeatedly.
    Listed(Vec<String>),
    /// A file with the list, which may be replaced at any time.
    InFile(PathBuf),
}

impl Addresses {
    /// Returns true if a later lookup may find others.
    pub fn may_change(&self) -> bool {
        matches!(self, Addresses::InFile(_)) || self.has_names()
    }

    /// Returns true if the list on the command line has names, which a server of names knows.
    pub fn has_names(&self) -> bool {
        match self {
            Addresses::Listed(list) => list.iter().any(|one| parsed(one).is_none()),
            Addresses::InFile(_) => false,
        }
    }

    /// Returns the current addresses, each once.
    pub async fn look(&self) -> anyhow::Result<BTreeSet<String>> {
        let read;
        let list = match self {
            Addresses::Listed(list) => list,
            Addresses::InFile(path) => {
                let place = || format!("reading the addresses in {}", path.display());
                let text = std::fs::read_to_string(path).with_context(place)?;
                read = listed(&text).with_context(place)?;
                &read
            }
        };
        let mut found = BTreeSet::new();
        for one in list {
            match parsed(one) {
                Some(address) => drop(found.insert(address)),
                None => {
                    let resolved = lookup_host(one.as_str()).await;
                    let resolved = resolved.with_context(|| format!("looking up {one}"))?;
                    found.extend(resolved.map(|address| address.to_string()));
                }
            }
        }
        Ok(found)
    }
}

impl FromStr for Addresses {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text.strip_prefix('@') {
            Some("") => bail!("`@` needs a file; write @addresses.txt"),
            Some(path) => Ok(Addresses::InFile(path.into())),
            None => listed(text).map(Addresses::Listed),
        }
    }
}

/// Parses addresses separated by commas or white space. A URL's scheme is allowed, since servers
/// print theirs.
fn listed(text: &str) -> anyhow::Result<Vec<String>> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let hosts: Vec<String> = words
        .map(|word| word.strip_prefix("http://").unwrap_or(word).trim_end_matches('/').to_owned())
        .collect();
    ensure!(!hosts.is_empty(), "no address; write HOST:PORT,HOST:PORT or @FILE");
    for host in &hosts {
        let port = host.rsplit_once(':').filter(|(name, _)| !name.is_empty()).map(|(_, port)| port);
        let is_port = port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
        ensure!(
            is_port,
            "`{host}` is not a valid address; write HOST:PORT, for example 127.0.0.1:7001"
        );
    }
    Ok(hosts)
}

fn parsed(text: &str) -> Option<String> {
    text.parse::<std::net::SocketAddr>().ok().map(|address| address.to_string())
}
