//! The order in which components start and actions are carried out, and the names of components.

use std::collections::{BTreeMap, BTreeSet};

use super::read::did_you_mean;
use super::source::{Location, SpecError};
use super::{Action, BackendKind, Change, Component, Port, Resolved, Step, texts};

#[cfg(test)]
mod tests;

/// The value of a chart with the number of replicas.
pub(crate) const REPLICAS: &str = "replicaCount";
/// The most components that one machine can run.
const MOST_COMPONENTS: u64 = 1_000;

/// A part of a deployment; the next one begins after its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage<'a> {
    /// Components that start together.
    Wave(Vec<&'a Component>),
    Action(&'a Action),
}

/// Returns the stages in order. A component that needs itself, even indirectly, is in none.
pub(super) fn stages(steps: &[Step]) -> Vec<Stage<'_>> {
    let mut stages = Vec::new();
    let mut started = BTreeSet::new();
    let is_component = |step: &Step| step.component().is_some();
    for part in steps.chunk_by(|a, b| is_component(a) && is_component(b)) {
        let components: Vec<&Component> = part.iter().filter_map(Step::component).collect();
        stages.extend(waves(&components, &mut started).into_iter().map(Stage::Wave));
        stages.extend(part.iter().filter_map(Step::action).map(Stage::Action));
    }
    stages
}

/// Returns the components in waves, and adds their names to the `started` ones.
fn waves<'a>(
    components: &[&'a Component],
    started: &mut BTreeSet<&'a str>,
) -> Vec<Vec<&'a Component>> {
    let mut waves: Vec<Vec<&Component>> = Vec::new();
    loop {
        let waiting = components.iter().filter(|component| !started.contains(component.name()));
        let is_next =
            |component: &&Component| component.needs().iter().all(|need| started.contains(need));
        let wave: Vec<&Component> = waiting.copied().filter(is_next).collect();
        if wave.is_empty() {
            return waves;
        }
        started.extend(wave.iter().map(|component| component.name()));
        waves.push(wave);
    }
}

/// Checks that names are distinct, that needs can be met, that ports can be used, and that the
/// processes are not too many.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let components: Vec<&Component> = resolved.spec.sut.components().collect();
    let source = &resolved.source;
    let names: Vec<&str> = components.iter().map(|component| component.name()).collect();
    let named = |component: &Component| source.find("name:", component.name());
    for (index, component) in components.iter().enumerate() {
        let name = component.name();
        if names[..index].contains(&name) {
            let message = format!("two components are called `{name}`");
            return Err(source.error(message, named(component), "give each a different name"));
        }
        for need in component.needs() {
            let place = || source.find("needs:", need).or_else(|| named(component));
            if need == name {
                let message = format!("`{need}` needs itself");
                return Err(source.error(message, place(), "it could never be started; remove it"));
            }
            if !names.contains(&need) {
                let hint = did_you_mean(need, &names);
                let message =
                    format!("`{name}` needs `{need}`, but no component has this name{hint}");
                let label = format!("components here: {}", names.join(", "));
                return Err(source.error(message, place(), &label));
            }
        }
    }
    if let Some(round) = round(&components) {
        let place = named(round[0]);
        let names: Vec<&str> = round.iter().chain(&round[..1]).map(|step| step.name()).collect();
        let message = format!("none of these can start first: {}", names.join(" needs "));
        return Err(source.error(message, place, "remove one of these needs"));
    }
    check_order(resolved)?;
    check_changes(resolved)?;
    check_runs(resolved)?;
    check_components(resolved)?;
    check_ports(resolved)
}

/// Returns components of which each needs the next, and the last needs the first.
fn round<'a>(components: &[&'a Component]) -> Option<Vec<&'a Component>> {
    let mut started = BTreeSet::new();
    waves(components, &mut started);
    let is_stuck = |component: &&&Component| !started.contains(component.name());
    let stuck = |name: &str| components.iter().find(|c| c.name() == name && is_stuck(c)).copied();
    let mut path: Vec<&Component> = vec![components.iter().find(is_stuck).copied()?];
    loop {
        let last = path[path.len() - 1];
        let next =
            last.needs().into_iter().find_map(stuck).expect("a stuck step waits for a stuck step");
        if let Some(begin) = path.iter().position(|step| step.name() == next.name()) {
            return Some(path.split_off(begin));
        }
        path.push(next);
    }
}

/// Checks that nothing is needed or used before it is started: actions divide `deploy`.
fn check_order(resolved: &Resolved) -> Result<(), SpecError> {
    let source = &resolved.source;
    let sut = &resolved.spec.sut;
    let mut started: BTreeSet<&str> = BTreeSet::new();
    for part in sut.deploy.split(|step| step.action().is_some()) {
        started.extend(part.iter().filter_map(Step::component).map(Component::name));
        for component in part.iter().filter_map(Step::component) {
            let Some(need) = component.needs().into_iter().find(|need| !started.contains(need))
            else {
                continue;
            };
            let name = component.name();
            let message = format!("`{name}` needs `{need}`, which starts after a later action");
            let place = source.find("needs:", need).or_else(|| source.find("name:", name));
            return Err(source.error(message, place, "put it before the action"));
        }
    }
    started.clear();
    for stage in resolved.stages() {
        match stage {
            Stage::Wave(wave) => started.extend(wave.iter().map(|component| component.name())),
            Stage::Action(action) => {
                let endpoint = sut.endpoint_component().map(Component::name);
                for (used, place) in used(resolved, action, endpoint) {
                    check_known(resolved, used, place)?;
                    if !started.contains(used) {
                        let message = format!("this action uses `{used}`, which starts after it");
                        let label = "put the action after the component, or name another one \
                                     with `to`";
                        return Err(source.error(message, place, label));
                    }
                }
            }
        }
    }
    let resets = resolved.spec.reset.steps.iter().cloned();
    let smoke = sut.smoke.iter().cloned().map(Action::Http);
    for action in sut.later_actions().chain(resets).chain(smoke) {
        for (used, place) in used(resolved, &action, None) {
            check_known(resolved, used, place)?;
        }
    }
    Ok(())
}

/// Checks that objects of a cluster are changed only on one.
fn check_changes(resolved: &Resolved) -> Result<(), SpecError> {
    let backend = resolved.spec.where_.backend;
    if matches!(backend, BackendKind::Kubernetes | BackendKind::Simulated) {
        return Ok(());
    }
    let Some(change) = texts::actions(resolved).find_map(|action| action.change()) else {
        return Ok(());
    };
    let (kind, place) = match &change {
        Change::Config(config) => ("config:", resolved.source.find("map:", &config.map)),
        Change::Scale(_) => ("scale:", None),
    };
    let place = place.or_else(|| resolved.source.find(kind, kind));
    let message = format!("`{kind}` changes an object of a cluster");
    Err(resolved.source.error(message, place, "choose backend: kubernetes"))
}

/// Checks that each program is named once, and that a Job has a cluster.
fn check_runs(resolved: &Resolved) -> Result<(), SpecError> {
    let backend = resolved.spec.where_.backend;
    let has_cluster = matches!(backend, BackendKind::Kubernetes | BackendKind::Simulated);
    for run in resolved.runs() {
        let (message, label) = match (run.command.is_none(), &run.job) {
            (true, None) => ("this `run` has no command", "write for example command: [true]"),
            (false, Some(_)) => ("`command` and `job` exclude each other", "remove one of both"),
            (true, Some(_)) if !has_cluster => {
                ("`job` is a pod of a cluster", "choose backend: kubernetes, or write a command")
            }
            _ => continue,
        };
        let file = run.job.as_deref().unwrap_or("run:");
        let place = resolved.source.find(if run.job.is_some() { "job:" } else { file }, file);
        return Err(resolved.source.error(message, place, label));
    }
    Ok(())
}

/// Returns the components that an action uses, each with its place in the text.
fn used<'a>(
    resolved: &'a Resolved,
    action: &'a Action,
    endpoint: Option<&'a str>,
) -> Vec<(&'a str, Option<Location>)> {
    let source = &resolved.source;
    let asked = action.exchange().and_then(|exchange| match &exchange.to {
        Some(name) => Some((&**name, source.find("to:", name))),
        None => endpoint.map(|name| (name, source.find("http:", &exchange.target))),
    });
    let texts = action.run().into_iter().flat_map(|run| run.texts());
    let addresses = texts.chain(action.changed_texts()).flat_map(texts::addresses_in);
    let addresses = addresses.map(|(step, variable)| {
        let written = format!("${{{variable}}}");
        (step, source.find(&written, &written))
    });
    let restarted = action.restarted().iter().map(|name| (&**name, source.find("restart:", name)));
    asked.into_iter().chain(addresses).chain(restarted).collect()
}

fn check_known(resolved: &Resolved, name: &str, place: Option<Location>) -> Result<(), SpecError> {
    let names: Vec<&str> = resolved.spec.sut.components().map(Component::name).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let message = format!("no component is called `{name}`{}", did_you_mean(name, &names));
    let label = match names.is_empty() {
        true => "this spec deploys none".to_owned(),
        false => format!("components here: {}", names.join(", ")),
    };
    Err(resolved.source.error(message, place, &label))
}

/// Checks that a port is used by one process and known to it.
fn check_ports(resolved: &Resolved) -> Result<(), SpecError> {
    let sut = &resolved.spec.sut;
    let source = &resolved.source;
    let of_system = [sut.ready.tcp, sut.ready.log.is_some()];
    if of_system.contains(&true) {
        let place = source.find("ready:", "ready:");
        let label = "write it in the `ready` of a component that has a port";
        return Err(source.error("`tcp` and `log` belong to one component", place, label));
    }
    let mut known: BTreeMap<u16, &str> = BTreeMap::new();
    for component in sut.components() {
        let name = component.name();
        let named = || source.find("name:", name);
        if let Some(chart) = component.chart() {
            if chart.deployment.is_some() && chart.set.contains_key(REPLICAS) {
                let message = format!("`{REPLICAS}` and `deployment` of `{name}` contradict");
                let label = "remove it: `replicas` says how many pods the Deployment has";
                let place = source.find(REPLICAS, REPLICAS);
                return Err(source.error(message, place, label));
            }
            if resolved.spec.where_.backend == BackendKind::Local {
                let message = format!("`{name}` is a chart, which needs a cluster");
                return Err(source.error(message, named(), "choose backend: kubernetes"));
            }
            continue;
        }
        if component.manifest().is_some() {
            check_manifest(resolved, name)?;
            continue;
        }
        let Some(port) = component.port() else {
            if component.ready().is_some_and(|ready| ready.tcp || ready.log.is_some()) {
                let message = format!("`{name}` has no port, so it must print `ready <url>`");
                let label = "add for example port: auto, or remove `tcp` and `log`";
                return Err(source.error(message, named(), label));
            }
            continue;
        };
        match port {
            Port::Auto if !component.texts().any(|text| uses_port(text)) => {
                let message = format!("`{name}` never uses its port");
                let label = "write ${port} in its command, environment or files";
                return Err(source.error(message, named(), label));
            }
            Port::Auto => {}
            Port::At(port) => {
                if 1 < sut.instances.0 * sut.replicas_of(component) {
                    let message = format!("the replicas of `{name}` cannot share port {port}");
                    let place = source.find("port:", &port.to_string());
                    return Err(source.error(message, place, "write port: auto"));
                }
                if let Some(other) = known.insert(port, name) {
                    let message = format!("`{other}` and `{name}` cannot share port {port}");
                    let place = source.find("port:", &port.to_string());
                    return Err(source.error(message, place, "write port: auto"));
                }
            }
        }
    }
    Ok(())
}

/// Checks that the objects of a file can be made once, on a cluster: their names are those of the file.
fn check_manifest(resolved: &Resolved, name: &str) -> Result<(), SpecError> {
    let refuse = |message: String, label: &str| {
        Err(resolved.source.error(message, resolved.source.find("name:", name), label))
    };
    match resolved.spec.where_.backend {
        BackendKind::Local => {
            let message = format!("`{name}` is a file of objects, which needs a cluster");
            refuse(message, "choose backend: kubernetes")
        }
        _ if 1 < resolved.spec.sut.instances.0 => {
            refuse(format!("`{name}` cannot have several instances"), "use `replicas`, or a chart")
        }
        _ => Ok(()),
    }
}

fn uses_port(text: &str) -> bool {
    [texts::PORT, texts::LISTEN].iter().any(|name| text.contains(name))
}

/// Checks the names: `geo-1.2` is replica 2 of `geo` in instance 1; no other component may have it.
fn check_components(resolved: &Resolved) -> Result<(), SpecError> {
    let sut = &resolved.spec.sut;
    let of_component = |component: &Component| u64::from(sut.replicas_of(component));
    let all = u64::from(sut.instances.0) * sut.components().map(of_component).sum::<u64>();
    if MOST_COMPONENTS < all {
        let message = format!("this is a system of {all} processes");
        let place = resolved.source.find("sut:", "sut:");
        let label = format!("reduce instances or replicas: at most {MOST_COMPONENTS} processes");
        return Err(resolved.source.error(message, place, &label));
    }
    let mut known = BTreeSet::new();
    for component in sut.components() {
        for instance in 1..=sut.instances.0 {
            for name in resolved.replicas_of(component, instance) {
                if !known.insert(name.clone()) {
                    let message = format!("two components would be called `{name}`");
                    let place = resolved.source.find("name:", component.name());
                    return Err(resolved.source.error(message, place, "rename this step"));
                }
            }
        }
    }
    Ok(())
}
