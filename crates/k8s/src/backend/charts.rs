//! Services that are releases of charts.

use std::collections::{BTreeMap, BTreeSet};

use lab::backend::{Address, Chart, Service, Stop};
use lab::spec::{SUT, Via};
use serde_json::{Value, json};

use super::{Connected, Kubernetes, RELEASES, THROUGH_API, remains};
use crate::api::{self, Error};
use crate::objects::{self, Run};
use crate::{changes, endpoints, nodes, pods};

impl Kubernetes {
    pub(super) fn namespace_of<'a>(&'a self, chart: &'a Chart) -> &'a str {
        chart.namespace.as_deref().unwrap_or(&self.connected().run.namespace)
    }

    /// Installs a release. What is to be undone is recorded first: a runner that is killed now leaves
    /// a release that the next one removes.
    pub(super) fn install(&mut self, service: &Service, chart: &Chart) -> Result<(), Stop> {
        let namespace = self.namespace_of(chart).to_owned();
        self.make_namespace(&namespace)?;
        let connected = self.connected.as_mut().expect("it is connected");
        connected.releases.insert(format!("{namespace}/{}", chart.release));
        let Connected { api, helm, run, releases, roles, .. } = connected;
        let list: Vec<&str> = releases.iter().map(String::as_str).collect();
        let owner = run.owner.as_ref().map(|(name, _)| name.as_str()).unwrap_or_default();
        let undo = json!({"data": {RELEASES: list.join("\n")}});
        api.patch(&api::one("ConfigMap", &run.namespace, owner), &undo)
            .map_err(Error::into_stop)?;
        let affinity =
            objects::affinity(roles.get(service.role).map(Vec::as_slice).unwrap_or_default());
        helm.install(chart, &namespace, service.ready_within, &affinity, &run.secrets)
    }

    /// Makes a namespace, unless it exists. One that is being removed is awaited first: a runner that
    /// was killed while it cleaned up left it so, and nothing can be made in it.
    pub(super) fn make_namespace(&mut self, name: &str) -> Result<(), Stop> {
        let Connected { api, run, made_namespaces, .. } =
            self.connected.as_mut().expect("it is connected");
        match api.get(&api::one("Namespace", "", name)).map_err(Error::into_stop)? {
            Some(found) if found.pointer("/metadata/deletionTimestamp").is_some() => {
                remains::until_gone(api, &BTreeSet::from([name.to_owned()]))?;
            }
            Some(_) => return Ok(()),
            None => {}
        }
        let run = Run { namespace: name.to_owned(), ..run.clone() };
        api.apply(&objects::namespace(&run)).map_err(Error::into_stop)?;
        made_namespaces.insert(name.to_owned());
        Ok(())
    }

    /// Wants another number of pods of a release's Deployment.
    pub(super) fn scale_deployment(&self, chart: &Chart, replicas: u32) -> Result<(), Stop> {
        let Some(path) = self.deployment_of(chart) else {
            let release = &chart.release;
            let why = format!("the release `{release}` cannot be scaled: name its `deployment`");
            return Err(Stop::no_answer(why));
        };
        let wanted = changes::scale(replicas);
        let scaled = self.connected().api.patch(&format!("{path}/scale"), &wanted);
        scaled.map(drop).map_err(Error::into_stop)
    }

    fn deployment_of(&self, chart: &Chart) -> Option<String> {
        let name = chart.deployment.as_ref()?;
        Some(api::one("Deployment", self.namespace_of(chart), name))
    }

    /// Returns what a release's Deployment lacks; `None` if it has its replicas, or if none is named.
    pub(super) fn unscaled(&self, service: &Service) -> Result<Option<String>, Stop> {
        let Some(chart) = &service.chart else { return Ok(None) };
        let Some(path) = self.deployment_of(chart) else { return Ok(None) };
        match self.connected().api.get(&path).map_err(Error::into_stop)? {
            Some(found) => Ok(lacks(&found, service.replicas)),
            None => {
                let namespace = self.namespace_of(chart);
                let release = &chart.release;
                let name = chart.deployment.as_deref().unwrap_or_default();
                Err(Stop::no_answer(format!(
                    "the release `{release}` has no Deployment `{name}` in {namespace}"
                )))
            }
        }
    }

    /// Returns the number of endpoints of each service of a release, whose pods are all ready; or
    /// which service has not all of them yet.
    pub(super) fn complete(
        &self,
        chart: &Chart,
        pods: &[Value],
    ) -> Result<Result<BTreeMap<String, u32>, String>, Stop> {
        let namespace = Some(self.namespace_of(chart));
        let list = |kind: &str| {
            self.connected().api.list(&api::all(kind, namespace), "").map_err(Error::into_stop)
        };
        Ok(endpoints::complete(&list("Service")?, &list("EndpointSlice")?, pods))
    }

    /// Returns the addresses of a release: those of its Service, from the three points of view.
    pub(super) fn addresses_of_chart(
        &self,
        chart: &Chart,
        scheme: &str,
    ) -> Result<Vec<Address>, Stop> {
        let Connected { api, roles, .. } = self.connected();
        let (namespace, name) = (self.namespace_of(chart), &chart.service);
        let path = api::one("Service", namespace, name);
        let service = api.get(&path).map_err(Error::into_stop)?.ok_or_else(|| {
            let release = &chart.release;
            Stop::no_answer(format!(
                "the release `{release}` has no Service `{name}` in {namespace}"
            ))
        })?;
        let number = |field: &str| service["spec"]["ports"][0][field].as_u64();
        let port = number("port").unwrap_or(80);
        let inside = format!("{scheme}://{name}.{namespace}.svc:{port}");
        let of_generators = match chart.via {
            Via::ClusterIp => vec![inside.clone()],
            Via::NodePort => {
                let node_port = number("nodePort").ok_or_else(|| {
                    Stop::no_answer(format!("the Service `{name}` has no port at the nodes"))
                })?;
                let node = roles[SUT].first().expect("a role has a node");
                let node = api
                    .get(&api::one("Node", "", node))
                    .map_err(Error::into_stop)?
                    .unwrap_or_default();
                let address = nodes::internal_address(&node)
                    .ok_or_else(|| Stop::no_answer("the first node of role sut has no address"))?;
                vec![format!("{scheme}://{address}:{node_port}")]
            }
            Via::Pods => {
                let labels = service["spec"]["selector"].as_object();
                let labels = labels
                    .into_iter()
                    .flatten()
                    .filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)));
                let labels = labels.collect::<Vec<_>>().join(",");
                let pods = api
                    .list(&api::all("Pod", Some(namespace)), &labels)
                    .map_err(Error::into_stop)?;
                let target = &service["spec"]["ports"][0]["targetPort"];
                let addresses = pods.iter().filter_map(|pod| pods::address(pod, target, port));
                addresses.map(|address| format!("{scheme}://{address}")).collect()
            }
        };
        let address = |of_generator: String| Address {
            of_peers: inside.clone(),
            of_generator,
            of_runner: format!("{THROUGH_API}{path}:{port}/proxy"),
        };
        Ok(of_generators.into_iter().map(address).collect())
    }
}

/// Returns what a Deployment lacks until it has this number of pods, all of them ready and up to date.
pub(super) fn lacks(deployment: &Value, replicas: u32) -> Option<String> {
    let number = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let name = pods::name(deployment);
    if number("/status/observedGeneration") < number("/metadata/generation") {
        return Some(format!("the cluster has not seen the change of {name} yet"));
    }
    let wanted = u64::from(replicas);
    let asked = number("/spec/replicas");
    if asked != wanted {
        return Some(format!("{name} was given {asked} replicas by somebody else, not {wanted}"));
    }
    let of_status = ["replicas", "updatedReplicas", "availableReplicas"];
    let other =
        of_status.into_iter().find(|field| number(&format!("/status/{field}")) != wanted)?;
    Some(format!("{name} has {} {other}, not {wanted}", number(&format!("/status/{other}"))))
}
