//! The seconds of a trial in which the machine was disturbed, or a limit stopped a service.

use std::collections::BTreeMap;

use results::Components;
use results::components::{Event, FOREIGN, STOLEN, Series, THROTTLED, TOGETHER};

use super::services::titled;

#[cfg(test)]
mod tests;

/// The worst share of each interval, over roles and components.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Worst {
    /// The hypervisor took a CPU.
    pub(crate) stolen: Series<f64>,
    /// Other processes used the CPUs of a role.
    pub(crate) foreign: Series<f64>,
    /// Something on the machine waited for a CPU.
    pub(crate) pressure: Series<f64>,
    /// Its CPU limit stopped a component.
    pub(crate) throttled: Series<f64>,
}

impl Worst {
    pub(crate) fn of(components: &Components) -> Worst {
        let roles = || components.machine.iter().flat_map(|machine| machine.roles.values());
        let pressure = components.machine.as_ref().map(|machine| machine.pressure.clone());
        Worst {
            stolen: worst(roles().map(|role| &role.stolen)),
            foreign: worst(roles().map(|role| &role.foreign)),
            pressure: pressure.unwrap_or_default(),
            throttled: worst(components.components.values().map(|one| &one.throttled)),
        }
    }
}

/// Returns the times in which others took CPUs of a role, as events.
pub(crate) fn disturbed(components: &Components) -> Vec<Event> {
    let roles = components.machine.iter().flat_map(|machine| &machine.roles);
    let of_role = |(role, disturbance): (&String, &results::components::Disturbance)| {
        let of = |what: &str| match role.as_str() {
            TOGETHER => what.to_owned(),
            role => format!("{what} of role {role}"),
        };
        let (one, all) = (of("a CPU"), of("the CPUs"));
        let each = components.interval_s;
        let stolen = stretches(
            &disturbance.stolen,
            each,
            |share| STOLEN <= share,
            |shares| format!("the hypervisor took up to {} of {one}", percent(shares)),
        );
        let foreign = stretches(
            &disturbance.foreign,
            each,
            |share| FOREIGN <= share,
            |shares| format!("other processes used up to {} of {all}", percent(shares)),
        );
        [stolen, foreign].concat()
    };
    roles.flat_map(of_role).collect()
}

/// Returns the times in which the CPU limits of a service stopped one of its components, as events.
pub(crate) fn throttled(components: &Components) -> Vec<Event> {
    let mut members: BTreeMap<&str, Vec<&Series<f64>>> = BTreeMap::new();
    for component in components.components.values() {
        members.entry(&component.step).or_default().push(&component.throttled);
    }
    let of_service = |(service, members): (&str, Vec<&Series<f64>>)| {
        let name = titled(service, members.len());
        stretches(
            &worst(members.into_iter()),
            components.interval_s,
            |share| THROTTLED <= share,
            |shares| format!("its limit stopped {name} for up to {} of the time", percent(shares)),
        )
    };
    members.into_iter().flat_map(of_service).collect()
}

/// Returns the highest value of each interval; `None` without any.
fn worst<'a>(all: impl Iterator<Item = &'a Series<f64>>) -> Series<f64> {
    let mut worst = Series::new();
    for series in all {
        worst.resize(worst.len().max(series.len()), None);
        for (worst, value) in worst.iter_mut().zip(series) {
            *worst = [*worst, *value].into_iter().flatten().reduce(f64::max);
        }
    }
    worst
}

/// Returns the intervals in a row whose values are bad as one event each, with its text.
pub(super) fn stretches(
    series: &Series<f64>,
    interval_s: f64,
    is_bad: impl Fn(f64) -> bool,
    text: impl Fn(&mut dyn Iterator<Item = f64>) -> String,
) -> Vec<Event> {
    let is_bad = |value: &Option<f64>| value.is_some_and(&is_bad);
    let mut begin = 0;
    let mut events = Vec::new();
    for run in series.chunk_by(|one, next| is_bad(one) == is_bad(next)) {
        let end = begin + run.len();
        if is_bad(&run[0]) {
            events.push(Event {
                from_s: begin as f64 * interval_s,
                to_s: end as f64 * interval_s,
                text: text(&mut run.iter().flatten().copied()),
            });
        }
        begin = end;
    }
    events
}

/// Returns the highest share in words.
fn percent(shares: &mut dyn Iterator<Item = f64>) -> String {
    crate::text::share(shares.fold(0.0, f64::max), 1.0)
}
