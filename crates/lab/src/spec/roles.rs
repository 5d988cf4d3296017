//! The place where things run: the backend, the cluster, and the CPUs or nodes of the roles.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CpuLimit, Cpus, MemoryLimit, Written};

/// The place where things run.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    /// The kind of place.
    #[serde(default)]
    pub backend: BackendKind,
    /// The CPUs or nodes of the system under test and of the generator.
    #[serde(default)]
    pub roles: Roles,
    /// Kubernetes: the cluster, and what pods on it run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
}

/// A Kubernetes cluster. Without a context it is that of the kubeconfig, or the one that the runner
/// itself is a pod of.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// The file with the clusters; KUBECONFIG, ~/.kube/config or the pod's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<String>,
    /// The context in it; the current one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The namespace of all that the run makes. If it does not exist, the run makes it, and deletes
    /// it at its end.
    #[serde(default = "own_namespace")]
    pub namespace: String,
    /// The image with our programs, as the nodes find it.
    pub image: String,
    /// The resources of each generator.
    #[serde(default)]
    pub generator: Generator,
    /// True if nothing else may run on the nodes of the roles. The checks find what does; a strict
    /// spec is then refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// The DaemonSets and static pods that may run there all the same, as `NAMESPACE/NAME`;
    /// `kube-system/*` are all of a namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub besides: Vec<String>,
}

/// The resources of each generator, which it has for itself: they are also its requests, so that its
/// pod is *Guaranteed*. On a node with a static CPU manager whole CPUs are its own.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Generator {
    /// Its CPUs.
    pub cpu_limit: CpuLimit,
    /// Its memory.
    pub memory_limit: Written<MemoryLimit>,
}

impl Default for Generator {
    fn default() -> Generator {
        Generator { cpu_limit: CpuLimit(1.0), memory_limit: Written(MemoryLimit(512 << 20)) }
    }
}

fn own_namespace() -> String {
    "benchwright".to_owned()
}

/// The kind of place where things run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// Processes on this machine, each in its own cgroup where that is possible.
    #[default]
    Local,
    /// A service that runs elsewhere; only its address is known.
    External,
    /// A queueing model on virtual time.
    Simulated,
    /// Pods of a Kubernetes cluster.
    Kubernetes,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendKind::Local => "local",
            BackendKind::External => "external",
            BackendKind::Simulated => "simulated",
            BackendKind::Kubernetes => "kubernetes",
        })
    }
}

/// The CPUs or nodes of the system under test and of the generator; all if not given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    /// The place of the system under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sut: Option<Role>,
    /// The place of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Role>,
}

/// The names of the roles, in a spec and in results.
pub const SUT: &str = "sut";
pub const LOAD: &str = "load";

impl Roles {
    /// Returns the roles with their names.
    pub fn named(&self) -> [(&'static str, Option<&Role>); 2] {
        [(SUT, self.sut.as_ref()), (LOAD, self.load.as_ref())]
    }
}

/// The place of a role: its CPUs, or its nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Local: its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Written<Cpus>>,
    /// Kubernetes: the labels of its nodes, `kubernetes.io/hostname in (w1,w2)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
}

/// Written as `CPU 0-3` or `nodes role=load`.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cpus, &self.nodes) {
            (Some(cpus), _) => write!(f, "CPU {}", **cpus),
            (None, Some(nodes)) => write!(f, "nodes {nodes}"),
            (None, None) => f.write_str("anywhere"),
        }
    }
}
