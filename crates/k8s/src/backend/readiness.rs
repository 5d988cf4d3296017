//! The pods of the services: awaited until all are ready, and compared with what they were then.

use std::collections::BTreeSet;

use lab::backend::{Service, Stop};
use lab::host;
use measure::Nanos;
use serde_json::Value;

use super::{Connected, Kubernetes, POLL_EVERY};
use crate::api::{self, Error, LAST_LINES};
use crate::nodes;
use crate::objects::{RUN, SERVICE};
use crate::pods::{self, State};

/// The longest time until deleted pods are gone.
const GONE_WITHIN: Nanos = Nanos::from_secs(60);

/// A pod that became ready.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pod {
    service: String,
    name: String,
    uid: Option<String>,
    node: String,
    restarts: u64,
}

/// The state of a service as a whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Readiness {
    Ready,
    Waiting(String),
    Dead { pod: String, why: String },
}

impl Kubernetes {
    /// Returns the pods of a service.
    pub(super) fn pods(&self, service: &Service) -> Result<Vec<Value>, Stop> {
        let Connected { api, run, .. } = self.connected();
        let (namespace, labels) = match &service.chart {
            None => {
                let labels = format!("{RUN}={},{SERVICE}={}", run.id, service.name);
                (run.namespace.as_str(), labels)
            }
            Some(chart) => {
                let labels = format!("app.kubernetes.io/instance={}", chart.release);
                (self.namespace_of(chart), labels)
            }
        };
        api.list(&api::all("Pod", Some(namespace)), &labels).map_err(Error::into_stop)
    }

    /// Returns the pods of all services that were started, with their services.
    pub(super) fn all_pods(&self) -> Result<Vec<(&Service, Value)>, Stop> {
        let mut all = Vec::new();
        for service in self.started.values() {
            all.extend(self.pods(service)?.into_iter().map(|pod| (service, pod)));
        }
        Ok(all)
    }

    /// Waits until services have exactly their replicas, all ready.
    pub(super) fn until_ready(&mut self, services: &[Service]) -> Result<(), Stop> {
        let begun = host::now();
        for service in services {
            loop {
                self.host.check_interrupt()?;
                let missing = match self.readiness(service)? {
                    Readiness::Ready => break,
                    Readiness::Waiting(why) => why,
                    Readiness::Dead { pod, why } => {
                        return Err(Stop::Died {
                            component: replica_of(service, &pod),
                            why: format!("{why} before it was ready{}", remedy(service)),
                            last_lines: self.last_lines(service, &pod),
                        });
                    }
                };
                if begun + service.ready_within < host::now() {
                    let within = service.ready_within.in_words();
                    let name = &service.name;
                    let events = self.events(name);
                    let remedy = remedy(service);
                    let text = format!(
                        "`{name}` did not become ready in {within}: {missing}{remedy}{events}"
                    );
                    return Err(Stop::no_answer(text));
                }
                host::rest(POLL_EVERY);
            }
        }
        for service in services {
            let pods = self.pods(service)?;
            self.became_ready.retain(|pod| pod.service != service.name);
            self.became_ready.extend(pods.iter().map(|pod| Pod {
                service: service.name.clone(),
                name: pods::name(pod).to_owned(),
                uid: pods::uid(pod),
                node: pods::node(pod).to_owned(),
                restarts: pods::restarts(pod),
            }));
        }
        Ok(())
    }

    /// Returns the state of a service; a release is ready once requests also reach all of its pods.
    fn readiness(&mut self, service: &Service) -> Result<Readiness, Stop> {
        if let Some(why) = self.unscaled(service)? {
            return Ok(Readiness::Waiting(why));
        }
        let pods = self.pods(service)?;
        match (missing(service, &pods), &service.chart) {
            (Readiness::Ready, Some(chart)) => match self.complete(chart, &pods)? {
                Ok(numbers) => {
                    self.endpoints.extend(numbers);
                    Ok(Readiness::Ready)
                }
                Err(why) => Ok(Readiness::Waiting(why)),
            },
            (readiness, _) => Ok(readiness),
        }
    }

    /// Returns the last events of a service's objects, as the end of a message.
    fn events(&self, service: &str) -> String {
        let Connected { api, run, .. } = self.connected();
        let events = api.list(&api::all("Event", Some(&run.namespace)), "").unwrap_or_default();
        let of_service = events.iter().filter(|event| {
            let name = event.pointer("/involvedObject/name").and_then(Value::as_str);
            event["type"] != "Normal"
                && name
                    .is_some_and(|name| name == service || name.starts_with(&format!("{service}-")))
        });
        let mut messages: Vec<&str> =
            of_service.filter_map(|event| event["message"].as_str()).collect();
        messages.dedup();
        let last = messages.iter().rev().take(3).rev();
        last.map(|message| format!("\n  {message}")).collect()
    }

    pub(super) fn last_lines(&self, service: &Service, pod: &str) -> Vec<String> {
        let Connected { api, run, .. } = self.connected();
        let namespace = service.chart.as_ref().map(|chart| self.namespace_of(chart));
        let lines = api.last_lines(namespace.unwrap_or(&run.namespace), pod, LAST_LINES);
        lines.unwrap_or_default().iter().map(|line| run.secrets.redact(line)).collect()
    }

    /// Waits until a service has no pod that holds, but no longer than a minute.
    pub(super) fn until_gone(
        &self,
        service: &Service,
        holds: impl Fn(&Value) -> bool,
    ) -> Result<(), Stop> {
        let deadline = host::now() + GONE_WITHIN;
        loop {
            let pods = self.pods(service)?;
            let Some(pod) = pods.iter().find(|pod| holds(pod)) else { return Ok(()) };
            if deadline < host::now() {
                let name = pods::name(pod);
                return Err(Stop::no_answer(format!("the pod {name} does not end")));
            }
            host::rest(POLL_EVERY);
        }
    }

    /// Returns the reason why a pod of the system is not what it was when it became ready.
    pub(super) fn dead(&self) -> Result<Option<Stop>, Stop> {
        let now = self.all_pods()?;
        for pod in &self.became_ready {
            let found = now
                .iter()
                .find(|(service, one)| service.name == pod.service && pods::name(one) == pod.name);
            if let Some(why) =
                pods::changed(pod.uid.as_deref(), pod.restarts, found.map(|(_, pod)| pod))
            {
                let service = &self.started[&pod.service];
                let component = replica_of(service, &pod.name);
                let last_lines = self.last_lines(service, &pod.name);
                return Ok(Some(Stop::Died { component, why, last_lines }));
            }
        }
        Ok(None)
    }

    /// Checks that the nodes of the system can be reached. A load on a node that cannot measured the
    /// node's fault, not the system.
    pub(super) fn check_nodes(&self) -> Result<(), Stop> {
        let nodes: BTreeSet<&str> = self.became_ready.iter().map(|pod| pod.node.as_str()).collect();
        for node in nodes {
            if let Err(why) = nodes::answers(&self.connected().api, node)? {
                return Err(Stop::Disturbed { cause: format!("the node {node} {why}") });
            }
        }
        Ok(())
    }
}

/// Returns the remedy for a program that does not listen where we told it to. A probe of the kubelet connects there.
pub(super) fn remedy(service: &Service) -> String {
    service.listen_remedy("a connection there")
}

/// Returns the state of a service: it is ready if exactly its replicas are there, all of them ready.
pub(super) fn missing(service: &Service, pods: &[Value]) -> Readiness {
    let mut ready = 0;
    let mut first = None;
    for pod in pods {
        match pods::state(pod) {
            State::Ready => ready += 1,
            State::Waiting(why) => first = first.or(Some(format!("{}: {why}", pods::name(pod)))),
            State::Succeeded => {
                let (pod, why) = (pods::name(pod).to_owned(), "ended with exit code 0".to_owned());
                return Readiness::Dead { pod, why };
            }
            State::Died(why) => return Readiness::Dead { pod: pods::name(pod).to_owned(), why },
        }
    }
    // The number of a release's pods is its chart's affair.
    let wanted = match service.chart {
        None => service.replicas as usize,
        Some(_) => pods.len().max(1),
    };
    if ready == wanted && first.is_none() {
        return Readiness::Ready;
    }
    let first = first.map(|first| format!("; {first}")).unwrap_or_default();
    Readiness::Waiting(format!("{ready} of {wanted} pods are ready{first}"))
}

/// Returns the lab's name of a replica from that of its pod.
pub(super) fn replica_of(service: &Service, pod: &str) -> String {
    if service.chart.is_some() {
        return format!("{}/{pod}", service.name);
    }
    let number = pod.rsplit_once('-').and_then(|(_, index)| index.parse::<usize>().ok());
    let names = service.replicas();
    number.and_then(|index| names.get(index).cloned()).unwrap_or_else(|| pod.to_owned())
}
