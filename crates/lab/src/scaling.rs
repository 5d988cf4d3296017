//! The scaling law of an experiment: which figures of which trials belong to its levels.
//!
//! A search has one value for each time that it was made, a closed loop one for each valid trial. A search
//! that found only a bound makes the figure of its level unknown. Trials at a fixed rate have no value: they
//! complete what they are offered.

use measure::Random;
use measure::quantity::grouped;
use results::Metric;
use results::answer::Search;
use results::found::Found;
use results::journal::{Entry, Observed, Purpose, Status};
use results::scaling::{self, Estimate, Form, Measured, Scaling};

use crate::plan::Plan;
use crate::spec::{Cell, Question, scaling::units};

#[cfg(test)]
mod tests;

/// The stream of the run's randomness from which the intervals come.
const STREAM: u64 = 0x5ca1_e000;

/// The levels of the factor with all else equal.
struct Group {
    /// The levels of the other factors.
    cell: Option<String>,
    search: Option<String>,
    /// The number of units of each level, and its question.
    levels: Vec<(f64, usize)>,
}

/// Returns the growth over the levels of the factor that the spec names: of each search at each level of
/// the other factors the capacity first, and then the throughput of a saturated system.
pub(crate) fn of(plan: &Plan, journal: &[Entry], searches: &[Search]) -> Vec<Scaling> {
    let Some(law) = &plan.resolved(0).spec.scaling_law else { return Vec::new() };
    let mut groups: Vec<Group> = Vec::new();
    for (number, question) in plan.questions.iter().enumerate() {
        let (Some(n), cell) = split(&plan.cells[question.cell], &law.factor) else { continue };
        let search = question.search.clone();
        let known = groups.iter_mut().find(|group| group.cell == cell && group.search == search);
        match known {
            Some(group) => group.levels.push((n, number)),
            None => groups.push(Group { cell, search, levels: vec![(n, number)] }),
        }
    }
    let mut found = Vec::new();
    for quantity in [Metric::Capacity, Metric::MaximumThroughput, Metric::Goodput] {
        for Group { cell, search, levels } in &groups {
            let measured = levels.iter().map(|&(n, question)| {
                let values = values(plan, question, quantity, journal, searches);
                let censored = censored(plan, question, quantity, searches);
                let interval = match &values[..] {
                    [only] => only.interval,
                    _ => None,
                };
                Measured {
                    n,
                    interval,
                    censored,
                    per_cpu_second: values.iter().map(|value| value.per_cpu_second).collect(),
                    failed_shares: values.iter().map(|value| value.failed_share).collect(),
                    values: values.into_iter().map(|value| value.per_s).collect(),
                }
            });
            let measured: Vec<Measured> = measured.collect();
            let is_known = |level: &Measured| {
                !level.values.is_empty() || level.censored.iter().any(|found| !found.is_unknown())
            };
            if !measured.iter().any(is_known) {
                continue;
            }
            let seed = Random::part(plan.seed, STREAM + found.len() as u64).next_u64();
            let (levels, law_found) = scaling::of(measured, seed);
            found.push(Scaling {
                factor: law.factor.to_string(),
                cell: cell.clone(),
                search: search.clone(),
                quantity,
                levels,
                law: law_found,
            });
        }
    }
    found
}

/// Returns the number of units of a cell, and the name of its other levels.
fn split(cell: &Cell, factor: &str) -> (Option<f64>, Option<String>) {
    let own = cell.levels.iter().find(|(name, _)| name == factor);
    let mut rest = cell.clone();
    rest.levels.retain(|(name, _)| name != factor);
    (own.and_then(|(_, level)| units(level)), rest.name())
}

/// A throughput, and the trial that it comes from.
struct Value {
    per_s: f64,
    /// Its 95 % interval, if it is that of a search.
    interval: Option<(f64, f64)>,
    per_cpu_second: Option<f64>,
    failed_share: f64,
}

impl Value {
    fn new(per_s: f64, interval: Option<(f64, f64)>, of: &Observed) -> Value {
        Value {
            per_s,
            interval,
            per_cpu_second: per_cpu_second(of),
            failed_share: of.failed_share(),
        }
    }
}

/// Returns the figures of a question.
fn values(
    plan: &Plan,
    number: usize,
    quantity: Metric,
    journal: &[Entry],
    searches: &[Search],
) -> Vec<Value> {
    let question = &plan.questions[number];
    let is_own = |strand: u32| plan.strands[strand as usize - 1].question == number;
    if quantity == Metric::Goodput {
        let is_counted = |entry: &&Entry| {
            is_saturated(question)
                && entry.purpose == Purpose::Trial
                && entry.status == Status::Valid
                && is_own(entry.strand.unwrap_or(1))
        };
        let observed = journal.iter().filter(is_counted).filter_map(|e| e.observed.as_ref());
        let observed = observed.filter(|observed| 0.0 < observed.goodput_per_s);
        return observed.map(|o| Value::new(o.goodput_per_s, None, o)).collect();
    }
    if question.resolved.spec.search.is_none() {
        return Vec::new();
    }
    let equal: Vec<&Search> =
        searches.iter().filter(|search| is_own(search.strand) && search.is_made()).collect();
    let of_search = |search: &&Search| {
        let per_s = search.found(quantity).exact()?;
        let trial = search.trial_of(quantity)?;
        let entry = journal.iter().find(|entry| entry.trial == trial)?;
        // The interval of one search is that of its estimate, and need not contain its lower bound.
        let estimate = search.estimate.filter(|_| quantity == Metric::Capacity && equal.len() == 1);
        let (per_s, interval) =
            estimate.map_or((per_s, None), |found| (found.rate_per_s, Some(found.interval)));
        Some(Value::new(per_s, interval, entry.observed.as_ref()?))
    };
    equal.iter().filter_map(of_search).collect()
}

/// Returns what the searches of a question found that found only a bound.
fn censored(plan: &Plan, number: usize, quantity: Metric, searches: &[Search]) -> Vec<Found> {
    let is_own = |search: &&Search| plan.strands[search.strand as usize - 1].question == number;
    let made = searches.iter().filter(is_own).filter(|search| search.is_made() && !search.fixed);
    let found = made.filter(|_| quantity.is_of_search()).map(|search| search.found(quantity));
    found.filter(|found| found.exact().is_none()).collect()
}

/// Returns true for a closed loop, which offers as much as the system completes.
fn is_saturated(question: &Question) -> bool {
    question.resolved.spec.load.is_closed()
}

/// Returns the successes in the measurement per second of CPU time in it; `None` if one of the two is not
/// known.
fn per_cpu_second(observed: &Observed) -> Option<f64> {
    let used = observed.cpu.values().sum::<f64>();
    let is_known = !observed.cpu.is_empty() && observed.cpu_unknown == 0 && 0.0 < used;
    observed.succeeded_per_s.filter(|_| is_known).map(|per_s| per_s / used)
}

/// Returns the law in a line: `capacity over replicas: Amdahl's law, σ 0.05 (0.04 … 0.06); efficiency 0.87
/// at 4`.
pub(crate) fn in_words(scaling: &Scaling) -> String {
    let Scaling { factor, cell, search, quantity, levels, law } = scaling;
    let of = [cell.as_deref(), search.as_deref()].into_iter().flatten();
    let of: String = of.map(|part| format!("{part}: ")).collect();
    let quantity = quantity.in_words();
    let mut text = format!("{of}{quantity} over {factor}: {}", law.form.word());
    let shown = |what: &str, known: Option<Estimate>, digits: usize| {
        known.filter(|known| 0.0 < known.interval.1).map(
            |Estimate { value, interval: (low, high) }| {
                format!(", {what} {value:.digits$} ({low:.digits$} … {high:.digits$})")
            },
        )
    };
    match law.form {
        Form::NotIdentifiable => text += &format!(" ({})", law.why),
        Form::Linear => {
            text +=
                &law.lambda.map(|l| format!(", {}/s each", grouped(l.value))).unwrap_or_default();
        }
        Form::Amdahl => text += &shown("σ", law.sigma, 3).unwrap_or_default(),
        Form::Usl => {
            let parts = [
                shown("σ", law.sigma, 3),
                shown("κ", law.kappa, 5),
                shown("highest at", law.n_max, 1),
            ];
            parts.into_iter().flatten().for_each(|part| text += &part);
        }
    }
    let last = levels.iter().rev().find_map(|level| Some((level.n, level.efficiency?)));
    if let Some((n, efficiency)) = last {
        text += &format!("; efficiency {efficiency:.2} at {n}");
    }
    text
}
