//! By which of the kernel's interfaces a load reaches the network, and why.

use std::str::FromStr;

use net::{Interface, uring};

#[cfg(test)]
mod tests;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Wanted {
    /// What has measured best for such a load, of what is granted.
    #[default]
    Auto,
    These(Interface),
}

/// What about a load decides which interface serves it best.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Work {
    /// A closed loop in which nobody thinks.
    pub asks_at_once: bool,
    /// Each connection is closed after one request.
    pub one_request_each: bool,
    /// Of one shard.
    pub connections: usize,
    /// The kernel is to stamp what is received, which only epoll's reading tells.
    pub kernel_timestamps: bool,
}

/// What a load goes by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Network {
    pub interface: Interface,
    /// In a few words, for the record.
    pub why: String,
}

impl Network {
    /// Decides before anything is sent. Fails with the reason and a remedy where what was asked for
    /// cannot be had.
    pub fn choose(wanted: Wanted, work: Work) -> Result<Network, String> {
        choose(wanted, work, uring::granted)
    }
}

fn choose(
    wanted: Wanted,
    work: Work,
    granted: impl FnOnce() -> Result<(), String>,
) -> Result<Network, String> {
    let network = |interface, why: &str| Ok(Network { interface, why: why.to_owned() });
    match wanted {
        Wanted::These(Interface::Epoll) => network(Interface::Epoll, "asked for"),
        Wanted::These(Interface::Uring) if work.kernel_timestamps => {
            Err("--kernel-timestamps are told by epoll only\n  leave them out, or use --io epoll"
                .to_owned())
        }
        Wanted::These(Interface::Uring) => match granted() {
            Ok(()) => network(Interface::Uring, "asked for"),
            Err(refusal) => Err(format!(
                "--io uring: io_uring is not granted: {refusal}\n  use --io epoll, or auto"
            )),
        },
        Wanted::Auto => match best(work) {
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

/// With fewer connections than this a turn has too little to do at once.
const FEW: usize = 4;

/// What has measured at least 3 % better, in completed requests per second of the generator's CPU
/// (Linux 6.18, two CPUs, the reference server on the other one, medians of two or three pairs in
/// turns; all but the first five rows and those of bodies with more and smaller buffers for what is
/// received). io_uring over epoll:
///
/// | load | connections | ratio |
/// |---|---|---|
/// | asking at once | 1 | 1.01 |
/// | | 4, 16, 64 | 1.08, 1.12, 1.12–1.16 |
/// | | 256, 1024 | 1.19–1.24, 1.24–1.36 |
/// | with a script | 16, 256 | 1.03, 1.25 |
/// | bodies of 30 kB | 4, 64 | 1.03, 0.95 |
/// | bodies of 1 MB | 4, 64 | 1.12, 1.70 |
/// | 16 requests on each | 4, 64 | 1.19, 1.13 |
/// | a connection for each request | 4, 64 | 1.00, 1.04 |
/// | by the clock, 10,000/s, hybrid | 16, 64, 1024 | 1.03, 1.03, 1.02 |
/// | the same, sleep | 16, 64, 1024 | 0.97, 0.96, 1.00 |
/// | by the clock, 50,000/s, hybrid | 64, 1024 | 1.01, 1.01 |
/// | by the clock, 100,000/s, sleep | 64, 1024 | 1.03, 1.02 |
///
/// That was before epoll waited for edges and shards had open files of their own. Since then, asking
/// at once with 16, 64, 256 and 1024 connections: 1.09, 1.13, 1.20, 1.15.
///
/// Where each request has a connection of its own, opening it is nearly all there is to do.
fn best(work: Work) -> (Interface, &'static str) {
    match work {
        Work { kernel_timestamps: true, .. } => {
            (Interface::Epoll, "the kernel's stamps are told by epoll only")
        }
        Work { asks_at_once: false, .. } => {
            (Interface::Epoll, "by the clock, io_uring has measured no better")
        }
        Work { one_request_each: true, .. } => {
            (Interface::Epoll, "opening connections, io_uring has measured no better")
        }
        Work { connections, .. } if connections < FEW => {
            (Interface::Epoll, "with so few connections, io_uring has measured no better")
        }
        _ => (Interface::Uring, "it has measured better where connections ask at once again"),
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Wanted, String> {
        match text {
            "auto" => Ok(Wanted::Auto),
            "epoll" => Ok(Wanted::These(Interface::Epoll)),
            "uring" => Ok(Wanted::These(Interface::Uring)),
            _ => Err(format!("there is no `{text}`; there are auto, epoll and uring")),
        }
    }
}
