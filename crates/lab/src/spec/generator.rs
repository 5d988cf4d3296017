//! The command line of the generator, which is a separate process. It prints a `results::Load`.

use measure::{Nanos, Rate};
use results::slo;
use wire::url::{self, Server};

use super::foreign_generator::{Values, filled, whole};
use super::{BackendKind, Component, Foreign, HTTP, Model, Parse, Protocol, Resolved};

pub use arguments::{Arguments, Value};
pub use options::{FRAMED, Known, Origin, PART, SECRETS, START, UNTIL_MISSED, options};

use options::Asked;

mod arguments;
mod options;

#[cfg(test)]
mod tests;

/// A load that the generator shall make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskedLoad {
    /// The rate of each target; `None` is a closed loop, or the spec's shape or trace.
    pub rate: Option<Rate>,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    /// The time that each line of progress covers, if it is not the usual second.
    pub interval: Option<Nanos>,
    pub seed: u64,
}

/// Returns the arguments of a load; `addresses` are those of each target's replicas, if there are
/// several.
pub fn arguments(
    resolved: &Resolved,
    targets: &[String],
    addresses: &[String],
    wanted: &AskedLoad,
) -> Arguments {
    written(&Asked { resolved, targets, addresses, wanted, only_checked: false })
}

/// A load that somebody else's generator makes.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignLoad {
    /// The command of the warm-up, which is a run of its own; absent if there is none.
    pub warm_up: Option<Vec<String>>,
    /// The command of the measurement.
    pub command: Vec<String>,
    pub parse: Parse,
    /// The rate that it is given, in requests per second; absent in a closed loop.
    pub rate: Option<f64>,
    /// The response time above which an answer is not good.
    pub limit: Option<Nanos>,
}

/// Returns the load of another generator, if the spec names one.
pub fn foreign(resolved: &Resolved, targets: &[String], wanted: &AskedLoad) -> Option<ForeignLoad> {
    let Foreign { exec, parse, .. } = resolved.spec.workload.foreign()?;
    let rate = wanted.rate;
    let url = Some(targets.first().expect("a load has a target").as_str());
    let connections = resolved.spec.load.connections_at(rate);
    let of = |length| filled(resolved, exec, &Values { url, length, rate, connections });
    Some(ForeignLoad {
        warm_up: (Nanos::ZERO < wanted.warm_up).then(|| of(wanted.warm_up)),
        command: of(wanted.measure),
        parse: parse.clone(),
        rate: rate.map(whole),
        limit: slo::tightest(&resolved.slos()),
    })
}

/// Returns the arguments that make the generator check all that the spec asks
/// of it, with the files that it names, before anything is deployed.
pub fn check(resolved: &Resolved) -> Arguments {
    let targets = targets_to_check(resolved);
    let wanted = wanted_to_check(resolved);
    let (addresses, wanted) = (&[][..], &wanted);
    written(&Asked { resolved, targets: &targets, addresses, wanted, only_checked: true })
}

/// Returns the fields of the spec that set an option of its loads.
pub fn fields(resolved: &Resolved) -> Vec<&'static str> {
    // The targets are no field, and their URLs may not be checked yet.
    let (targets, addresses) = (&[][..], &[][..]);
    let wanted = &wanted_to_check(resolved);
    let asked = Asked { resolved, targets, addresses, wanted, only_checked: true };
    let set = |known: &Known| match known.origin {
        Origin::Spec { field, .. } | Origin::Workload { field }
            if !known.values(&asked).is_empty() =>
        {
            Some(field)
        }
        _ => None,
    };
    options().filter_map(|known| set(&known)).collect()
}

/// Returns a text of the generator with the fields of a spec in place of the options that they set: an experiment
/// does not have these. Where the text names the field itself, it stays.
pub fn in_fields(text: &str) -> String {
    let mut rest = text;
    let mut written = String::new();
    while let Some(at) = rest.find("--") {
        let (before, from) = rest.split_at(at);
        let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
        let (name, after) = from.split_at(from.find(|c| !is_name(c)).unwrap_or(from.len()));
        let is_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
        let known = options().filter(|_| is_word).find(|known| known.name == name);
        let field = known.and_then(|known| match known.origin {
            Origin::Spec { field, .. } | Origin::Workload { field } => Some(field),
            Origin::Runner { .. } | Origin::Nothing { .. } => None,
        });
        written += before;
        written += field.filter(|field| !text.contains(field)).unwrap_or(name);
        rest = after;
    }
    written + rest
}

fn written(asked: &Asked<'_>) -> Arguments {
    let each = options()
        .flat_map(|known| known.values(asked).into_iter().map(move |value| (known.name, value)));
    each.fold(Arguments::default(), |all, (name, value)| all.with(name, value))
}

/// Returns a rate that stands for those of the trials, which are not known yet.
fn wanted_to_check(resolved: &Resolved) -> AskedLoad {
    let load = &resolved.spec.load;
    let phases = &resolved.spec.phases;
    let has_rate = matches!(load.model, Model::Rate { .. });
    AskedLoad {
        rate: has_rate.then(|| Rate::per_second(1.0).expect("one is positive")),
        warm_up: *phases.warm_up.fixed,
        measure: *phases.measure.time,
        drain: *phases.drain,
        interval: None,
        seed: resolved.seed(),
    }
}

/// Returns the targets, with addresses in place of those that are not known yet.
fn targets_to_check(resolved: &Resolved) -> Vec<String> {
    let stated = resolved.spec.sut.endpoint_component().and_then(Component::scheme);
    let usual = match resolved.spec.workload.protocol() {
        Protocol::Store => "kv",
        Protocol::Http | Protocol::Foreign if resolved.spec.load.tls.is_some() => "https",
        Protocol::Http | Protocol::Foreign => HTTP,
    };
    let scheme = stated.map_or(usual, |scheme| &**scheme);
    let url = |instance: u32| match resolved.spec.where_.backend {
        BackendKind::External => {
            resolved.text(&resolved.spec.sut.endpoint.0[instance as usize - 1], instance)
        }
        BackendKind::Local | BackendKind::Simulated | BackendKind::Kubernetes => {
            format!("{scheme}://127.0.0.1:1")
        }
    };
    (1..=resolved.targets()).map(|i| target(resolved, &url(i), i)).collect()
}

/// Returns true if the path of the workload would come behind the query of a URL.
pub(super) fn is_behind_query(resolved: &Resolved, server: &Server) -> bool {
    let has_path = resolved.spec.workload.path().is_some_and(|path| path != "/");
    has_path && server.target.contains('?')
}

/// Returns a component's URL with the workload's own path. The path of an endpoint is requested as
/// it is, unless the workload has another one than `/`.
pub fn target(resolved: &Resolved, url: &str, instance: u32) -> String {
    let path = resolved.spec.workload.path().map(|path| resolved.text(path, instance));
    let Some(path) = path else { return url.to_owned() };
    let server = url::server(url).expect("a URL is checked when it becomes known");
    if path == "/" && server.target != "/" {
        return url.to_owned();
    }
    let Server { before_target, target, .. } = &server;
    format!("{before_target}{}/{}", target.trim_end_matches('/'), path.trim_start_matches('/'))
}
