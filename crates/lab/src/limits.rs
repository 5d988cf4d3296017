//! The limit of the system: all rules that name a component and a resource, as a pure function of
//! the figures of each second.
//!
//! A component is saturated in a second by
//!
//! 1. its **CPU**: it used 95 % of what it may use, or its limit stopped it for 10 % of the second.
//!    A limit is enforced in periods: bursts reach it long before the mean does;
//! 2. its busiest **thread**: 95 % of one CPU. A service of one thread cannot use a second CPU;
//! 3. its role's **CPU**: all components together used 95 % of the role's CPUs. The rule names the
//!    role, and the component that used most. Threads that wait to run are recorded, but are not a
//!    sign of it: many processes that wake together wait for each other on a CPU that is idle most
//!    of the time;
//! 4. its **memory**: 95 % of its limit, or the kernel refused memory;
//! 5. its **bounds**: open files, or refused calls while most of its requests were queued in
//!    itself. A component that refuses because its requests wait elsewhere is a victim, and is not
//!    named.
//!
//! The earliest second decides, because later saturation is often a consequence of the first: but
//! only if the state lasted, for half of the seconds from then on and a quarter of all. A pause of
//! one second is not a limit. Of several components in one second, the one with most queued
//! requests is named: those above it in the call graph wait for it, and requests that wait for
//! others do not count as queued there. A role comes after components, because a component is more
//! specific.
//!
//! 6. If the system is saturated and none of these rules applies, the time passes in something that
//!    is not a resource here: a lock, a sleep, a disk. Then the service with most queued
//!    **requests** is named (`queued`). This finds a slow service behind two hops whether it reads
//!    its requests and keeps them, or does not read them: its callers have none queued themselves.
//!    The replicas of a service count together; then the one with most is named.

use std::collections::BTreeMap;

use measure::quantity::grouped;
use results::components::{Component, Components, Series, THROTTLED, mean};
use results::journal::Limit;

pub(crate) mod connections;
#[cfg(test)]
mod tests;

/// The share of a bound from which it counts as reached.
const EXHAUSTED: f64 = 0.95;
/// The share of the seconds, from the first, in which a limit must have been reached.
const LASTING: f64 = 0.5;
/// The share of all seconds in which it must have been reached.
const NOTABLE: f64 = 0.25;
/// The share of all seconds that must have been watched to know where requests are queued.
const WATCHED: f64 = 0.5;

/// The degree to which the system fell short of the load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shortfall {
    /// It followed its load: nothing limited it.
    None,
    /// It was as fast as it could, or slower than the SLO, but requests did not pile up.
    Slow,
    /// It completed less than was offered: requests were queued somewhere.
    Saturated,
}

/// The first limit, in parts and in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub limit: Limit,
    pub words: String,
}

pub fn first(components: &Components, shortfall: Shortfall) -> Option<Found> {
    if shortfall == Shortfall::None {
        return None;
    }
    let queued = Queued::of(components);
    let of_components = components.components.iter().flat_map(|(name, component)| {
        let queued_here = queued.requests.get(name.as_str()).copied().unwrap_or_default();
        rules(name, component).map(move |held| (queued_here, held))
    });
    // No component has fewer than zero requests: a role comes last.
    let of_roles = components.roles.keys().filter_map(|role| whole_role(role, components));
    let mut all: Vec<(f64, Held)> =
        of_components.chain(of_roles.map(|held| (-1.0, held))).collect();
    // If the numbers of queued requests are equal, for example zero, the order of the rules
    // decides.
    all.sort_by(|(queued_here, a), (others_queued, b)| {
        let begun = a.since.cmp(&b.since).then(others_queued.total_cmp(queued_here));
        begun.then(a.resource.cmp(&b.resource)).then(b.share.total_cmp(&a.share))
    });
    match all.into_iter().next() {
        Some((_, held)) => Some(held.found()),
        None if shortfall == Shortfall::Saturated => most_queued(components, &queued),
        None => None,
    }
}

/// A resource, in the order of the rules.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Resource {
    CpuLimit,
    Cpu,
    Thread,
    Memory,
    Connections,
    Refusals,
}

impl Resource {
    fn word(self) -> &'static str {
        match self {
            Resource::CpuLimit => "CPU limit",
            Resource::Cpu => "CPU",
            Resource::Thread => "thread",
            Resource::Memory => "memory",
            Resource::Connections => "connections",
            Resource::Refusals => "refusals",
        }
    }
}

/// A bound that was reached for a lasting time.
struct Held {
    name: String,
    resource: Resource,
    since: usize,
    /// The share of the bound, on average over the seconds in which it was reached.
    share: f64,
    words: String,
}

impl Held {
    fn found(self) -> Found {
        let limit = Limit {
            component: self.name,
            resource: self.resource.word().to_owned(),
            since: self.since as u32,
        };
        Found { limit, words: self.words }
    }
}

fn rules(name: &str, component: &Component) -> impl Iterator<Item = Held> {
    [cpu, thread, memory, connections, refusals]
        .map(|rule| rule(name, component))
        .into_iter()
        .flatten()
}

fn cpu(name: &str, component: &Component) -> Option<Held> {
    let cpus = component.cpus;
    let throttled = |second: usize| at(&component.throttled, second).unwrap_or_default();
    let reached = |second: usize| {
        let used = at(&component.cpu, second)?;
        (EXHAUSTED * cpus <= used || THROTTLED <= throttled(second)).then_some(used)
    };
    let (since, used) = lasting(component.cpu.len(), reached)?;
    let mut words = format!("{name}, CPU {used:.2} of {}", plain(cpus));
    let seconds = (since..component.cpu.len()).map(|second| Some(throttled(second)));
    if let Some(held) = mean(seconds).filter(|held| THROTTLED <= *held) {
        words += &format!(", throttled {:.0} % of the time", held * 100.0);
    }
    let limited = component.cpu_limit.is_some_and(|limit| limit <= cpus);
    let resource = if limited { Resource::CpuLimit } else { Resource::Cpu };
    Some(Held { name: name.to_owned(), resource, since, share: used / cpus, words })
}

fn thread(name: &str, component: &Component) -> Option<Held> {
    let busiest = &component.busiest_thread;
    let reached = |second: usize| at(busiest, second).filter(|used| EXHAUSTED <= *used);
    let (since, share) = lasting(busiest.len(), reached)?;
    let cpus = plain(component.cpus);
    let words = format!("{name}, one thread {share:.2} of 1 CPU, of {cpus} that it may use");
    Some(Held { name: name.to_owned(), resource: Resource::Thread, since, share, words })
}

fn memory(name: &str, component: &Component) -> Option<Held> {
    let limit = component.memory_limit_bytes? as f64;
    let reached = |second: usize| {
        let used = count(&component.memory_bytes, second)?;
        let refused = count(&component.memory_failures, second).is_some_and(|n| 0.0 < n);
        (EXHAUSTED * limit <= used || refused).then_some(used)
    };
    let (since, used) = lasting(component.memory_bytes.len(), reached)?;
    let mib = |bytes: f64| plain((bytes / f64::from(1 << 20) * 10.0).round() / 10.0);
    let words = format!("{name}, memory {} of {} MiB", mib(used), mib(limit));
    Some(Held {
        name: name.to_owned(),
        resource: Resource::Memory,
        since,
        share: used / limit,
        words,
    })
}

fn connections(name: &str, component: &Component) -> Option<Held> {
    let limit = component.open_files_limit? as f64;
    let open = &component.connections;
    let reached = |second: usize| count(open, second).filter(|n| EXHAUSTED * limit <= *n);
    let (since, n) = lasting(open.len(), reached)?;
    let words = format!("{name}, {} connections of {} open files", grouped(n), grouped(limit));
    Some(Held {
        name: name.to_owned(),
        resource: Resource::Connections,
        since,
        share: n / limit,
        words,
    })
}

fn refusals(name: &str, component: &Component) -> Option<Held> {
    let reached = |second: usize| {
        let refused = count(&component.refused, second).filter(|n| 0.0 < *n)?;
        let inside = at(&component.in_service, second)?;
        (inside <= 2.0 * component.held(second)?).then_some(refused)
    };
    let (since, refused) = lasting(component.refused.len(), reached)?;
    let words = format!("{name}, at its bound: refused {}/s", grouped(refused));
    Some(Held { name: name.to_owned(), resource: Resource::Refusals, since, share: 1.0, words })
}

fn whole_role(role: &str, components: &Components) -> Option<Held> {
    let cpus = components.roles[role];
    let of_role: Vec<(&String, &Component)> =
        components.components.iter().filter(|(_, component)| component.role == role).collect();
    let seconds = of_role.iter().map(|(_, component)| component.cpu.len()).max()?;
    let used = |second: usize| -> f64 {
        of_role.iter().filter_map(|(_, component)| at(&component.cpu, second)).sum()
    };
    let reached = |second: usize| Some(used(second)).filter(|used| EXHAUSTED * cpus <= *used);
    let (since, all) = lasting(seconds, reached)?;
    let mut services: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for (_, component) in &of_role {
        let service = services.entry(&component.step).or_default();
        service.0 += 1;
        service.1 += mean(component.cpu.iter().copied()).unwrap_or_default();
    }
    let (most, (replicas, cpu)) = services.into_iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let of_most = match replicas {
        1 => format!("{cpu:.2}"),
        replicas => format!("{replicas} processes, {cpu:.2}"),
    };
    let used = format!("{all:.2} of {}", plain(cpus));
    let words = format!("CPU of role {role} ({used}), most by {most} ({of_most})");
    let name = format!("role {role}");
    Some(Held { name, resource: Resource::Cpu, since, share: all / cpus, words })
}

/// Returns the first second from which a bound was reached in half of all seconds that follow, and
/// the mean of the figures in those.
fn lasting(seconds: usize, reached: impl Fn(usize) -> Option<f64>) -> Option<(usize, f64)> {
    let seen: Series<f64> = (0..seconds).map(reached).collect();
    let lasts = |since: usize| {
        let from = &seen[since..];
        let times = from.iter().flatten().count();
        let enough = (LASTING * from.len() as f64).max(NOTABLE * seconds as f64);
        seen[since].is_some() && enough <= times as f64
    };
    let since = (0..seconds).find(|&since| lasts(since))?;
    Some((since, mean(seen[since..].iter().copied())?))
}

/// The number of queued requests, on average over the measurement.
struct Queued<'a> {
    /// The number of each component. Without any statistics: connections with unread bytes.
    requests: BTreeMap<&'a str, f64>,
    all: f64,
    statistics: bool,
}

impl Queued<'_> {
    fn of(components: &Components) -> Queued<'_> {
        let all = || components.components.iter();
        let statistics = all().any(|(_, component)| !component.queued.is_empty());
        let queued_here = |component: &Component| match statistics {
            true => typical(component.queued.iter().copied()),
            false => typical(component.unread_connections.iter().map(|n| n.map(|n| n as f64))),
        };
        let requests: BTreeMap<&str, f64> =
            all().map(|(name, component)| (name.as_str(), queued_here(component))).collect();
        let known = requests.values().sum::<f64>();
        let waited_for = mean(components.outstanding.iter().copied()).unwrap_or_default();
        let outstanding = if statistics { waited_for } else { 0.0 };
        Queued { requests, all: known.max(outstanding), statistics }
    }
}

fn most_queued(components: &Components, queued: &Queued<'_>) -> Option<Found> {
    let mut services: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    for (name, component) in &components.components {
        let service = services.entry(&component.step).or_default();
        service.0 += queued.requests[name.as_str()];
        service.1 += 1;
    }
    let (service, (of_service, replicas)) =
        services.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let (name, component, queued_here) = components
        .components
        .iter()
        .filter(|(_, component)| component.step == service)
        .map(|(name, component)| (name, component, queued.requests[name.as_str()]))
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    // Less than one queued request names nothing.
    if queued_here.round() < 1.0 {
        return None;
    }
    let all = queued.all;
    let mut facts = match queued.statistics {
        true => vec![format!("{queued_here:.0} of {all:.0} requests queued")],
        false => vec![format!("{queued_here:.0} of {all:.0} connections with unread requests")],
    };
    if 1 < replicas {
        facts.push(format!("all {replicas} of {service} {of_service:.0}"));
    }
    if let Some(cpu) = mean(component.cpu.iter().copied()) {
        facts.push(format!("{cpu:.2} CPUs"));
    }
    let words = format!("{name} ({})", facts.join(", "));
    let limit = Limit { component: name.clone(), resource: "requests".to_owned(), since: 0 };
    Some(Found { limit, words })
}

fn at(series: &Series<f64>, second: usize) -> Option<f64> {
    series.get(second).copied().flatten()
}

fn count(series: &Series<u64>, second: usize) -> Option<f64> {
    series.get(second).copied().flatten().map(|n| n as f64)
}

/// Returns the mean, or zero if too little was watched: one second is not typical of a trial.
fn typical(values: impl ExactSizeIterator<Item = Option<f64>> + Clone) -> f64 {
    let watched = values.clone().flatten().count() as f64;
    let enough = WATCHED * values.len() as f64 <= watched;
    mean(values).filter(|_| enough).unwrap_or_default()
}

fn plain(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}
