//! The number of queued requests of each component, in each second.
//!
//! A request that waits for another service is not queued where it waits. By Little's law over its
//! statistics, a component has queued what is in it less what waits for others. But a component
//! does not know of the requests that it has not read: they are in its sockets. Their total is
//! known: what the generator and all callers wait for on average, less what is in any service. They are
//! assigned in proportion to unread bytes; if none are seen, to the components that
//! report no statistics, in proportion to their connections.

use measure::quantity::rounded;
use results::components::{Component, Components, Series};

#[cfg(test)]
mod tests;

/// Fills in `queued`, if any component reports statistics.
pub fn work_out(components: &mut Components, seconds: usize) {
    if components.components.values().all(|component| component.in_service.is_empty()) {
        return;
    }
    for second in 0..seconds {
        let between = between(components, second);
        let unread = |component: &Component| count(&component.unread_bytes, second);
        let unknown = |component: &Component| match component.in_service.is_empty() {
            true => count(&component.connections, second),
            false => 0.0,
        };
        let any = components.components.values().any(|component| 0.0 < unread(component));
        let part: &dyn Fn(&Component) -> f64 = if any { &unread } else { &unknown };
        let whole: f64 = components.components.values().map(part).sum();
        for component in components.components.values_mut() {
            let share = if 0.0 < whole { part(component) / whole } else { 0.0 };
            let held = component.held(second);
            let queued_here =
                held.or((0.0 < share).then_some(0.0)).map(|held| held + between * share);
            component.queued.push(queued_here.map(rounded));
        }
    }
}

/// Returns the number of requests that a caller waits for and that are in no service.
fn between(components: &Components, second: usize) -> f64 {
    let sum = |of: fn(&Component) -> &Series<f64>| -> f64 {
        let values = components.components.values().map(of);
        values.filter_map(|series| series.get(second).copied().flatten()).sum()
    };
    let generator = components.outstanding.get(second).copied().flatten().unwrap_or_default();
    let callers = sum(|component| &component.in_others);
    (generator + callers - sum(|component| &component.in_service)).max(0.0)
}

fn count(series: &Series<u64>, second: usize) -> f64 {
    series.get(second).copied().flatten().unwrap_or_default() as f64
}
