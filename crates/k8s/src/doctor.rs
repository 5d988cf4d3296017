//! The checks of a cluster: pure functions over recorded answers of its API.
//!
//! Nothing here talks to a cluster or reads a clock. An answer that is forbidden, or does not have
//! what Kubernetes documents, makes a check *unknown*, with the missing right, and never good.
//! Each check names the API path that it judges, so that a reader can look there.
//!
//! A spec may allow or require a check by its id, or a part of it by a word of the table. Only a
//! missing pod, while nothing is deployed yet, is exempt from a requirement.

use std::collections::{BTreeMap, BTreeSet};

use lab::doctor::found::Terms;
use lab::spec::LOAD;
use measure::Nanos;
use results::doctor::Severity::{Error, Info, Warning};
use results::doctor::{Doctor, Fingerprint};
use serde_json::Value;

use crate::api;
use found::Found;
use seen::Seen;

pub mod read;

mod control;
mod cron;
mod found;
mod instrument;
mod kubelet;
mod nodes;
mod own;
mod placement;
mod seen;
mod service;
mod stores;

#[cfg(test)]
mod tests;

/// An answer of the API, or the reason why there is none.
pub type Answer<T> = Result<T, Missing>;

/// The reason why an answer is missing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Missing {
    /// The account may not read it; the right as `kubectl auth can-i` takes it: `list nodes`.
    Forbidden(String),
    /// The cluster does not have it, such as an API group that was never installed.
    Absent,
    /// Nobody asked for it.
    NotRead,
    /// The call failed in another way; the reason in words.
    Failed(String),
}

impl Missing {
    /// Returns the reason why a call that needs this right failed.
    pub fn of(error: &api::Error, right: &str) -> Missing {
        match error {
            api::Error::Refused { status: 401 | 403, .. } => Missing::Forbidden(right.to_owned()),
            api::Error::Refused { status: 404, .. } => Missing::Absent,
            other => Missing::Failed(other.to_string()),
        }
    }
}

/// The answers of the API at one moment. Lists are the `items` of what the API answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The time of the answers, in seconds since 1970.
    pub now_unix_s: u64,
    /// All nodes.
    pub nodes: Answer<Vec<Value>>,
    /// The answers of kubelets through the API server, by node.
    pub kubelets: BTreeMap<String, Kubelet>,
    /// The pods of all namespaces; those of ours if others may not be read.
    pub pods: Answer<Vec<Value>>,
    /// The reason why `pods` has only our namespaces, if so.
    pub pods_elsewhere: Answer<()>,
    /// The CPUs that a container of ours may use, as its kernel says (`Cpus_allowed_list` of
    /// `/proc/self/status`), by `namespace/pod/container`.
    pub cpusets: BTreeMap<String, Answer<String>>,
    /// The objects of our namespaces; those of others are passed over.
    pub deployments: Answer<Vec<Value>>,
    pub stateful_sets: Answer<Vec<Value>>,
    pub daemon_sets: Answer<Vec<Value>>,
    pub services: Answer<Vec<Value>>,
    pub endpoint_slices: Answer<Vec<Value>>,
    pub events: Answer<Vec<Value>>,
    /// Of `autoscaling/v2`.
    pub horizontal_autoscalers: Answer<Vec<Value>>,
    /// Of `autoscaling.k8s.io/v1`.
    pub vertical_autoscalers: Answer<Vec<Value>>,
    /// KEDA's, of `keda.sh/v1alpha1`.
    pub scaled_objects: Answer<Vec<Value>>,
    /// Those of all namespaces: a job may run on our nodes wherever its object is.
    pub cron_jobs: Answer<Vec<Value>>,
    pub proxy: Answer<Proxy>,
    /// Present if the spec asks Prometheus for series.
    pub prometheus: Option<Prometheus>,
    /// The documents of the local doctor on nodes, by node. A privileged pod made them.
    pub hosts: Answer<BTreeMap<String, Doctor>>,
    /// The time of each call that was made for these answers.
    pub latencies: Vec<Nanos>,
    /// The answers to the same reads before the trial, if there was one since.
    pub before: Option<Before>,
}

/// The answers of one kubelet.
#[derive(Clone, Debug, PartialEq)]
pub struct Kubelet {
    /// `/configz`: its configuration.
    pub configz: Answer<Value>,
    /// `/stats/summary`: the usage of its pods.
    pub summary: Answer<Value>,
    /// `/metrics/cadvisor`, in Prometheus' text format.
    pub cadvisor: Answer<String>,
    /// `/metrics`, in Prometheus' text format.
    pub metrics: Answer<String>,
}

/// The way kube-proxy was found to be configured.
#[derive(Clone, Debug, PartialEq)]
pub enum Proxy {
    /// Its ConfigMap in kube-system.
    ConfigMap(Value),
    /// The answer of its `/proxyMode`.
    Mode(String),
}

/// The settings that decide whether Prometheus can show a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Prometheus {
    /// The window of `rate(…[1m])` in the query.
    pub rate_window: Nanos,
    /// The interval at which it scrapes the kubelets.
    pub scrape_interval: Answer<Nanos>,
    /// The length of a measurement.
    pub measure: Nanos,
}

/// Answers from before a trial, to compare with those after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// `/metrics/cadvisor` by node.
    pub cadvisor: BTreeMap<String, String>,
    pub endpoint_slices: Vec<Value>,
}

impl Answers {
    /// Returns the answers that the next ones are compared with.
    pub fn keep(self) -> Before {
        let pages = self.kubelets.into_iter();
        let cadvisor = pages.filter_map(|(node, kubelet)| Some((node, kubelet.cadvisor.ok()?)));
        let endpoint_slices = self.endpoint_slices.unwrap_or_default();
        Before { cadvisor: cadvisor.collect(), endpoint_slices }
    }
}

/// The experiment's demands on the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demands {
    /// The nodes of each role; that of the generators is called [`LOAD`].
    pub roles: BTreeMap<String, Vec<String>>,
    /// The value of the label [`crate::objects::RUN`] on our objects.
    pub run: String,
    /// The namespaces of the experiment.
    pub namespaces: BTreeSet<String>,
    /// True if no other pods may run on the nodes of the roles, and ours have CPUs of their own.
    pub exclusive: bool,
    /// True if the pods of a workload are to be spread over the nodes of the system.
    pub spread: bool,
    /// The number of ready endpoints of each service, by `namespace/service`.
    pub endpoints: BTreeMap<String, u32>,
    /// The DaemonSets and static pods that may run on exclusive nodes: `kube-system/kube-proxy`, or
    /// `kube-system/*` for all of a namespace.
    pub daemon_sets: BTreeSet<String>,
    /// The begin of the trial, in seconds since 1970; absent before the first. Restarts count from
    /// then, and so do evictions and pulls.
    pub since_unix_s: Option<u64>,
    /// The time for which the cluster will be measured from now on.
    pub horizon: Nanos,
    /// The waivers and requirements of the spec, as ids (`cluster.conditions`) or words
    /// (`load_on_control_plane`).
    pub terms: Terms,
}

type Row = lab::doctor::found::Row<fn(&Seen<'_>) -> Found>;

/// The checks in the order of the method, which numbers them from 1.
const TABLE: [Row; 22] = [
    Row {
        id: "cluster.nodes",
        name: "the nodes of a role are alike",
        words: &[],
        severity: Error,
        check: nodes::alike,
    },
    Row {
        id: "cluster.conditions",
        name: "the nodes are ready",
        words: &[],
        severity: Error,
        check: nodes::conditions,
    },
    Row {
        id: "cluster.kubelet",
        name: "the kubelets' configuration",
        words: &["kubelet_static_cpu", "system_reserved", "same_kubelets"],
        severity: Warning,
        check: kubelet::configuration,
    },
    Row {
        id: "cluster.qos",
        name: "the quality of service of our pods",
        words: &["guaranteed_integer_cpu"],
        severity: Warning,
        check: own::quality,
    },
    Row {
        id: "cluster.exclusive_cpus",
        name: "exclusive CPUs are really given",
        words: &[],
        severity: Warning,
        check: kubelet::exclusive_cpus,
    },
    Row {
        id: "cluster.throttling",
        name: "the throttling of exclusive containers",
        words: &[],
        severity: Error,
        check: kubelet::throttling,
    },
    Row {
        id: "cluster.images",
        name: "the images of our pods",
        words: &["same_image_digests", "no_latest"],
        severity: Error,
        check: own::images,
    },
    Row {
        id: "cluster.placement",
        name: "the placement of the pods",
        words: &["load_on_sut", "load_on_control_plane", "pods_on_role_nodes", "jaeger_off_sut"],
        severity: Error,
        check: placement::roles,
    },
    Row {
        id: "cluster.foreign_pods",
        name: "foreign pods on the roles' nodes",
        words: &[],
        severity: Error,
        check: placement::foreign,
    },
    Row {
        id: "cluster.autoscalers",
        name: "controllers that change the system by themselves",
        words: &["no_hpa", "no_vpa", "no_keda", "no_descheduler", "no_cron_jobs"],
        severity: Error,
        check: control::autoscalers,
    },
    Row {
        id: "cluster.restarts",
        name: "restarts, evictions and image pulls",
        words: &["no_restarts", "no_evictions", "no_pulls"],
        severity: Error,
        check: own::restarts,
    },
    Row {
        id: "cluster.service_path",
        name: "the path of a request through a service",
        words: &["external_traffic_local"],
        severity: Warning,
        check: service::path,
    },
    Row {
        id: "cluster.endpoints",
        name: "the endpoints of the services",
        words: &[],
        severity: Error,
        check: service::endpoints,
    },
    Row {
        id: "cluster.sidecars",
        name: "our pods are what their templates say",
        words: &[],
        severity: Warning,
        check: own::sidecars,
    },
    Row {
        id: "cluster.spread",
        name: "the spread of the pods over the nodes",
        words: &[],
        severity: Error,
        check: placement::spread,
    },
    Row {
        id: "cluster.rollouts",
        name: "rollouts have ended",
        words: &[],
        severity: Error,
        check: control::rollouts,
    },
    Row {
        id: "cluster.usage",
        name: "the kubelets report the usage of our pods",
        words: &[],
        severity: Info,
        check: kubelet::usage,
    },
    Row {
        id: "cluster.prometheus",
        name: "the window of Prometheus' rates",
        words: &[],
        severity: Warning,
        check: instrument::prometheus,
    },
    Row {
        id: "cluster.hosts",
        name: "the local checks on the nodes",
        words: &[],
        severity: Info,
        check: instrument::hosts,
    },
    Row {
        id: "cluster.instances",
        name: "spot and burstable machines",
        words: &["no_spot", "no_burstable"],
        severity: Warning,
        check: nodes::instances,
    },
    Row {
        id: "cluster.api_latency",
        name: "the latency of the API server",
        words: &[],
        severity: Warning,
        check: instrument::latency,
    },
    Row {
        id: "cluster.stores",
        name: "the memory of key-value stores",
        words: &[],
        severity: Error,
        check: stores::memory,
    },
];

/// Runs all checks.
pub fn diagnose(answers: &Answers, wanted: &Demands) -> Doctor {
    let seen = Seen { answers, wanted };
    let (checks, values) =
        lab::doctor::found::conclude(&TABLE, &wanted.terms, |check| check(&seen));
    Doctor::new(checks, Fingerprint::new(values, placement::of(&seen)))
}

/// Returns the names that a spec may allow or require.
pub fn words() -> Vec<&'static str> {
    lab::doctor::found::words(&TABLE)
}
