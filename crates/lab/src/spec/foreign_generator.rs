//! Somebody else's load generator: its command, and how its output is read.

use std::collections::BTreeMap;
use std::path::Path;

use measure::pace::Distribution;
use measure::{Nanos, Quantile, Rate};
use results::printed::Since;
use results::{Metric, Slo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::http1::check_target;

use super::foreign::Pattern;
use super::generator;
use super::read::did_you_mean;
use super::source::{Location, SpecError};
use super::{Arrivals, BackendKind, Command, Foreign, Resolved, Start, texts};

#[cfg(test)]
mod tests;

/// The reader of a generator's output.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Parse {
    /// The text of wrk, with `--latency` for its percentiles.
    Wrk,
    /// The text of wrk2, with `--latency` for its percentiles.
    Wrk2,
    /// Its JSON, which it prints with `-json -`.
    Fortio,
    /// The text of hey.
    Hey,
    /// The output of any other generator, by regular expressions.
    Regex(Expressions),
}

/// Regular expressions for the output of any other generator. Each has one group, which is the
/// figure.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenExpressions")]
#[schemars(!try_from, deny_unknown_fields)]
pub struct Expressions {
    /// The number of requests, with the failed ones.
    pub requests: Pattern,
    /// The number of failed requests: the sum of all matches, zero if there is none.
    pub failed: Pattern,
    /// The length of the measurement: the one that was asked for, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Pattern>,
    /// The moment from which the generator counts its times.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["intended", "sent", null]))]
    pub since: Option<Since>,
    /// Times by their names: `p50`, `p99.9`, `mean`, `max`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub times: BTreeMap<String, Pattern>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExpressions {
    requests: Pattern,
    failed: Pattern,
    duration: Option<Pattern>,
    since: Option<Since>,
    #[serde(default)]
    times: BTreeMap<String, Pattern>,
}

/// The names of a group that give its figure a unit. A group without a name holds a number with
/// its unit: `1.5ms`.
pub const UNITS: [(&str, f64); 4] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];

impl TryFrom<WrittenExpressions> for Expressions {
    type Error = String;
    fn try_from(written: WrittenExpressions) -> Result<Expressions, String> {
        let WrittenExpressions { requests, failed, duration, since, times } = written;
        for pattern in [&requests, &failed].into_iter().chain(&duration).chain(times.values()) {
            if pattern.regex().captures_len() != 2 {
                return Err(format!(
                    "`{pattern}` needs one group, which is the figure; write for example \
                     `requests: (\\d+)`"
                ));
            }
        }
        for pattern in duration.iter().chain(times.values()) {
            let regex = pattern.regex();
            let name = regex.capture_names().flatten().next();
            if name.is_some_and(|name| UNITS.iter().all(|(unit, _)| *unit != name)) {
                return Err(format!(
                    "the group of `{pattern}` is named by the unit of its figure: ns, us, ms or \
                     s; without a name it holds a number with its unit, 1.5ms"
                ));
            }
        }
        let is_known = |name: &String| name == "mean" || name == "max" || level(name).is_some();
        if let Some(name) = times.keys().find(|name| !is_known(name)) {
            return Err(format!(
                "`{name}` is not a time; write p50, p99, p99.9 (any percentile), mean or max"
            ));
        }
        if since.is_none() && !times.is_empty() {
            return Err("from when does the generator count its times? write `since: sent` (most \
                        do), or `since: intended` if a slow answer does not delay the counting"
                .to_owned());
        }
        Ok(Expressions { requests, failed, duration, since, times })
    }
}

/// Returns the level of a percentile by its name: 0.999 for `p99.9`.
pub fn level(name: &str) -> Option<f64> {
    let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
    // Without the error of the division.
    (0.0 < percent && percent < 100.0).then(|| (percent * 1e7).round() / 1e9)
}

impl Parse {
    /// Returns the name of the generator.
    pub fn tool(&self, command: &[String]) -> String {
        match self {
            Parse::Wrk => "wrk".to_owned(),
            Parse::Wrk2 => "wrk2".to_owned(),
            Parse::Fortio => "fortio".to_owned(),
            Parse::Hey => "hey".to_owned(),
            Parse::Regex(_) => {
                let program = command.first().map_or("", |program| program.as_str());
                let name = Path::new(program).file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        }
    }

    /// Returns true if the generator makes only closed loops, false if only open ones, with the remedy for others.
    fn is_closed(&self) -> Option<(bool, &'static str)> {
        match self {
            Parse::Wrk | Parse::Hey => Some((
                true,
                "it sends the next request after an answer; write load: {model: closed}",
            )),
            Parse::Wrk2 => Some((
                false,
                "it sends by the clock; write load: {model: open, rate: 500/s}, or a search",
            )),
            Parse::Fortio | Parse::Regex(_) => None,
        }
    }

    /// Returns the moment from which the generator counts its times, if it prints any.
    fn since(&self) -> Option<Since> {
        match self {
            Parse::Wrk | Parse::Hey | Parse::Fortio => Some(Since::Sent),
            Parse::Wrk2 => Some(Since::Intended),
            Parse::Regex(expressions) => expressions.since,
        }
    }

    /// Returns the levels of the percentiles that this command prints.
    fn levels(&self, command: &[String]) -> Vec<f64> {
        let has = |options: &[&str]| command.iter().any(|word| options.contains(&word.as_str()));
        match self {
            Parse::Wrk if has(&["--latency", "-L"]) => vec![0.5, 0.75, 0.9, 0.99],
            Parse::Wrk2 if has(&["--latency", "-L", "--u_latency", "-U"]) => {
                vec![0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999]
            }
            Parse::Wrk | Parse::Wrk2 => Vec::new(),
            Parse::Hey => vec![0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99],
            Parse::Fortio => {
                let written = of_go(command, "p").unwrap_or("50,75,90,99,99.9");
                let percent = |text: &str| Some(text.trim().parse::<f64>().ok()? / 100.0);
                written.split(',').filter_map(percent).collect()
            }
            Parse::Regex(expressions) => {
                expressions.times.keys().filter_map(|name| level(name)).collect()
            }
        }
    }
}

/// Returns the value of an option of a program that uses Go's flags: `-p 50,99` or `-p=50,99`.
fn of_go<'a>(command: &'a [String], name: &str) -> Option<&'a str> {
    let at = |(i, word): (usize, &'a String)| {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        match option.split_once('=') {
            Some((known, value)) => (known == name).then_some(value),
            None if option == name => command.get(i + 1).map(String::as_str),
            None => None,
        }
    };
    command.iter().enumerate().find_map(at)
}

const URL: &str = "${url}";
const ADDRESS: &str = "${address}";
const HOST: &str = "${host}";
const PORT: &str = "${port}";
const DURATION: &str = "${duration}";
const DURATION_S: &str = "${duration_s}";
const RATE: &str = "${rate}";
const CONNECTIONS: &str = "${connections}";
const PLACEHOLDERS: [&str; 8] = [URL, ADDRESS, HOST, PORT, DURATION, DURATION_S, RATE, CONNECTIONS];

/// The values of one load, which replace the placeholders of a command.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// `None` while it is not known: its placeholders are then left out.
    pub url: Option<&'a str>,
    /// In whole seconds.
    pub length: Nanos,
    /// Rounded to whole requests per second, which every generator can read.
    pub rate: Option<Rate>,
    pub connections: u32,
}

/// Returns the rate that a generator is given: whole requests per second, at least one.
pub fn whole(rate: Rate) -> f64 {
    rate.as_per_second().round().max(1.0)
}

/// Returns a command with its placeholders and variables replaced.
pub fn filled(resolved: &Resolved, command: &Command, values: &Values<'_>) -> Vec<String> {
    let parts = values.url.map(|url| texts::parts(url).expect("the URL and the path were checked"));
    let parts = parts.unwrap_or_default();
    command.0.iter().map(|word| resolved.text(&with(word, values, &parts), 1)).collect()
}

/// Returns a word with its placeholders replaced; `parts` are those of the URL.
fn with(word: &str, values: &Values<'_>, [address, host, port]: &[String; 3]) -> String {
    let seconds = values.length.as_secs_f64().round();
    let rate = values.rate.map(|rate| whole(rate).to_string()).unwrap_or_default();
    word.replace(URL, values.url.unwrap_or_default())
        .replace(ADDRESS, address)
        .replace(HOST, host)
        .replace(PORT, port)
        .replace(DURATION, &format!("{seconds}s"))
        .replace(DURATION_S, &seconds.to_string())
        .replace(RATE, &rate)
        .replace(CONNECTIONS, &values.connections.to_string())
}

/// The fields of a load that another generator follows, or that the runner does. The arrivals and
/// the timeout are its own.
const FOLLOWED: [&str; 9] = [
    "load.model",
    "load.rate",
    "load.arrivals",
    "load.connections",
    "load.timeout",
    "phases.warm_up.fixed",
    "phases.measure.time",
    "phases.drain",
    "slo",
];

/// Checks the rules between another generator and the rest of the spec.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let Some(Foreign { exec, parse, .. }) = resolved.spec.workload.foreign() else {
        return Ok(());
    };
    let checked = Checked { resolved, command: exec, parse, tool: parse.tool(&exec.0) };
    checked.texts()?;
    checked.path()?;
    checked.place()?;
    checked.load()?;
    checked.phases()?;
    checked.figures()
}

/// Another generator in its spec.
struct Checked<'a> {
    resolved: &'a Resolved,
    command: &'a Command,
    parse: &'a Parse,
    tool: String,
}

impl Checked<'_> {
    fn at(&self, key: &str) -> Option<Location> {
        self.resolved.source.find(key, key.trim_end_matches(':'))
    }

    fn error(&self, message: String, key: &str, label: &str) -> Result<(), SpecError> {
        Err(self.resolved.source.error(message, self.at(key), label))
    }

    fn uses(&self, placeholder: &str) -> bool {
        self.command.0.iter().any(|word| word.contains(placeholder))
    }

    /// Checks that all variables are known, and that the generator is told where and how long.
    fn texts(&self) -> Result<(), SpecError> {
        let Checked { resolved, tool, .. } = self;
        let values = Values { url: None, length: Nanos::ZERO, rate: None, connections: 1 };
        let parts = <[String; 3]>::default();
        let vars = &resolved.spec.vars;
        for word in &self.command.0 {
            let Err(name) = texts::substitute(
                &with(word, &values, &parts),
                &resolved.spec,
                1,
                &texts::Addresses::new(),
            ) else {
                continue;
            };
            let of_load = PLACEHOLDERS.iter().map(|known| known[2..known.len() - 1].to_owned());
            let known: Vec<String> =
                of_load.chain(vars.keys().map(|name| format!("vars.{name}"))).collect();
            let written = format!("${{{name}");
            let place = resolved.source.find(&written, &written);
            let message = format!("unknown variable `{name}`{}", did_you_mean(&name, &known));
            let label = format!("variables here: {}", known.join(", "));
            return Err(resolved.source.error(message, place, &label));
        }
        if ![URL, ADDRESS, HOST, PORT].iter().any(|place| self.uses(place)) {
            let message = format!("{tool} is not told where the system is");
            return self.error(message, "exec:", "add \"${url}\" to its command");
        }
        if !self.uses(DURATION) && !self.uses(DURATION_S) {
            let message = format!("{tool} is not told how long it measures");
            let label = "add \"${duration}\" (10s) or \"${duration_s}\" (10) to its command";
            return self.error(message, "exec:", label);
        }
        Ok(())
    }

    /// Checks that the URL that the generator is told is one, with the path of the workload.
    fn path(&self) -> Result<(), SpecError> {
        let Checked { resolved, .. } = self;
        let Some(written) = resolved.spec.workload.path() else { return Ok(()) };
        let path = resolved.text(written, 1);
        let Err(why) = check_target(&format!("/{path}")) else { return Ok(()) };
        let message = format!("`{}` is not a valid path: {why}", path.escape_debug());
        let place = resolved.source.find("path:", written);
        Err(resolved.source.error(message, place, "correct it; write for example path: /login"))
    }

    /// Checks that there is one target, which the generator can reach.
    fn place(&self) -> Result<(), SpecError> {
        let Checked { resolved, tool, .. } = self;
        let sut = &resolved.spec.sut;
        let label = match resolved.spec.where_.backend {
            BackendKind::Simulated => "a simulation sends nothing: choose backend: local",
            BackendKind::Kubernetes => {
                "its program is not in the image: choose backend: local or external, or a \
                 workload of our generator"
            }
            BackendKind::Local | BackendKind::External => "",
        };
        if !label.is_empty() {
            let backend = resolved.spec.where_.backend;
            let message = format!("{tool} cannot make the load on backend {backend}");
            return self.error(message, "backend:", label);
        }
        if resolved.targets() != 1 {
            let message = format!("{tool} loads one URL, and there are several");
            return self.error(message, "exec:", "write one endpoint, and one instance");
        }
        let endpoint = sut.endpoint_component().filter(|_| !sut.deploy.is_empty());
        if let Some(one) = endpoint.filter(|one| 1 < sut.replicas_of(one)) {
            let message = format!("{tool} loads one URL, and `{}` has replicas", one.name());
            let label = "put `app: balancer` before them as the endpoint, or write replicas: 1";
            return self.error(message, "exec:", label);
        }
        Ok(())
    }

    /// Checks that the generator makes this load.
    fn load(&self) -> Result<(), SpecError> {
        let Checked { resolved, tool, .. } = self;
        let load = &resolved.spec.load;
        let is_default = |Arrivals(distribution): Arrivals| {
            matches!(distribution, Distribution::Poisson | Distribution::Constant)
        };
        let unknown = generator::fields(resolved).into_iter().find(|field| {
            !FOLLOWED.contains(field) || *field == "load.arrivals" && !is_default(load.arrivals())
        });
        if let Some(field) = unknown {
            let key = field.rsplit('.').next().unwrap_or(field);
            let message = format!("`{field}` has no effect: {tool} makes this load");
            let label = "remove it, or say it in the command (a patch removes by null)";
            return self.error(message, &format!("{key}:"), label);
        }
        if let Some((is_closed, label)) = self.parse.is_closed()
            && is_closed != load.is_closed()
        {
            let wrong = if is_closed { "an open" } else { "a closed" };
            return self.error(format!("{tool} does not make {wrong} loop"), "model:", label);
        }
        match (load.is_closed(), self.uses(RATE)) {
            (false, false) => self.error(
                format!("{tool} is not told the rate of an open loop"),
                "exec:",
                "add \"${rate}\" to its command, in requests per second",
            ),
            (true, true) => self.error(
                "a closed loop has no rate".to_owned(),
                "${rate}",
                "remove ${rate}, or write load: {model: open, rate: 500/s}",
            ),
            (false, true) | (true, false) => Ok(()),
        }
    }

    /// Checks that the lengths are whole seconds, and that nothing needs the generator's progress.
    fn phases(&self) -> Result<(), SpecError> {
        let Checked { resolved, tool, .. } = self;
        let super::Spec { phases, load, search, .. } = &resolved.spec;
        let is_whole = |length: Nanos| length.0.is_multiple_of(Nanos::SECOND.0);
        let lengths = [("warm_up:", *phases.warm_up.fixed), ("measure:", *phases.measure.time)];
        if let Some((key, length)) = lengths.into_iter().find(|(_, length)| !is_whole(*length)) {
            let message = format!("{tool} is told whole seconds, not {}", length.written());
            return self.error(message, key, "write whole seconds, for example 10s or 0s");
        }
        if phases.warm_up.until_steady.is_some() {
            return self.error(
                format!("nothing shows when a system is steady while {tool} loads it"),
                "until_steady:",
                "remove it, and write warm_up: {fixed: 10s}",
            );
        }
        let has_probe = matches!(search.as_ref().map(|search| search.start), Some(Start::Probe(_)));
        if !load.is_closed() && has_probe {
            return self.error(
                format!("the probe is a closed loop, which {tool} does not make here"),
                "start:",
                "begin the search with a rate: start: 500/s",
            );
        }
        Ok(())
    }

    /// Checks that the generator prints every percentile that is asked for.
    fn figures(&self) -> Result<(), SpecError> {
        let Checked { resolved, tool, parse, command } = self;
        let super::Spec { slo, compare, reproducibility, repeat, load, .. } = &resolved.spec;
        if let Some(of_label) = slo.iter().find(|slo| slo.label().is_some()) {
            return self.error(
                format!("{tool} knows no labels, and `{}` is about one", of_label.metric()),
                "slo:",
                "write an objective on all requests, or load with a mix",
            );
        }
        let of_slo = slo.iter().filter_map(|slo| match **slo {
            Slo::ResponseTime { quantile, .. } => Some((quantile, "slo:")),
            Slo::Failures { .. } | Slo::OfLabel { .. } => None,
        });
        let compared = compare.iter().flat_map(|compare| &compare.metrics);
        let of_metric = |key| move |metric: Metric| Some((metric.quantile()?, key));
        let wanted: Vec<(Quantile, &str)> = of_slo
            .chain(compared.copied().filter_map(of_metric("metrics:")))
            .chain(reproducibility.iter().map(|r| r.target.metric).filter_map(of_metric("target:")))
            .chain(repeat.until.iter().map(|until| until.metric).filter_map(of_metric("until:")))
            .collect();
        let Some((_, key)) = wanted.first() else { return Ok(()) };
        if !load.is_closed() && parse.since() == Some(Since::Sent) {
            let message = format!(
                "{tool} counts times from sending, which are not the response times of an open loop"
            );
            let label = "ask for failures or rates only, or use wrk2 or our generator";
            return self.error(message, key, label);
        }
        let levels = parse.levels(&command.0);
        let is_printed =
            |quantile: Quantile| levels.iter().any(|level| (level - quantile.level()).abs() < 1e-9);
        let Some((quantile, key)) = wanted.iter().find(|(quantile, _)| !is_printed(*quantile))
        else {
            return Ok(());
        };
        let names: Vec<String> =
            levels.iter().filter_map(|level| Some(Quantile::new(*level)?.name())).collect();
        let label = match (parse, names.is_empty()) {
            (Parse::Wrk | Parse::Wrk2, true) => "add --latency to its command".to_owned(),
            (Parse::Regex(_), true) => "add it to regex: {times: {…}}".to_owned(),
            (Parse::Fortio, _) => format!("it prints {}: see its option -p", names.join(", ")),
            _ => format!("it prints {}", names.join(", ")),
        };
        self.error(format!("{tool} does not print the {}", quantile.name()), key, &label)
    }
}
