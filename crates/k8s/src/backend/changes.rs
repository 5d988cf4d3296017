//! Changes of objects that the cluster has: recorded in the owner object before they are made, so that
//! a later run brings back what stood there if this one is killed.

use lab::backend::Stop;
use lab::host;
use lab::spec::{Change, Config, Scale};
use measure::Nanos;
use serde_json::{Value, json};

use super::charts::lacks;
use super::{Kubernetes, POLL_EVERY};
use crate::api::{self, Api, Error};
use crate::changes::{self, Patch, UNDO};
use crate::pods;

impl Kubernetes {
    /// Makes a change, and waits until all services are ready; `Err` in words if it is not possible.
    pub(super) fn make(&mut self, change: &Change) -> Result<Result<(), String>, Stop> {
        self.before = None;
        let namespace = change.namespace().unwrap_or(&self.connected().run.namespace).to_owned();
        let (deployments, within) = match change {
            Change::Config(config) => (self.edit(config, &namespace)?, config.timeout),
            Change::Scale(scale) => (self.scale_all(scale, &namespace)?, scale.timeout),
        };
        match deployments {
            Err(why) => Ok(Err(why)),
            Ok(names) => match self.complete_in(&namespace, &names, *within)? {
                Some(why) => Ok(Err(format!("not complete after {}: {why}", within.in_words()))),
                None => {
                    let all: Vec<_> = self.started.values().cloned().collect();
                    self.until_ready(&all)?;
                    Ok(Ok(()))
                }
            },
        }
    }

    /// Edits a ConfigMap and restarts Deployments; returns their names.
    fn edit(
        &mut self,
        config: &Config,
        namespace: &str,
    ) -> Result<Result<Vec<String>, String>, Stop> {
        let Config { map, key, part, value, restart, .. } = config;
        let path = api::one("ConfigMap", namespace, map);
        let Some(found) = self.found(&path)? else {
            return Ok(Err(format!("there is no ConfigMap `{map}` in {namespace}")));
        };
        let old = found["data"][key].as_str();
        let text = match changes::edited(old, part, value) {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        let mut deployments = Vec::new();
        for name in &restart.0 {
            let path = api::one("Deployment", namespace, name);
            let Some(found) = self.found(&path)? else {
                return Ok(Err(format!("there is no Deployment `{name}` in {namespace}")));
            };
            deployments.push((path, found));
        }
        let undo = Patch { path: path.clone(), patch: changes::data(key, old) };
        self.patch(&found, undo, &changes::data(key, Some(&text)))?;
        for (path, found) in deployments {
            self.count += 1;
            let mark = format!("{}-{}", self.connected().run.id, self.count);
            let undo = Patch { path, patch: changes::restart(changes::mark(&found)) };
            self.patch(&found, undo, &changes::restart(Some(&mark)))?;
        }
        Ok(Ok(restart.0.clone()))
    }

    /// Gives Deployments other numbers of pods; returns their names.
    fn scale_all(
        &mut self,
        scale: &Scale,
        namespace: &str,
    ) -> Result<Result<Vec<String>, String>, Stop> {
        for (name, replicas) in &scale.deployments {
            let path = api::one("Deployment", namespace, name);
            let Some(found) = self.found(&path)? else {
                return Ok(Err(format!("there is no Deployment `{name}` in {namespace}")));
            };
            let path = format!("{path}/scale");
            let undo = Patch { path, patch: changes::scale(changes::replicas(&found)) };
            self.patch(&found, undo, &changes::scale(*replicas))?;
            let run = self.connected().run.namespace.clone();
            for service in self.started.values_mut() {
                let chart = service.chart.as_ref();
                let is_named = |chart: &&lab::backend::Chart| {
                    chart.deployment.as_ref() == Some(name)
                        && chart.namespace.as_ref().unwrap_or(&run) == namespace
                };
                if chart.is_some_and(|chart| is_named(&chart)) {
                    service.replicas = *replicas;
                }
            }
        }
        Ok(Ok(scale.deployments.keys().cloned().collect()))
    }

    fn found(&self, path: &str) -> Result<Option<Value>, Stop> {
        self.connected().api.get(path).map_err(Error::into_stop)
    }

    /// Patches an object, where `undo` says. What brings back what stood there is recorded first,
    /// unless the object disappears with a release of this run, or this run has changed it before.
    fn patch(&mut self, object: &Value, undo: Patch, patch: &Value) -> Result<(), Stop> {
        let path = undo.path.clone();
        let connected = self.connected.as_mut().expect("it is connected");
        let is_recorded = connected.undo.iter().any(|earlier| earlier.is_of_same(&undo));
        if !is_recorded && !changes::is_of(object, &connected.releases) {
            connected.undo.push(undo);
            record(connected)?;
        }
        connected.api.patch(&path, patch).map(drop).map_err(Error::into_stop)
    }

    /// Waits until Deployments have exactly the pods that they are to have, all of them new and ready;
    /// returns what is missing if that takes too long.
    fn complete_in(
        &self,
        namespace: &str,
        deployments: &[String],
        within: Nanos,
    ) -> Result<Option<String>, Stop> {
        let deadline = host::now() + within;
        for name in deployments {
            let path = api::one("Deployment", namespace, name);
            loop {
                self.host.check_interrupt()?;
                let found = self.found(&path)?.unwrap_or_default();
                match lacks(&found, changes::replicas(&found)) {
                    None if pods::name(&found) == name => break,
                    why if deadline < host::now() => {
                        return Ok(Some(why.unwrap_or_else(|| format!("{name} is gone"))));
                    }
                    _ => host::rest(POLL_EVERY),
                }
            }
        }
        Ok(None)
    }

    /// Undoes the changes of this run, the last one first.
    pub(super) fn undo(&mut self) -> Result<(), Stop> {
        let connected = self.connected.as_mut().expect("it is connected");
        if connected.undo.is_empty() {
            return Ok(());
        }
        undo(&connected.api, &connected.undo).map_err(Error::into_stop)?;
        connected.undo.clear();
        record(connected)
    }
}

/// Writes the changes that are to be undone into the owner object.
fn record(connected: &super::Connected) -> Result<(), Stop> {
    let super::Connected { api, run, undo, .. } = connected;
    let (owner, _) = run.owner.as_ref().expect("the place is locked, so there is an owner");
    let path = api::one("ConfigMap", &run.namespace, owner);
    let list = json!({"data": {UNDO: Patch::written(undo)}});
    api.patch(&path, &list).map(drop).map_err(Error::into_stop)
}

/// Undoes changes, the last one first. An object that is gone needs no undoing.
pub(super) fn undo(api: &Api, patches: &[Patch]) -> Result<(), Error> {
    for Patch { path, patch } in patches.iter().rev() {
        match api.patch(path, patch) {
            Err(error) if !error.is_absent() => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}
