//! One run as a report shows it: every file is read once, and unreadable files are listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use measure::estimate::{CONFIDENCE, quantile_interval};
use measure::{Nanos, Quantile};
use results::answer::{Answer, Capacity, Maximum, Verdict};
use results::at_load::{self, Conclusion, Configuration};
use results::directory::Error;
use results::journal::{self, Delivery, Entry, Observed, Purpose, Status};
use results::manifest::{Manifest, State};
use results::speed::Usual;
use results::times::Encoded;
use results::{Components, Directory, Doctor, Environment, Events, Load, Times, slo};

use levels::{Cell, Quantity, Shown};

pub(crate) mod levels;
pub(crate) mod machine;
pub(crate) mod services;
pub(crate) mod speed;

/// The most equal trials whose distributions are kept beside that of a marked one.
const MOST_EQUAL: usize = 100;

pub(crate) struct Run {
    pub(crate) path: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) environment: Option<Environment>,
    /// The checks before the first trial, if there were any.
    pub(crate) doctor: Option<Doctor>,
    pub(crate) answer: Option<Answer>,
    /// The resolved spec from the directory; empty if it is missing.
    pub(crate) spec: String,
    /// The SLO's limit of the p99 response time.
    pub(crate) limit: Option<Nanos>,
    pub(crate) trials: Vec<Trial>,
    /// The service of each component, if a trial that is shown in full contains the component.
    pub(crate) services: BTreeMap<String, String>,
    /// True if no load was searched: the loads were given, and show no maximum and no capacity.
    pub(crate) fixed: bool,
    /// True if the loads had a receiver of their events: then the run is about the times of delivery.
    pub(crate) of_delivery: bool,
    /// The result of the only search; absent if there are several, and if the load was given.
    pub(crate) maximum: Option<Maximum>,
    pub(crate) capacity: Option<Capacity>,
    /// The searches by level; empty if there is only one.
    pub(crate) cells: Vec<Cell>,
    /// One trial for each of some levels.
    shown: Vec<Shown>,
    /// The trials on which the answer rests.
    rests_on: BTreeSet<u32>,
    /// The trials of every search's maximum throughput and capacity.
    maxima: BTreeSet<u32>,
    capacities: BTreeSet<u32>,
    /// The usual speed of the machine in this run.
    pub(crate) usual: Usual,
    /// The files of trials that cannot be read any more, in words, by trial.
    pub(crate) unread: Vec<String>,
    /// Other files that could not be read, each with its reason.
    pub(crate) problems: Vec<String>,
    /// True if the answer, or what is known so far, lacks such a trial.
    pub(crate) lacks_evidence: bool,
}

/// An attempted trial with what its folder adds to the journal's line.
pub(crate) struct Trial {
    pub(crate) entry: Entry,
    /// The judgement by the SLO, together with the trials that are judged with it; `None` if it is no evidence.
    pub(crate) conclusion: Option<Conclusion>,
    /// The generator's document. Histograms and series are kept only for the marked trials, and the
    /// histogram of the times that they are about for those that are equal to one of them.
    pub(crate) load: Option<Load>,
    /// The components' measurements, only for the marked trials.
    pub(crate) components: Option<Components>,
    /// A confidence interval of the p99 response time, if there are enough samples.
    pub(crate) p99: Option<(Nanos, Nanos)>,
}

impl Run {
    /// Reads a run. It fails only without a manifest and a journal; everything else may be missing.
    ///
    /// `journal` is that of the directory if it was read already, and `shown` the answer that the page shows in place
    /// of the kept one. `unknown` is why nothing can be concluded from the trials, if so.
    pub(crate) fn read(
        directory: &Directory,
        journal: Option<Vec<Entry>>,
        shown: Option<Answer>,
        unknown: Option<&str>,
    ) -> Result<Run, Error> {
        let manifest = directory.manifest()?;
        let journal = journal.map_or_else(|| directory.journal(), Ok)?;
        let mut problems = Vec::new();
        let written = noted(directory.answer(), &mut problems).flatten();
        let departures = written.iter().flat_map(|answer| answer.unlike(&journal).in_words());
        let departures: Vec<String> = departures.collect();
        let counts_unread = written.as_ref().map(|answer| answer.counts_unread(&journal));
        let unread = [journal::unread(&journal), departures.clone()].concat();
        let lacks_evidence = unknown.is_some()
            || !departures.is_empty()
            || counts_unread.unwrap_or(!unread.is_empty());
        let answer = shown.or_else(|| match (unknown, lacks_evidence) {
            (Some(why), _) => {
                written.map(|answer| answer.without_conclusions(why.to_owned(), &journal))
            }
            (None, true) => written.map(|answer| answer.without_evidence(&journal)),
            (None, false) => written,
        });
        problems.extend(unknown.map(|why| format!("the answer: {why}")));
        let environment = noted(directory.environment(), &mut problems);
        let doctor = noted(directory.doctor(), &mut problems).flatten();
        let spec = noted(directory.spec(), &mut problems).unwrap_or_default();
        let spec = String::from_utf8_lossy(&spec).into_owned();
        let fixed = answer.as_ref().is_some_and(Answer::is_given);
        let searched = answer.as_ref().filter(|_| !fixed);
        let maximum = searched.and_then(|answer| answer.maximum_throughput.clone());
        let capacity = searched.and_then(|answer| answer.capacity.clone());
        let limit = slo::limit_of(&manifest.slo, Quantile::P99);
        let cells = levels::cells(answer.as_ref(), &journal);
        let representatives = levels::representatives(&cells, fixed, &journal);
        let shown = levels::shown(&representatives);
        let marked: BTreeSet<u32> = match cells.is_empty() {
            true => marked(&journal, maximum.as_ref(), capacity.as_ref()),
            false => shown.iter().map(|shown| shown.trial).collect(),
        };
        // Each level may have other components, so one trial of each names their services.
        let named: BTreeSet<u32> = representatives.iter().map(|shown| shown.trial).collect();
        let kept = kept(&journal, &marked);
        let rests_on = answer.as_ref().map(|answer| answer.rests_on(&journal)).unwrap_or_default();
        let conclusions = at_load::conclusions(&journal);
        let mut services = BTreeMap::new();
        let mut read = |(entry, kept): (Entry, Kept)| {
            let number = entry.trial;
            let conclusion = conclusions.get(&number).copied();
            let trial = Trial::read(entry, conclusion, directory, kept, &mut problems);
            let others = match marked.contains(&number) || !named.contains(&number) {
                true => None,
                false if !trial.entry.unread.is_empty() => {
                    directory.components(&trial.entry).ok().flatten()
                }
                false => noted(directory.components(&trial.entry), &mut problems).flatten(),
            };
            for components in [&trial.components, &others].into_iter().flatten() {
                let steps = components.components.iter();
                services.extend(steps.map(|(name, c)| (name.clone(), c.step.clone())));
            }
            trial
        };
        let trials: Vec<Trial> = journal.into_iter().zip(kept).map(&mut read).collect();
        let searched = cells.iter().filter(|_| !fixed);
        let searches = || searched.clone().flat_map(|cell| &cell.searches).flat_map(|s| &s.strands);
        let found = |quantity: Quantity, only: Option<u32>| {
            let each = searches().filter_map(|search| Some(quantity.of(search)?.trial));
            each.chain(only).collect::<BTreeSet<u32>>()
        };
        let maxima = found(Quantity::Maximum, maximum.as_ref().map(|maximum| maximum.trial));
        let capacities = found(Quantity::Capacity, capacity.as_ref().map(|c| c.trial));
        Ok(Run {
            path: directory.path().to_owned(),
            manifest,
            environment,
            doctor,
            answer,
            spec,
            limit,
            services,
            fixed,
            of_delivery: trials.iter().any(|trial| trial.delivery().is_some()),
            maximum,
            capacity,
            cells,
            shown,
            rests_on,
            maxima,
            capacities,
            usual: Usual::of(trials.iter().map(|trial| &trial.entry)),
            trials,
            unread,
            problems,
            lacks_evidence,
        })
    }

    pub(crate) fn trial(&self, number: u32) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.entry.trial == number)
    }

    /// Returns the place of the capacity on an axis of requests: of a load of sessions what its trial shows.
    pub(crate) fn capacity_in_requests(&self, of: fn(&Observed) -> f64) -> Option<f64> {
        let capacity = self.capacity.as_ref()?;
        match capacity.sessions {
            true => self.trial(capacity.trial)?.entry.observed.as_ref().map(of),
            false => Some(capacity.rate_per_s),
        }
    }

    /// True if no answer was written: the run is running, was interrupted hard, or was killed.
    pub(crate) fn unfinished(&self) -> bool {
        let verdict = self.answer.as_ref().map(|answer| answer.verdict);
        matches!(verdict, None | Some(Verdict::Open)) || self.manifest.state == State::Open
    }

    pub(crate) fn is_maximum(&self, trial: &Trial) -> bool {
        self.maxima.contains(&trial.entry.trial)
    }

    pub(crate) fn is_capacity(&self, trial: &Trial) -> bool {
        self.capacities.contains(&trial.entry.trial)
    }

    /// Returns the trials on which the answer rests, and those that are not valid, in their order.
    pub(crate) fn decisive(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| {
            self.rests_on.contains(&trial.entry.trial) || !trial.probe() && !trial.valid()
        })
    }

    /// The trials whose distributions are drawn, each once, with the reasons for its choice.
    pub(crate) fn chosen(&self) -> Vec<(String, &Trial)> {
        let maximum = self.maximum.as_ref().map(|maximum| maximum.trial);
        let capacity = self.capacity.as_ref().map(|capacity| capacity.trial);
        let roles = [
            ("lowest load", lowest(self.measured())),
            ("capacity", capacity),
            ("maximum", maximum),
            ("highest load", highest(self.measured())),
        ];
        let only = [("load", lowest(self.measured()))];
        let roles = if self.fixed { &only[..] } else { &roles };
        let mut chosen: Vec<(String, &Trial)> = Vec::new();
        for &(role, number) in roles {
            let Some(trial) = number.and_then(|number| self.trial(number)) else { continue };
            match chosen.iter_mut().find(|(_, known)| known.entry.trial == trial.entry.trial) {
                Some((roles, _)) => *roles = format!("{roles} and {role}"),
                None => chosen.push((role.to_owned(), trial)),
            }
        }
        chosen
    }

    /// Returns true if the run has several searches, each with a result of its own.
    pub(crate) fn has_several(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Returns the trials that show levels in full, with their names; empty if there is only one
    /// search.
    pub(crate) fn shown(&self) -> Vec<(&str, &Trial)> {
        let shown = self.shown.iter();
        shown.filter_map(|shown| Some((&*shown.name, self.trial(shown.trial)?))).collect()
    }

    /// Returns the valid trials at the same load of the same search and levels, with their response
    /// times.
    pub(crate) fn equal<'a>(&'a self, trial: &'a Trial) -> impl Iterator<Item = &'a Trial> {
        let wanted = trial.entry.configuration();
        self.trials.iter().filter(move |one| one.valid() && one.entry.configuration() == wanted)
    }

    fn measured(&self) -> impl Iterator<Item = (&Entry, &Observed)> {
        at_load::evidence(self.trials.iter().map(|trial| &trial.entry))
    }

    /// Returns the valid trials of each level, in the order of the answer's levels.
    pub(crate) fn valid_by_level(&self) -> Vec<(Option<&str>, Vec<&Trial>)> {
        let named = self.cells.iter().map(|cell| (cell.name.as_deref(), Vec::new()));
        let mut levels: Vec<(Option<&str>, Vec<&Trial>)> = named.collect();
        for trial in self.trials.iter().filter(|trial| trial.valid()) {
            let level = trial.entry.cell.as_deref();
            match levels.iter_mut().find(|(name, _)| *name == level) {
                Some((_, trials)) => trials.push(trial),
                None => levels.push((level, vec![trial])),
            }
        }
        levels.retain(|(_, trials)| !trials.is_empty());
        levels
    }
}

impl Trial {
    fn read(
        entry: Entry,
        conclusion: Option<Conclusion>,
        directory: &Directory,
        kept: Kept,
        notes: &mut Vec<String>,
    ) -> Trial {
        // What cannot be read any more of this trial is named already.
        let mut named = Vec::new();
        let notes = if entry.unread.is_empty() { notes } else { &mut named };
        let has_load = entry.files.contains_key("load.json")
            || directory.has(&format!("trials/{}/load.json", entry.trial));
        let mut load = match has_load {
            true => noted(directory.load(&entry), notes),
            false => None,
        };
        if let Some(load) = load.as_mut() {
            // The drain follows the measurement; no requests are offered in it.
            let mut series = std::mem::take(&mut load.series);
            series.retain(|interval| !load.is_drain(interval));
            load.series = series;
        }
        let p99 = load.as_ref().and_then(|load| interval(load.total.response_time.as_ref()?));
        let components = match kept {
            Kept::Everything => noted(directory.components(&entry), notes).flatten(),
            Kept::Times | Kept::Figures => None,
        };
        if let Some(load) = &mut load {
            forget_bulk(load, kept);
        }
        Trial { entry, conclusion, load, components, p99 }
    }

    /// True if the trial is evidence about the system, even if only as a bound.
    pub(crate) fn answers(&self) -> bool {
        self.entry.status.answers()
    }

    pub(crate) fn valid(&self) -> bool {
        is_valid(&self.entry)
    }

    /// True for a probe, which only finds where to begin.
    pub(crate) fn probe(&self) -> bool {
        self.entry.purpose == Purpose::Probe
    }

    /// The number of its search, from 1.
    pub(crate) fn strand(&self) -> u32 {
        self.entry.strand.unwrap_or(1)
    }

    /// The limit of the p99 response time by which the trial was judged.
    pub(crate) fn limit(&self) -> Option<Nanos> {
        slo::limit_of(self.entry.slo.iter().map(|judged| &judged.slo), Quantile::P99)
    }

    /// The number of times behind its quantiles.
    pub(crate) fn samples(&self) -> u64 {
        let times = self.times();
        let requests = self.entry.observed.as_ref().map_or(0, |observed| observed.requests);
        times.map_or(requests, |times| times.count)
    }

    /// The times that the trial is about: those of the delivery of its events if a receiver noted
    /// them, otherwise the response times.
    pub(crate) fn times(&self) -> Option<&Times> {
        let load = self.load.as_ref()?;
        match &load.events {
            Some(events) => events.delivery_time.as_ref(),
            None => load.total.response_time.as_ref(),
        }
    }

    /// The delivery of its events.
    pub(crate) fn delivery(&self) -> Option<&Delivery> {
        self.entry.observed.as_ref()?.delivery.as_ref()
    }
}

/// The CPUs used by each service in a trial: the sum over its components.
pub(crate) fn cpu_by_service<'a>(run: &'a Run, observed: &'a Observed) -> BTreeMap<&'a str, f64> {
    let mut services = BTreeMap::new();
    for (name, cpu) in &observed.cpu {
        let service = run.services.get(name).unwrap_or(name);
        *services.entry(service.as_str()).or_default() += cpu;
    }
    services
}

/// Services over all trials, the busiest first.
pub(crate) fn services(run: &Run) -> Vec<&str> {
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for observed in run.trials.iter().filter_map(|trial| trial.entry.observed.as_ref()) {
        for (service, cpu) in cpu_by_service(run, observed) {
            let known = most.entry(service).or_default();
            *known = known.max(cpu);
        }
    }
    let mut services: Vec<(&str, f64)> = most.into_iter().collect();
    services.sort_by(|a, b| b.1.total_cmp(&a.1));
    services.into_iter().map(|(service, _)| service).collect()
}

fn lowest<'a>(measured: impl Iterator<Item = (&'a Entry, &'a Observed)>) -> Option<u32> {
    measured
        .min_by(|a, b| a.1.offered_per_s.total_cmp(&b.1.offered_per_s))
        .map(|(entry, _)| entry.trial)
}

fn highest<'a>(measured: impl Iterator<Item = (&'a Entry, &'a Observed)>) -> Option<u32> {
    measured
        .max_by(|a, b| a.1.offered_per_s.total_cmp(&b.1.offered_per_s))
        .map(|(entry, _)| entry.trial)
}

/// The trials that charts show in full.
fn marked(
    journal: &[Entry],
    maximum: Option<&Maximum>,
    capacity: Option<&Capacity>,
) -> BTreeSet<u32> {
    let found = [maximum.map(|m| m.trial), capacity.map(|c| c.trial)];
    let ends = [lowest(at_load::evidence(journal)), highest(at_load::evidence(journal))];
    found.into_iter().chain(ends).flatten().collect()
}

fn interval(times: &Times) -> Option<(Nanos, Nanos)> {
    quantile_interval(times.histogram()?, Quantile::P99, CONFIDENCE)
}

/// The part of a trial's document that the report needs.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Kept {
    Everything,
    /// The figures, and the distribution of the times that the trial is about.
    Times,
    Figures,
}

/// Returns the part that is needed of each trial: everything of the marked ones, and the times of some that are equal
/// to one of them.
fn kept(journal: &[Entry], marked: &BTreeSet<u32>) -> Vec<Kept> {
    let of_marked = journal.iter().filter(|entry| marked.contains(&entry.trial));
    let mut equal: BTreeMap<Configuration<'_>, usize> =
        of_marked.map(|entry| (entry.configuration(), 0)).collect();
    let mut each = Vec::new();
    for entry in journal {
        let counted = equal.get_mut(&entry.configuration()).filter(|_| is_valid(entry));
        each.push(match counted {
            _ if marked.contains(&entry.trial) => Kept::Everything,
            Some(count) if *count < MOST_EQUAL => {
                *count += 1;
                Kept::Times
            }
            Some(_) | None => Kept::Figures,
        });
    }
    each
}

fn is_valid(entry: &Entry) -> bool {
    entry.status == Status::Valid
}

/// Drops what is drawn only for some trials, so that a thousand trials fit into memory.
fn forget_bulk(load: &mut Load, kept: Kept) {
    if kept == Kept::Everything {
        return;
    }
    load.series = Vec::new();
    load.targets = Vec::new();
    let about = (kept == Kept::Times).then(|| times_of(load).take());
    let of_events = load.events.iter_mut().flat_map(Events::times_mut);
    for times in load.total.times_mut().into_iter().chain(of_events).flatten() {
        times.histogram = Encoded::default();
    }
    if let Some(times) = about {
        *times_of(load) = times;
    }
}

/// Returns the times that a trial is about.
fn times_of(load: &mut Load) -> &mut Option<Times> {
    match &mut load.events {
        Some(events) => &mut events.delivery_time,
        None => &mut load.total.response_time,
    }
}

/// Notes an error: a file that cannot be read costs its figures, not the report.
fn noted<T>(read: Result<T, Error>, notes: &mut Vec<String>) -> Option<T> {
    read.map_err(|error| notes.push(error.to_string())).ok()
}
