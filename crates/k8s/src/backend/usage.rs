//! The resources that the pods of the services used while a load was made.

use std::collections::{BTreeMap, BTreeSet};

use lab::backend::{Consumed, Service};
use serde_json::Value;

use super::Kubernetes;
use super::readiness::replica_of;
use crate::pods;
use crate::watch::{self, Figures, Watched};

impl Kubernetes {
    /// Returns the nodes of these pods that can be watched.
    pub(super) fn watched(&self, pods: &[(&Service, Value)]) -> Vec<Watched> {
        let is_limited = |name: &str| {
            let mut here = pods.iter().filter(|(_, pod)| pods::node(pod) == name);
            here.any(|(_, pod)| pods::cpu_limit(pod).is_some())
        };
        let used: BTreeSet<&str> = pods.iter().map(|(_, pod)| pods::node(pod)).collect();
        let watched = used.into_iter().filter_map(|name| {
            let clock = self.connected().nodes.get(name)?.clock?;
            Some(Watched { node: name.to_owned(), clock, limits: is_limited(name) })
        });
        watched.collect()
    }

    /// Returns what each replica used.
    pub(super) fn consumed(
        &self,
        pods: &[(&Service, Value)],
        figures: &Figures,
    ) -> BTreeMap<String, Consumed> {
        let each = |(service, pod): &(&Service, Value)| {
            let (node, name) = (pods::node(pod), pods::name(pod));
            let known = self.connected().nodes.get(node);
            let used = figures.get(&(pods::namespace(pod).to_owned(), name.to_owned()));
            let used = used.cloned().unwrap_or_default();
            let consumed = Consumed {
                step: service.component.clone(),
                role: format!("{} on {node}", service.role),
                read_every: watch::READ_EVERY,
                clock_error: known.and_then(|known| known.clock).unwrap_or_default().error,
                of_role: known.map_or(0.0, |known| known.cpus),
                cpu_limit: pods::cpu_limit(pod),
                memory_limit: pods::memory_limit(pod),
                cpu: used.cpu,
                memory: used.memory,
                quotas: used.quotas.into_values().collect(),
                ..Consumed::default()
            };
            (replica_of(service, name), consumed)
        };
        pods.iter().map(each).collect()
    }
}
