//! The questions to other monitors after each load, beside the counters of components that a run reads itself.

use measure::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::SpecError;
use super::{Name, Resolved, Written};

#[cfg(test)]
mod tests;

/// `{prometheus: {name: cpu, url: "http://127.0.0.1:9090", query: "sum(rate(…[1m]))", every: 5s}}`
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Monitor {
    /// A query that a Prometheus answers for the time of a measurement.
    Prometheus(Prometheus),
}

/// Returns what is read in every run under a name that therefore is not a choice; `None` for other
/// names.
pub(super) fn always_read(name: &str) -> Option<&'static str> {
    match name {
        "cgroup" => Some("CPU time, throttling and memory of each component"),
        "node" => Some("steal, pressure and the use by others of the CPUs, and their speed"),
        "process" => Some("threads, sockets and open files of each component"),
        "kubelet" => Some("what kubelets count of each pod, on a cluster"),
        _ => None,
    }
}

/// A query that a Prometheus answers for the time of a measurement.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Prometheus {
    /// The name of the figure in results and report.
    pub name: Name,
    /// The address of the server, without a path of the API; it may contain `${vars.x}`.
    pub url: String,
    /// A query in PromQL.
    pub query: String,
    /// The distance of the values.
    #[serde(default = "five_seconds")]
    pub every: Written<Nanos>,
}

fn five_seconds() -> Written<Nanos> {
    Written(Nanos::from_secs(5))
}

impl Prometheus {
    /// Returns the windows of its query: of `rate(x[1m])` a minute.
    pub fn windows(&self) -> impl Iterator<Item = Nanos> {
        // A subquery, `[10m:1m]`, has its step behind the window.
        let inside = self.query.split('[').skip(1).filter_map(|text| text.split([']', ':']).next());
        inside.filter_map(duration)
    }
}

/// Reads a duration as Prometheus writes it: `1m`, `1h30m`, `500ms`; `None` if it is none.
pub fn duration(text: &str) -> Option<Nanos> {
    let mut rest = text.trim();
    let mut whole = Nanos::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = rest.split_at(digits);
        let end = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        let (unit, after) = unit.split_at(end);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            "w" => 604_800.0,
            "y" => 31_536_000.0,
            _ => return None,
        };
        whole += Nanos::from_secs_f64(number.parse::<u32>().ok()? as f64 * seconds);
        rest = after;
    }
    (Nanos::ZERO < whole).then_some(whole)
}

/// Checks that each name is used once, and that each server and query can be one.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let source = &resolved.source;
    let mut names = Vec::new();
    for Monitor::Prometheus(Prometheus { name, url, query, every }) in &resolved.spec.monitor {
        if names.contains(&name) {
            let message = format!("two monitors are called `{name}`");
            return Err(source.error(message, source.find("name:", name), "give it another name"));
        }
        names.push(name);
        if !resolved.text(url, 1).starts_with("http://") {
            let label = "write the server's address, for example http://127.0.0.1:9090";
            let place = source.find("url:", url);
            return Err(source.error(
                format!("`{url}` is not the address of a Prometheus"),
                place,
                label,
            ));
        }
        if query.trim().is_empty() {
            let label = "write PromQL, for example sum(rate(process_cpu_seconds_total[1m]))";
            return Err(source.error("the query is empty", source.find("query:", "query"), label));
        }
        if **every < Nanos::SECOND {
            let label = "write at least 1s: a Prometheus has no values between its scrapes";
            let place = source.find("every:", "every");
            return Err(source.error("the values are too near to each other", place, label));
        }
    }
    Ok(())
}
