//! The experiment behind a question about a service at a URL: what it can do under these objectives. It is written
//! as a file, and read by the one reader of specs, so that nothing runs that a file could not say.
//!
//! Secrets of the question leave it here: the file has references to variables of the environment.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use measure::{Nanos, Rate, Share};
use results::Slo;
use results::secrets::{self, ENV};
use wire::url::{self, Destination};

use crate::experiment;
use crate::spec::{self, Growth, Literal, Resolved, SpecError, quoted};

#[cfg(test)]
mod tests;

/// A question about a service at a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub url: String,
    pub slo: Vec<Slo>,
    pub headers: Vec<Field>,
    pub requests: Requests,
    pub connections: u32,
    pub timeout: Nanos,
    /// A file with the issuers to trust.
    pub ca: Option<PathBuf>,
    /// True if any certificate is accepted.
    pub insecure: bool,
    /// The loads between which the capacity is looked for; without them a short closed loop finds the first one.
    pub range: Option<Range>,
    /// The most by which the bounds of the capacity may differ; without it, what the time allows.
    pub precision: Option<Share>,
    /// The length of a measurement; without it, what the time allows.
    pub measure: Option<Nanos>,
    /// The longest time of the whole run.
    pub time: Option<Nanos>,
}

/// A header field of every request.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub value: String,
    /// True if its whole value is a secret, whatever its name.
    pub is_secret: bool,
}

/// The requests of a question; paths of files are relative to the working directory.
#[derive(Clone, Debug, PartialEq)]
pub enum Requests {
    /// One that is repeated.
    One {
        method: Option<String>,
        body: Option<String>,
        body_file: Option<PathBuf>,
        check: Option<String>,
    },
    Script {
        file: PathBuf,
        arguments: Vec<String>,
        method: Option<String>,
        body: Option<String>,
        body_file: Option<PathBuf>,
    },
    Mix {
        file: PathBuf,
        data: Option<PathBuf>,
    },
}

/// The lowest and the highest load: `500/s..5k/s`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range(pub Rate, pub Rate);

impl std::str::FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Range, String> {
        let wrong =
            || format!("`{text}` is not a valid range of rates; write for example 500/s..5k/s");
        let (low, high) = text.split_once("..").ok_or_else(wrong)?;
        let rate = |text: &str| text.trim().parse::<Rate>().map_err(|_| wrong());
        let (low, high) = (rate(low)?, rate(high)?);
        match low.as_per_second() < high.as_per_second() {
            true => Ok(Range(low, high)),
            false => {
                Err(format!("the range from {low} to {high} is empty; write the lower rate first"))
            }
        }
    }
}

/// The experiment of a question.
#[derive(Debug)]
pub struct Experiment {
    /// The file.
    pub yaml: String,
    pub resolved: Resolved,
    /// The variables of the environment that stand for the secrets of the question, each with the part that it
    /// is the value of. A run that is resumed, and one of the file, needs them.
    pub variables: Vec<(String, String)>,
    /// A sentence on the time that it takes, and how sure the answer is then.
    pub outlook: String,
}

/// The precision of an answer, from the finest one that is tried where the time is short.
const PRECISIONS: [f64; 5] = [0.02, 0.03, 0.05, 0.1, 0.2];
/// The lengths of a measurement, from the one that shows most.
const LENGTHS: [Nanos; 3] = [Nanos::from_secs(10), Nanos::from_secs(5), Nanos::from_secs(3)];
/// The place in these lengths where no time is given.
const USUAL: usize = 1;
/// A load that begins above the capacity is found out only in a measurement of many times the limit of the SLO.
const LIMITS: u64 = 10;
const LONGEST: Nanos = Nanos::from_secs(60);
/// The part of the time that is kept for disturbances of the machine, and the part of the rest that the usual
/// search may take: half of all searches take longer.
const FOR_DISTURBANCES: u64 = 5;
const COMFORTABLE: f64 = 0.85;
/// The first load after a probe, as a share of what it completed.
const OF_PROBE: &str = "0.7";

/// The parts of an experiment that a short time changes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Choice {
    precision: Share,
    measure: Nanos,
    warm_up: Nanos,
    drain: Nanos,
}

/// Returns the experiment of a question; `name` is that of its file, for messages, and `folder` the one in which it
/// will be. `environment` returns a variable's value.
pub fn experiment(asked: &Asked, name: &str, folder: &Path) -> Result<Experiment, anyhow::Error> {
    let mut kept = Kept::default();
    let parts = Parts::of(asked, folder, &mut kept)?;
    let resolved = |choice: &Choice, budget: bool| -> Result<(String, Resolved), SpecError> {
        let yaml = written(asked, &parts, &kept, choice, budget);
        let mut resolved = spec::from_bytes(name, yaml.as_bytes(), folder, None, &[])?;
        for (variable, (_, value)) in &kept.0 {
            resolved.secrets.set(&format!("{ENV}{variable}"), value);
        }
        Ok((yaml, resolved))
    };
    let usual = |choice: &Choice| -> Result<Usual, anyhow::Error> {
        let (_, resolved) = resolved(choice, false)?;
        let (trials, time) = experiment::usually(&resolved)?.unwrap_or_default();
        Ok(Usual { trials, time })
    };
    let (choice, outlook) = choose(asked, usual)?;
    let (yaml, resolved) = resolved(&choice, true)?;
    let variables = kept.0.into_iter().map(|(name, (of, _))| (name, of)).collect();
    Ok(Experiment { yaml, resolved, variables, outlook })
}

/// The trials of the usual search, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Usual {
    trials: u64,
    time: Nanos,
}

/// Chooses the precision and the length of a measurement by the time: the finest precision that the usual search
/// reaches, with the longest measurement.
fn choose(
    asked: &Asked,
    usual: impl Fn(&Choice) -> Result<Usual, anyhow::Error>,
) -> Result<(Choice, String), anyhow::Error> {
    let limit = asked.slo.iter().filter_map(Slo::response_time).max().unwrap_or(Nanos::ZERO);
    let least = (limit * LIMITS).min(LONGEST);
    let choice = |precision: Share, measure: Nanos| Choice {
        precision,
        measure,
        warm_up: (measure / 5).min(Nanos::SECOND),
        drain: (limit * 2).max(Nanos::SECOND).min(Nanos::from_secs(10)),
    };
    let lengths: Vec<Nanos> = match asked.measure {
        Some(measure) => vec![measure],
        None if asked.time.is_none() => vec![LENGTHS[USUAL].max(least)],
        None => {
            let long = LENGTHS.into_iter().filter(|length| least <= *length);
            let long: Vec<Nanos> = long.collect();
            if long.is_empty() { vec![least] } else { long }
        }
    };
    let precisions: Vec<Share> = match asked.precision {
        Some(precision) => vec![precision],
        None if asked.time.is_none() => vec![Share(PRECISIONS[0])],
        None => PRECISIONS.map(Share).to_vec(),
    };
    let each = precisions
        .iter()
        .flat_map(|precision| lengths.iter().map(move |length| (*precision, *length)));
    let mut last = None;
    for (precision, length) in each {
        let choice = choice(precision, length);
        let usual = usual(&choice)?;
        let fits = asked.time.is_none_or(|time| {
            usual.time.as_secs_f64() <= COMFORTABLE * of_trials(time).as_secs_f64()
        });
        if fits {
            return Ok((choice, outlook(asked, &choice, usual, fits)));
        }
        last = Some((choice, usual));
    }
    let (choice, usual) = last.expect("there is a precision and a length");
    Ok((choice, outlook(asked, &choice, usual, false)))
}

/// Returns the part of the time that is for trials.
fn of_trials(time: Nanos) -> Nanos {
    time.saturating_sub(time / FOR_DISTURBANCES)
}

fn outlook(asked: &Asked, choice: &Choice, usual: Usual, fits: bool) -> String {
    let Usual { trials, time } = usual;
    let Choice { precision, measure, .. } = choice;
    let trials = format!("{trials} trials of {}", measure.in_words());
    let known = format!("until the capacity is known with its bounds {precision} apart");
    let Some(limit) = asked.time.map(in_minutes) else {
        return format!("usually {trials} in {time}, {known}");
    };
    let is_chosen = asked.precision.is_none();
    match fits {
        true => {
            let finer = is_chosen && Share(PRECISIONS[0]) < *precision;
            let finer = if finer { "; more time makes it finer" } else { "" };
            format!("in {limit}: usually {trials} in {time}, {known}{finer}")
        }
        false => format!(
            "{limit} may be too short: {}bounds {precision} apart usually take {trials}, {time}; a search that has to \
             end before knows only *at least* or *at most*",
            if is_chosen { "even " } else { "" }
        ),
    }
}

/// Returns a time as a person says it: `5 min`, `90 s`.
fn in_minutes(time: Nanos) -> String {
    let minute = Nanos::from_secs(60).0;
    match time.0 % minute {
        0 => format!("{} min", time.0 / minute),
        _ => time.in_words(),
    }
}

/// The secrets that left a question: by the variable that stands for each, the part that it is the value of, and
/// the value.
#[derive(Default)]
struct Kept(BTreeMap<String, (String, String)>);

impl Kept {
    /// Keeps a secret; returns the reference to put in its place.
    fn keep(&mut self, prefix: &str, of: &str, value: &str) -> String {
        let in_name =
            |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let base: String = prefix.chars().map(in_name).collect();
        let names = (1..).map(|number| match number {
            1 => base.clone(),
            number => format!("{base}_{number}"),
        });
        let is_free = |name: &String| self.0.get(name).is_none_or(|(_, kept)| kept == value);
        let name = names.into_iter().find(is_free).expect("there are numbers without end");
        self.0.insert(name.clone(), (of.to_owned(), value.to_owned()));
        format!("${{{ENV}{name}}}")
    }
}

/// The parts of the file that the question decides.
struct Parts {
    name: String,
    about: String,
    endpoint: String,
    /// The fields of `workload`, in YAML.
    workload: String,
    /// The further fields of `load`, in YAML.
    load: String,
}

impl Parts {
    fn of(asked: &Asked, folder: &Path, kept: &mut Kept) -> Result<Parts, anyhow::Error> {
        let parsed = url::parse(&asked.url).map_err(anyhow::Error::msg)?;
        let written = secrets::passwords_kept(&asked.url, &mut |value| {
            kept.keep("URL_SECRET", "a password or a token of the URL", value)
        });
        let (endpoint, path) = split(&written);
        let host = match &parsed.place {
            Destination::Host(host, Some(port)) => format!("{host}-{port}"),
            Destination::Host(host, None) => host.clone(),
            Destination::Socket(path) => path.trim_start_matches('/').to_owned(),
        };
        let in_name =
            |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
        let name: String = format!("capacity-{host}").chars().map(in_name).take(80).collect();
        let server = format!("{}://{}", parsed.scheme, parsed.authority);
        let about = format!(
            "What is the capacity of {server} under {}?",
            results::slo::in_words(&asked.slo)
        );
        let file = |path: &Path| quoted(&in_folder(path, folder).display().to_string());
        let mut workload = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(workload, "  {name}: {value}");
        };
        let request = |line: &mut dyn FnMut(&str, String),
                       method: &Option<String>,
                       body: &Option<String>,
                       body_file: &Option<PathBuf>| {
            method.iter().for_each(|method| line("method", quoted(method)));
            body.iter().for_each(|body| line("body", quoted(body)));
            body_file.iter().for_each(|path| line("body_file", file(path)));
        };
        let mut endpoint = endpoint.to_owned();
        match &asked.requests {
            Requests::One { method, body, body_file, check } => {
                line("path", quoted(path));
                request(&mut line, method, body, body_file);
                check.iter().for_each(|check| line("check", quoted(check)));
            }
            Requests::Script { file: script, arguments, method, body, body_file } => {
                line("script", file(script));
                if !arguments.is_empty() {
                    let arguments: Vec<String> =
                        arguments.iter().map(|word| quoted(word)).collect();
                    line("args", format!("[{}]", arguments.join(", ")));
                }
                line("path", quoted(path));
                request(&mut line, method, body, body_file);
            }
            Requests::Mix { file: mix, data } => {
                // The targets are in the mix.
                endpoint = written.clone();
                line("mix", file(mix));
                data.iter().for_each(|path| line("data", file(path)));
            }
        }
        let headers = headers(&asked.headers, kept);
        if !headers.is_empty() {
            workload += "  headers:\n";
            for (name, values) in headers {
                let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
                let _ = match &values[..] {
                    [value] => writeln!(workload, "    {}: {value}", quoted(&name)),
                    values => writeln!(workload, "    {}: [{}]", quoted(&name), values.join(", ")),
                };
            }
        }
        let mut load = String::new();
        match (&asked.ca, asked.insecure) {
            (_, true) => load += "  tls: {insecure: true}    # any certificate is accepted\n",
            (Some(ca), false) => {
                let _ = writeln!(load, "  tls: {{ca: {}}}", file(ca));
            }
            (None, false) => {}
        }
        Ok(Parts { name, about, endpoint, workload, load })
    }
}

/// Splits a URL into its server, and the path with the query.
fn split(url: &str) -> (&str, &str) {
    let url = url.split('#').next().unwrap_or(url);
    let begin = url.find("://").map_or(0, |at| at + "://".len());
    let at = url[begin..].find(['/', '?']).map_or(url.len(), |at| begin + at);
    match url.split_at(at) {
        (server, "") => (server, "/"),
        (server, path) => (server, path),
    }
}

/// Returns the header fields with references in place of their secrets; a field that is repeated has several values.
fn headers(fields: &[Field], kept: &mut Kept) -> Vec<(String, Vec<String>)> {
    let mut headers: Vec<(String, Vec<String>)> = Vec::new();
    for Field { name, value, is_secret } in fields {
        let mut keep = |value: &str| {
            kept.keep(&format!("HEADER_{name}"), &format!("the header field {name}"), value)
        };
        let value = match () {
            () if *is_secret && !value.is_empty() => keep(value),
            () if secrets::is_secret_field(name) => secrets::field_kept(name, value, &mut keep),
            () => value.clone(),
        };
        let known = headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match known {
            Some((_, values)) => values.push(value),
            None => headers.push((name.clone(), vec![value])),
        }
    }
    headers
}

/// Returns the path of a file as a spec in this folder names it.
fn in_folder(path: &Path, folder: &Path) -> PathBuf {
    match folder.as_os_str().is_empty() || folder == Path::new(".") {
        true => path.to_owned(),
        false => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

fn written(asked: &Asked, parts: &Parts, kept: &Kept, choice: &Choice, budget: bool) -> String {
    let Parts { name, about, endpoint, workload, load } = parts;
    let Choice { precision, measure, warm_up, drain } = choice;
    let mut text = String::from(
        "# The experiment of `benchwright capacity`. Of this file, `benchwright plan` says what a run would do,\n\
         # and `benchwright run` asks the same again.\n",
    );
    if !kept.0.is_empty() {
        text += "# It needs these variables of the environment, which are not kept here:\n";
        for (name, (of, _)) in &kept.0 {
            let _ = writeln!(text, "#   export {name}=…    {of}");
        }
    }
    let slos: String = asked.slo.iter().map(|slo| format!("  - {}\n", objective(*slo))).collect();
    let _ = write!(
        text,
        "name: {}\nabout: {}\n\n# The service runs already: nothing is started.\nwhere: {{backend: external}}\n\
         sut: {{endpoint: {}}}\n\n# The requests.\nworkload:\n{workload}\n\
         # The clock decides when they start, however slow the service is. One that finds no free connection waits,\n\
         # which is a part of its response time.\n\
         load:\n  model: open\n  arrivals: poisson\n  connections: {}\n  timeout: {}\n{load}\n\
         # Of each trial; the warm-up does not count.\n\
         phases: {{warm_up: {{fixed: {}}}, measure: {{time: {}}}, drain: {}}}\n\n\
         # A load meets the SLO if it meets each of these.\nslo:\n{slos}\n",
        quoted(name),
        quoted(about),
        quoted(endpoint),
        asked.connections,
        asked.timeout.written(),
        warm_up.written(),
        measure.written(),
        drain.written(),
    );
    let precision = Growth::By(*precision).write();
    text += &match asked.range {
        Some(Range(low, high)) => format!(
            "# The capacity is looked for between these loads, until its bounds are {precision} apart.\n\
             search: {{strategy: adaptive, range: [{}, {}], precision: {precision}}}\n",
            low.write(),
            high.write()
        ),
        None => format!(
            "# The first load is this share of what a short closed loop completes; the search ends when the bounds of\n\
             # the capacity are {precision} apart.\n\
             search: {{strategy: adaptive, start: {{probe: {OF_PROBE}}}, precision: {precision}}}\n"
        ),
    };
    if let Some(time) = asked.time.filter(|_| budget) {
        let trials = of_trials(time);
        let _ = write!(
            text,
            "\n# The time for trials, and for those that the machine disturbs.\n\
             budget: {{time: {}, disturbance: {}}}\n",
            trials.written(),
            time.saturating_sub(trials).written()
        );
    }
    text
}

/// Returns an objective as a spec has it.
fn objective(slo: Slo) -> String {
    let written = serde_json::to_value(spec::Slo(slo)).expect("it is plain data");
    let field = |name: &str| quoted(written[name].as_str().unwrap_or_default());
    format!("{{metric: {}, max: {}}}", field("metric"), field("max"))
}
