//! The choice of the kernel interface that a load uses for the network, and its reason.

use std::str::FromStr;

use net::{Interface, uring};

#[cfg(test)]
mod tests;

/// The requested interface.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Choice {
    /// The available interface that measured best for such a load.
    #[default]
    Auto,
    These(Interface),
}

/// The properties of a load that decide which interface serves it best.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Work {
    /// True for a closed loop without think time.
    pub asks_at_once: bool,
    /// True if each connection is closed after one request.
    pub one_request_each: bool,
    /// The number of connections of one shard.
    pub connections: usize,
    /// True if the kernel timestamps received data; only epoll reports the timestamps.
    pub kernel_timestamps: bool,
}

/// The interface that a load uses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Network {
    pub interface: Interface,
    /// The reason in a few words, for the record.
    pub why: String,
}

impl Network {
    /// Chooses an interface before anything is sent. Fails with the reason and a remedy if the
    /// requested one is not available.
    pub fn choose(wanted: Choice, work: Work) -> Result<Network, String> {
        choose(wanted, work, uring::granted)
    }
}

fn choose(
    wanted: Choice,
    work: Work,
    granted: impl FnOnce() -> Result<(), String>,
) -> Result<Network, String> {
    let network = |interface, why: &str| Ok(Network { interface, why: why.to_owned() });
    match wanted {
        Choice::These(Interface::Epoll) => network(Interface::Epoll, "asked for"),
        Choice::These(Interface::Uring) if work.kernel_timestamps => {
            Err("--kernel-timestamps works with epoll only\n  leave it out, or use --io epoll"
                .to_owned())
        }
        Choice::These(Interface::Uring) => match granted() {
            Ok(()) => network(Interface::Uring, "asked for"),
            Err(refusal) => Err(format!(
                "--io uring: io_uring is not granted: {refusal}\n  use --io epoll, or auto"
            )),
        },
        Choice::Auto => match best(work) {
            (Interface::Epoll, why) => network(Interface::Epoll, why),
            (Interface::Uring, why) => match granted() {
                Ok(()) => network(Interface::Uring, why),
                Err(refusal) => {
                    network(Interface::Epoll, &format!("io_uring is not granted: {refusal}"))
                }
            },
        },
    }
}

/// The minimum number of connections for io_uring: with fewer, an iteration has too few operations
/// to batch.
const FEW: usize = 4;

/// Returns the interface that measured at least 3 % better, in completed requests per second of the
/// generator's CPU (Linux 6.18, two CPUs, the reference server on the other one, medians of two or
/// three alternating pairs; all but the first five rows and those with bodies used more and smaller
/// receive buffers). io_uring relative to epoll:
///
/// | load | connections | ratio |
/// |---|---|---|
/// | closed loop without think time | 1 | 1.01 |
/// | | 4, 16, 64 | 1.08, 1.12, 1.12–1.16 |
/// | | 256, 1024 | 1.19–1.24, 1.24–1.36 |
/// | with a script | 16, 256 | 1.03, 1.25 |
/// | bodies of 30 kB | 4, 64 | 1.03, 0.95 |
/// | bodies of 1 MB | 4, 64 | 1.12, 1.70 |
/// | 16 requests on each | 4, 64 | 1.19, 1.13 |
/// | a connection for each request | 4, 64 | 1.00, 1.04 |
/// | open loop, 10,000/s, hybrid | 16, 64, 1024 | 1.03, 1.03, 1.02 |
/// | the same, sleep | 16, 64, 1024 | 0.97, 0.96, 1.00 |
/// | open loop, 50,000/s, hybrid | 64, 1024 | 1.01, 1.01 |
/// | open loop, 100,000/s, sleep | 64, 1024 | 1.03, 1.02 |
///
/// These figures predate edge-triggered epoll and a separate file table for each shard. Since then,
/// a closed loop without think time with 16, 64, 256 and 1024 connections: 1.09, 1.13, 1.20, 1.15.
///
/// If each request has a connection of its own, nearly all the work is to open it.
fn best(work: Work) -> (Interface, &'static str) {
    match work {
        Work { kernel_timestamps: true, .. } => {
            (Interface::Epoll, "only epoll reports kernel timestamps")
        }
        Work { asks_at_once: false, .. } => {
            (Interface::Epoll, "io_uring measured no better in an open loop or with think time")
        }
        Work { one_request_each: true, .. } => {
            (Interface::Epoll, "io_uring measured no better with one request per connection")
        }
        Work { connections, .. } if connections < FEW => {
            (Interface::Epoll, "io_uring measured no better with so few connections")
        }
        _ => (Interface::Uring, "it measured better in closed loops without think time"),
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        match text {
            "auto" => Ok(Choice::Auto),
            "epoll" => Ok(Choice::These(Interface::Epoll)),
            "uring" => Ok(Choice::These(Interface::Uring)),
            _ => Err(format!("`{text}` is not an interface; write auto, epoll or uring")),
        }
    }
}
