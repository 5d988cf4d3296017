//! The seconds of a trial in which the machine was slow.

use results::Components;
use results::components::Event;
use results::speed::{SLOW, Usual};

use super::machine::stretches;

#[cfg(test)]
mod tests;

/// Returns the times in which the machine was slower than usual by more than a tenth, as events.
pub(crate) fn slow(components: &Components, usual: &Usual) -> Vec<Event> {
    let intervals = components
        .speed
        .values()
        .flat_map(|speed| speed.work_ns.values().map(Vec::len))
        .max()
        .unwrap_or(0);
    let speed_in = |interval: usize| {
        let works = components.speed.values().flat_map(|speed| &speed.work_ns);
        let times = works
            .filter_map(|(work, series)| Some((work.as_str(), series.get(interval).copied()??)));
        usual.speed(times)
    };
    let speeds: Vec<Option<f64>> = (0..intervals).map(speed_in).collect();
    stretches(
        &speeds,
        components.interval_s,
        |speed| speed < SLOW,
        |speeds| {
            let slowest = speeds.fold(1.0, f64::min);
            format!("the machine ran at {:.0} % of its usual speed", 100.0 * slowest)
        },
    )
}
