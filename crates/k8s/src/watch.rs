//! The resources that the system's pods use while a load is made, as their kubelets count them.
//!
//! A kubelet reads the control groups of its pods every 10 to 17 s, whoever asks, and says when it
//! read each figure. So a long load has several figures, and a short one may have none: then nothing
//! is known of it, which is not the same as zero.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use lab::backend::{Quota, Samples};
use measure::{Instant, Nanos, Offset};

use crate::api::Api;
use crate::metrics;
use crate::paths;

#[cfg(test)]
mod tests;

/// The pause after asking each of the nodes once, for every node: one call in two seconds.
const PAUSE: Duration = Duration::from_secs(2);
/// The shortest pause: kubelets have nothing new more often.
const SHORTEST_PAUSE: Duration = Duration::from_secs(5);

/// The longest time from one reading of a pod by its kubelet to the next.
pub(crate) const READ_EVERY: Nanos = Nanos::from_secs(20);

/// A pod, by namespace and name.
pub(crate) type Pod = (String, String);

/// The figures of a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Used {
    /// In nanoseconds, of all its containers.
    pub(crate) cpu: Samples,
    /// In bytes, of all its containers.
    pub(crate) memory: Samples,
    /// The counters of the CPU limit of each container. The control group of the pod as a whole, which
    /// counts what stops its containers too, has no name; it is here only if no container is.
    pub(crate) quotas: BTreeMap<String, Quota>,
}

pub(crate) type Figures = BTreeMap<Pod, Used>;

/// A node that is watched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Watched {
    pub(crate) node: String,
    /// Its clock, in nanoseconds since 1970, against the runner's.
    pub(crate) clock: Offset,
    /// True if a pod on it has a CPU limit: only then is it asked what these limits stopped, which
    /// is a long answer.
    pub(crate) limits: bool,
}

/// Asks kubelets until it is ended.
pub(crate) struct Watch {
    end: Sender<()>,
    asking: JoinHandle<Figures>,
}

impl Watch {
    pub(crate) fn begin(api: &Api, nodes: Vec<Watched>) -> Watch {
        let (end, ended) = mpsc::channel();
        let api = api.impatient();
        let asking = std::thread::spawn(move || {
            let mut figures = Figures::new();
            let pause = (PAUSE * nodes.len() as u32).max(SHORTEST_PAUSE);
            ask_limited(&api, &nodes, &mut figures);
            loop {
                ask(&api, &nodes, &mut figures);
                match ended.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            ask(&api, &nodes, &mut figures);
            ask_limited(&api, &nodes, &mut figures);
            figures
        });
        Watch { end, asking }
    }

    /// Asks once more, and returns all figures.
    pub(crate) fn end(self) -> Figures {
        drop(self.end);
        self.asking.join().expect("it does not panic")
    }
}

/// Asks for the CPU time and memory of all pods. A kubelet that may not be asked says nothing.
fn ask(api: &Api, nodes: &[Watched], figures: &mut Figures) {
    for Watched { node, clock, .. } in nodes {
        if let Ok(page) = api.page(&paths::resources(node)) {
            add(figures, resources(&page, clock));
        }
    }
}

/// Asks what the CPU limits stopped.
fn ask_limited(api: &Api, nodes: &[Watched], figures: &mut Figures) {
    for Watched { node, clock, .. } in nodes.iter().filter(|watched| watched.limits) {
        if let Ok(page) = api.page(&paths::cadvisor(node)) {
            add(figures, limited(&page, clock));
        }
    }
}

/// Adds figures to earlier ones of the same pods; a figure that was not read anew is left out.
fn add(figures: &mut Figures, more: Figures) {
    let append = |old: &mut Samples, new: Samples| {
        let last = old.last().map(|&(at, _)| at);
        old.extend(new.into_iter().filter(|&(at, _)| last < Some(at)));
    };
    for (pod, used) in more {
        let old = figures.entry(pod).or_default();
        append(&mut old.cpu, used.cpu);
        append(&mut old.memory, used.memory);
        for (container, quota) in used.quotas {
            let old = old.quotas.entry(container).or_default();
            append(&mut old.time, quota.time);
            append(&mut old.ran, quota.ran);
            append(&mut old.stopped, quota.stopped);
            append(&mut old.periods, quota.periods);
        }
    }
}

/// Reads a kubelet's page `metrics/resource`, which has figures of whole pods.
fn resources(page: &str, clock: &Offset) -> Figures {
    let mut figures = Figures::new();
    for (pod, sample) in of_pods(page, "pod_cpu_usage_seconds_total", clock) {
        figures.entry(pod).or_default().cpu.push(nanoseconds(sample));
    }
    for (pod, sample) in of_pods(page, "pod_memory_working_set_bytes", clock) {
        figures.entry(pod).or_default().memory.push(whole(sample));
    }
    figures
}

/// Reads a kubelet's page `metrics/cadvisor`, which has figures of containers.
fn limited(page: &str, clock: &Offset) -> Figures {
    let mut figures = Figures::new();
    let mut take = |metric, convert: Convert, of: fn(&mut Quota) -> &mut Samples| {
        for (pod, container, sample) in of_containers(page, metric, clock) {
            let quota = figures.entry(pod).or_default().quotas.entry(container).or_default();
            of(quota).push(convert(sample));
        }
    };
    take("container_cpu_cfs_throttled_seconds_total", nanoseconds, |quota| &mut quota.time);
    take("container_cpu_cfs_throttled_periods_total", whole, |quota| &mut quota.stopped);
    take("container_cpu_cfs_periods_total", whole, |quota| &mut quota.periods);
    let ran = of_containers(page, "container_cpu_usage_seconds_total", clock);
    for (pod, container, sample) in ran {
        // The others have no limit.
        let used = figures.get_mut(&pod);
        if let Some(quota) = used.and_then(|used| used.quotas.get_mut(&container)) {
            quota.ran.push(nanoseconds(sample));
        }
    }
    for used in figures.values_mut().filter(|used| 1 < used.quotas.len()) {
        used.quotas.remove(OF_POD);
    }
    figures
}

/// The name of a container that is none, but the control group of the whole pod.
const OF_POD: &str = "";

type Convert = fn((Instant, f64)) -> (Instant, u64);

/// Returns a metric of all pods, at times on the runner's clock.
fn of_pods<'a>(
    page: &'a str,
    metric: &'a str,
    clock: &'a Offset,
) -> impl Iterator<Item = (Pod, (Instant, f64))> {
    of_containers(page, metric, clock).map(|(pod, _, sample)| (pod, sample))
}

/// Returns a metric of all containers, and of pods as a whole, at times on the runner's clock.
fn of_containers<'a>(
    page: &'a str,
    metric: &'a str,
    clock: &'a Offset,
) -> impl Iterator<Item = (Pod, String, (Instant, f64))> {
    metrics::samples(page, metric).filter_map(move |sample| {
        let label = |name: &str| sample.label(name).map(str::to_owned);
        let at = clock.own_time(Instant(sample.at_ms? * 1_000_000));
        let container = label("container").unwrap_or_default();
        Some(((label("namespace")?, label("pod")?), container, (at, sample.value)))
    })
}

fn nanoseconds((at, seconds): (Instant, f64)) -> (Instant, u64) {
    (at, (seconds * 1e9).round() as u64)
}

fn whole((at, value): (Instant, f64)) -> (Instant, u64) {
    (at, value.round() as u64)
}
