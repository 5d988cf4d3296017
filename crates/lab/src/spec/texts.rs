//! Replacement of `${vars.x}`, `${instance}`, `${replicas.step}`, and `${addresses.step}` and its like in
//! texts, and nothing more. The backend replaces what only it knows, `${port}`, `${listen}` and
//! `${folder}` of a replica, and what only it may know: the secrets `${env.NAME}`.

use std::collections::BTreeMap;

use results::secrets::{self, ENV};
use wire::url::{self, Destination, Server};

use super::read::did_you_mean;
use super::source::SpecError;
use super::workload::Given;
use super::{
    Action, Component, Exchange, Foreign, Helm, Monitor, Prometheus, Resolved, Spec, Step,
};

#[cfg(test)]
mod tests;

/// The addresses of the replicas of each step, by their variables: that of `addresses.store` is
/// `127.0.0.1:7001,127.0.0.1:7002`.
pub type Addresses = BTreeMap<String, String>;

/// The beginnings of the variables with the addresses of a step's replicas: each has one part of each, in the
/// order of the replicas.
const OF_STEP: [&str; 4] = ["addresses.", "urls.", "hosts.", "ports."];
const NUMBER_OF: &str = "replicas.";

/// The longest text with its variables replaced, and the longest texts of a question together: a spec of a
/// megabyte could ask for many gigabytes.
const MOST_OF_TEXT: usize = 1 << 20;
const MOST_OF_ALL: usize = 16 << 20;
/// The length with which an address is reckoned that is not known yet.
const LONGEST_ADDRESS: usize = 64;

/// The port of a replica, which the backend replaces.
pub const PORT: &str = "${port}";
/// The address at which a replica shall listen, which the backend replaces: `127.0.0.1:0`.
pub const LISTEN: &str = "${listen}";
/// The folder of a replica, which the backend replaces.
pub const FOLDER: &str = "${folder}";

/// Returns the variables with the addresses of a step's replicas, which have these URLs.
pub(crate) fn of_step(step: &str, urls: &[String]) -> Vec<(String, String)> {
    let of = |url: &String| {
        let [address, host, port] = parts(url).expect("a URL is checked when it becomes known");
        [address, url.clone(), host, port]
    };
    let all: Vec<[String; 4]> = urls.iter().map(of).collect();
    let listed = |part: usize| all.iter().map(|of| &*of[part]).collect::<Vec<_>>().join(",");
    (0..).zip(OF_STEP).map(|(part, kind)| (format!("{kind}{step}"), listed(part))).collect()
}

/// Returns the address of a URL, `host:port` as it was written, and its host and its port. The address of a socket is
/// its path, and its host and port are empty.
pub(super) fn parts(url: &str) -> Result<[String; 3], String> {
    let Server { place, authority, port, .. } = url::server(url)?;
    let (address, host) = match place {
        Destination::Host(host, _) => (authority, host),
        Destination::Socket(path) => (path, String::new()),
    };
    Ok([address, host, port.map(|port| port.to_string()).unwrap_or_default()])
}

/// Returns `host:port` of each of these URLs, without user information, separated by commas.
pub(crate) fn addresses_of<'a>(urls: impl Iterator<Item = &'a str>) -> String {
    let address = |url| {
        let [address, ..] = parts(url).expect("a URL is checked when it becomes known");
        address
    };
    urls.map(address).collect::<Vec<_>>().join(",")
}

/// Returns the step whose addresses a variable has.
fn step_of(name: &str) -> Option<&str> {
    OF_STEP.iter().find_map(|kind| name.strip_prefix(kind))
}

/// Replaces every variable, except those of a replica and secrets, which stay; the error is the name
/// of an unknown one.
pub(crate) fn substitute(
    text: &str,
    Spec { vars, sut, .. }: &Spec,
    instance: u32,
    addresses: &Addresses,
) -> Result<String, String> {
    let number_of = |step: &str| {
        let component = sut.components().find(|component| component.name() == step)?;
        Some(sut.replicas_of(component).to_string())
    };
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        result += before;
        let Some((name, after)) = behind.split_once('}') else {
            return Err(behind.to_owned());
        };
        let constant = name.strip_prefix("vars.").and_then(|name| vars.get(name));
        let address = addresses.get(name);
        let replicas = || name.strip_prefix(NUMBER_OF).and_then(number_of);
        result += &match (name, constant.or(address).cloned().or_else(replicas)) {
            (_, Some(value)) => value,
            ("instance", None) => instance.to_string(),
            ("port", None) => PORT.to_owned(),
            ("listen", None) => LISTEN.to_owned(),
            ("folder", None) => FOLDER.to_owned(),
            _ if secrets::is_reference(name) => format!("${{{name}}}"),
            _ => return Err(name.to_owned()),
        };
        rest = after;
    }
    Ok(result + rest)
}

/// Returns the steps whose addresses this text uses, each with the name of the variable.
pub(super) fn addresses_in(text: &str) -> impl Iterator<Item = (&str, &str)> {
    names(text).filter_map(|name| Some((step_of(name)?, name)))
}

/// Returns the steps whose number of replicas this text uses, as itself or by their addresses.
pub(crate) fn replicas_in(text: &str) -> impl Iterator<Item = &str> {
    names(text).filter_map(|name| step_of(name).or(name.strip_prefix(NUMBER_OF)))
}

/// Returns the names of the variables in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).filter_map(|behind| Some(behind.split_once('}')?.0))
}

/// Checks that every text of the spec uses known variables only, that addresses are used only in the
/// texts of components, in commands and in changes, and what belongs to a replica only in its
/// own.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    check_lengths(resolved)?;
    let sut = &resolved.spec.sut;
    let addresses: Addresses =
        sut.components().flat_map(|component| of_step(component.name(), &[])).collect();
    for component in sut.components() {
        let own: &[&str] = match (component.chart(), component.port()) {
            (Some(_), _) => &[FOLDER],
            (None, Some(_)) => &[PORT, LISTEN, FOLDER],
            (None, None) => &[LISTEN, FOLDER],
        };
        check_all(resolved, component.texts().map(String::as_str), &addresses, own)?;
    }
    for action in actions(resolved) {
        let commands = action.run().into_iter().flat_map(|run| run.texts());
        check_all(resolved, commands, &addresses, &[])?;
        check_all(resolved, action.changed_texts().into_iter(), &addresses, &[])?;
        let requests = action.exchange().into_iter().flat_map(Exchange::texts);
        check_all(resolved, requests, &Addresses::new(), &[])?;
    }
    check_all(resolved, others(resolved), &Addresses::new(), &[])?;
    check_commands(resolved, &addresses)?;
    check_names(resolved, &addresses)?;
    check_common(resolved)
}

/// Checks that no text becomes too long, and not all of them together, before anything replaces a variable.
fn check_lengths(resolved: &Resolved) -> Result<(), SpecError> {
    let Spec { vars, sut, .. } = &resolved.spec;
    let of = |one: &Component| LONGEST_ADDRESS * sut.replicas_of(one) as usize;
    let addresses: BTreeMap<&str, usize> =
        sut.components().map(|one| (one.name(), of(one))).collect();
    let length_of = |name: &str| {
        let constant = name.strip_prefix("vars.").and_then(|name| vars.get(name)).map(String::len);
        let address = || addresses.get(step_of(name)?).copied();
        let secret = || std::env::var_os(name.strip_prefix(ENV)?).map(|value| value.len());
        constant.or_else(address).or_else(secret).unwrap_or(name.len())
    };
    let mut all = 0_usize;
    let mut too_long = None;
    let mut document = resolved.without_words_for_people();
    // The variables themselves are not replaced in each other.
    document.as_object_mut().expect("a spec is a mapping").remove("vars");
    super::secrets::each_text(&document, &mut |text| {
        let replaced: usize = names(text).map(|name| name.len() + "${}".len()).sum();
        let length = names(text).map(length_of).fold(text.len() - replaced, usize::saturating_add);
        all = all.saturating_add(length);
        if MOST_OF_TEXT < length && too_long.is_none() {
            too_long = Some((text.to_owned(), length));
        }
    });
    let bytes = |length: usize| measure::Bytes(length as u64);
    let source = &resolved.source;
    if let Some((text, length)) = too_long {
        let message = format!("this text has {} with its variables", bytes(length));
        let label = format!("a text has at most {} MiB; use a file", MOST_OF_TEXT >> 20);
        return Err(source.error(message, source.inside(&text, &text), &label));
    }
    if MOST_OF_ALL < all {
        let message = format!("the texts of this spec have {} with their variables", bytes(all));
        let label = format!("they have at most {} MiB; use files", MOST_OF_ALL >> 20);
        return Err(source.error(message, source.key(&["vars"]), &label));
    }
    Ok(())
}

/// Checks that no command has a secret: every user of the machine can read it.
fn check_commands(resolved: &Resolved, addresses: &Addresses) -> Result<(), SpecError> {
    let sut = &resolved.spec.sut;
    let of_components =
        sut.components().filter(|one| one.chart().is_none()).flat_map(|one| one.words().to_vec());
    let of_actions = resolved.runs().into_iter().flat_map(|run| run.command.0);
    let words = of_components.chain(of_actions);
    let remedy = "the process list shows commands to everybody; give it by `environment`";
    check_without_secrets(resolved, words, addresses, remedy)?;
    // Its command has the URL of the endpoint, too.
    let exec =
        resolved.spec.workload.foreign().into_iter().flat_map(|Foreign { exec, path, .. }| {
            exec.0.iter().chain(&sut.endpoint.0).chain(path).cloned()
        });
    let remedy = "the process list shows commands to everybody; this generator has the environment of \
                  benchwright, and can read it there";
    check_without_secrets(resolved, exec, addresses, remedy)
}

/// Checks that no name has a secret: of a file, of an object of a cluster, or one that TLS shows.
fn check_names(resolved: &Resolved, addresses: &Addresses) -> Result<(), SpecError> {
    let load = &resolved.spec.load;
    let of_workload = resolved.spec.workload.set().into_iter().flat_map(|set| set.given);
    let of_workload = of_workload.filter(Given::is_name).filter_map(|given| given.text());
    let of_tls = load.tls.iter().flat_map(|tls| [&tls.ca, &tls.cert, &tls.key, &tls.sni]).flatten();
    let charts = resolved.spec.sut.components().filter_map(Component::chart);
    let of_charts = charts.flat_map(Helm::names);
    let changed = actions(resolved).flat_map(|action| {
        action.changed_texts().into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    let names = load.trace().into_iter().chain(of_tls).chain(of_charts).cloned().chain(changed);
    let names = of_workload.map(str::to_owned).chain(names);
    let remedy = "only header fields, bodies, URLs and their paths, checks, arguments of a script, \
                  files and environments of components, and values of charts may have one";
    check_without_secrets(resolved, names, addresses, remedy)
}

fn check_without_secrets(
    resolved: &Resolved,
    texts: impl Iterator<Item = String>,
    addresses: &Addresses,
    remedy: &str,
) -> Result<(), SpecError> {
    for text in texts {
        // A command of another generator has placeholders of its own.
        let text = substitute(&text, &resolved.spec, 1, addresses).unwrap_or(text);
        if let Some(name) = secrets::references(&text).find(|name| name.starts_with(ENV)) {
            let reference = format!("${{{name}}}");
            let place = resolved.source.find(&reference, &reference);
            let message = format!("`{reference}` is not allowed here");
            return Err(resolved.source.error(message, place, remedy));
        }
    }
    Ok(())
}

fn check_all<'a>(
    resolved: &Resolved,
    texts: impl Iterator<Item = &'a str>,
    addresses: &Addresses,
    own: &[&str],
) -> Result<(), SpecError> {
    let vars = &resolved.spec.vars;
    for text in texts {
        if let Some(foreign) = [PORT, LISTEN, FOLDER].iter().find(|name| text.contains(**name))
            && !own.contains(foreign)
        {
            let message = format!("`{foreign}` is not allowed here");
            let label = match (*foreign, own.is_empty()) {
                (PORT, false) => {
                    "only a process with a port may use it; add for example port: auto"
                }
                _ => "only a component's run, command, environment and files may use it",
            };
            return Err(resolved.source.error(
                message,
                resolved.source.inside(text, foreign),
                label,
            ));
        }
        let Err(name) = substitute(text, &resolved.spec, 1, addresses) else { continue };
        let written = format!("${{{name}");
        let place = resolved.source.find(&written, &written);
        if step_of(&name).is_some() && addresses.is_empty() {
            let message = format!("`${{{name}}}` is not allowed here");
            let label =
                "only components, commands of actions and changes of a cluster may use addresses";
            return Err(resolved.source.error(message, place, label));
        }
        let mut known: Vec<String> = vars.keys().map(|name| format!("vars.{name}")).collect();
        known.extend(["instance", "env.NAME"].map(str::to_owned));
        if let Some(kind) = OF_STEP.iter().find(|kind| name.starts_with(**kind)) {
            known = addresses.keys().filter(|name| name.starts_with(kind)).cloned().collect();
        }
        if name.starts_with(NUMBER_OF) {
            let components = resolved.spec.sut.components();
            known = components.map(|one| format!("{NUMBER_OF}{}", one.name())).collect();
        }
        let message = format!("unknown variable `{name}`{}", did_you_mean(&name, &known));
        let known = format!("variables here: {}", known.join(", "));
        let label = match is_of_environment(&name) {
            true => format!("write ${{{ENV}{name}}} for one of the environment; {known}"),
            false => known,
        };
        return Err(resolved.source.error(message, place, &label));
    }
    Ok(())
}

/// Returns true for a name as variables of the environment have them: `TOKEN`.
fn is_of_environment(name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_of_name)
}

/// Returns all actions and checks, in `deploy` and elsewhere.
pub(super) fn actions(resolved: &Resolved) -> impl Iterator<Item = Action> {
    let spec = &resolved.spec;
    let deploy = spec.sut.deploy.iter().filter_map(Step::action).cloned();
    deploy.chain(spec.reset.steps.iter().cloned()).chain(spec.sut.later_actions())
}

/// Returns the texts outside components and actions that may use variables.
fn others(resolved: &Resolved) -> impl Iterator<Item = &str> {
    let spec = &resolved.spec;
    let readiness = spec.sut.components().filter_map(Component::ready).chain([&spec.sut.ready]);
    let ready = readiness.filter_map(|ready| ready.get.as_deref());
    let monitors = spec.monitor.iter().map(|Monitor::Prometheus(Prometheus { url, .. })| url);
    let words = spec.sut.endpoint.0.iter().chain(monitors).map(String::as_str);
    let words = words.chain(spec.workload.path()).chain(of_all_targets(resolved));
    spec.sut.smoke.iter().flat_map(Exchange::texts).chain(ready).chain(words)
}

/// Returns the texts of the load that are the same for all targets.
fn of_all_targets(resolved: &Resolved) -> impl Iterator<Item = &str> {
    let load = &resolved.spec.load;
    let of_tls = load.tls.iter().flat_map(|tls| [&tls.ca, &tls.cert, &tls.key, &tls.sni]).flatten();
    let of_workload = resolved.spec.workload.set().into_iter().flat_map(|set| set.given);
    let of_workload = of_workload.filter_map(|given| given.text());
    of_workload.chain(load.trace().into_iter().chain(of_tls).map(String::as_str))
}

/// Checks that no text that all targets share depends on the instance.
fn check_common(resolved: &Resolved) -> Result<(), SpecError> {
    const OF_INSTANCE: &str = "${instance}";
    match of_all_targets(resolved).find(|text| text.contains(OF_INSTANCE)) {
        None => Ok(()),
        Some(text) => Err(resolved.source.error(
            format!("`{OF_INSTANCE}` is not allowed here"),
            resolved.source.inside(text, OF_INSTANCE),
            "all instances get the same requests; only their paths may differ",
        )),
    }
}
