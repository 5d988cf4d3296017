//! The life of an experiment: search → trial → journal, until there is an answer or a reason for
//! none.
//!
//! The next step depends on the journal alone. No other state exists, so reading the journal is
//! enough to continue a run that was interrupted or killed.

use std::path::{Path, PathBuf};

use measure::Nanos;
use results::directory::{Files, Writer};
use results::journal::{Entry, Purpose, Status, Waited};
use results::manifest::{Manifest, State};
use results::{Answer, Directory};

use crate::answer::{self, Ending};
use crate::backend::local::Local;
use crate::backend::simulated::Simulated;
use crate::backend::{Backend, Death, Stop};
use crate::host::{self, Lock};
use crate::progress::{Event, Progress};
use crate::search;
use crate::spec::{BackendKind, Cpus, Resolved, Roles};
use crate::system::System;
use crate::trial::{self, Observation, Trial};
use crate::{Error, Host, judge};

pub(crate) use decide::targets;
pub use decide::{Attempt, Decision, decide, points, seed_of};
pub use plan::plan;

mod decide;
mod files;
mod plan;
mod provenance;

#[cfg(test)]
mod tests;

/// A run that ended, in whatever way: a run that could not go on has an answer too, with the reason
/// why it found none.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub answer: Answer,
    pub directory: PathBuf,
    /// The most trials that it could have had.
    pub most_trials: u64,
    /// The time that it took to stop everything.
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
    let manifest = provenance::manifest(resolved, host)?;
    let path = out.unwrap_or_else(|| host::default_folder(&resolved.spec.name));
    let directory = Directory::create(&path, &manifest, &resolved.to_yaml(), &environment)
        .map_err(|error| Error::Question(error.into()))?;
    let caveats = backend.caveats(resolved);
    Run { resolved, host, directory, manifest, caveats }.go(&mut *backend, progress)
}

/// Continues an earlier run with the spec that it resolved.
pub fn resume(dir: &Path, host: &Host, progress: &mut dyn Progress) -> Result<Ended, Error> {
    let directory = Directory::open(dir).map_err(|error| Error::Question(error.into()))?;
    let earlier = directory.manifest().map_err(|error| Error::Question(error.into()))?;
    let resolved = provenance::resolved_of(&directory, &earlier)?;
    let mut backend = backend(&resolved, host);
    backend.accept(&resolved).map_err(fatal)?;
    let _lock = take_over(&resolved, host, progress)?;
    let manifest = provenance::manifest(&resolved, host)?;
    provenance::same_question(&earlier, &manifest)?;
    backend.prepare(&resolved).map_err(|stop| refused(stop, &mut *backend))?;
    directory.remove_answer()?;
    let manifest = Manifest { state: State::Open, ..earlier };
    directory.write_manifest(&manifest)?;
    let caveats = backend.caveats(&resolved);
    Run { resolved: &resolved, host, directory, manifest, caveats }.go(&mut *backend, progress)
}

/// Returns what the journal of a run without an answer shows so far.
pub fn so_far(directory: &Directory) -> Result<Answer, Error> {
    let manifest = directory.manifest().map_err(|error| Error::Question(error.into()))?;
    let resolved = provenance::resolved_of(directory, &manifest)?;
    let journal = directory.journal().map_err(|error| Error::Question(error.into()))?;
    Ok(answer::of(&resolved, &journal, &Ending::Open))
}

struct Run<'a> {
    resolved: &'a Resolved,
    host: &'a Host,
    directory: Directory,
    manifest: Manifest,
    /// The parts of the spec that are not enforced on this host.
    caveats: Vec<String>,
}

impl Run<'_> {
    fn go(self, backend: &mut dyn Backend, progress: &mut dyn Progress) -> Result<Ended, Error> {
        progress.event(&Event::Began { headline: plan::headline(self.resolved) });
        for caveat in &self.caveats {
            progress.event(&Event::Notice(caveat.clone()));
        }
        let (mut journal, mut writer) = self.directory.write_journal()?;
        if let Some(entry) = journal.last() {
            let text = format!("continued after trial {}", entry.trial);
            progress.event(&Event::Notice(text));
        }
        backend.keep_output(&self.directory.path().join("components"));
        if let Some(notice) = shared_cpus(self.resolved) {
            progress.event(&Event::Notice(notice));
        }
        let mut system = System::default();
        let ending = self.trials(&mut journal, &mut writer, &mut system, backend, progress);
        let begun = backend.now();
        backend.stop();
        let stopped_in = backend.now() - begun;
        self.end(&journal, ending, stopped_in, progress)
    }

    /// Runs trial after trial until the journal gives an end.
    fn trials(
        &self,
        journal: &mut Vec<Entry>,
        writer: &mut Writer,
        system: &mut System,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<Ending, Stop> {
        loop {
            let attempt = match decide(self.resolved, journal) {
                Decision::Run(attempt) => attempt,
                Decision::End(ending) => return Ok(ending),
            };
            if self.host.is_interrupted() {
                return Err(Stop::Interrupted);
            }
            let waited = attempt.await_calm.map(|within| await_calm(within, backend, progress));
            let waited = waited.transpose()?;
            let Attempt { purpose, asked, repetition, attempt, .. } = attempt;
            let seed = seed_of(self.resolved.seed(), asked, repetition, attempt);
            let number = journal.len() as u32 + 1;
            let trial = Trial { number, purpose, asked, repetition, attempt, seed };
            let ran = trial::run(&trial, self.resolved, system, backend, progress);
            let (entry, files) = match ran {
                Ok(observation) => self.observed(&trial, &observation),
                Err(Stop::Died { component, why, last_lines }) if !system.urls.is_empty() => {
                    // A component died: the system is restarted for the next attempt.
                    backend.stop();
                    *system = System::default();
                    (self.aborted(&trial, &component, &why, &last_lines), Files::new())
                }
                Err(stop) => return Err(stop),
            };
            if !system.urls.is_empty() {
                self.record_placement(backend)?;
            }
            let entry =
                writer.append(Entry { waited, ..entry }, &files).map_err(Stop::no_answer)?;
            journal.push(entry);
            self.report(journal, progress);
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
            slo: judged.slo,
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
        let targets = f64::from(targets(self.resolved));
        Entry {
            trial: trial.number,
            key: self.manifest.key.clone(),
            purpose: trial.purpose,
            asked_per_s: trial.asked.map(|rate| rate.as_per_second() * targets),
            asked_per_target_per_s: trial.asked.map(|rate| rate.as_per_second()),
            repetition: trial.repetition,
            attempt: trial.attempt,
            waited: None,
            seed: trial.seed,
            status: Status::Valid,
            reasons: Vec::new(),
            observed: None,
            slo: Vec::new(),
            findings: Vec::new(),
            warnings: Vec::new(),
            files: Default::default(),
        }
    }

    /// Records the CPUs on which the kernel really lets the processes run.
    fn record_placement(&self, backend: &mut dyn Backend) -> Result<(), Stop> {
        let placement = backend.placement()?;
        let mut environment = self.directory.environment().map_err(Stop::no_answer)?;
        let known = environment.placement.clone();
        environment.placement.extend(placement);
        match environment.placement == known {
            true => Ok(()),
            false => self.directory.write_environment(&environment).map_err(Stop::no_answer),
        }
    }

    fn report(&self, journal: &[Entry], progress: &mut dyn Progress) {
        let entry = journal.last().expect("an entry was appended");
        let next = decide(self.resolved, journal);
        if let (Purpose::Probe, Some(observed)) = (entry.purpose, &entry.observed) {
            if let Decision::Run(Attempt { asked: Some(first), .. }) = next {
                let search = self.resolved.spec.search.as_ref().expect("only a search has a probe");
                progress.event(&Event::Probed {
                    completed_per_s: observed.completed_per_s,
                    first,
                    targets: targets(self.resolved),
                    step: search.step.to_string(),
                });
            }
            return;
        }
        progress.event(&Event::Ended { entry, next: &next });
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
            Ending::Open => unreachable!("a run that ends is not open"),
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

/// Waits for a calm machine before a trial is repeated. If the machine does not become calm, the
/// trial is repeated anyway: it may still count as a slowed one.
fn await_calm(
    within: Nanos,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<Waited, Stop> {
    let calm = backend.await_calm(within)?;
    progress.event(&Event::Notice(calm.to_string()));
    Ok(Waited { waited_ns: calm.waited.0, calm: calm.is_calm, text: calm.to_string() })
}

/// Returns what a component printed before it died, if anything.
fn last_output(death: &Death) -> Option<String> {
    let Death { component, last_lines, .. } = death;
    (!last_lines.is_empty())
        .then(|| format!("the last output of {component}: {}", last_lines.join(" | ")))
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

/// Returns a notice if two roles share CPUs: each takes CPU time from the other.
fn shared_cpus(resolved: &Resolved) -> Option<String> {
    let Roles { sut: Some(sut), load: Some(load) } = &resolved.spec.where_.roles else {
        return None;
    };
    let shared: Vec<u32> =
        sut.cpus.0.0.iter().copied().filter(|cpu| load.cpus.0.0.contains(cpu)).collect();
    (!shared.is_empty())
        .then(|| format!("roles sut and load share CPU {}: they disturb each other", Cpus(shared)))
}

/// Cleans up after a refusal before anything was started: nothing is left, not even a folder.
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

/// Locks the host and removes what earlier runs left: only one experiment measures on a host at a
/// time. A simulated one needs no lock, because it measures nothing of the host.
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
