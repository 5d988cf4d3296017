//! The life of an experiment: search → trial → journal, until there is an answer or a reason for
//! none.
//!
//! The next step depends on the journal alone. No other state exists, so reading the journal is
//! enough to continue a run that was interrupted or killed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use measure::search::Bracket;
use measure::{Nanos, Rate};
use results::answer::Verdict;
use results::at_load;
use results::directory::{Files, Readers, Writer};
use results::doctor::{self, Doctor};
use results::journal::{self, Bounds, Entry, Purpose, Status, Waited};
use results::manifest::{Manifest, State};
use results::sessions::Arrivals;
use results::{Answer, Directory, shell};

use crate::answer;
use crate::backend::{Backend, Backends, Death, Stop};
use crate::course::{Attempt, Ending, Trial};
use crate::host;
use crate::past::{Past, provenance};
use crate::plan::{Plan, Turn, Turns, bracket, seed_of, slow, swept};
use crate::progress::{Event, Progress, Stage};
use crate::search;
use crate::spec::{Cpus, Resolved, Roles, Search};
use crate::system::System;
use crate::trial::{self, Checked, Observation};
use crate::{Error, Host, judge};

pub use text::{first, least, of_stores, plan};
pub use usual::usually;

mod files;
mod text;
mod usual;

#[cfg(test)]
mod tests;

/// A run that ended, in whatever way: a run that could not go on has an answer too, with the reason
/// why it found none.
#[derive(Clone, Debug)]
pub struct Ended {
    pub answer: Answer,
    /// The results, at the path that they have now: whoever reads them by another one may read others.
    pub directory: Directory,
    /// The most trials that it could have had.
    pub most_trials: u64,
    /// The time that it took, until everything was stopped.
    pub took: Nanos,
    /// The parts of it that could not be removed from the host, in words.
    pub staying: Vec<String>,
}

impl Ended {
    /// The last line of an interrupted run: how far it came, and how to continue it.
    pub fn interrupted_in_words(&self) -> String {
        let reached = match self.answer.trials.last() {
            Some(entry) if u64::from(entry.trial) < self.most_trials => {
                format!("after trial {} of about {}", entry.trial, self.most_trials)
            }
            Some(entry) => format!("after trial {}", entry.trial),
            None => format!("in the first trial of about {}", self.most_trials),
        };
        let resume = shell::resume(&self.directory.path().display().to_string(), &[]);
        format!("interrupted {reached} · everything is stopped · {resume}")
    }
}

/// The new results directory of a run.
#[derive(Clone, Debug)]
pub struct Out {
    /// `results/<name>-<date>` if it is not named.
    pub path: Option<PathBuf>,
    pub readers: Readers,
}

impl From<Option<PathBuf>> for Out {
    fn from(path: Option<PathBuf>) -> Out {
        Out { path, readers: Readers::Owner }
    }
}

/// Runs an experiment into a new results directory.
pub fn run(
    resolved: &Resolved,
    out: impl Into<Out>,
    host: &Host,
    backends: Backends<'_>,
    progress: &mut dyn Progress,
) -> Result<Ended, Error> {
    run_that_begins_with(&mut || Ok(()), resolved, out, host, backends, progress)
}

/// Runs an experiment into a new results directory. Once nothing refuses it any more, and before anything is started,
/// `begin` is called: what it leaves shall not be there without the run.
pub fn run_that_begins_with(
    begin: &mut dyn FnMut() -> anyhow::Result<()>,
    resolved: &Resolved,
    out: impl Into<Out>,
    host: &Host,
    backends: Backends<'_>,
    progress: &mut dyn Progress,
) -> Result<Ended, Error> {
    let plan = Plan::of(resolved).map_err(|error| Error::Question(error.into()))?;
    long_enough(resolved, &plan)?;
    let Out { path, readers } = out.into();
    let path = path.unwrap_or_else(|| host::default_folder(&resolved.spec.name));
    Directory::check_place(&path).map_err(|error| Error::Question(error.into()))?;
    let mut backend = backends(plan.resolved(0));
    take_over(&plan, &mut *backend, progress)?;
    let prepared = backend.prepare(plan.resolved(0));
    let environment = prepared.map_err(|stop| refused(stop, &mut *backend))?;
    let doctor = preflight(&plan, &mut *backend, progress)?;
    let manifest = provenance::manifest((resolved, &plan), host, &mut *backend)?;
    let yaml = resolved.to_yaml();
    begin().map_err(|error| refused(Stop::Question(error), &mut *backend))?;
    let directory = Directory::create(&path, readers, &manifest, &yaml, &environment)
        .map_err(|error| Error::Question(error.into()))?;
    if let Some(doctor) = &doctor {
        directory.write_doctor(doctor)?;
    }
    let caveats = caveats(&plan, &mut *backend);
    let run = Run { plan: &plan, resolved, host, directory, manifest, caveats, doctor };
    run.go(&mut *backend, progress)
}

/// Runs the experiment of an earlier run once more, into a new results directory: with the spec that it
/// resolved, and the programs of now.
pub fn rerun(
    dir: &Path,
    out: impl Into<Out>,
    host: &Host,
    backends: Backends<'_>,
    progress: &mut dyn Progress,
) -> Result<Ended, Error> {
    let past = Past::read(dir)?;
    // The new run needs none of the trials, but their reader may want to compare both.
    for unread in past.unread() {
        progress.event(&Event::Notice(format!(
            "{}: {unread}: it does not count there",
            results::regular::one_line(&past.name)
        )));
    }
    run(&past.resolved, out, host, backends, progress)
}

/// Continues an earlier run with the spec that it resolved; `set` may change its budget. If the run had
/// ended without an answer, or with a bound because of disturbances, its allowances for trials that give
/// none begin again.
pub fn resume(
    dir: &Path,
    set: &[String],
    host: &Host,
    backends: Backends<'_>,
    progress: &mut dyn Progress,
) -> Result<Ended, Error> {
    let directory = Directory::resume(dir).map_err(|error| Error::Question(error.into()))?;
    let earlier = directory.manifest().map_err(|error| Error::Question(error.into()))?;
    let resolved = provenance::resolved_of(&directory, &earlier, set)?;
    only_budget(set)?;
    let plan = Plan::of(&resolved).map_err(|error| Error::Question(error.into()))?;
    // Before anything is changed: a run that is refused stays as it ended.
    let journal = directory.journal().map_err(|error| Error::Question(error.into()))?;
    plan.check(&journal).map_err(Error::Question)?;
    if journal.is_empty() {
        long_enough(&resolved, &plan)?;
    }
    let mut backend = backends(plan.resolved(0));
    take_over(&plan, &mut *backend, progress)?;
    let manifest = provenance::manifest((&resolved, &plan), host, &mut *backend)?;
    provenance::same_question(&earlier, &manifest)?;
    backend.prepare(plan.resolved(0)).map_err(|stop| refused(stop, &mut *backend))?;
    let doctor = preflight(&plan, &mut *backend, progress)?;
    let mut resumed_after = earlier.resumed_after.clone();
    let kept = directory.answer().map_err(|error| Error::Question(error.into()))?;
    if kept.is_some_and(|kept| kept.verdict == Verdict::NoAnswer || kept.resume.is_some()) {
        resumed_after.extend(journal.last().map(|entry| entry.trial));
        resumed_after.dedup();
    }
    if !set.is_empty() {
        directory.write_spec(&resolved.to_yaml())?;
    }
    let set = resolved.set.clone();
    let manifest = Manifest { state: State::Open, set, resumed_after, ..earlier };
    directory.write_manifest(&manifest)?;
    // Last, so that a run that is killed before has its allowances when it is resumed again.
    directory.remove_answer()?;
    let caveats = caveats(&plan, &mut *backend);
    let resolved = &resolved;
    let run = Run { plan: &plan, resolved, host, directory, manifest, caveats, doctor };
    run.go(&mut *backend, progress)
}

/// Refuses a budget in which nothing can be measured, before anything is written.
fn long_enough(resolved: &Resolved, plan: &Plan) -> Result<(), Error> {
    let least = text::least_of(plan);
    match resolved.spec.budget.time.filter(|time| **time < least) {
        None => Ok(()),
        Some(time) => Err(Error::Question(anyhow::anyhow!(
            "budget.time is {}, which is too short for one trial; allow at least {}",
            time.written(),
            least.written()
        ))),
    }
}

/// Refuses to change in a run what would make its trials measure something else.
fn only_budget(set: &[String]) -> Result<(), Error> {
    match set.iter().find(|set| !set.starts_with("budget.")) {
        None => Ok(()),
        Some(other) => Err(Error::Question(anyhow::anyhow!(
            "--set {other}: the trials of this run would not measure the same; resume changes only its \
             budget, for example --set budget.trials=60: start a new run for anything else"
        ))),
    }
}

/// Returns the words behind `benchwright resume DIRECTORY` with which a run makes further trials, if it has
/// no answer or only a bound: none if its allowances need only begin again, otherwise a larger budget.
fn go_on(resolved: &Resolved, journal: &[Entry]) -> Option<Vec<String>> {
    if 0 < resolved.secrets.plain() {
        // They are not kept, so that it cannot be resumed.
        return None;
    }
    let last = journal.last()?.trial;
    let budget = &resolved.spec.budget;
    let trials = format!("budget.trials={}", u64::from(budget.trials.0) * 2);
    let time = budget.time.map(|time| format!("budget.time={}", (*time * 2).written()));
    let both = [Some(trials.clone()), time.clone()].into_iter().flatten().collect();
    let larger = [Vec::new(), vec![trials], time.into_iter().collect(), both];
    let yaml = resolved.to_yaml();
    let set = larger.into_iter().find(|set| {
        let read =
            crate::spec::from_bytes("spec.yaml", yaml.as_bytes(), &resolved.folder, None, set);
        let plan = read.ok().and_then(|resolved| Plan::of(&resolved).ok());
        plan.is_some_and(|plan| Turns::resumed(&plan, journal.to_vec(), last).next_turn().is_some())
    })?;
    Some(set.into_iter().flat_map(|set| ["--set".to_owned(), set]).collect())
}

/// Checks that the experiment can run here, locks the place, and removes what killed runs left.
fn take_over(
    plan: &Plan,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    for question in &plan.questions {
        let resolved = &question.resolved;
        let checked = resolved.spec.doctor.check(&backend.checks(), resolved);
        checked.map_err(|error| Error::Question(error.into()))?;
        backend.accept(resolved).map_err(Error::from)?;
    }
    backend.lock().map_err(Error::from)?;
    for removed in backend.clean_up().into_iter().chain(backend.staying()) {
        progress.event(&Event::Notice(removed));
    }
    Ok(())
}

/// Checks the place before anything is started. A strict spec refuses what is not good.
fn preflight(
    plan: &Plan,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<Option<Doctor>, Error> {
    let resolved = plan.resolved(0);
    let found = trial::diagnose(resolved, None, backend);
    let found = found.map_err(|stop| refused(stop, backend))?;
    let checks = found.as_ref().map(|doctor| doctor.checks.as_slice()).unwrap_or_default();
    let verdict = doctor::verdict(resolved.spec.doctor.level, checks, &[]);
    if verdict.is_refused() {
        let text = format!(
            "the checks refuse this run (doctor.level is strict):\n  {}",
            verdict.refusals.join("\n  ")
        );
        return Err(refused(Stop::no_answer(text), backend));
    }
    for warning in verdict.warnings {
        progress.event(&Event::Notice(warning));
    }
    Ok(found)
}

/// Returns the parts of each question's spec that are not enforced here.
fn caveats(plan: &Plan, backend: &mut dyn Backend) -> Vec<Vec<String>> {
    plan.questions.iter().map(|question| backend.caveats(&question.resolved)).collect()
}

struct Run<'a> {
    plan: &'a Plan,
    /// The spec with its factors and searches.
    resolved: &'a Resolved,
    host: &'a Host,
    directory: Directory,
    manifest: Manifest,
    /// The parts of each question's spec that are not enforced on this host.
    caveats: Vec<Vec<String>>,
    /// The checks of the machines before the first trial, if there are any.
    doctor: Option<Doctor>,
}

/// The notice of an interruption: stopping a system may take a while.
const STOPPING: &str = "interrupted: everything is stopped in order; a second Ctrl-C ends this at once, and \
                        `benchwright clean` then removes what is left";

impl Run<'_> {
    fn go(self, backend: &mut dyn Backend, progress: &mut dyn Progress) -> Result<Ended, Error> {
        progress.event(&Event::Began { headline: text::headline(self.resolved, self.plan) });
        for caveat in self.caveats.iter().flatten().collect::<BTreeSet<_>>() {
            progress.event(&Event::Notice(caveat.clone()));
        }
        let (journal, mut writer) = self.directory.write_journal()?;
        self.plan.check(&journal).map_err(Error::Question)?;
        for unread in journal::unread(&journal) {
            progress.event(&Event::Notice(format!(
                "{unread}: it does not count, and is measured again if the budget allows"
            )));
        }
        if let Some(entry) = journal.last() {
            let text = format!("continued after trial {}", entry.trial);
            progress.event(&Event::Notice(text));
        }
        backend.collect(&self.directory.inside().join("components"));
        let notices = [shared_cpus(self.resolved), plain_secrets(self.resolved)];
        for notice in notices.into_iter().flatten() {
            progress.event(&Event::Notice(notice));
        }
        let outline = text::outline(self.resolved, self.plan);
        progress.event(&Event::Planned { outline, journal: &journal });
        let resumed_after = provenance::resumed_after(&self.manifest);
        let mut turns = Turns::resumed(self.plan, journal, resumed_after);
        for strand in 0..self.plan.strands.len() {
            if !turns.of(strand).is_empty() {
                progress.event(&self.standing(&turns, strand));
            }
        }
        let mut system = System::after(self.doctor.clone());
        let start = backend.now();
        let ending = self.trials(&mut turns, &mut writer, &mut system, backend, progress);
        if let Err(Stop::Interrupted) = ending {
            progress.event(&Event::Notice(STOPPING.to_owned()));
        }
        system.teardown(backend, progress);
        backend.stop();
        let took = backend.now() - start;
        let staying = backend.staying();
        for stays in &staying {
            progress.event(&Event::Notice(stays.clone()));
        }
        let ended = self.end(&turns, ending, took, progress)?;
        Ok(Ended { staying, ..ended })
    }

    /// Runs trial after trial until every strand has ended.
    fn trials(
        &self,
        turns: &mut Turns<'_>,
        writer: &mut Writer,
        system: &mut System,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<Ending, Stop> {
        let mut next = turns.next_turn();
        while let Some(turn) = next {
            self.host.check_interrupt()?;
            if self.host.wishes.is_paused() {
                progress.event(&Event::Stage(Stage::Paused));
                self.host.await_go()?;
            }
            self.host.wishes.begin_step();
            let Turn { strand, attempt, block } = turn;
            let resolved = self.plan.resolved(strand);
            let waited =
                attempt.await_calm.map(|within| self.await_calm(within, backend, progress));
            let waited = waited.transpose()?;
            if waited.as_ref().is_some_and(|waited| 0 < waited.waited_ns) {
                // The checks after the trial shall see what happened since now.
                let now = backend.date().map(host::whole_seconds);
                system.doctor = trial::diagnose(resolved, now, backend)?;
            }
            let Attempt { purpose, asked, repetition, attempt, why, bracket, .. } = attempt;
            let seed = seed_of(self.plan.seed_of(strand), asked, repetition, attempt);
            let number = turns.count() as u32 + 1;
            let place = self.plan.place(strand);
            let trial = Trial { number, purpose, asked, repetition, attempt, seed, place };
            progress.event(&Event::Begins { trial: &trial, strand });
            let ran = trial::run(&trial, resolved, system, backend, progress);
            let (entry, files) = match ran {
                Ok(observation) => self.observed(strand, &trial, &observation, turns),
                Err(Stop::Died { component, why, last_lines }) if !system.urls.is_empty() => {
                    // A component died: the system is restarted for the next attempt.
                    backend.stop();
                    system.forget();
                    (self.aborted(strand, &trial, &component, &why, &last_lines), Files::new())
                }
                Err(Stop::Disturbed { cause }) => {
                    let reasons = vec![cause];
                    let entry = self.entry(strand, &trial);
                    (Entry { status: Status::Invalid, reasons, ..entry }, Files::new())
                }
                Err(stop) => return Err(stop),
            };
            if !system.urls.is_empty() {
                self.record_placement(backend)?;
            }
            let bounds = bracket.map(|bracket| bounds(&bracket, resolved.targets()));
            let entry = Entry { waited, block, why, bounds, ..entry };
            let entry = writer.append(entry, &files).map_err(Stop::no_answer)?;
            let speed = slow::speed(&entry, turns);
            turns.push(entry);
            next = turns.next_turn();
            self.report(turns, next.as_ref(), speed, progress);
        }
        Ok(turns.ending())
    }

    fn observed(
        &self,
        strand: usize,
        trial: &Trial,
        observation: &Observation,
        turns: &Turns<'_>,
    ) -> (Entry, Files) {
        let judged = judge::judge(observation, self.plan.resolved(strand));
        let caveats = &self.caveats[trial.place.question];
        let mut findings = judged.findings;
        findings.extend(trial::findings(&observation.driven));
        findings.extend(observation.driven.deaths.iter().filter_map(last_output));
        let entry = Entry {
            status: judged.status,
            reasons: judged.reasons,
            observed: judged.observed,
            slo: judged.slo,
            findings,
            warnings: [&caveats[..], &judged.warnings].concat(),
            disturbed: judged.disturbed,
            fingerprint: observation.checked.as_ref().map(fingerprint),
            unread: Vec::new(),
            warmed_up_ns: observation.warmed_up.map(|warmed_up| warmed_up.length.0),
            ..self.entry(strand, trial)
        };
        let entry = match judged.stands {
            true => entry,
            false => slow::judge(entry, strand, turns),
        };
        (entry, files::of(observation, &judged.components))
    }

    fn aborted(
        &self,
        strand: usize,
        trial: &Trial,
        component: &str,
        why: &str,
        last: &[String],
    ) -> Entry {
        let mut reasons = vec![format!("{component} {why} in mid-trial")];
        if !last.is_empty() {
            reasons.push(format!("its last output: {}", last.join(" | ")));
        }
        Entry { status: Status::Aborted, reasons, ..self.entry(strand, trial) }
    }

    fn entry(&self, strand: usize, trial: &Trial) -> Entry {
        let targets = f64::from(self.plan.resolved(strand).targets());
        let number = strand as u32 + 1;
        Entry {
            trial: trial.number,
            key: self.manifest.key.clone(),
            purpose: trial.purpose,
            cell: self.plan.cell_name(strand),
            search: self.plan.question(strand).search.clone(),
            strand: self.plan.has_several().then_some(number),
            block: None,
            asked_per_s: trial.asked.map(|rate| rate.as_per_second() * targets),
            asked_per_target_per_s: trial.asked.map(|rate| rate.as_per_second()),
            why: None,
            bounds: None,
            repetition: trial.repetition,
            attempt: trial.attempt,
            waited: None,
            warmed_up_ns: None,
            seed: trial.seed,
            status: Status::Valid,
            reasons: Vec::new(),
            slow_machine: None,
            observed: None,
            slo: Vec::new(),
            findings: Vec::new(),
            warnings: Vec::new(),
            disturbed: Vec::new(),
            fingerprint: None,
            unread: Vec::new(),
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

    fn report(
        &self,
        turns: &Turns<'_>,
        next: Option<&Turn>,
        speed: Option<f64>,
        progress: &mut dyn Progress,
    ) {
        let (strand, entry) = turns.last().expect("an entry was appended");
        let resolved = self.plan.resolved(strand);
        let label = self.plan.label(strand);
        if let (Purpose::Probe, Some(observed)) = (entry.purpose, &entry.observed) {
            let completed = observed.sessions_per_s.or(observed.succeeded_per_s);
            let chosen = turns.attempt(strand).zip(completed);
            if let Some((Attempt { asked: Some(first), .. }, completed_per_s)) = chosen {
                let search = resolved.spec.search.as_ref().expect("only a search has a probe");
                progress.event(&Event::Probed {
                    label: label.clone(),
                    completed_per_s,
                    arrivals: Arrivals::of([entry]),
                    is_lower_bound: observed.generator_bound,
                    first,
                    targets: resolved.targets(),
                    strategy: search::in_words(search),
                });
            }
            // Without a success, the line of the trial says what failed.
            if !observed.is_mostly_failing() {
                return;
            }
        }
        let again = next.filter(|next| next.strand == strand).map(|next| next.attempt);
        let without_rate = resolved.spec.load.schedule().unwrap_or("closed");
        let conclusion = at_load::conclusions(turns.of(strand)).get(&entry.trial).copied();
        progress.event(&Event::Ended { entry, conclusion, label, without_rate, speed, again });
        progress.event(&self.standing(turns, strand));
    }

    /// Describes how far a strand is.
    fn standing(&self, turns: &Turns<'_>, strand: usize) -> Event<'static> {
        let (resolved, journal) = (self.plan.resolved(strand), turns.of(strand));
        let sweep = resolved.spec.search.as_ref().and_then(Search::sweep);
        let near = match bracket(resolved, journal) {
            Some(bracket) => search::bounds(&bracket, Arrivals::of(turns.of(strand))),
            None => sweep.and_then(|s| search::nearness(s, &swept(resolved, journal))),
        };
        Event::Stands { strand, near, ending: turns.ending_of(strand).cloned() }
    }

    /// Waits for a calm machine before a trial is repeated. If the machine does not become calm, the
    /// trial is repeated anyway: it may still count as a slowed one.
    fn await_calm(
        &self,
        within: Nanos,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<Waited, Stop> {
        progress.event(&Event::Stage(Stage::WaitForCalm));
        let calm = backend.await_calm(within)?;
        let text = match !calm.is_calm && self.host.wishes.ends_wait() {
            true => format!("{calm}; the user ended the wait"),
            false => calm.to_string(),
        };
        if !calm.is_calm || Nanos::ZERO < calm.waited {
            progress.event(&Event::Notice(text.clone()));
        }
        Ok(Waited { waited_ns: calm.waited.0, calm: calm.is_calm, text })
    }

    /// Writes the answer, whatever it is; only then is the run over.
    fn end(
        mut self,
        turns: &Turns<'_>,
        ending: Result<Ending, Stop>,
        took: Nanos,
        progress: &mut dyn Progress,
    ) -> Result<Ended, Error> {
        let (ending, question) = match ending {
            Ok(ending) => (ending, None),
            Err(Stop::Interrupted) => (Ending::Interrupted, None),
            Err(stop) => {
                let error = Error::from(stop);
                let why = Ending::NoAnswer(error.to_string());
                (why, matches!(error, Error::Question(_)).then_some(error))
            }
        };
        let answer = answer::of(self.plan, turns, &ending);
        let resume = match ending {
            Ending::Answered(_) | Ending::NoAnswer(_) => go_on(self.resolved, &answer.trials),
            Ending::Failing(_) | Ending::Interrupted | Ending::Open => None,
        };
        let answer = Answer { resume, ..answer };
        self.directory.write_answer(&answer)?;
        self.manifest.state = match ending {
            Ending::Interrupted => State::Interrupted,
            Ending::Answered(_) | Ending::Failing(_) | Ending::NoAnswer(_) => State::Finished,
            Ending::Open => unreachable!("a run that ends is not open"),
        };
        self.directory.write_manifest(&self.manifest)?;
        if let Some(question) = question {
            return Err(question);
        }
        let directory = self.directory.at_its_place()?;
        let (named, path) = (self.directory.path(), results::regular::shown(directory.path()));
        if named != directory.path() {
            let what = if named.exists() { "is another folder now" } else { "was moved" };
            let text =
                format!("{} {what}; the results are in {path}", results::regular::shown(named));
            progress.event(&Event::Notice(text));
        }
        let size = measure::Bytes(directory.size());
        progress.event(&Event::Finished { text: format!("results  {path} ({size})") });
        let most_trials = text::most_trials(self.plan);
        Ok(Ended { answer, directory, most_trials, took, staying: Vec::new() })
    }
}

/// The bounds of each target's capacity as rates of all targets together.
fn bounds(bracket: &Bracket, targets: u32) -> Bounds {
    let of_all = |rate: Rate| rate.as_per_second() * f64::from(targets);
    Bounds { lower: bracket.lower.map(of_all), upper: bracket.upper.map(of_all) }
}

/// Returns what a component printed before it died, if anything.
fn last_output(death: &Death) -> Option<String> {
    let Death { component, last_lines, .. } = death;
    (!last_lines.is_empty())
        .then(|| format!("the last output of {component}: {}", last_lines.join(" | ")))
}

fn fingerprint(checked: &Checked) -> String {
    checked.after.fingerprint.hash.clone()
}

/// Returns a notice if the spec has secrets that are not kept with the results.
fn plain_secrets(resolved: &Resolved) -> Option<String> {
    (0 < resolved.secrets.plain()).then(|| {
        "the spec has secrets that are written plainly: they are not kept with the results, so this \
         run cannot be resumed; write ${env.NAME} in their place"
            .to_owned()
    })
}

/// Returns a notice if two roles share CPUs: each takes CPU time from the other.
fn shared_cpus(resolved: &Resolved) -> Option<String> {
    let Roles { sut: Some(sut), load: Some(load) } = &resolved.spec.where_.roles else {
        return None;
    };
    let (sut, load) = (sut.cpus.as_deref()?, load.cpus.as_deref()?);
    let shared: Vec<u32> = sut.0.iter().copied().filter(|cpu| load.0.contains(cpu)).collect();
    (!shared.is_empty())
        .then(|| format!("roles sut and load share CPU {}: they disturb each other", Cpus(shared)))
}

/// Cleans up after a refusal before anything was started: nothing is left, not even a folder.
fn refused(stop: Stop, backend: &mut dyn Backend) -> Error {
    backend.stop();
    Error::from(stop)
}
