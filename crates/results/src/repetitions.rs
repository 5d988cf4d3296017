//! The repetitions of trials and searches side by side: which are equal, and their spread.

use std::collections::BTreeMap;

use measure::Nanos;
use measure::estimate;

use crate::analysis::{self, Code, Difference, Row, Trials, Warning, What};
use crate::answer::{MOST_LISTED, Search, trials_in_words};
use crate::at_load::Configuration;
use crate::components::{FOREIGN, STOLEN};
use crate::found::{Found, Spread};
use crate::journal::{Entry, Observed, Purpose, Status};
use crate::metric::Metric;
use crate::reproducibility::{Judged, Needs, OfMetric, Reproduced, Target, Verdict};
use crate::speed::{SLOW, Usual};

pub mod levels;

#[cfg(test)]
mod tests;

/// The fewest trials whose spread is shown.
const FEWEST: usize = 3;

/// The share of others is a difference only if it is so many times the usual share, the median of the other trials.
const UNUSUAL: f64 = 2.0;

/// Returns the spread of equal trials and of equal searches, if there are at least three. Only valid
/// trials count, and none that a search for a capacity asked for: such a search repeats a trial because
/// of its result. `until` is the metric that decided the number of trials, if one did.
pub fn of(
    journal: &[Entry],
    searches: &[Search],
    target: Option<Target>,
    until: Option<Metric>,
) -> Vec<Reproduced> {
    let groups = Groups::of_trials(journal);
    let mut of_searches = Groups::default();
    // The loads that were given are no results of searches.
    for search in searches.iter().filter(|search| search.is_made() && !search.fixed) {
        let results = [Metric::Capacity, Metric::MaximumThroughput];
        let results = results.map(|metric| (metric, search.found(metric)));
        let exact = results.iter().filter_map(|(metric, found)| Some((*metric, found.exact()?)));
        let trials = results.iter().find_map(|(metric, _)| search.trial_of(*metric));
        let member = Member {
            // A search that never met its SLO has no trial of its result.
            trial: trials.unwrap_or_default(),
            entry: None,
            values: exact.collect(),
            censored: results.into_iter().filter(|(_, found)| found.exact().is_none()).collect(),
        };
        of_searches.add_search(search, member);
    }
    let all = groups.0.into_iter().chain(of_searches.0);
    let repeated = all.filter(|group| FEWEST <= group.members.len());
    let usual = Usual::of(journal);
    let reproduced = repeated.map(|group| group.reproduced(target, until, &usual));
    reproduced.filter(|of| !of.metrics.is_empty() || !of.warnings.is_empty()).collect()
}

/// Equal trials or searches, in the order in which they ran.
struct Group<'a> {
    /// Absent for searches.
    configuration: Option<Configuration<'a>>,
    cell: Option<String>,
    search: Option<String>,
    asked_per_s: Option<f64>,
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    trial: u32,
    /// Absent for a search, which is several trials.
    entry: Option<&'a Entry>,
    values: BTreeMap<Metric, f64>,
    /// The results of a search that are not known, or only bounds.
    censored: BTreeMap<Metric, Found>,
}

impl Member<'_> {
    fn requests(&self) -> Option<u64> {
        Some(self.entry?.observed.as_ref()?.requests)
    }
}

#[derive(Default)]
struct Groups<'a>(Vec<Group<'a>>);

impl<'a> Groups<'a> {
    fn of_trials(journal: &'a [Entry]) -> Groups<'a> {
        let mut groups = Groups::default();
        for entry in journal {
            let is_counted = entry.purpose == Purpose::Trial
                && entry.status == Status::Valid
                && entry.why.is_none();
            // The figures of failures are not those of the service.
            let is_sound = |observed: &&Observed| is_counted && !observed.is_mostly_failing();
            let Some(observed) = entry.observed.as_ref().filter(is_sound) else { continue };
            let known = Metric::ALL.iter().filter(|metric| !metric.is_lower_bound(observed));
            let values = known.filter_map(|metric| Some((*metric, metric.of(observed)?)));
            let member = Member {
                trial: entry.trial,
                entry: Some(entry),
                values: values.collect(),
                censored: BTreeMap::new(),
            };
            let configuration = Some(entry.configuration());
            let known = groups.0.iter_mut().find(|group| group.configuration == configuration);
            match known {
                Some(group) => group.members.push(member),
                None => groups.0.push(Group {
                    configuration,
                    cell: entry.cell.clone(),
                    search: entry.search.clone(),
                    asked_per_s: entry.asked_per_s,
                    members: vec![member],
                }),
            }
        }
        groups
    }

    fn add_search(&mut self, search: &Search, member: Member<'a>) {
        let is_equal =
            |group: &&mut Group<'_>| group.cell == search.cell && group.search == search.name;
        match self.0.iter_mut().find(is_equal) {
            Some(group) => group.members.push(member),
            None => self.0.push(Group {
                configuration: None,
                cell: search.cell.clone(),
                search: search.name.clone(),
                asked_per_s: None,
                members: vec![member],
            }),
        }
    }
}

impl Group<'_> {
    fn reproduced(
        self,
        target: Option<Target>,
        until: Option<Metric>,
        usual: &Usual,
    ) -> Reproduced {
        let Group { configuration: _, cell, search, asked_per_s, members } = self;
        let trials = members.iter().map(|member| member.trial).filter(|trial| 0 < *trial);
        let trials: Vec<u32> = trials.collect();
        let mut reproduced = Reproduced {
            cell,
            search,
            asked_per_s,
            trials,
            metrics: Vec::new(),
            warnings: Vec::new(),
        };
        let is_known = |metric: &Metric| members.iter().all(|m| m.values.contains_key(metric));
        let metrics: Vec<Metric> = Metric::ALL.into_iter().filter(is_known).collect();
        let label = reproduced.label();
        let level = if label.is_empty() { "this load".to_owned() } else { label };
        let row = |member: &Member<'_>| Row {
            trial: member.trial as usize,
            level: level.clone(),
            values: metrics.iter().map(|metric| member.values[metric]).collect(),
        };
        let table = Trials {
            by: "load".to_owned(),
            metrics: metrics.iter().map(ToString::to_string).collect(),
            rows: members.iter().map(row).collect(),
        };
        let requests = members.iter().filter_map(Member::requests).min();
        let analysis = analysis::analyse(&table, requests, 0.0);
        let figures = analysis.metrics.into_iter().map(|metric| {
            let level = metric.levels.into_iter().next();
            level.expect("trials of one level").figures
        });
        for (metric, mut figures) in metrics.into_iter().zip(figures) {
            for outlier in &mut figures.outliers {
                outlier.differed = differences(outlier.trial, &members, usual);
            }
            let judged = target.filter(|target| target.metric == metric);
            let judged = judged.and_then(|target| Some(judge(target.rsd, figures.rsd_interval?)));
            let needs = Needs::of(metric, requests, reproduced.asked_per_s);
            reproduced.metrics.push(OfMetric { metric, figures, target: judged, needs });
        }
        reproduced.warnings = analysis.warnings;
        reproduced.warnings.extend(timer(&members));
        reproduced.warnings.extend(lower_bounds(&members));
        let of = target.map(|target| target.metric).filter(|metric| !is_known(metric));
        if of.is_some() || reproduced.metrics.is_empty() {
            reproduced.warnings.extend(censored(&members, of));
        }
        let are_trials = members.iter().any(|member| member.entry.is_some());
        reproduced.warnings.extend(until.filter(|_| are_trials).map(sequential));
        reproduced
    }
}

/// Returns a warning about percentiles that are lower bounds, since events were lost.
fn lower_bounds(members: &[Member<'_>]) -> Option<Warning> {
    let observed =
        || members.iter().filter_map(|member| Some((member, member.entry?.observed.as_ref()?)));
    let bounded = |metric: &Metric| observed().any(|(_, observed)| metric.is_lower_bound(observed));
    let metrics: Vec<&str> =
        Metric::OF_DELIVERY.into_iter().filter(bounded).map(Metric::name).collect();
    let of_any = |observed| Metric::OF_DELIVERY.into_iter().any(|m| m.is_lower_bound(observed));
    let trials: Vec<u32> = observed()
        .filter(|(_, observed)| of_any(observed))
        .map(|(member, _)| member.trial)
        .collect();
    (!metrics.is_empty()).then(|| Warning {
        code: Code::LowerBound,
        metric: None,
        level: None,
        text: format!(
            "no spread of {}: in {} events were lost, which makes them lower bounds; find out why events \
             are lost, or wait longer for them (--receive-within, workload.events.within)",
            metrics.join(", "),
            trials_in_words(&trials, MOST_LISTED)
        ),
    })
}

/// Returns a warning that the figures of a metric decided the number of trials.
fn sequential(until: Metric) -> Warning {
    Warning {
        code: Code::Sequential,
        metric: Some(until.to_string()),
        level: None,
        text: format!(
            "sequential: trials were added until the interval of {until} was narrow (repeat.until); such a 95 % \
             interval holds the true value in 92 to 95 % of cases"
        ),
    }
}

/// Returns a warning if most trials show that the delivery waits for a timer.
fn timer(members: &[Member<'_>]) -> Option<Warning> {
    let deliveries =
        || members.iter().filter_map(|m| m.entry?.observed.as_ref()?.delivery.as_ref());
    let periods: Vec<f64> = deliveries().filter_map(|d| Some(d.timer_ns? as f64)).collect();
    let period = estimate::median(&periods).filter(|_| members.len() < 2 * periods.len())?;
    let medians: Vec<f64> = deliveries().filter_map(|d| Some(d.p50_ns? as f64)).collect();
    let written = |ns: f64| Metric::DeliveryP50.written(ns);
    let p50 = estimate::median(&medians).map(|p50| format!(", and the p50 is {}", written(p50)));
    Some(Warning {
        code: Code::Timer,
        metric: None,
        level: None,
        text: format!(
            "the delivery times of {} of {} trials are flat to {}: a timer. Their high percentiles are \
             its own, however well they repeat{}",
            periods.len(),
            members.len(),
            Nanos(period as u64).in_words(),
            p50.unwrap_or_default()
        ),
    })
}

/// Returns a warning for each result, or for one, that some of equal searches do not know or only in part:
/// their spread would be that of the rest, or of the ends of a range.
fn censored(members: &[Member<'_>], of: Option<Metric>) -> Vec<Warning> {
    let warning = |metric: Metric| {
        let result = |member: &Member<'_>| {
            let exact = member.values.get(&metric).copied().map(Found::Exact);
            exact.or(member.censored.get(&metric).copied())
        };
        let all: Vec<Found> = members.iter().filter_map(result).collect();
        let count = all.iter().filter(|found| found.exact().is_none()).count();
        let spread = Spread::of(&all).filter(|_| 0 < count)?;
        let median = spread.median.in_words(|value| metric.written(value));
        Some(Warning {
            code: Code::Censored,
            metric: Some(metric.name().to_owned()),
            level: None,
            text: format!(
                "{count} of {} searches found only a bound of the {}, so its spread is not known (median {median}): \
                 widen the range or raise the budget, until each search ends with an answer",
                all.len(),
                metric.in_words()
            ),
        })
    };
    let results = [Metric::Capacity, Metric::MaximumThroughput].into_iter();
    results.filter(|metric| of.is_none_or(|of| of == *metric)).filter_map(warning).collect()
}

/// Returns the differences of a trial from the others of its group; `None` for a search.
fn differences(trial: usize, members: &[Member<'_>], usual: &Usual) -> Option<Vec<Difference>> {
    let entries = members.iter().filter_map(|member| member.entry);
    let (own, others): (Vec<&Entry>, Vec<&Entry>) =
        entries.partition(|entry| entry.trial as usize == trial);
    let own = own.first()?;
    let most = |holds: &dyn Fn(&Entry) -> bool| {
        others.len() < 2 * others.iter().filter(|entry| holds(entry)).count()
    };
    let mut all = Vec::new();
    let mut differs = |what, text| all.push(Difference { what, text });
    let fingerprints = others.iter().filter_map(|entry| entry.fingerprint.as_deref());
    let of_most = fingerprints.clone().find(|f| most(&|e| e.fingerprint.as_deref() == Some(f)));
    if let (Some(of_most), Some(own)) = (of_most, own.fingerprint.as_deref())
        && of_most != own
    {
        differs(What::Fingerprint, format!("fingerprint {own:.12} instead of {of_most:.12}"));
    }
    for finding in &own.findings {
        if !most(&|entry| entry.findings.contains(finding)) {
            differs(What::Finding, finding.clone());
        }
    }
    if let Some(speed) = usual.speed_in(own).filter(|speed| *speed < SLOW) {
        differs(What::MachineSpeed, format!("machine speed {speed:.2}"));
    }
    let most_of = |of: fn(&Observed) -> Option<f64>, bound: f64| {
        let shares = others.iter().filter_map(|entry| of(entry.observed.as_ref()?));
        let usual = estimate::median(&shares.collect::<Vec<f64>>()).unwrap_or(0.0);
        let own = of(own.observed.as_ref()?)?;
        (bound <= own && UNUSUAL * usual <= own).then(|| {
            format!("up to {:.0} % of a second (usually {:.0} %)", 100.0 * own, 100.0 * usual)
        })
    };
    if let Some(figures) = most_of(|observed| observed.foreign_most, FOREIGN) {
        differs(What::ForeignLoad, format!("other processes used the CPUs for {figures}"));
    }
    if let Some(figures) = most_of(|observed| observed.stolen_most, STOLEN) {
        differs(What::Steal, format!("the hypervisor took a CPU for {figures}"));
    }
    if let Some(waited) = &own.waited
        && !most(&|entry| entry.waited.is_some())
    {
        differs(What::Wait, format!("before it: {}", waited.text));
    }
    Some(all)
}

fn judge(rsd: f64, (low, high): (f64, f64)) -> Judged {
    let verdict = match () {
        () if high <= rsd => Verdict::Met,
        () if rsd < low => Verdict::Missed,
        () => Verdict::Undecided,
    };
    Judged { rsd, verdict }
}
