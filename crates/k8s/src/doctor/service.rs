//! The checks of how requests reach the pods: services, their endpoints, and kube-proxy.

use std::collections::BTreeSet;

use results::doctor::Severity::{Error, Warning};
use serde_json::Value;

use super::Proxy;
use super::found::{Found, OfCluster};
use super::seen::{Seen, name_of, namespace_of};
use crate::endpoints::{SERVICE, ready};
use crate::paths;

/// The network's plugins, by the beginning of the names of their pods.
const PLUGINS: [(&str, &str); 10] = [
    ("antrea-agent-", "Antrea"),
    ("aws-node-", "Amazon VPC"),
    ("azure-cns-", "Azure"),
    ("calico-node-", "Calico"),
    ("cilium-", "Cilium"),
    ("kindnet-", "kindnet"),
    ("kube-flannel-", "Flannel"),
    ("kube-router-", "kube-router"),
    ("ovnkube-node-", "OVN-Kubernetes"),
    ("weave-net-", "Weave"),
];

/// Check 12: the way of a request through kube-proxy and the network, recorded; no detour over
/// other nodes.
pub(super) fn path(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "externalTrafficPolicy Local for requests from outside; the rest is recorded",
        format!("{}, {} and {}", paths::SERVICES, paths::PROXY, paths::PODS),
    );
    let mut parts = Vec::new();
    match seen.own(&seen.answers.services) {
        Err(missing) => found.unread(None, "the list of services", missing),
        Ok(services) => {
            for service in services {
                external(seen, &mut found, service);
            }
        }
    }
    match &seen.answers.proxy {
        Err(missing) => found.unread(None, "kube-proxy's configuration", missing),
        Ok(proxy) => match mode(proxy) {
            None => found.odd(None, "kube-proxy's configuration", "mode"),
            Some(mode) => {
                found.record("service path kube-proxy mode", &*mode);
                parts.push(format!("kube-proxy: {mode}"));
            }
        },
    }
    match (&seen.answers.pods, &seen.answers.pods_elsewhere) {
        (Err(missing), _) | (Ok(_), Err(missing)) => {
            found.unread(None, "the network's plugin", missing);
        }
        (Ok(pods), Ok(())) => {
            let plugins = plugins(pods);
            if !plugins.is_empty() {
                found.record("service path network", &*plugins);
            }
            parts.push(format!(
                "network: {}",
                if plugins.is_empty() { "other" } else { plugins.as_str() }
            ));
        }
    }
    found.with(parts.join(", "))
}

/// Records a service, and adds that its requests from outside may take a detour.
fn external(seen: &Seen<'_>, found: &mut Found, service: &Value) {
    let name = seen.called(service);
    let Some(kind) = service["spec"]["type"].as_str() else {
        return found.odd(None, &format!("the service {name}"), "spec.type");
    };
    let is_headless = service["spec"]["clusterIP"] == "None";
    let kind = if is_headless { "headless" } else { kind };
    if !matches!(kind, "NodePort" | "LoadBalancer") {
        return found.record(format!("service {name}"), kind);
    }
    // The API server fills it in; in what was written by hand it may be absent.
    let policy = service["spec"]["externalTrafficPolicy"].as_str().unwrap_or("Cluster");
    found.record(format!("service {name}"), format!("{kind}, externalTrafficPolicy {policy}"));
    if policy != "Local" {
        let text = format!("the service {name} ({kind}) passes requests on to pods of other nodes");
        let remedy = format!(
            "`kubectl patch service -n {} {} -p \
             '{{\"spec\":{{\"externalTrafficPolicy\":\"Local\"}}}}'`, or load the ClusterIP",
            namespace_of(service),
            name_of(service).unwrap_or("NAME"),
        );
        found.bad(Some("external_traffic_local"), Warning, text, remedy);
    }
}

/// Returns the mode of kube-proxy.
fn mode(proxy: &Proxy) -> Option<String> {
    let mode = match proxy {
        Proxy::Mode(mode) => mode.trim(),
        Proxy::ConfigMap(map) => {
            let files = map["data"].as_object()?.values().filter_map(Value::as_str);
            let mut lines = files.flat_map(str::lines);
            let mode = lines.find_map(|line| line.trim_start().strip_prefix("mode:"))?;
            mode.trim().trim_matches(['"', '\''])
        }
    };
    Some(if mode.is_empty() { "iptables, the default".to_owned() } else { mode.to_owned() })
}

/// Returns the network's plugins that have pods.
fn plugins(pods: &[Value]) -> String {
    let names: Vec<&str> = pods.iter().filter_map(name_of).collect();
    let found = PLUGINS.iter().filter(|(start, _)| {
        // Cilium's operator is not on every node, and belongs to the same plugin.
        names.iter().any(|name| name.starts_with(start))
    });
    found.map(|(_, plugin)| *plugin).collect::<Vec<_>>().join(", ")
}

/// Check 13: each service has exactly the ready endpoints that are wanted, and has had them before.
pub(super) fn endpoints(seen: &Seen<'_>) -> Found {
    let mut found = Found::new(
        "as many ready endpoints of each service as the experiment wants, the same all the time",
        paths::ENDPOINT_SLICES,
    );
    let answer = seen.answers.endpoint_slices.as_ref();
    let Some(slices) = found.given("the list of EndpointSlices", answer) else { return found };
    if seen.own_pods().is_ok_and(|pods| pods.is_empty()) {
        found.early();
        return found;
    }
    let now = ready(slices);
    let before = seen.answers.before.as_ref().map(|before| ready(&before.endpoint_slices));
    let nothing = BTreeSet::new();
    for (key, wanted) in &seen.wanted.endpoints {
        let (namespace, service) = key.split_once('/').unwrap_or(("", key.as_str()));
        let endpoints = now.get(key).unwrap_or(&nothing);
        // A pod with addresses of two families is one endpoint.
        let pods: BTreeSet<&str> = endpoints.iter().map(|(pod, _)| *pod).collect();
        let name = seen.called_in(namespace, service);
        found.record(format!("endpoints {name}"), format!("{} ready", pods.len()));
        if pods.len() != *wanted as usize {
            let text = format!("{} of {wanted} endpoints of {name} are ready", pods.len());
            let remedy =
                format!("see `kubectl get endpointslices -n {namespace} -l {SERVICE}={service}`");
            found.bad(None, Error, text, remedy);
        }
        let Some(before) = &before else { continue };
        if before.get(key).unwrap_or(&nothing) != endpoints {
            let text = format!("the endpoints of {name} are others than before the trial");
            let remedy = format!("see the reason in `kubectl get events -n {namespace}`");
            found.bad(None, Error, text, remedy);
        }
    }
    found.with(format!("{} services have all their endpoints", seen.wanted.endpoints.len()))
}
