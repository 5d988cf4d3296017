//! Replacement of `${vars.x}`, `${instance}` and `${addresses.step}` in texts, and nothing more.

use std::collections::BTreeMap;

use super::read::did_you_mean;
use super::source::SpecError;
use super::{Exchange, ResetStep, Resolved, Step};

/// The addresses of the replicas of each step, by its name: `127.0.0.1:7001,127.0.0.1:7002`.
pub type Addresses = BTreeMap<String, String>;

const OF_STEP: &str = "addresses.";

/// Replaces every variable; the error is the name of an unknown one.
pub(super) fn substitute(
    text: &str,
    vars: &BTreeMap<String, String>,
    instance: u32,
    addresses: &Addresses,
) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        result += before;
        let Some((name, after)) = behind.split_once('}') else {
            return Err(behind.to_owned());
        };
        let constant = name.strip_prefix("vars.").and_then(|name| vars.get(name));
        let address = name.strip_prefix(OF_STEP).and_then(|step| addresses.get(step));
        result += &match (name, constant.or(address)) {
            (_, Some(value)) => value.clone(),
            ("instance", None) => instance.to_string(),
            _ => return Err(name.to_owned()),
        };
        rest = after;
    }
    Ok(result + rest)
}

/// Returns the steps whose addresses this text uses.
pub(super) fn addresses_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).filter_map(|behind| {
        let (name, _) = behind.split_once('}')?;
        name.strip_prefix(OF_STEP)
    })
}

/// Checks that every text of the spec uses known variables only, and that addresses are used only
/// in the texts of components.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let steps = &resolved.spec.sut.deploy;
    let addresses: Addresses =
        steps.iter().map(|step| (step.name().to_owned(), String::new())).collect();
    check_all(resolved, of_components(resolved), &addresses)?;
    check_all(resolved, of_requests(resolved), &Addresses::new())
}

fn check_all<'a>(
    resolved: &Resolved,
    texts: impl Iterator<Item = &'a str>,
    addresses: &Addresses,
) -> Result<(), SpecError> {
    let vars = &resolved.spec.vars;
    for text in texts {
        let Err(name) = substitute(text, vars, 1, addresses) else { continue };
        let written = format!("${{{name}");
        let place = resolved.source.find(&written, &written);
        if name.starts_with(OF_STEP) && addresses.is_empty() {
            let message = format!("`${{{name}}}` is not allowed here");
            let label = "only a component's run, command and environment may use addresses";
            return Err(resolved.source.error(message, place, label));
        }
        let mut known: Vec<String> = vars.keys().map(|name| format!("vars.{name}")).collect();
        known.push("instance".to_owned());
        if name.starts_with(OF_STEP) {
            known = addresses.keys().map(|step| format!("{OF_STEP}{step}")).collect();
        }
        let message = format!("unknown variable `{name}`{}", did_you_mean(&name, &known));
        let label = format!("variables here: {}", known.join(", "));
        return Err(resolved.source.error(message, place, &label));
    }
    Ok(())
}

/// Returns the texts of components, which may use addresses as well.
fn of_components(resolved: &Resolved) -> impl Iterator<Item = &str> {
    let steps = resolved.spec.sut.deploy.iter();
    steps.flat_map(Step::texts).map(String::as_str)
}

/// Returns all other texts that may use variables.
fn of_requests(resolved: &Resolved) -> impl Iterator<Item = &str> {
    let spec = &resolved.spec;
    let resets = spec.reset.steps.iter().map(|ResetStep::Http(exchange)| exchange);
    let exchanges = resets
        .chain(&spec.sut.smoke)
        .flat_map(|Exchange { target, body, .. }| [Some(target), body.as_ref()]);
    let readiness = spec.sut.deploy.iter().filter_map(Step::ready).chain([&spec.sut.ready]);
    exchanges
        .flatten()
        .chain(&spec.sut.endpoint.0)
        .chain(readiness.filter_map(|ready| ready.get.as_ref()))
        .chain(&spec.workload.script)
        .chain(&spec.workload.args)
        .chain(&spec.workload.get)
        .map(String::as_str)
}
