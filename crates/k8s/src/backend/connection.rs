//! The connection to the cluster of a spec, and what a run has there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lab::backend::Stop;
use lab::host::{self, RunId};
use lab::spec::{Cluster, Resolved};
use serde_json::Value;

use super::Kubernetes;
use crate::api::{self, Api, Error};
use crate::changes::Patch;
use crate::helm::Helm;
use crate::lease;
use crate::nodes::{self, Known};
use crate::objects::Run;
use crate::pods;

/// A connection to the cluster, and what this run has there.
pub(super) struct Connected {
    pub(super) api: Arc<Api>,
    pub(super) helm: Helm,
    pub(super) run: Run,
    /// The namespaces that did not exist before.
    pub(super) made_namespaces: BTreeSet<String>,
    /// The releases of this run, as `NAMESPACE/RELEASE`.
    pub(super) releases: BTreeSet<String>,
    /// The patches that bring back what this run changed.
    pub(super) undo: Vec<Patch>,
    pub(super) roles: BTreeMap<&'static str, Vec<String>>,
    /// The nodes of the roles, by name.
    pub(super) nodes: BTreeMap<String, Known>,
    pub(super) _lease: Option<lease::Held>,
}

impl Kubernetes {
    pub(super) fn connected(&self) -> &Connected {
        self.connected.as_ref().expect("the backend is locked, and so connected, before it is used")
    }

    /// Connects to the spec's cluster, unless that is done.
    pub(super) fn connect(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        if self.connected.is_some() {
            return Ok(());
        }
        let cluster = cluster_of(resolved);
        self.generator = cluster.generator.clone();
        let kubeconfig = cluster.kubeconfig.as_ref().map(|path| resolved.path(path));
        let interrupted = || Arc::clone(&self.host.interrupted);
        let api = Api::connect(kubeconfig.as_deref(), cluster.context.as_deref(), interrupted())?;
        let roles = nodes::roles(&api, resolved)?;
        let run = Run {
            id: id(),
            namespace: cluster.namespace.clone(),
            image: cluster.image.clone(),
            owner: None,
            secrets: resolved.secrets.clone(),
        };
        let helm = Helm::new(kubeconfig, cluster.context.clone(), interrupted());
        if resolved.spec.sut.components().any(|component| component.chart().is_some()) {
            helm.version().map_err(Error::into_stop)?;
        }
        self.connected = Some(Connected {
            api: Arc::new(api),
            helm,
            run,
            made_namespaces: BTreeSet::new(),
            releases: BTreeSet::new(),
            undo: Vec::new(),
            roles,
            nodes: BTreeMap::new(),
            _lease: None,
        });
        Ok(())
    }

    /// Applies objects of our own.
    pub(super) fn apply(&self, objects: &[Value]) -> Result<(), Stop> {
        let api = &self.connected().api;
        for object in objects {
            let applied = match object["kind"] == "Secret" {
                // A runner may not patch secrets, which are also those of others.
                true => {
                    self.delete("Secret", pods::name(object))?;
                    api.create(object)
                }
                false => api.apply(object),
            };
            applied.map_err(Error::into_stop)?;
        }
        Ok(())
    }

    pub(super) fn delete(&self, kind: &str, name: &str) -> Result<bool, Stop> {
        let Connected { api, run, .. } = self.connected();
        api.delete(&api::one(kind, &run.namespace, name)).map_err(Error::into_stop)
    }
}

pub(crate) fn cluster_of(resolved: &Resolved) -> &Cluster {
    resolved.spec.where_.cluster.as_ref().expect("the spec was checked for a cluster")
}

/// Returns the identity of a new run: a DNS label.
fn id() -> String {
    let boot = host::boot().unwrap_or_default();
    let seed = format!("{boot}{}{}", RunId::next(), host::unix_seconds());
    format!("{:010x}", measure::random::seed_of(&seed) & 0xff_ffff_ffff)
}
