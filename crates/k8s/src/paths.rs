//! The API paths of what is read of a cluster, for those who read it and for messages about it.

pub const NODES: &str = "/api/v1/nodes";
pub const PODS: &str = "/api/v1/pods";
pub const HORIZONTAL_AUTOSCALERS: &str = "/apis/autoscaling/v2/horizontalpodautoscalers";
pub const VERTICAL_AUTOSCALERS: &str = "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers";
pub const SCALED_OBJECTS: &str = "/apis/keda.sh/v1alpha1/scaledobjects";
pub const CRON_JOBS: &str = "/apis/batch/v1/cronjobs";
pub const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
pub const STATEFUL_SETS: &str = "/apis/apps/v1/statefulsets";
pub const DAEMON_SETS: &str = "/apis/apps/v1/daemonsets";
pub const SERVICES: &str = "/api/v1/services";
pub const ENDPOINT_SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";
pub const EVENTS: &str = "/api/v1/events";
pub const PROXY: &str = "/api/v1/namespaces/kube-system/configmaps/kube-proxy";

/// The place of a node's name in the paths of messages about all nodes.
pub(crate) const EACH: &str = "NODE";

/// Returns the path of the objects of a kind in one namespace, from the path of all of them.
pub fn within(all: &str, namespace: &str) -> String {
    match all.rsplit_once('/') {
        Some((group, plural)) => format!("{group}/namespaces/{namespace}/{plural}"),
        None => all.to_owned(),
    }
}

/// Returns the path of a kubelet's configuration.
pub fn configz(node: &str) -> String {
    proxied(node, "configz")
}

/// Returns the path of the usage of a kubelet's pods.
pub fn summary(node: &str) -> String {
    proxied(node, "stats/summary")
}

/// Returns the path of a kubelet's figures about containers.
pub fn cadvisor(node: &str) -> String {
    proxied(node, "metrics/cadvisor")
}

/// Returns the path of a kubelet's figures about itself.
pub fn metrics(node: &str) -> String {
    proxied(node, "metrics")
}

/// Returns the path of the CPU time and memory of a kubelet's containers.
pub fn resources(node: &str) -> String {
    proxied(node, "metrics/resource")
}

/// Returns the path that a kubelet answers at once.
pub fn healthz(node: &str) -> String {
    proxied(node, "healthz")
}

fn proxied(node: &str, path: &str) -> String {
    format!("{NODES}/{node}/proxy/{path}")
}
