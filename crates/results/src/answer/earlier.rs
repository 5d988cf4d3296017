//! Reads answers of the versions before 3, in which a bound was written like a figure.

use super::{Answer, Repeated, SCHEMA, Search, Verdict, add_intervals};
use crate::journal::{Entry, Observed};
use crate::metric::Metric;

/// Marks the results that are only bounds, and leaves out what was concluded from them as if they were
/// figures.
pub(crate) fn mark(answer: &mut Answer) {
    SCHEMA.clone_into(&mut answer.schema);
    let trials = &answer.trials;
    for search in &mut answer.searches {
        let own = trials.iter().filter(|entry| entry.strand.is_none_or(|n| n == search.strand));
        let observed = own.filter(|entry| entry.status.answers());
        let observed: Vec<&Observed> =
            observed.filter_map(|entry: &Entry| entry.observed.as_ref()).collect();
        mark_search(search, &observed);
    }
    add_intervals(&mut answer.searches);
    if let [only] = &answer.searches[..] {
        answer.capacity.clone_from(&only.capacity);
        answer.maximum_throughput.clone_from(&only.maximum_throughput);
    }
    for level in &mut answer.levels {
        let here = answer.searches.iter().filter(|s| s.cell.as_ref() == Some(&level.cell));
        let here: Vec<&Search> = here.collect();
        let equal = here.chunk_by(|a, b| a.name == b.name);
        level.searches = equal.filter_map(Repeated::of).collect();
    }
    let is_censored = |search: &Search| {
        [Metric::Capacity, Metric::MaximumThroughput].into_iter().any(|metric| {
            let found = search.found(metric);
            !search.fixed && found.exact().is_none() && !found.is_unknown()
        })
    };
    if answer.searches.iter().any(is_censored) {
        answer.scaling.clear();
        answer.comparison = answer.comparison.take().filter(|comparison| {
            comparison.metrics.iter().all(|compared| !compared.metric.is_of_search())
        });
        for reproduced in &mut answer.reproducibility {
            reproduced.metrics.retain(|of| !of.metric.is_of_search());
        }
    }
}

fn mark_search(search: &mut Search, trials: &[&Observed]) {
    let is_enclosed = search.is_enclosed();
    if let Some(capacity) = &mut search.capacity {
        capacity.at_least = !is_enclosed;
    }
    if let Some(maximum) = &mut search.maximum_throughput {
        let is_limit = |o: &&Observed| o.saturated && maximum.offered_per_s <= o.offered_per_s;
        let is_seen = search.verdict == Verdict::Answered && !search.fixed;
        maximum.at_least = !(is_seen && trials.iter().any(is_limit));
    }
    if !is_enclosed {
        (search.estimate, search.at_usual_speed) = (None, None);
    }
}
