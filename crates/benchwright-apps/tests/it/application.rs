//! The hotel application as processes: every service of one instance with its replicas, over a
//! given store and cache.

use std::collections::BTreeMap;

use crate::instance::Instance;

/// The place of the state and of the documents.
#[derive(Default)]
pub(crate) struct Kept {
    /// A store process of its own if `None`.
    pub(crate) store: Option<String>,
    /// Documents are in memory if `None`.
    pub(crate) cache: Option<String>,
}

/// All services of one instance. Fields are dropped from top to bottom: the frontends first.
pub(crate) struct Application {
    pub(crate) frontends: Vec<Instance>,
    pub(crate) services: BTreeMap<&'static str, Vec<Instance>>,
    pub(crate) store: Option<Instance>,
}

impl Application {
    pub(crate) fn start(kept: &Kept, replicas: usize) -> Self {
        let own = kept.store.is_none().then(|| Instance::service("store", &[]));
        let of_own = own.as_ref().map(|own| own.address.to_string());
        let store = kept.store.clone().or(of_own).expect("there is one or the other");
        let mut application =
            Application { frontends: Vec::new(), services: BTreeMap::new(), store: own };
        let mut start = |name: &'static str, arguments: &[String]| {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let started: Vec<_> =
                (0..replicas).map(|_| Instance::service(name, &arguments)).collect();
            let addresses: Vec<_> = started.iter().map(|one| one.address.to_string()).collect();
            application.services.insert(name, started);
            addresses.join(",")
        };
        let to = |name: &str, what: &str| [format!("--{name}"), what.to_owned()];
        let from_store = to("store", &store).to_vec();
        let cached = match &kept.cache {
            None => from_store.clone(),
            Some(cache) => [&from_store[..], &to("cache", cache)].concat(),
        };
        let geo = start("geo", &from_store);
        let rate = start("rate", &cached);
        let below: Vec<[String; 2]> = vec![
            to("search", &start("search", &[to("geo", &geo), to("rate", &rate)].concat())),
            to("profile", &start("profile", &cached)),
            to("review", &start("review", &cached)),
            to("recommendation", &start("recommendation", &from_store)),
            to("user", &start("user", &from_store)),
            to("reservation", &start("reservation", &from_store)),
            to("attractions", &start("attractions", &from_store)),
            to("store", &store),
        ];
        start("frontend", &below.concat());
        application.frontends = application.services.remove("frontend").unwrap_or_default();
        application
    }

    /// Returns the sum of a counter over all processes except the store's.
    pub(crate) fn counted(&self, counter: &str) -> u64 {
        let all = self.services.values().flatten().chain(&self.frontends);
        all.map(|one| sum(&one.get("/metrics").1, counter)).sum()
    }
}

/// Returns the sum over all lines of a counter whose labels begin as given: `name` or
/// `name{label="…"`.
fn sum(metrics: &str, counter: &str) -> u64 {
    let is_of = |line: &&str| {
        line.strip_prefix(counter).is_some_and(|rest| rest.starts_with(['{', ',', '}', ' ']))
    };
    let value = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    metrics.lines().filter(is_of).map(value).sum()
}
