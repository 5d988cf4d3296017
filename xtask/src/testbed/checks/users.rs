//! The check of guide 4 on a cluster: the users service at several numbers of replicas, scaled by the
//! API while its store and its balancer stay, and its CPU by a Prometheus beside that of kubelets.

use std::collections::BTreeSet;
use std::path::Path;

use results::journal::Entry;

use super::{Bed, answers, check_of, components_of, words};
use crate::testbed::kc;

/// Two thirds of what the replicas of a level can do, with an SLO that a disturbed machine keeps: its
/// trials are not repeated.
const GIVEN: [&str; 3] = [
    "searches=null",
    "slo=[{metric: p99, max: 5s}, {metric: failures, max: 1%}]",
    "scaling_law=null",
];
const EACH_PER_S: u32 = 80;
/// The levels and trials that find a fault soon, without a Prometheus.
const SHORT: [&str; 3] =
    ["phases.measure.time=4s", "monitor=[]", "repeat={trials: 1, order: listed}"];
/// Those that show what is promised. CPU time is even before the measurement, too, since a kubelet
/// reads it every 10 to 17 s.
const LONG: [&str; 2] = ["phases.warm_up.fixed=20s", "repeat={trials: 3, order: interleaved}"];

/// The largest difference of two counts of the same CPU time.
const MOST_DIFFERENCE: f64 = 0.05;
/// The name of the figure in the journal: the spec's monitor `cpu` of the release's namespace.
const MONITORED: &str = "cpu namespace=piper-kt";

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    match bed.is_long {
        false => checked(bed, 2, &SHORT),
        true => {
            let url = prometheus(bed)?;
            let at = format!("vars.prometheus={url}");
            let checked = checked(bed, 3, &[&LONG[..], &[&at]].concat());
            let uninstall = ["uninstall", "prometheus", "--namespace=monitoring", "--wait"];
            bed.cluster.helm(&uninstall)?;
            bed.cluster.kubectl(&["delete", "namespace", "monitoring"])?;
            checked
        }
    }
}

/// Installs a Prometheus that scrapes the kubelets; returns its address.
fn prometheus(bed: &Bed) -> Result<String, String> {
    kc(&["image", "recipe", "prometheus"])?;
    bed.cluster.helm(&[
        "install",
        "prometheus",
        "testbed/charts/prometheus",
        "--namespace=monitoring",
        "--create-namespace",
        "--set=nodeExporter.enabled=false",
        "--wait",
    ])?;
    let address = "{.items[0].status.addresses[0].address}";
    let node = bed.cluster.kubectl(&["get", "nodes", &format!("--output=jsonpath={address}")])?;
    Ok(format!("http://{node}:30090"))
}

/// Runs the experiment at this many levels, and returns its figures, or what is wrong with them.
fn checked(bed: &Bed, levels: u32, settings: &[&str]) -> Result<String, String> {
    let level = |replicas: u32| {
        let rate = replicas * EACH_PER_S;
        format!(
            "{{name: '{replicas}', set: {{sut: {{replicas: {replicas}}}, load: {{rate: {rate}/s}}}}}}"
        )
    };
    let each: Vec<String> = (1..=levels).map(level).collect();
    let levels = format!("factors.replicas={{path: null, levels: [{}]}}", each.join(", "));
    let settings = [&GIVEN[..], settings, &[&levels]].concat();
    let out = bed.run_anyhow("users", &words("experiments/users.yaml", &settings))?;
    let answers = answers(&out)?;
    let seen: BTreeSet<&str> = answers.iter().filter_map(|entry| entry.cell.as_deref()).collect();
    if seen.len() != each.len() {
        return Err(format!("answers at {seen:?} of {} levels", each.len()));
    }
    let mut stayed = BTreeSet::new();
    let mut differences = Vec::new();
    for entry in &answers {
        let trial = entry.trial;
        let seen = pods(&out, trial)?;
        let (replicas, others): (BTreeSet<_>, BTreeSet<_>) =
            seen.into_iter().partition(|name| name.contains("users-service"));
        let wanted = entry.cell.as_deref().and_then(|cell| cell.strip_prefix("replicas="));
        if wanted.and_then(|wanted| wanted.parse().ok()) != Some(replicas.len()) {
            return Err(format!("trial {trial} at {wanted:?} had {replicas:?}"));
        }
        stayed.insert(others);
        endpoints(&out, trial)?;
        if bed.is_long {
            differences.push(difference(entry)?);
        }
    }
    // An installation makes others.
    if stayed.len() != 1 {
        return Err(format!("the store and the balancer were replaced: {stayed:?}"));
    }
    let figures = format!("{} trials at {} levels, scaled", answers.len(), each.len());
    if !bed.is_long {
        return Ok(figures);
    }
    let most = differences.iter().copied().fold(0.0, f64::max);
    let figures = format!("{figures}; CPU by Prometheus within {:.1} % of kubelets'", 100.0 * most);
    if MOST_DIFFERENCE < most { Err(figures) } else { Ok(figures) }
}

/// Returns the names of the pods that a trial saw.
fn pods(out: &Path, trial: u32) -> Result<BTreeSet<String>, String> {
    Ok(components_of(out, trial)?.components.into_keys().collect())
}

/// Checks that the EndpointSlices had exactly the wanted addresses after the load of a trial too.
fn endpoints(out: &Path, trial: u32) -> Result<(), String> {
    let check = check_of(out, trial, "cluster.endpoints")?;
    match check["state"] == "ok" {
        true => Ok(()),
        false => Err(format!("trial {trial}: cluster.endpoints: {check}")),
    }
}

/// Prints both counts of the CPU time of a trial's minute, and returns their difference as a share.
fn difference(entry: &Entry) -> Result<f64, String> {
    let trial = entry.trial;
    let observed = entry.observed.as_ref().ok_or(format!("trial {trial} has no figures"))?;
    if 0 < observed.cpu_unknown {
        let unknown = observed.cpu_unknown;
        return Err(format!("trial {trial}: the CPU of {unknown} pods is not known"));
    }
    let by_kubelets = observed.cpu.values().sum::<f64>();
    let monitored = |name: &str| observed.monitored.get(name).copied();
    let by_prometheus = monitored(MONITORED)
        .ok_or_else(|| format!("trial {trial}: no {MONITORED}: {}", entry.warnings.join("; ")))?;
    let guide = monitored(&MONITORED.replace("cpu ", "guide ")).unwrap_or(f64::NAN);
    println!(
        "{trial:>3}  {:<12} {:>5.0}/s  CPU by kubelets {by_kubelets:.3}, by Prometheus {by_prometheus:.3} \
         ({:+.1} %), by the guide's query {guide:.3}",
        entry.cell.as_deref().unwrap_or_default(),
        observed.goodput_per_s,
        100.0 * (by_prometheus / by_kubelets - 1.0),
    );
    Ok((by_prometheus / by_kubelets - 1.0).abs())
}
