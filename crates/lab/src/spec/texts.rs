//! `${vars.x}` and `${instance}` in texts, and nothing more.

use std::collections::BTreeMap;

use super::read::did_you_mean;
use super::source::SpecError;
use super::{Exchange, ResetStep, Resolved, Step};

/// Replaces every variable; the error is the name of an unknown one.
pub(super) fn substitute(
    text: &str,
    vars: &BTreeMap<String, String>,
    instance: u32,
) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        result += before;
        let Some((name, after)) = behind.split_once('}') else {
            return Err(behind.to_owned());
        };
        result += &match (name, name.strip_prefix("vars.").and_then(|name| vars.get(name))) {
            (_, Some(value)) => value.clone(),
            ("instance", None) => instance.to_string(),
            _ => return Err(name.to_owned()),
        };
        rest = after;
    }
    Ok(result + rest)
}

/// Every text of the spec uses known variables only.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let vars = &resolved.spec.vars;
    for text in all(resolved) {
        let Err(name) = substitute(text, vars, 1) else { continue };
        let mut known: Vec<String> = vars.keys().map(|name| format!("vars.{name}")).collect();
        known.push("instance".to_owned());
        let message = format!("unknown variable `{name}`{}", did_you_mean(&name, &known));
        let written = format!("${{{name}");
        let place = resolved.source.find(&written, &written);
        let label = format!("variables here: {}", known.join(", "));
        return Err(resolved.source.error(message, place, &label));
    }
    Ok(())
}

/// The texts in which variables may stand.
fn all(resolved: &Resolved) -> impl Iterator<Item = &str> {
    let spec = &resolved.spec;
    let commands = spec.sut.deploy.iter().flat_map(|step| {
        let words: &[String] = match step {
            Step::App(app) => std::slice::from_ref(&app.run),
            Step::Process(process) => &process.command.0,
        };
        words.iter().chain(step.environment().values())
    });
    let resets = spec.reset.steps.iter().map(|ResetStep::Http(exchange)| exchange);
    let exchanges = resets
        .chain(&spec.sut.smoke)
        .flat_map(|Exchange { target, body, .. }| [Some(target), body.as_ref()]);
    commands
        .chain(exchanges.flatten())
        .chain(&spec.sut.endpoint.0)
        .chain(&spec.sut.ready.get)
        .chain(&spec.workload.script)
        .chain(&spec.workload.args)
        .chain(&spec.workload.get)
        .map(String::as_str)
}
