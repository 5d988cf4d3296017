//! The equal trials of several levels side by side: which of them repeat better.

use std::collections::BTreeMap;

use super::{FEWEST, Group, Groups, Member};
use crate::analysis::{self, Analysis, Code, Row, Trials};
use crate::at_load::Configuration;
use crate::journal::Entry;
use crate::metric::Metric;
use crate::reproducibility::Needs;

#[cfg(test)]
mod tests;

/// Returns an analysis for each search and load of which several levels have at least three valid
/// trials. `margin` is the difference that matters, as a share.
pub fn of(journal: &[Entry], margin: f64) -> Vec<Analysis> {
    let mut together: BTreeMap<Option<Configuration<'_>>, Vec<&Group<'_>>> = BTreeMap::new();
    let groups = Groups::of_trials(journal).0;
    for group in groups.iter().filter(|group| FEWEST <= group.members.len()) {
        let place = group.configuration.map(Configuration::at_any_level);
        together.entry(place).or_default().push(group);
    }
    let several = together.into_values().filter(|groups| 1 < groups.len());
    several.filter_map(|groups| side_by_side(groups, margin)).collect()
}

fn side_by_side(mut groups: Vec<&Group<'_>>, margin: f64) -> Option<Analysis> {
    // The order of the plan.
    groups.sort_by_key(|group| group.members.iter().filter_map(|m| m.entry?.strand).min());
    let cells: Vec<&str> =
        groups.iter().map(|group| group.cell.as_deref()).collect::<Option<_>>()?;
    let (by, names) = of_one_factor(&cells).unwrap_or(("levels", cells));
    let members = || groups.iter().flat_map(|group| &group.members);
    let is_known = |metric: &Metric| members().all(|member| member.values.contains_key(metric));
    let candidates = match is_known(&Metric::DeliveryP50) {
        true => &Metric::OF_DELIVERY[..],
        false => &[Metric::Completed, Metric::P50, Metric::P90, Metric::P99, Metric::P999],
    };
    let metrics: Vec<Metric> = candidates.iter().copied().filter(is_known).collect();
    let row = |level: &str, member: &Member<'_>| Row {
        trial: member.trial as usize,
        level: level.to_owned(),
        values: metrics.iter().map(|metric| member.values[metric]).collect(),
    };
    let rows = groups.iter().zip(&names);
    let rows = rows.flat_map(|(group, name)| group.members.iter().map(|member| row(name, member)));
    let trials = Trials {
        by: by.to_owned(),
        metrics: metrics.iter().map(ToString::to_string).collect(),
        rows: rows.collect(),
    };
    let requests = members().filter_map(Member::requests).min();
    let mut analysis = analysis::analyse(&trials, requests, margin);
    let needs = metrics.iter().map(|metric| Needs::of(*metric, requests, groups[0].asked_per_s));
    let needs: BTreeMap<&str, Needs> = metrics
        .iter()
        .zip(needs)
        .filter_map(|(metric, needs)| Some((metric.name(), needs?)))
        .collect();
    // Where too few requests lie beyond a percentile, nothing is concluded from it.
    analysis.metrics.retain(|metric| !needs.contains_key(metric.metric.as_str()));
    analysis.warnings.retain(|warning| match warning.code {
        Code::UnsupportedQuantile => true,
        Code::Trend | Code::NotInterleaved => {
            warning.metric.as_deref().is_none_or(|metric| !needs.contains_key(metric))
        }
        // Each level has these among its own.
        _ => false,
    });
    for warning in &mut analysis.warnings {
        let needs = warning.metric.as_deref().and_then(|metric| needs.get(metric));
        if let Some(time) = needs.and_then(Needs::time_in_words) {
            warning.text += &format!("; that takes {time}");
        }
    }
    Some(analysis)
}

/// Returns the factor and its levels, if the names of the cells have one factor in common and nothing
/// else: `hardening=none`, `hardening=pinned`.
fn of_one_factor<'a>(cells: &[&'a str]) -> Option<(&'a str, Vec<&'a str>)> {
    let parts = cells.iter().map(|cell| cell.split_once('='));
    let parts: Vec<(&str, &str)> = parts.collect::<Option<_>>()?;
    let (factor, _) = *parts.first()?;
    let is_alone = |(name, level): &(&str, &str)| *name == factor && !level.contains('=');
    let levels = parts.iter().map(|(_, level)| *level).collect();
    parts.iter().all(is_alone).then_some((factor, levels))
}
