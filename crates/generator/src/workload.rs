//! The requests of a load, for every target.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use load::Fault;
use load::driver::Arrivals;
use load::driver::http1::{Http1, HttpWorkload, Static};
use load::events::{Events, Template};
use load::measurement::Plan;
use measure::pace::Portion;
use mix::{Checked, Checks, Data, Journeys, MOST_DATA_BYTES, Mix, Mixed};
use net::{Address, Endpoint};
use results::{Secrets, regular};
use script::{
    Compatibility, Defaults, Network, Nowhere, Program, ScriptSet, Seed, Stage, Stream, System,
};

use wire::http1::{check_field, check_fields, check_method, check_request};
use wire::url::Scheme;

use crate::events::EventOptions;
use crate::guard::Guard;
use crate::plan::question;
use crate::secret;
use crate::target::Target;
use console::files::Named;
use console::output::Failure;

#[cfg(test)]
mod tests;

/// The longest time of a script's own network calls before the load.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The driver of every workload: only the maker of the requests differs.
pub(crate) type Driver = Http1<Box<dyn HttpWorkload + Send>>;

/// The workload that a command line asks for.
pub(crate) struct Requested<'a> {
    pub(crate) method: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    /// A script and its arguments.
    pub(crate) script: Option<(&'a Path, Vec<String>)>,
    /// A mix and its table of data.
    pub(crate) mix: Option<(&'a Path, Option<&'a Path>)>,
    pub(crate) check: Option<String>,
    /// The original whose behaviour scripts get.
    pub(crate) compatibility: Compatibility,
    pub(crate) seed: u64,
    /// True if the user gave the seed: scripts cannot choose another one.
    pub(crate) is_final: bool,
    /// The values of the references in the mix.
    pub(crate) secrets: Secrets,
}

/// The drivers of the pools, and the script behind them.
pub(crate) struct Staffed {
    pub(crate) drivers: Vec<Driver>,
    /// The main instances of a script.
    pub(crate) script_set: Option<ScriptSet>,
}

pub(crate) enum Workload {
    Static { defaults: Defaults, checks: Option<Arc<Checks>> },
    Script { program: Program, compatibility: Compatibility, seed: Seed, defaults: Defaults },
    Mix { file: MixFile, seed: u64, headers: Vec<(String, String)> },
    Events { wanted: EventOptions, headers: Vec<(String, String)> },
}

/// A mix as it was read; `Host` differs between targets.
pub(crate) struct MixFile {
    path: PathBuf,
    text: String,
    data: Option<Arc<Data>>,
    labels: Vec<String>,
    /// The kind of its arrivals, if its requests belong to sessions.
    arrivals: Option<Arrivals>,
    requests_of_an_arrival: f64,
}

impl Workload {
    pub(crate) fn events(wanted: &EventOptions, headers: Vec<(String, String)>) -> Workload {
        Workload::Events { wanted: wanted.clone(), headers }
    }

    pub(crate) fn new(requested: Requested<'_>) -> Result<Workload, Failure> {
        let Requested { method, headers, body, script, mix, check, .. } = requested;
        let Requested { compatibility, seed, is_final, secrets, .. } = requested;
        check_method(method).map_err(Failure::question)?;
        let fields = headers.iter().map(|(name, value)| check_field(name, value));
        fields.collect::<Result<(), _>>().map_err(Failure::question)?;
        if let Some((path, data)) = mix {
            let file = MixFile::read(path, data, &secrets).map_err(question)?;
            return Ok(Workload::Mix { file, seed, headers });
        }
        let defaults = Defaults { method: method.to_owned(), headers, body };
        let Some((path, arguments)) = script else {
            let checks = check.as_deref().map(Checks::parse).transpose();
            let checks = checks.map_err(|e| Failure::question(format!("--check: {e}")))?;
            return Ok(Workload::Static { defaults, checks: checks.map(Arc::new) });
        };
        let program = Program::of(path, regular::open_input(path), arguments);
        let program = program.map_err(Failure::question)?;
        let seed = if is_final { Seed::Final(seed) } else { Seed::Initial(seed) };
        Ok(Workload::Script { program, compatibility, seed, defaults })
    }

    /// Returns the files that its own file names, which no result may replace.
    pub(crate) fn files(&self) -> Vec<Named> {
        let Workload::Mix { file, .. } = self else { return Vec::new() };
        file.bodies().into_iter().map(|path| Named::read("body_file", path)).collect()
    }

    /// Returns true if all requests to a target have the path of its URL.
    pub(crate) fn has_one_path(&self) -> bool {
        matches!(self, Workload::Static { .. } | Workload::Events { .. })
    }

    /// Checks what can be wrong before a system is there: the mix, and of a script its syntax and
    /// the code that it runs on loading, up to its first request of its own.
    pub(crate) fn check(&self, targets: &[Target]) -> Result<(), Failure> {
        match self {
            Workload::Script { program, compatibility, seed, defaults } => {
                let silent = Silent::default();
                let asked = Arc::clone(&silent.asked);
                let _guard = Guard::before(program);
                let stage = Stage {
                    compatibility: *compatibility,
                    targets: &[targets[0].for_script()],
                    threads: 1,
                    part: Portion::WHOLE,
                    defaults,
                    seed: *seed,
                    network: Arc::new(silent),
                };
                let assembled = ScriptSet::assemble(program, &stage);
                let asked = asked.load(Ordering::Relaxed);
                match assembled.err().filter(|fault| !may_be_of_network(fault, asked)) {
                    Some(fault) => Err(Failure::question(fault)),
                    None => Ok(()),
                }
            }
            Workload::Mix { file, headers, .. } => targets.iter().try_for_each(|target| {
                file.mix(&with_host(headers, &target.authority))
                    .map(drop)
                    .map_err(Failure::question)
            }),
            Workload::Static { defaults, .. } => {
                targets.iter().try_for_each(|target| request(defaults, target).map(drop))
            }
            Workload::Events { headers, .. } => {
                targets.iter().try_for_each(|target| check_common(headers, target))
            }
        }
    }

    /// Returns what the arrivals of an open loop are, if the requests belong to sessions.
    pub(crate) fn sessions(&self) -> Option<Arrivals> {
        match self {
            Workload::Mix { file, .. } => file.arrivals,
            Workload::Static { .. } | Workload::Script { .. } | Workload::Events { .. } => None,
        }
    }

    /// Returns the mean number of requests that an arrival of an open loop brings, as far as it is known before.
    pub(crate) fn requests_of_an_arrival(&self) -> f64 {
        match self {
            Workload::Mix { file, .. } => file.requests_of_an_arrival,
            Workload::Static { .. } | Workload::Script { .. } | Workload::Events { .. } => 1.0,
        }
    }

    /// Returns the names of the requests' labels.
    pub(crate) fn labels(&self) -> Vec<String> {
        match self {
            Workload::Mix { file, .. } => file.labels.clone(),
            Workload::Static { .. } | Workload::Script { .. } | Workload::Events { .. } => {
                Vec::new()
            }
        }
    }

    /// Makes the driver of each pool. A script that does not load is an error (exit code 2); one
    /// that chooses another address for a thread changes the plan.
    pub(crate) fn staff(&self, plan: &mut Plan, targets: &[Target]) -> Result<Staffed, Failure> {
        match self {
            Workload::Script { .. } => self.assemble(plan, targets),
            Workload::Mix { file, seed, headers } => {
                let mixes = targets.iter().map(|target| {
                    let fields = with_host(headers, &target.authority);
                    file.mix(&fields).map(Arc::new).map_err(Failure::question)
                });
                let mixes = mixes.collect::<Result<Vec<_>, _>>()?;
                // Those of the parts before this one count, too: no two connections of the load
                // have the same random numbers.
                let mut connections_before = plan.connections_before;
                Ok(each(plan, |target, connections| {
                    let (seed, number) = (*seed, target as u32);
                    let is_tls = targets[target].scheme == Scheme::Https;
                    let pool = mix::Pool { seed, target: number, connections_before, is_tls };
                    connections_before += connections as u32;
                    match mixes[target].has_sessions() {
                        true => Box::new(Journeys::new(&mixes[target], pool, milliseconds)),
                        false => Box::new(Mixed::new(&mixes[target], pool, milliseconds)),
                    }
                }))
            }
            Workload::Static { defaults, checks } => {
                let requests = targets.iter().map(|target| request(defaults, target));
                let requests = requests.collect::<Result<Vec<_>, _>>()?;
                Ok(each(plan, |target, _| {
                    let request = requests[target].clone();
                    match checks {
                        Some(checks) => Box::new(Checked::new(request, Arc::clone(checks))),
                        None => Box::new(request),
                    }
                }))
            }
            Workload::Events { wanted, headers } => {
                self.check(targets)?;
                Ok(each(plan, |target, _| {
                    Box::new(events(wanted, headers, (target, &targets[target])))
                }))
            }
        }
    }

    fn assemble(&self, plan: &mut Plan, targets: &[Target]) -> Result<Staffed, Failure> {
        let Workload::Script { program, compatibility, seed, defaults } = self else {
            unreachable!("only a script has a script set")
        };
        let _guard = Guard::before(program);
        let targets: Vec<script::Target> = targets.iter().map(Target::for_script).collect();
        let stage = Stage {
            compatibility: *compatibility,
            targets: &targets,
            threads: plan.pools_of_each() as usize,
            part: plan.part,
            defaults,
            seed: *seed,
            network: Arc::new(System { timeout: TIMEOUT }),
        };
        let (script_set, scripts) =
            ScriptSet::assemble(program, &stage).map_err(Failure::question)?;
        let drivers = plan.pools.iter_mut().zip(scripts).map(|(pool, script)| {
            if let Some(address) = script.chosen_address() {
                pool.endpoints = vec![Endpoint { address, source: None }];
            }
            let workload: Box<dyn HttpWorkload + Send> = Box::new(script);
            Http1::new(pool.connections, workload)
        });
        let drivers = drivers.collect();
        Ok(Staffed { drivers, script_set: Some(script_set) })
    }
}

/// The requests from which on a script does not ask for something once, but waits for somebody to answer.
const WAITING: u32 = 10;

/// Returns true if the fault of a script that has sent so many requests may be that nobody answered them: with an
/// answer it might go on, unless it would end the process, or does not return although it is not waiting for one.
fn may_be_of_network(fault: &Fault, asked: u32) -> bool {
    let is_waiting = WAITING <= asked;
    0 < asked && !script::ends_process(fault) && (is_waiting || !script::is_endless(fault))
}

/// A network with a peer that accepts every connection and answers nothing.
#[derive(Clone, Default)]
struct Silent {
    /// The requests that a script has sent.
    asked: Arc<AtomicU32>,
}

impl Network for Silent {
    fn lookup(&self, host: &str, service: &str) -> io::Result<Vec<Address>> {
        Nowhere.lookup(host, service)
    }

    fn open(&self, _to: &Address) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(self.clone()))
    }
}

impl Read for Silent {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

impl Write for Silent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes the driver of each pool from its target and its number of connections.
fn each(
    plan: &Plan,
    mut make: impl FnMut(usize, usize) -> Box<dyn HttpWorkload + Send>,
) -> Staffed {
    let of_each = plan.pools_of_each() as usize;
    let drivers = plan.pools.iter().enumerate().map(|(pool, planned)| {
        Http1::new(planned.connections, make(pool / of_each, planned.connections))
    });
    Staffed { drivers: drivers.collect(), script_set: None }
}

pub(crate) fn request(
    Defaults { method, headers, body }: &Defaults,
    target: &Target,
) -> Result<Static, Failure> {
    let fields = with_host(headers, &target.authority);
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    let body = body.as_deref().unwrap_or_default();
    check_request(method, &target.path, &fields, body).map_err(Failure::question)?;
    Ok(Static::new(method, &target.path, &fields, body))
}

/// Checks the fields that requests with bodies of their own share.
fn check_common(headers: &[(String, String)], target: &Target) -> Result<(), Failure> {
    let fields = with_host(headers, &target.authority);
    let fields = fields.iter().map(|(name, value)| (&**name, &**value));
    check_fields(fields, None).map_err(Failure::question)
}

fn events(
    wanted: &EventOptions,
    headers: &[(String, String)],
    (place, target): (usize, &Target),
) -> Events {
    let fields = with_host(headers, &target.authority);
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    Events::new(&Template {
        mode: wanted.mode,
        source: &wanted.sources[place],
        kind: &wanted.kind,
        size: wanted.size,
        target: &target.path,
        fields: &fields,
    })
}

/// Checks the references in the targets and the header fields of a mix.
fn check_names(path: &Path, text: &str) -> anyhow::Result<()> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| line.contains("${"));
    for (number, line) in lines {
        // A comment is not JSON.
        let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let fields = line.get("headers").and_then(serde_json::Value::as_object);
        let values = fields.into_iter().flat_map(serde_json::Map::values);
        let texts = line.get("target").into_iter().chain(values).filter_map(|text| text.as_str());
        for text in texts {
            secret::check_names(text)
                .with_context(|| format!("{}:{number}", regular::shown(path)))?;
        }
    }
    Ok(())
}

impl MixFile {
    fn read(path: &Path, data: Option<&Path>, secrets: &Secrets) -> anyhow::Result<MixFile> {
        let file = MixFile::open(path, data)?;
        secret::check(&file.text, secrets).with_context(|| regular::shown(&file.path))?;
        // A label by default is a target: it keeps the references.
        let text = secrets.reveal_in_json(&file.text);
        Ok(MixFile { text, ..file })
    }

    /// Reads a mix, whose references to secrets stay as they are.
    pub(crate) fn open(path: &Path, data: Option<&Path>) -> anyhow::Result<MixFile> {
        let read = |path: &Path, most: u64| {
            regular::read_text(path, most)
                .with_context(|| format!("reading {}", regular::shown(path)))
        };
        let data = data.map(|path| {
            let size = fs::metadata(path).map_or(0, |file| file.len());
            anyhow::ensure!(
                size <= MOST_DATA_BYTES,
                "{} has {size} bytes, over the limit of {MOST_DATA_BYTES}; use a part of it",
                regular::shown(path)
            );
            let data = Data::read(&regular::shown(path), &read(path, MOST_DATA_BYTES)?);
            Ok::<_, anyhow::Error>(Arc::new(data.map_err(anyhow::Error::msg)?))
        });
        let (path, text, data) =
            (path.to_owned(), read(path, regular::MOST_OF_LINES)?, data.transpose()?);
        let (labels, requests_of_an_arrival) = (Vec::new(), 1.0);
        let file = MixFile { path, text, data, labels, arrivals: None, requests_of_an_arrival };
        let mix = file.mix(&[]).map_err(anyhow::Error::msg)?;
        check_names(&file.path, &file.text)?;
        let labels = mix.labels().map(str::to_owned).collect();
        let (arrivals, requests_of_an_arrival) = (mix.arrivals(), mix.requests_of_an_arrival());
        Ok(MixFile { labels, arrivals, requests_of_an_arrival, ..file })
    }

    pub(crate) fn mix(&self, fields: &[(String, String)]) -> Result<Mix, mix::Error> {
        self.mix_with(fields, &|path| regular::read_input(path, regular::MOST))
    }

    /// Returns the files that it names.
    fn bodies(&self) -> Vec<PathBuf> {
        let bodies = RefCell::new(Vec::new());
        let read = self.mix_with(&[], &|path| {
            bodies.borrow_mut().push(path.to_owned());
            Ok(Vec::new())
        });
        drop(read);
        bodies.into_inner()
    }

    fn mix_with(
        &self,
        fields: &[(String, String)],
        body: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Mix, mix::Error> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        Mix::read(&mix::Source {
            file: &regular::shown(&self.path),
            text: &self.text,
            data: self.data.clone(),
            fields,
            body_file: &|name| body(&folder.join(name)),
        })
    }
}

/// Returns the header fields of each request, with the target's authority as `Host` unless one was given.
pub(crate) fn with_host(headers: &[(String, String)], authority: &str) -> Vec<(String, String)> {
    let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = (!has_host).then(|| ("Host".to_owned(), authority.to_owned()));
    host.into_iter().chain(headers.iter().cloned()).collect()
}

/// Returns the milliseconds since 1970, for requests that contain the time.
pub(crate) fn milliseconds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the mix asks for the wall clock itself")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
