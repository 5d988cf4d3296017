//! The checks of guide 2 on a cluster: its steps from one file, from the installation to the MAX RPS;
//! and that changes of objects which other people own are undone, also if the runner is killed.

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::Value;

use super::{Bed, answers, components_of, now, pause, since, summary};
use crate::testbed::kc;

/// A small graph and one load, which find a fault soon.
const SHORT: [&str; 12] = [
    "vars.graph=generated:60x600",
    "vars.users=60",
    "vars.follows=600",
    "vars.posts=5",
    "vars.all_posts=300",
    "search=null",
    "slo=[{metric: p99, max: 5s}, {metric: failures, max: 1%}]",
    "load.rate=50/s",
    "load.connections=8",
    "phases.measure.time=4s",
    "phases.warm_up.fixed=1s",
    "repeat={trials: 1, order: listed}",
];
/// The experiment as it is, in trials that kubelets see; to a tenth, as the three nodes share two CPUs.
const LONG: [&str; 3] = [
    "phases.measure.time=40s",
    "search.precision=10%",
    "budget={trials: 30, time: 20m, disturbance: 5m}",
];

/// The pods that the steps of the guide leave: those that were scaled, and the replicas of Redis.
const SCALED: [(&str, usize); 4] = [
    ("home-timeline-dsb-social", 2),
    ("post-storage-dsb-social", 2),
    ("front-dsb-social", 2),
    ("redis-ha-replicas", 2),
];

/// The Redis of the test bed: its nodes have no registry.
const REDIS: [&str; 2] = ["vars.redis=local/redis", "vars.redis_tag=7"];

/// Returns the words of the experiment, after bringing the image of its Redis to the nodes.
pub(super) fn words(is_long: bool) -> Result<Vec<&'static str>, String> {
    kc(&["image", "recipe", "redis"])?;
    let settings = if is_long { &LONG[..] } else { &SHORT[..] };
    Ok(super::words("experiments/social.yaml", &[settings, &REDIS].concat()))
}

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    let words = words(bed.is_long)?;
    let out = match bed.is_long {
        true => bed.run("social", &words)?,
        false => bed.run_anyhow("social", &words)?,
    };
    let (mut trials, mut told) = (0, 0);
    for entry in answers(&out)? {
        trials += 1;
        let read = components_of(&out, entry.trial)?;
        for (deployment, wanted) in SCALED {
            let pods = read.components.keys().filter(|name| name.contains(deployment)).count();
            if pods != wanted {
                return Err(format!("trial {}: {pods} pods of {deployment}", entry.trial));
            }
        }
        let observed = entry.observed.as_ref().ok_or("a trial without figures")?;
        // A load that soon misses its SLO ends before each kubelet has counted twice.
        if bed.is_long && observed.cpu_unknown == 0 {
            told += 1;
            let of = |part: &str| {
                let pods = observed.cpu.iter().filter(|(name, _)| name.contains(part));
                pods.map(|(_, cpu)| cpu).sum::<f64>()
            };
            let (primary, replicas) = (of("redis-ha-master"), of("redis-ha-replicas"));
            println!(
                "{:>3}  CPU of Redis: primary {primary:.3}, replicas {replicas:.3}",
                entry.trial
            );
            if replicas <= primary {
                return Err(format!("trial {}: the replicas do not answer the reads", entry.trial));
            }
        }
    }
    if trials == 0 {
        return Err("no trial is an answer".to_owned());
    }
    if bed.is_long && told == 0 {
        return Err("no trial was long enough to tell the CPU of the replicas".to_owned());
    }
    let undone = foreign(bed)?;
    Ok(format!("{}; {trials} trials with the pods of the guide; {undone}", summary(&out)?))
}

const NAMESPACE: &str = "somebody-else";
/// The objects of somebody else: a service that reads a ConfigMap.
const FOREIGN: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: somebody-else}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: somebody-else}
data:
  service.json: '{"workers": 1, "redis": {"addr": "one"}}'
  nginx.conf: "user nobody;\nworker_processes auto;\n"
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: service, namespace: somebody-else}
spec:
  replicas: 1
  selector: {matchLabels: {app: service}}
  template:
    metadata: {labels: {app: service}}
    spec:
      containers:
        - name: main
          image: IMAGE
          command: [/benchwright, reference, --listen, "0.0.0.0:8080"]
          envFrom: [{configMapRef: {name: settings}}]
"#;

const CHANGES: &str = "sut.initialise={steps: [\
    config: {map: settings, namespace: somebody-else, key: service.json, pointer: /redis/addr, value: two}, \
    config: {map: settings, namespace: somebody-else, key: nginx.conf, line: '^worker_processes', value: 'worker_processes 110;', restart: service}, \
    config: {map: settings, namespace: somebody-else, key: added, value: new}, \
    scale: {namespace: somebody-else, deployments: {service: 2}}]}";

/// Changes these objects, in a run to its end and in one that is killed.
fn foreign(bed: &Bed) -> Result<String, String> {
    let image = concat!("local/benchwright:", env!("CARGO_PKG_VERSION"));
    let file = bed.file("foreign.yaml", &FOREIGN.replace("IMAGE", image))?;
    bed.cluster.kubectl(&["apply", "--filename", &file])?;
    let ended = changed_and_undone(bed);
    bed.cluster.kubectl(&["delete", "namespace", NAMESPACE])?;
    ended
}

fn changed_and_undone(bed: &Bed) -> Result<String, String> {
    let rollout = ["rollout", "status", "deployment/service", "--timeout=60s"];
    bed.cluster.kubectl(&[&rollout[..], &["--namespace", NAMESPACE]].concat())?;
    let before = state(bed)?;
    let settings = ["search=null", "load.rate=100/s", CHANGES];
    let words = super::words("experiments/hello.yaml", &settings);
    bed.run_anyhow("foreign", &words)?;
    same("after a run", &before, &state(bed)?)?;

    let mut command = bed.benchwright(&["run"]);
    command.args(&words).arg("--out").arg(bed.results("foreign-killed"));
    let mut runner = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let runner = runner.as_mut().map_err(|error| format!("starting benchwright: {error}"))?;
    let begun = now();
    while state(bed)?["replicas"] != 2 {
        if 120.0 < since(begun) {
            let _ = runner.kill();
            return Err("nothing was changed in two minutes".to_owned());
        }
        pause(0.2);
    }
    runner.kill().and_then(|()| runner.wait()).map_err(|error| error.to_string())?;
    bed.cluster.output(&mut bed.benchwright(&["clean", "--cluster"]))?;
    same("after a killed run", &before, &state(bed)?)?;
    Ok("changes of other people's objects are undone, also of a killed run".to_owned())
}

fn same(
    when: &str,
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> Result<(), String> {
    match before == after {
        true => Ok(()),
        false => Err(format!("{when}: {after:?} instead of {before:?}")),
    }
}

/// Returns the parts of these objects that a change could leave behind.
fn state(bed: &Bed) -> Result<BTreeMap<String, Value>, String> {
    let read = |kind: &str, name: &str| {
        let words = ["get", kind, name, "--namespace", NAMESPACE, "--output=json"];
        let text = bed.cluster.kubectl(&words)?;
        serde_json::from_str::<Value>(&text).map_err(|error| format!("kubectl: {error}"))
    };
    let (map, deployment) = (read("configmap", "settings")?, read("deployment", "service")?);
    Ok(BTreeMap::from([
        ("data".to_owned(), map["data"].clone()),
        ("replicas".to_owned(), deployment["spec"]["replicas"].clone()),
        ("template".to_owned(), deployment["spec"]["template"].clone()),
    ]))
}
