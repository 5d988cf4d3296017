//! The answers that the checks judge, read from the cluster: each once, whatever it answers.

use std::collections::{BTreeMap, BTreeSet};

use measure::Nanos;
use serde_json::Value;

use super::{Answer, Answers, Kubelet, Missing, Proxy};
use crate::api::{Api, Error};
use crate::paths;

/// Reads all that the checks want to know. A call that fails is an answer, too.
pub fn read(
    api: &Api,
    roles: &BTreeMap<String, Vec<String>>,
    namespaces: &BTreeSet<String>,
) -> Answers {
    let mut reader = Reader { api: &api.impatient(), latencies: Vec::new() };
    let nodes: BTreeSet<&String> = roles.values().flatten().collect();
    let kubelets = nodes.into_iter().map(|node| (node.clone(), reader.kubelet(node)));
    let kubelets = kubelets.collect();
    let (pods, pods_elsewhere) = reader.pods(namespaces);
    Answers {
        now_unix_s: lab::host::unix_seconds(),
        nodes: reader.list(paths::NODES, "list nodes"),
        kubelets,
        pods,
        pods_elsewhere,
        cpusets: BTreeMap::new(),
        deployments: reader.ours(paths::DEPLOYMENTS, "list deployments", namespaces),
        stateful_sets: reader.ours(paths::STATEFUL_SETS, "list statefulsets", namespaces),
        daemon_sets: reader.ours(paths::DAEMON_SETS, "list daemonsets", namespaces),
        services: reader.ours(paths::SERVICES, "list services", namespaces),
        endpoint_slices: reader.ours(paths::ENDPOINT_SLICES, "list endpointslices", namespaces),
        events: reader.ours(paths::EVENTS, "list events", namespaces),
        horizontal_autoscalers: reader.ours(
            paths::HORIZONTAL_AUTOSCALERS,
            "list horizontalpodautoscalers",
            namespaces,
        ),
        vertical_autoscalers: reader.ours(
            paths::VERTICAL_AUTOSCALERS,
            "list verticalpodautoscalers",
            namespaces,
        ),
        scaled_objects: reader.ours(paths::SCALED_OBJECTS, "list scaledobjects", namespaces),
        cron_jobs: reader.list(paths::CRON_JOBS, "list cronjobs"),
        proxy: reader.proxy(),
        prometheus: None,
        hosts: Err(Missing::NotRead),
        latencies: reader.latencies,
        before: None,
    }
}

struct Reader<'a> {
    api: &'a Api,
    latencies: Vec<Nanos>,
}

impl Reader<'_> {
    /// Makes a call, and notes its time.
    fn timed<T>(&mut self, right: &str, call: impl FnOnce(&Api) -> Result<T, Error>) -> Answer<T> {
        let begun = lab::host::now();
        let answer = call(self.api);
        self.latencies.push(lab::host::now() - begun);
        answer.map_err(|error| Missing::of(&error, right))
    }

    fn list(&mut self, path: &str, right: &str) -> Answer<Vec<Value>> {
        self.timed(right, |api| api.list(path, ""))
    }

    /// Returns the objects of our namespaces.
    fn ours(
        &mut self,
        all: &str,
        right: &str,
        namespaces: &BTreeSet<String>,
    ) -> Answer<Vec<Value>> {
        let mut found = Vec::new();
        for namespace in namespaces {
            found.extend(self.list(&paths::within(all, namespace), right)?);
        }
        Ok(found)
    }

    /// Returns the pods of all namespaces, or of ours if others may not be read, with the reason.
    fn pods(&mut self, namespaces: &BTreeSet<String>) -> (Answer<Vec<Value>>, Answer<()>) {
        match self.list(paths::PODS, "list pods in all namespaces") {
            Ok(pods) => (Ok(pods), Ok(())),
            Err(missing) => (self.ours(paths::PODS, "list pods", namespaces), Err(missing)),
        }
    }

    fn kubelet(&mut self, node: &str) -> Kubelet {
        const RIGHT: &str = "get nodes/proxy";
        let found = |object: Option<Value>| object.ok_or(Missing::Absent);
        let configz = self.timed(RIGHT, |api| api.get(&paths::configz(node))).and_then(found);
        if let Err(Missing::Failed(why)) = &configz {
            // A kubelet that does not answer one question would keep us waiting for each.
            let failed = || Missing::Failed(why.clone());
            let (summary, cadvisor, metrics) = (Err(failed()), Err(failed()), Err(failed()));
            return Kubelet { configz, summary, cadvisor, metrics };
        }
        Kubelet {
            configz,
            summary: self.timed(RIGHT, |api| api.get(&paths::summary(node))).and_then(found),
            cadvisor: self.timed(RIGHT, |api| api.page(&paths::cadvisor(node))),
            metrics: self.timed(RIGHT, |api| api.page(&paths::metrics(node))),
        }
    }

    fn proxy(&mut self) -> Answer<Proxy> {
        let right = "get configmaps in kube-system";
        let object = self.timed(right, |api| api.get(paths::PROXY))?;
        object.map(Proxy::ConfigMap).ok_or(Missing::Absent)
    }
}
