//! The command line of the application.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::proxy;
use crate::kit::arguments::{Common, positive};
use crate::kit::rpc::Addresses;

/// HTTP/1.1 balancer: each request goes to the next ready replica.
///
/// It probes all replicas as a kubelet does, and answers 503 at once while none is ready. A replica
/// that cannot be connected is passed over; nothing is sent twice. Bodies have at most 1 MiB.
/// --deadline is the longest time for a response (504).
///
/// Beside what it passes on, it serves
///   GET /balancer/ready     200 once all replicas are ready, and 503 before; with ?replicas=N once
///                           they are exactly N
///   GET /balancer/metrics   counters in Prometheus' text format
///
/// With --statistics FILE, changes of readiness are appended to FILE.events, a line of JSON each.
///
/// In a cluster, --readiness listed and the name of a headless Service make it an ingress: the
/// kubelets probe the replicas, and the name has the addresses of the ready ones. It notices a change
/// once the cluster's name servers do: they keep an answer for 5 s by default.
///
/// Try it:
///   benchwright-apps balancer --listen 127.0.0.1:8080 --backends 127.0.0.1:8081,127.0.0.1:8082
#[derive(Args, Clone)]
#[command(verbatim_doc_comment)]
pub struct Command {
    /// The replicas: HOST:PORT,HOST:PORT, or @FILE, a list that may be replaced at any time. A host
    /// name means all of its addresses.
    #[arg(long, value_name = "ADDRESSES")]
    pub backends: Addresses,

    /// The way to know that a replica is ready.
    #[arg(long, value_enum, default_value_t = Rule::Probed)]
    pub readiness: Rule,

    #[command(flatten)]
    pub probes: Probes,

    #[command(flatten)]
    pub common: Common,
}

/// The way to know that a replica is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rule {
    /// By the probes of this process.
    Probed,
    /// All that are listed are ready, and nothing is probed: whoever keeps the list does that. A list
    /// that cannot be read, or a name without an address, has no replica.
    Listed,
}

/// The rules for readiness by probes. The names are Kubernetes' own, and so are the defaults.
#[derive(Args, Clone, Debug)]
pub struct Probes {
    /// The path of a probe: a GET that must be answered with a status from 200 to 399. A redirect
    /// to the same host is followed.
    #[arg(long, value_name = "PATH", default_value = "/health/readiness", value_parser = path)]
    pub probe_path: String,

    /// The time from one probe of a replica to the next.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = positive)]
    pub probe_every: Duration,

    /// The longest time for the response to a probe; after it the probe has failed.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = positive)]
    pub probe_timeout: Duration,

    /// A ready replica is not ready any more after this many failed probes in a row.
    #[arg(long, value_name = "N", default_value = "3")]
    pub failure_threshold: NonZeroU32,

    /// Any other replica is ready after this many successful probes in a row.
    #[arg(long, value_name = "N", default_value = "1")]
    pub success_threshold: NonZeroU32,
}

fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/') && text.parse::<http::Uri>().is_ok();
    is_path
        .then(|| text.to_owned())
        .ok_or_else(|| format!("`{text}` is not a valid path; write for example /health/readiness"))
}

impl Command {
    /// Runs until a signal ends it.
    pub fn run(self) -> anyhow::Result<()> {
        proxy::run(self)
    }
}
