//! The hotel application as deployed for the bench, and the CPU time of its parts.

use std::collections::BTreeMap;

use super::Deployment;
use super::stores::{Memcached, Postgres};
use crate::bench::machine::{Cpu, Machine};
use crate::bench::parts::Parts;

/// The services, in the order of their start: a service is after those that it calls.
const SERVICES: [Service; 10] = [
    Service::of_store("geo"),
    Service::with_cache("rate"),
    Service::with_cache("profile"),
    Service::of_store("recommendation"),
    Service::of_store("user"),
    Service::of_store("reservation"),
    Service::with_cache("review"),
    Service::of_store("attractions"),
    Service { name: "search", calls: &["geo", "rate"], has_cache: false },
    Service {
        name: "frontend",
        calls: &[
            "search",
            "profile",
            "recommendation",
            "user",
            "reservation",
            "review",
            "attractions",
            "store",
        ],
        has_cache: false,
    },
];

struct Service {
    name: &'static str,
    /// The services whose addresses it gets.
    calls: &'static [&'static str],
    has_cache: bool,
}

impl Service {
    const fn of_store(name: &'static str) -> Self {
        Service { name, calls: &["store"], has_cache: false }
    }

    const fn with_cache(name: &'static str) -> Self {
        Service { name, calls: &["store"], has_cache: true }
    }
}

/// A running application. Its services end before the stores that they use.
pub(super) struct Application {
    services: Parts,
    /// The addresses of the frontends of each instance.
    pub(super) frontends: Vec<Vec<String>>,
    memcached: Option<Memcached>,
    postgres: Option<Postgres>,
}

impl Application {
    pub(super) fn start(machine: &Machine, deployed: &Deployment) -> Result<Application, String> {
        let memcached = deployed.has_memcached.then(|| Memcached::start(machine)).transpose()?;
        let instances = deployed.instances;
        let postgres =
            deployed.has_postgres.then(|| Postgres::start(machine, instances)).transpose()?;
        let mut application = Application {
            services: Parts::of("hotel"),
            frontends: Vec::new(),
            memcached,
            postgres,
        };
        for instance in 1..=instances {
            application.start_instance(machine, instance, deployed.replicas)?;
        }
        Ok(application)
    }

    fn start_instance(
        &mut self,
        machine: &Machine,
        instance: usize,
        replicas: usize,
    ) -> Result<(), String> {
        let store = match &self.postgres {
            Some(postgres) => postgres.url(instance),
            None => self.services.start(machine, "store", &[])?,
        };
        let mut addresses = BTreeMap::from([("store", vec![store])]);
        for Service { name, calls, has_cache } in &SERVICES {
            let mut arguments = Vec::new();
            for called in *calls {
                arguments.extend([format!("--{called}"), addresses[called].join(",")]);
            }
            if let Some(memcached) = self.memcached.as_ref().filter(|_| *has_cache) {
                arguments.extend(["--cache".to_owned(), memcached.url(instance)]);
            }
            let started: Result<Vec<_>, _> =
                (0..replicas).map(|_| self.services.start(machine, name, &arguments)).collect();
            addresses.insert(name, started?);
        }
        self.frontends.extend(addresses.remove("frontend"));
        Ok(())
    }

    pub(super) fn processes(&self) -> usize {
        self.services.processes()
    }

    /// Returns the CPU time of each service with all its replicas, and of each foreign store.
    pub(super) fn cpu(&self) -> Result<BTreeMap<&'static str, Cpu>, String> {
        let mut cpu = self.services.cpu()?;
        let memcached = self.memcached.as_ref().map(|it| ("memcached", &it.process));
        let postgres = self.postgres.as_ref().map(|it| ("postgresql", &it.process));
        for (name, process) in memcached.into_iter().chain(postgres) {
            let used = Cpu::of(process.0.id()).ok_or_else(|| format!("{name} has died"))?;
            cpu.entry(name).or_default().add(used);
        }
        Ok(cpu)
    }
}
