//! The environment of scripts: the targets, the tool that they find, and the source of their randomness.

use std::sync::Arc;

use measure::pace::Portion;

use crate::network::Network;

/// The tool whose behaviour a script finds where tools differ.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compatibility {
    Native,
    Wrk,
    Wrk2,
    /// DeathStarBench's wrk2.
    Dsb,
}

/// The source of the scripts' randomness: the run's seed. Each instance gets another part of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Seed {
    /// `math.randomseed` has no effect, so that scripts that seed themselves from the clock repeat.
    Final(u64),
    /// `math.randomseed` works as usual.
    Initial(u64),
}

/// A target of requests, as the script sees it in `wrk`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// The URL as the user wrote it: the script's `args[0]` and its global `url`.
    pub url: String,
    pub scheme: String,
    /// The host without the brackets of an IPv6 address.
    pub host: String,
    /// The port, if the URL has one.
    pub port: Option<String>,
    /// The path with the query; `/` if the URL has none.
    pub path: String,
}

/// The request's properties that the script does not set itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Defaults {
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults { method: "GET".to_owned(), headers: Vec::new(), body: None }
    }
}

/// The environment of scripts.
#[derive(Clone)]
pub struct Stage<'a> {
    pub compatibility: Compatibility,
    pub targets: &'a [Target],
    /// The number of script threads of each target.
    pub threads: usize,
    /// The part of the load that these threads make: those of other parts get other seeds.
    pub part: Portion,
    pub defaults: &'a Defaults,
    pub seed: Seed,
    pub network: Arc<dyn Network>,
}
