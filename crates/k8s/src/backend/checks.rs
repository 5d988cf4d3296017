//! The answers that the checks of a run judge, and the wants of its spec.

use std::collections::{BTreeMap, BTreeSet};

use lab::backend::{Happened, Stop};
use lab::doctor::found::Terms;
use lab::monitor;
use lab::spec::{Monitor, Resolved};
use measure::{Instant, Nanos, Offset};
use serde_json::Value;

use super::{Connected, Kubernetes, cluster_of};
use crate::api;
use crate::clock;
use crate::doctor::{self, Answers, Demands, Missing, Prometheus};
use crate::events::{self, Clocks};
use crate::nodes::Known;

/// The namespace of the events of nodes.
const NODES_EVENTS: &str = "default";

impl Kubernetes {
    /// Reads what the checks judge, and what this experiment wants of it.
    pub(super) fn read(
        &mut self,
        resolved: &Resolved,
        since: Option<u64>,
    ) -> Result<(Answers, Demands), Stop> {
        self.connect(resolved)?;
        let prometheus = self.prometheus(resolved);
        let Connected { api, run, roles, .. } = self.connected();
        let roles: BTreeMap<String, Vec<String>> =
            roles.iter().map(|(role, nodes)| ((*role).to_owned(), nodes.clone())).collect();
        let sut = &resolved.spec.sut;
        let of_charts =
            sut.components().filter_map(|component| component.chart()?.namespace.clone());
        let of_instances = of_charts.flat_map(|namespace| {
            (1..=sut.instances.0).map(move |instance| resolved.text(&namespace, instance))
        });
        let namespaces: BTreeSet<String> = of_instances.chain([run.namespace.clone()]).collect();
        let before = self.before.clone();
        let read = doctor::read::read(api, &roles, &namespaces);
        let answers = Answers { before, prometheus, ..read };
        let ours = self.started.values().filter(|service| service.chart.is_none());
        let endpoints =
            ours.map(|service| (format!("{}/{}", run.namespace, service.name), service.replicas));
        let of_charts = self.endpoints.iter().map(|(name, number)| (name.clone(), *number));
        let endpoints = endpoints.chain(of_charts);
        let cluster = cluster_of(resolved);
        let wanted = Demands {
            roles,
            run: run.id.clone(),
            namespaces,
            exclusive: cluster.exclusive,
            daemon_sets: cluster.besides.iter().cloned().collect(),
            endpoints: endpoints.collect(),
            since_unix_s: since,
            horizon: resolved.spec.budget.time.map_or(Nanos::from_secs(3600), |time| *time),
            terms: Terms::of(&resolved.spec.doctor),
            ..Demands::default()
        };
        Ok((answers, wanted))
    }

    /// Returns the settings of the first rate that the spec asks a Prometheus for.
    fn prometheus(&mut self, resolved: &Resolved) -> Option<Prometheus> {
        let with_window = |Monitor::Prometheus(asked): &'_ Monitor| {
            Some((asked.clone(), asked.windows().next()?))
        };
        let (asked, rate_window) = resolved.spec.monitor.iter().find_map(with_window)?;
        let scraped = monitor::scrape_interval(&asked, resolved, self);
        let silent = || Missing::Failed(format!("{} does not say it", asked.url));
        Some(Prometheus {
            rate_window,
            scrape_interval: scraped.ok_or_else(silent),
            measure: *resolved.spec.phases.measure.time,
        })
    }

    /// Returns what happened to our pods and nodes between two times. Events that may not be read
    /// are missed: the check `cluster.restarts` says so.
    pub(super) fn happened(&self, during: (Instant, Instant), own: &str) -> Vec<Happened> {
        let Connected { api, run, nodes, .. } = self.connected();
        let of_charts = self.started.values().filter_map(|service| service.chart.as_ref());
        let mut namespaces: BTreeSet<&str> =
            of_charts.map(|chart| self.namespace_of(chart)).collect();
        namespaces.insert(&run.namespace);
        let list =
            |namespace: &str| api.list(&api::all("Event", Some(namespace)), "").unwrap_or_default();
        let mut all: Vec<Value> = namespaces.into_iter().flat_map(list).collect();
        let is_of_node = |event: &Value| {
            let object = &event["involvedObject"];
            object["kind"] == "Node"
                && object["name"].as_str().is_some_and(|name| nodes.contains_key(name))
        };
        all.extend(list(NODES_EVENTS).into_iter().filter(is_of_node));
        let of_node = |(name, known): (&String, &Known)| Some((name.clone(), known.clock?));
        let clocks = Clocks {
            nodes: nodes.iter().filter_map(of_node).collect(),
            // Their dates are taken to be the runner's, give or take a second.
            others: Offset { error: Nanos::SECOND, ..clock::own_date() },
        };
        events::during(&all, during, own, &clocks)
    }
}
