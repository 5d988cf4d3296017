//! An experiment's life: search → trial → journal, until there is an answer or a reason for none.
//!
//! What comes next is decided from the journal alone. There is no other state, so a run that was
//! interrupted or killed is continued by reading it.

use std::path::{Path, PathBuf};

use measure::{Nanos, Random, Rate, estimate};
use results::directory::Files;
use results::journal::{Entry, Purpose, Status};
use results::manifest::{Manifest, State, VERSION};
use results::{Answer, Directory};

use crate::answer::{self, Ending};
use crate::backend::local::Local;
use crate::backend::simulated::Simulated;
use crate::backend::{Backend, Death, Stop};
use crate::host::{self, Lock};
use crate::progress::{Event, Progress};
use crate::search::{self, Next, Point};
use crate::spec::{BackendKind, Cpus, Resolved, Roles, Start};
use crate::system::System;
use crate::trial::{self, Observation, Trial};
use crate::{Error, Host, judge};

pub use plan::plan;

mod files;
mod plan;

#[cfg(test)]
mod tests;

/// How often an aborted trial is repeated.
const MOST_REPEATS_OF_ABORTED: u32 = 2;

/// How long the machine is left in peace at most before an invalid trial is repeated.
const LONGEST_REST: Nanos = Nanos::from_secs(60);

/// A run that came to its end, whichever that is: what could not go on has an answer too, which
/// says why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub answer: Answer,
    pub directory: PathBuf,
    /// How many trials it would have had at most.
    pub most_trials: u64,
    /// How long it took to take everything down.
    pub stopped_in: Nanos,
}

/// Runs an experiment into a new results directory: `out`, or `results/<name>-<date>`.
pub fn run(
    resolved: &Resolved,
    out: Option<PathBuf>,
    host: &Host,
    progress: &mut dyn Progress,
) -> Result<Ended, Error> {
    let mut backend = backend(resolved, host);
    backend.accept(resolved).map_err(fatal)?;
    let _lock = take_over(resolved, host, progress)?;
    let environment = backend.prepare(resolved).map_err(|stop| refused(stop, &mut *backend))?;
    let manifest = manifest(resolved, host)?;
    let path = out.unwrap_or_else(|| host::default_folder(&resolved.spec.name));
    let directory = Directory::create(&path, &manifest, &resolved.to_yaml(), &environment)
        .map_err(|error| Error::Question(error.into()))?;
    let caveats = backend.caveats(resolved);
    Run { resolved, host, directory, manifest, caveats }.go(&mut *backend, progress)
}

/// Continues what an earlier run left, with the spec that it resolved.
pub fn resume(dir: &Path, host: &Host, progress: &mut dyn Progress) -> Result<Ended, Error> {
    let directory = Directory::open(dir).map_err(|error| Error::Question(error.into()))?;
    let earlier = directory.manifest().map_err(|error| Error::Question(error.into()))?;
    let resolved = resolved_of(&directory, &earlier)?;
    let mut backend = backend(&resolved, host);
    backend.accept(&resolved).map_err(fatal)?;
    let _lock = take_over(&resolved, host, progress)?;
    let manifest = manifest(&resolved, host)?;
    same_question(&earlier, &manifest)?;
    backend.prepare(&resolved).map_err(|stop| refused(stop, &mut *backend))?;
    let manifest = Manifest { state: State::Open, ..earlier };
    directory.write_manifest(&manifest)?;
    let caveats = backend.caveats(&resolved);
    Run { resolved: &resolved, host, directory, manifest, caveats }.go(&mut *backend, progress)
}

/// What comes next, by the journal alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Run { purpose: Purpose, asked: Option<Rate>, repetition: u32, attempt: u32 },
    End(Ending),
}

pub fn decide(resolved: &Resolved, journal: &[Entry]) -> Decision {
    let spec = &resolved.spec;
    let no_answer = |why: String| Decision::End(Ending::NoAnswer(why));
    let Some(search) = &spec.search else {
        let asked = spec.load.rate.map(|rate| *rate);
        let points = points(resolved, journal);
        return match points.is_empty() {
            true => attempt(resolved, journal, Purpose::Trial, asked),
            false => Decision::End(Ending::Answered("the load was measured".to_owned())),
        };
    };
    let probed = probed(resolved, journal);
    if let (Start::Probe(_), None) = (search.start, probed) {
        return match journal.iter().any(|entry| entry.observed.is_some()) {
            true => no_answer("the probe completed nothing".to_owned()),
            false => attempt(resolved, journal, Purpose::Probe, None),
        };
    }
    let points = points(resolved, journal);
    if let Some(asked) = unfinished(resolved, journal) {
        return attempt(resolved, journal, Purpose::Trial, Some(asked));
    }
    match search::next(search, probed, &points) {
        Next::Load(asked) => attempt(resolved, journal, Purpose::Trial, Some(asked)),
        Next::Stopped(rule) => Decision::End(Ending::Answered(rule)),
        Next::Ended { answered: true, why } => Decision::End(Ending::Answered(why)),
        Next::Ended { answered: false, why } => no_answer(why),
    }
}

/// The loads whose repetitions are complete, in the order they were tried.
pub fn points(resolved: &Resolved, journal: &[Entry]) -> Vec<Point> {
    loads(journal)
        .into_iter()
        .filter_map(|asked| {
            let valid: Vec<&Entry> = valid_at(journal, asked).collect();
            if (valid.len() as u32) < resolved.spec.repeat.trials.0 {
                return None;
            }
            let observed: Vec<_> = valid.iter().filter_map(|e| e.observed.as_ref()).collect();
            let completed: Vec<f64> = observed.iter().map(|o| o.completed_per_s).collect();
            let met = observed.iter().filter(|o| o.slo_met == Some(true)).count();
            let stated = observed.iter().any(|o| o.slo_met.is_some());
            Some(Point {
                // A closed loop has no rate; its only point is never compared.
                asked: asked.unwrap_or_else(|| Rate::per_second(1.0).expect("one is positive")),
                completed_per_s: estimate::median(&completed)?,
                slo_met: stated.then(|| valid.len() < 2 * met),
            })
        })
        .collect()
}

/// The loads tried, each once, in order.
fn loads(journal: &[Entry]) -> Vec<Option<Rate>> {
    let mut loads = Vec::new();
    for entry in journal.iter().filter(|entry| entry.purpose == Purpose::Trial) {
        let asked = asked(entry);
        if !loads.contains(&asked) {
            loads.push(asked);
        }
    }
    loads
}

fn asked(entry: &Entry) -> Option<Rate> {
    entry.asked_per_s.and_then(Rate::per_second)
}

fn valid_at(journal: &[Entry], load: Option<Rate>) -> impl Iterator<Item = &Entry> {
    journal.iter().filter(move |entry| {
        entry.purpose == Purpose::Trial && entry.status == Status::Valid && asked(entry) == load
    })
}

/// The load that still lacks a repetition, if one does.
fn unfinished(resolved: &Resolved, journal: &[Entry]) -> Option<Rate> {
    let wanted = resolved.spec.repeat.trials.0;
    let lacks = |load: &Option<Rate>| (valid_at(journal, *load).count() as u32) < wanted;
    loads(journal).into_iter().find(lacks).flatten()
}

/// What the closed loop completed on each target. A probe only tells where to begin, so one that
/// was disturbed will do.
fn probed(resolved: &Resolved, journal: &[Entry]) -> Option<Rate> {
    let probe = journal.iter().find(|e| e.purpose == Purpose::Probe && e.observed.is_some())?;
    let targets = f64::from(targets(resolved));
    Rate::per_second(probe.observed.as_ref()?.completed_per_s / targets)
}

pub(crate) fn targets(resolved: &Resolved) -> u32 {
    match resolved.spec.where_.backend {
        BackendKind::External => resolved.spec.sut.endpoint.0.len() as u32,
        BackendKind::Local | BackendKind::Simulated => resolved.spec.sut.instances.0,
    }
}

/// The next attempt at this load, unless the budget or the patience is used up.
fn attempt(
    resolved: &Resolved,
    journal: &[Entry],
    purpose: Purpose,
    load: Option<Rate>,
) -> Decision {
    let budget = &resolved.spec.budget;
    let no_answer = |why: String| Decision::End(Ending::NoAnswer(why));
    let here = |entry: &&Entry| entry.purpose == purpose && asked(entry) == load;
    let valid = journal.iter().filter(here).filter(|e| e.status == Status::Valid).count() as u32;
    let repetition = valid + 1;
    let failed: Vec<&Entry> =
        journal.iter().filter(here).filter(|entry| entry.repetition == repetition).collect();
    let count = |status| failed.iter().filter(|entry| entry.status == status).count() as u32;
    let last_reason = || {
        let reasons = failed.last().map(|entry| entry.reasons.join("\n  "));
        reasons.unwrap_or_default()
    };
    if MOST_REPEATS_OF_ABORTED < count(Status::Aborted) {
        let times = count(Status::Aborted);
        return no_answer(format!("a trial was aborted {times} times: {}", last_reason()));
    }
    if budget.invalid_attempts < count(Status::Invalid) {
        let times = count(Status::Invalid);
        return no_answer(format!("a trial was not valid {times} times: {}", last_reason()));
    }
    let attempted = journal.iter().filter(|e| e.purpose == Purpose::Trial).count() as u32;
    if purpose == Purpose::Trial && budget.trials.0 <= attempted {
        return no_answer(match resolved.spec.search.as_ref().map(|s| s.stop.is_empty()) {
            Some(false) => format!("no stop rule fired in the {attempted} trials allowed"),
            _ => format!("the {attempted} trials allowed were not enough"),
        });
    }
    let spent: Nanos =
        journal.iter().map(|entry| trial::planned_length(resolved, entry.purpose)).sum();
    let next = spent + trial::planned_length(resolved, purpose);
    if let Some(time) = budget.time.filter(|time| **time < next) {
        return no_answer(format!("no stop rule fired in the {} allowed", *time));
    }
    Decision::Run { purpose, asked: load, repetition, attempt: failed.len() as u32 + 1 }
}

/// How long the machine is left in peace before an attempt that repeats an invalid trial: as long as
/// the trial takes, and longer each time, since what disturbs a shared machine lasts for seconds or for
/// a minute. `None` before what repeats nothing.
fn rest(resolved: &Resolved, journal: &[Entry], next: &Decision) -> Option<Nanos> {
    let Decision::Run { purpose, attempt, .. } = next else { return None };
    let disturbed = journal.last()?.status == Status::Invalid;
    let failed = u64::from(attempt - 1);
    let length = (trial::planned_length(resolved, *purpose) * failed).min(LONGEST_REST);
    (0 < failed).then_some(if disturbed { length } else { Nanos::ZERO })
}

/// A trial's own seed: of the run's, the load, the repetition and the attempt.
pub fn seed_of(seed: u64, asked: Option<Rate>, repetition: u32, attempt: u32) -> u64 {
    let load = asked.map_or(0, |rate| rate.as_per_second().to_bits());
    let counted = u64::from(repetition) << 32 | u64::from(attempt);
    let of_load = Random::part(seed, load).next_u64();
    // A JSON number that every reader keeps exactly.
    Random::part(of_load, counted).next_u64() >> 11
}

struct Run<'a> {
    resolved: &'a Resolved,
    host: &'a Host,
    directory: Directory,
    manifest: Manifest,
    /// What of the spec is not kept on this host.
    caveats: Vec<String>,
}

impl Run<'_> {
    fn go(self, backend: &mut dyn Backend, progress: &mut dyn Progress) -> Result<Ended, Error> {
        progress.event(&Event::Began { headline: plan::headline(self.resolved) });
        for caveat in &self.caveats {
            progress.event(&Event::Notice(caveat.clone()));
        }
        let mut journal = self.directory.journal()?;
        if let Some(entry) = journal.last() {
            let text = format!("continued after trial {}", entry.trial);
            progress.event(&Event::Notice(text));
        }
        backend.keep_output(&self.directory.path().join("components"));
        if let Some(notice) = shared_cpus(self.resolved) {
            progress.event(&Event::Notice(notice));
        }
        let mut system = System::default();
        let ending = self.trials(&mut journal, &mut system, backend, progress);
        let begun = backend.now();
        backend.stop();
        let stopped_in = backend.now() - begun;
        self.end(&journal, ending, stopped_in, progress)
    }

    /// Trial after trial, until the journal says that it is the end.
    fn trials(
        &self,
        journal: &mut Vec<Entry>,
        system: &mut System,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<Ending, Stop> {
        loop {
            let next = decide(self.resolved, journal);
            let rest = rest(self.resolved, journal, &next);
            let (purpose, asked, repetition, attempt) = match next {
                Decision::Run { purpose, asked, repetition, attempt } => {
                    (purpose, asked, repetition, attempt)
                }
                Decision::End(ending) => return Ok(ending),
            };
            if self.host.is_interrupted() {
                return Err(Stop::Interrupted);
            }
            backend.pause(rest.unwrap_or_default())?;
            let seed = seed_of(self.resolved.seed(), asked, repetition, attempt);
            let number = journal.len() as u32 + 1;
            let trial = Trial { number, purpose, asked, repetition, attempt, seed };
            let ran = trial::run(&trial, self.resolved, system, backend, progress);
            let (entry, files) = match ran {
                Ok(observation) => self.observed(&trial, &observation),
                Err(Stop::Died { component, why, last_lines }) if !system.urls.is_empty() => {
                    // What died is started anew for the next attempt.
                    backend.stop();
                    *system = System::default();
                    (self.aborted(&trial, &component, &why, &last_lines), Files::new())
                }
                Err(stop) => return Err(stop),
            };
            if !system.urls.is_empty() {
                self.note_placement(backend)?;
            }
            let entry = self.directory.append(entry, &files).map_err(Stop::no_answer)?;
            journal.push(as_read(entry));
            self.tell(journal, progress);
        }
    }

    fn observed(&self, trial: &Trial, observation: &Observation) -> (Entry, Files) {
        let judged = judge::judge(observation, self.resolved);
        let mut findings = judged.findings;
        findings.extend(trial::findings(&observation.driven));
        findings.extend(observation.driven.deaths.iter().filter_map(last_output));
        let entry = Entry {
            status: judged.status,
            reasons: judged.reasons,
            observed: judged.observed,
            findings,
            warnings: [&self.caveats[..], &judged.warnings].concat(),
            ..self.entry(trial)
        };
        (entry, files::of(observation, &judged.components))
    }

    fn aborted(&self, trial: &Trial, component: &str, why: &str, last: &[String]) -> Entry {
        let mut reasons = vec![format!("{component} {why} in mid-trial")];
        if !last.is_empty() {
            reasons.push(format!("its last output: {}", last.join(" | ")));
        }
        Entry { status: Status::Aborted, reasons, ..self.entry(trial) }
    }

    fn entry(&self, trial: &Trial) -> Entry {
        Entry {
            trial: trial.number,
            key: self.manifest.key.clone(),
            purpose: trial.purpose,
            asked_per_s: trial.asked.map(|rate| rate.as_per_second()),
            repetition: trial.repetition,
            attempt: trial.attempt,
            seed: trial.seed,
            status: Status::Valid,
            reasons: Vec::new(),
            observed: None,
            findings: Vec::new(),
            warnings: Vec::new(),
            files: Default::default(),
        }
    }

    /// Records where the kernel really lets the processes run.
    fn note_placement(&self, backend: &mut dyn Backend) -> Result<(), Stop> {
        let placement = backend.placement()?;
        let mut environment = self.directory.environment().map_err(Stop::no_answer)?;
        let known = environment.placement.clone();
        environment.placement.extend(placement);
        match environment.placement == known {
            true => Ok(()),
            false => self.directory.write_environment(&environment).map_err(Stop::no_answer),
        }
    }

    fn tell(&self, journal: &[Entry], progress: &mut dyn Progress) {
        let entry = journal.last().expect("an entry was appended");
        if let (Purpose::Probe, Some(observed)) = (entry.purpose, &entry.observed) {
            if let Decision::Run { asked: Some(first), .. } = decide(self.resolved, journal) {
                let search = self.resolved.spec.search.as_ref().expect("a search wanted a probe");
                progress.event(&Event::Probed {
                    completed_per_s: observed.completed_per_s,
                    first,
                    targets: targets(self.resolved),
                    step: search.step.to_string(),
                });
            }
            return;
        }
        let repeats = rest(self.resolved, journal, &decide(self.resolved, journal));
        progress.event(&Event::Ended { entry, repeats });
        let search = self.resolved.spec.search.as_ref();
        let near = search.and_then(|s| search::nearness(s, &points(self.resolved, journal)));
        if let Some(near) = near {
            progress.event(&Event::Nearness(near));
        }
    }

    /// Writes the answer, whatever it is; only then is the run over.
    fn end(
        mut self,
        journal: &[Entry],
        ending: Result<Ending, Stop>,
        stopped_in: Nanos,
        progress: &mut dyn Progress,
    ) -> Result<Ended, Error> {
        let (ending, question) = match ending {
            Ok(ending) => (ending, None),
            Err(Stop::Interrupted) => (Ending::Interrupted, None),
            Err(stop) => {
                let error = fatal(stop);
                let why = Ending::NoAnswer(error.to_string());
                (why, matches!(error, Error::Question(_)).then_some(error))
            }
        };
        let answer = answer::of(self.resolved, journal, &ending);
        self.directory.write_answer(&answer)?;
        self.manifest.state = match ending {
            Ending::Interrupted => State::Interrupted,
            Ending::Answered(_) | Ending::NoAnswer(_) => State::Finished,
        };
        self.directory.write_manifest(&self.manifest)?;
        if let Some(question) = question {
            return Err(question);
        }
        let size = measure::Bytes(self.directory.size());
        let path = self.directory.path();
        let text = format!("results  {} ({size})", path.display());
        progress.event(&Event::Finished { text });
        let directory = path.to_owned();
        let most_trials = plan::most_trials(self.resolved);
        Ok(Ended { answer, directory, most_trials, stopped_in })
    }
}

/// What a component printed before it died, if it did.
fn last_output(death: &Death) -> Option<String> {
    let Death { component, last_lines, .. } = death;
    (!last_lines.is_empty())
        .then(|| format!("the last output of {component}: {}", last_lines.join(" | ")))
}

/// An entry as a later reader sees it: numbers may lose their last bit in a file, and the run and
/// its continuation must decide alike.
fn as_read(entry: Entry) -> Entry {
    let text = serde_json::to_string(&entry).expect("an entry is plain data");
    serde_json::from_str(&text).expect("what was written can be read")
}

fn fatal(stop: Stop) -> Error {
    match stop {
        Stop::Question(error) => Error::Question(error),
        Stop::NoAnswer(error) => Error::NoAnswer(error),
        Stop::Interrupted => Error::NoAnswer(anyhow::anyhow!("interrupted")),
        Stop::Died { component, why, last_lines } => {
            let lines: String = last_lines.iter().map(|line| format!("\n    {line}")).collect();
            let output = if lines.is_empty() { "" } else { "\n  its last output:" };
            Error::NoAnswer(anyhow::anyhow!("`{component}` {why}{output}{lines}"))
        }
    }
}

/// What two roles share, each takes from the other.
fn shared_cpus(resolved: &Resolved) -> Option<String> {
    let Roles { sut: Some(sut), load: Some(load) } = &resolved.spec.where_.roles else {
        return None;
    };
    let shared: Vec<u32> =
        sut.cpus.0.0.iter().copied().filter(|cpu| load.cpus.0.0.contains(cpu)).collect();
    (!shared.is_empty()).then(|| {
        format!("roles sut and load share CPU {}: each is the other's noise", Cpus(shared))
    })
}

/// A refusal before anything was started: nothing is left, not even a folder.
fn refused(stop: Stop, backend: &mut dyn Backend) -> Error {
    backend.stop();
    fatal(stop)
}

fn backend(resolved: &Resolved, host: &Host) -> Box<dyn Backend> {
    match resolved.spec.where_.backend {
        BackendKind::Simulated => Box::new(Simulated::new(resolved)),
        BackendKind::Local | BackendKind::External => Box::new(Local::new(host.clone())),
    }
}

/// Only one experiment measures on a host at a time, and it begins on clean ground. A simulated one
/// measures nothing of the host.
fn take_over(
    resolved: &Resolved,
    host: &Host,
    progress: &mut dyn Progress,
) -> Result<Option<Lock>, Error> {
    if resolved.spec.where_.backend == BackendKind::Simulated {
        return Ok(None);
    }
    let lock = Lock::take(&host.lock).map_err(Error::NoAnswer)?;
    for removed in crate::remains::remove(host) {
        progress.event(&Event::Notice(removed.to_string()));
    }
    Ok(Some(lock))
}

fn manifest(resolved: &Resolved, host: &Host) -> Result<Manifest, Error> {
    let simulated = resolved.spec.where_.backend == BackendKind::Simulated;
    let binaries = match simulated {
        true => Default::default(),
        false => host::binaries(resolved, host).map_err(Error::Question)?,
    };
    let tool = format!("benchwright {}", host.version);
    let question = serde_json::json!([resolved.spec, resolved.seed(), binaries, tool]);
    let folder = std::path::absolute(&resolved.folder).unwrap_or_else(|_| resolved.folder.clone());
    Ok(Manifest {
        schema: "benchwright.results".to_owned(),
        version: VERSION,
        tool,
        experiment: resolved.spec.name.to_string(),
        profile: resolved.profile.clone(),
        set: resolved.set.clone(),
        backend: resolved.spec.where_.backend.to_string(),
        seed: resolved.seed(),
        key: results::directory::digest(question.to_string().as_bytes()),
        spec_folder: folder.display().to_string(),
        started_unix_s: (!simulated).then(host::unix_seconds),
        state: State::Open,
        binaries,
    })
}

fn resolved_of(directory: &Directory, manifest: &Manifest) -> Result<Resolved, Error> {
    let path = directory.path().join("spec.yaml");
    let question = |error: anyhow::Error| Error::Question(error);
    let bytes = std::fs::read(&path).map_err(|error| {
        question(anyhow::anyhow!("{}: {}", path.display(), crate::spec::plain(&error)))
    })?;
    let folder = Path::new(&manifest.spec_folder);
    let name = path.display().to_string();
    let read = crate::spec::from_bytes(&name, &bytes, folder, None, &[]);
    let resolved = read.map_err(|error| question(error.into()))?;
    Ok(Resolved { profile: manifest.profile.clone(), set: manifest.set.clone(), ..resolved })
}

/// Trials of different programs or tools are never mixed.
fn same_question(earlier: &Manifest, now: &Manifest) -> Result<(), Error> {
    if earlier.key == now.key {
        return Ok(());
    }
    let names = earlier.binaries.keys().chain(now.binaries.keys());
    let mut changed: Vec<&str> = names
        .filter(|&name| earlier.binaries.get(name) != now.binaries.get(name))
        .map(String::as_str)
        .collect();
    changed.sort_unstable();
    changed.dedup();
    if earlier.tool != now.tool {
        changed.push("the tool's version");
    }
    if changed.is_empty() {
        changed.push("spec.yaml");
    }
    Err(Error::Question(anyhow::anyhow!(
        "this run cannot be continued: changed since it began: {}\n  \
         its trials and new ones would not measure the same; start a new run",
        changed.join(", ")
    )))
}
