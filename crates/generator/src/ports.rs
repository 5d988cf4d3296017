//! The check, before any connection is opened, that there are enough local ports.
//!
//! Connections from one local address to one remote address and port differ only in their local
//! port, and the kernel has about 28,000 of these. It searches one half of them before it takes one
//! of the other half: beyond 14,000 connections each further one takes it most of a millisecond. On
//! loopback every address of 127.0.0.0/8 can be used, so connections are spread over enough of them
//! that the first half of the ports suffices.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use measure::quantity::counted;
use net::{Address, Endpoint, host};

use crate::target::Target;
use console::output::Failure;

#[cfg(test)]
mod tests;

/// One port in 128 is left to the rest of the machine.
const OF_OTHERS: usize = 128;

/// Spreads the targets' connections, `connections` for each, over as many local addresses as they
/// need, or fails with a remedy. `flag` is the option that sets their number.
pub(crate) fn provide(
    targets: &mut [Target],
    connections: usize,
    flag: &str,
) -> Result<(), Failure> {
    let Some(ports) = host::local_ports().map(|ports| ports as usize) else { return Ok(()) };
    spread(targets, connections, ports).map_err(|problem| {
        Failure::question(format!(
            "{problem}\n  \
             name more local addresses with --source, spread the connections over more --address of \
             the target,\n  \
             widen net.ipv4.ip_local_port_range, or use fewer with {flag}"
        ))
    })
}

/// Fails with the problem if one address would need more than `ports`.
fn spread(targets: &mut [Target], connections: usize, ports: usize) -> Result<(), String> {
    let (room, easy) = ((ports - ports / OF_OTHERS).max(1), (ports / 2).max(1));
    let needed =
        host::ports_needed(targets.iter().map(|target| (&target.endpoints[..], connections)));
    for target in targets {
        let most =
            target.endpoints.iter().filter_map(|e| Some((*needed.get(&host::route(e)?)?, e)));
        let Some((most, endpoint)) = most.max_by_key(|(needed, _)| *needed) else { continue };
        let is_free = target.endpoints.iter().all(is_free);
        if most <= if is_free { easy } else { room } {
            continue;
        }
        if !is_free {
            let from = endpoint.source.map_or(String::new(), |source| format!(" from {source}"));
            return Err(format!(
                "{} connections{from} to {} need a local port each, and this machine has {}",
                counted(most as u64),
                endpoint.address,
                counted(ports as u64)
            ));
        }
        let sources = (1..=most.div_ceil(easy) as u32).map(loopback);
        let every = |source| {
            let from = move |endpoint: &Endpoint| Endpoint {
                source: Some(source),
                address: endpoint.address.clone(),
            };
            target.endpoints.iter().map(from)
        };
        target.endpoints = sources.flat_map(every).collect();
    }
    Ok(())
}

/// True if its local address can be chosen freely.
fn is_free(endpoint: &Endpoint) -> bool {
    let is_loopback =
        |address: SocketAddr| matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback());
    match endpoint.address {
        Address::Inet(address) => endpoint.source.is_none() && is_loopback(address),
        Address::Unix(_) => false,
    }
}

/// Returns 127.0.0.1, 127.0.0.2, …
fn loopback(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(Ipv4Addr::new(127, 0, 0, 0).to_bits() + number))
}
