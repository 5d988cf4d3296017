//! The command-line arguments that every service has.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Args, Clone, Debug)]
pub struct Common {
    /// The address to listen on; port 0 takes a free port, which the `ready` line shows.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = address)]
    pub listen: SocketAddr,

    /// Further connections are closed at once, and counted, while this many are open.
    #[arg(long, value_name = "N", default_value_t = 16_384,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,

    /// Further calls are refused with RESOURCE_EXHAUSTED, and counted, while this many are in
    /// progress.
    #[arg(long, value_name = "N", default_value_t = 16_384,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub max_calls: u32,

    /// The longest time for a call of another service.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = length)]
    pub deadline: Duration,

    /// The longest time to wait at the start for the services that this one needs. In a cluster
    /// their images may have to be loaded first.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = length)]
    pub start_within: Duration,

    /// For tests: every request blocks the service's only thread for this time.
    #[arg(long, value_name = "DURATION", value_parser = length)]
    pub delay: Option<Duration>,

    /// Rewrites this file twice a second with the number of requests in progress, as one line of
    /// JSON.
    #[arg(long, value_name = "FILE")]
    pub statistics: Option<PathBuf>,
}

/// Parses an address to listen on.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let remedy = "write ADDRESS:PORT, for example 127.0.0.1:5000 (port 0: a free one)";
    let mut found = text.to_socket_addrs().map_err(|error| format!("{error}; {remedy}"))?;
    found.next().ok_or_else(|| format!("no such address; {remedy}"))
}

/// Parses a length of time.
pub fn length(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("`{text}` is not a valid length of time; write for example 500us, 5ms or 10s");
    let unit = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (digits, unit) = text.split_at(unit);
    let amount: u32 = digits.parse().map_err(|_| wrong())?;
    match unit {
        "us" => Ok(Duration::from_micros(amount.into())),
        "ms" => Ok(Duration::from_millis(amount.into())),
        "s" => Ok(Duration::from_secs(amount.into())),
        _ => Err(wrong()),
    }
}

/// Parses a length of time that is not zero.
pub fn positive(text: &str) -> Result<Duration, String> {
    match length(text)? {
        Duration::ZERO => Err("it must be longer than zero".to_owned()),
        length => Ok(length),
    }
}
