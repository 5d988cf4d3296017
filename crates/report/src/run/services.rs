//! Components by the second, grouped by service: the processes alone would be too many to show.

use std::collections::BTreeMap;

use results::components::{Component, Components, Series, mean};

#[cfg(test)]
mod tests;

/// A service's sums over its instances and replicas, in each interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) cpu: Series<f64>,
    /// The requests queued in it.
    pub(crate) held: Series<f64>,
}

/// The `most` largest services, and after them the sum of all others. A service is large if it uses
/// much of the CPU or queues many of the requests: a slow service may use hardly any CPU. All
/// charts show the same services, so that each has the same look in all of them.
pub(crate) fn largest(components: &Components, most: usize) -> Vec<Service> {
    let mut members: BTreeMap<&str, Vec<&Component>> = BTreeMap::new();
    for component in components.components.values() {
        members.entry(&component.step).or_default().push(component);
    }
    let mut services: Vec<Service> = members
        .iter()
        .map(|(name, members)| {
            let cpu = members.iter().map(|component| &component.cpu);
            let held = members.iter().map(|component| &component.queued);
            Service { name: titled(name, members.len()), cpu: sum(cpu), held: sum(held) }
        })
        .collect();
    let level = |series: &Series<f64>| mean(series.iter().copied()).unwrap_or_default();
    let all = |of: fn(&Service) -> &Series<f64>| -> f64 {
        services.iter().map(|service| level(of(service))).sum::<f64>().max(f64::MIN_POSITIVE)
    };
    let (all_cpu, all_held) = (all(|service| &service.cpu), all(|service| &service.held));
    let share = |s: &Service| (level(&s.cpu) / all_cpu).max(level(&s.held) / all_held);
    services.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let others = services.split_off(services.len().min(most));
    if !others.is_empty() {
        services.push(Service {
            name: crate::text::count(others.len(), "other"),
            cpu: sum(others.iter().map(|service| &service.cpu)),
            held: sum(others.iter().map(|service| &service.held)),
        });
    }
    services
}

/// The sum in each interval, over the measured values; `None` if there are none.
fn sum<'a>(all: impl Iterator<Item = &'a Series<f64>>) -> Series<f64> {
    let mut sums = Series::new();
    for series in all {
        sums.resize(sums.len().max(series.len()), None);
        for (sum, value) in sums.iter_mut().zip(series) {
            *sum = value.map(|value| sum.unwrap_or(0.0) + value).or(*sum);
        }
    }
    sums
}

/// The name of a service with the number of its components: `store`, `geo ×4`.
pub(crate) fn titled(service: &str, components: usize) -> String {
    match components {
        1 => service.to_owned(),
        n => format!("{service} ×{n}"),
    }
}
