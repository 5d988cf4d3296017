//! Components by the second, grouped: 34 processes are told as the services that they make up.

use std::collections::BTreeMap;

use results::components::{Component, Components, Series, mean};

#[cfg(test)]
mod tests;

/// A service's sum over its instances and replicas, in each interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) values: Series<f64>,
}

impl Service {
    fn mean(&self) -> f64 {
        mean(self.values.iter().copied()).unwrap_or_default()
    }

    /// At this many intervals' lengths into the measurement.
    pub(crate) fn at(&self, interval: f64) -> Option<f64> {
        self.values.get((interval + 1e-6) as usize).copied().flatten()
    }
}

/// The `most` services with the largest means, in falling order, and the sum of all others behind
/// them; none if nothing of the kind was measured.
pub(crate) fn largest(
    components: &Components,
    most: usize,
    of: impl Fn(&Component, usize) -> Option<f64>,
) -> Vec<Service> {
    let all = || components.components.values();
    let intervals = all().map(|component| component.cpu.len()).max().unwrap_or_default();
    let mut services: BTreeMap<&str, Vec<&Component>> = BTreeMap::new();
    for component in all() {
        services.entry(&component.step).or_default().push(component);
    }
    let sum = |members: &[&Component]| -> Series<f64> {
        (0..intervals)
            .map(|interval| {
                let values: Vec<f64> = members.iter().filter_map(|c| of(c, interval)).collect();
                (!values.is_empty()).then(|| values.iter().sum())
            })
            .collect()
    };
    let mut summed: Vec<Service> = services
        .iter()
        .map(|(name, members)| Service { name: titled(name, members.len()), values: sum(members) })
        .filter(|service| service.values.iter().any(Option::is_some))
        .collect();
    summed.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
    let others = summed.split_off(summed.len().min(most));
    if !others.is_empty() {
        let values = (0..intervals)
            .map(|i| {
                let of_others: Vec<f64> = others.iter().filter_map(|s| s.values[i]).collect();
                (!of_others.is_empty()).then(|| of_others.iter().sum())
            })
            .collect();
        summed.push(Service { name: crate::text::count(others.len(), "other"), values });
    }
    summed
}

/// `store`, `geo ×4`
pub(crate) fn titled(service: &str, components: usize) -> String {
    match components {
        1 => service.to_owned(),
        n => format!("{service} ×{n}"),
    }
}
