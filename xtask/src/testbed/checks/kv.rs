//! The check of guide 5 on a cluster: its own lines by hand, the same servers by an experiment, and a server that dies
//! in each of its phases. What a checkpoint has is never lost.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::{Bed, SLO, failures, now, parts_of, pause, since, summary, words};

const SERVERS: &str = "deploy/kv/servers.yaml";
/// The keys of the load that is verified, and those of one that takes long enough to be disturbed.
const KEYS: &str = "100000";
const MANY_KEYS: &str = "100M";
/// The seconds of a run, and of one that is disturbed.
const SECONDS: &str = "3";
const MANY_SECONDS: &str = "12";
/// The longest time until a Job has ended, for kubectl.
const WITHIN: &str = "--timeout=90s";
/// The ends of the lines in which a client counts what a dead server did not do.
const ENDS: [&str; 3] = [
    " operations failed",
    " operations had no answer at the end",
    " batches had no connection to their server",
];
/// The nodes of the generators: a cluster of three has two of them only if one is beside a server.
const LOAD_NODES: &str = "where.roles.load.nodes=kubernetes.io/hostname in (w1,w2)";

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    let by_hand = by_hand(bed);
    let removed = remove(bed);
    let by_hand = by_hand?;
    removed?;
    let figures = experiment(bed)?;
    let dead = dying(bed)?;
    Ok(format!("by hand {by_hand}; {figures}; {dead}"))
}

/// Guide 5's lines, from the first one on.
fn by_hand(bed: &Bed) -> Result<String, String> {
    kubectl(bed, &["create", "--filename", SERVERS])?;
    let hand = Hand { bed };
    hand.until_ready()?;
    for (pod, id) in [("servers-0", "id=1"), ("servers-1", "id=2")] {
        let log = kubectl(bed, &["logs", pod])?;
        has(&log, &["Running server with", "hybrid log stored at /data/storage", "ready ", id])?;
    }
    hand.name_servers()?;
    hand.create("load", KEYS, SECONDS)?;
    hand.until("load", "complete")?;
    let filled = kubectl(bed, &["logs", "job/load"])?;
    has(
        &filled,
        &["Running client with", ":: Filling data into the server", "100,000 operations"],
    )?;
    hand.verify()?;
    hand.create("ycsb", KEYS, SECONDS)?;
    hand.until("ycsb", "complete")?;
    let throughputs = hand.throughputs()?;
    hand.checkpoint()?;
    let failed = hand.dies_while_running()?;
    hand.verify()?;
    hand.dies_while_filling()?;
    hand.verify()?;
    Ok(format!("{throughputs:?} Mops/s of two clients, when a server died: {failed}"))
}

/// The hands of somebody who follows the guide.
struct Hand<'a> {
    bed: &'a Bed,
}

impl Hand<'_> {
    fn until_ready(&self) -> Result<(), String> {
        let set = ["rollout", "status", "statefulset/servers", WITHIN];
        kubectl(self.bed, &set).map(drop)
    }

    /// Returns the addresses of the servers, in their order.
    fn addresses(&self) -> Result<String, String> {
        let of_pods = "jsonpath={.items[*].status.podIP}";
        let found = kubectl(self.bed, &["get", "pods", "--selector=app=servers", "-o", of_pods])?;
        Ok(found.split_whitespace().collect::<Vec<_>>().join(","))
    }

    /// Tells the clients where the servers are.
    fn name_servers(&self) -> Result<(), String> {
        kubectl(self.bed, &["delete", "secret", "servers", "--ignore-not-found"])?;
        let addresses = format!("--from-literal=ips={}", self.addresses()?);
        kubectl(self.bed, &["create", "secret", "generic", "servers", &addresses]).map(drop)
    }

    /// Creates a Job of the guide with other sizes, in place of the one before.
    fn create(&self, job: &str, keys: &str, seconds: &str) -> Result<(), String> {
        kubectl(self.bed, &["delete", "job", job, "--ignore-not-found"])?;
        let path = format!("deploy/kv/{job}.yaml");
        let text = fs::read_to_string(crate::repository::root().join(&path));
        let text = text.map_err(|error| format!("{path}: {error}"))?;
        let sized = text.replace("\"10M\"", &format!("\"{keys}\""));
        let sized = sized.replace("--seconds=60", &format!("--seconds={seconds}"));
        let file = self.bed.file(&format!("{job}.yaml"), &sized)?;
        kubectl(self.bed, &["create", "--filename", &file]).map(drop)
    }

    fn until(&self, job: &str, condition: &str) -> Result<(), String> {
        let (condition, name) = (format!("--for=condition={condition}"), format!("job/{job}"));
        let ended = kubectl(self.bed, &["wait", &condition, &name, WITHIN]);
        ended.map(drop).map_err(|why| {
            let selector = format!("--selector=app={job}");
            let log = kubectl(self.bed, &["logs", "--tail=-1", &selector]);
            format!("{why}\n{}", log.unwrap_or_else(|why| why))
        })
    }

    /// Waits until the clients of a Job have begun with a phase.
    fn until_logged(&self, job: &str, line: &str) -> Result<(), String> {
        let begun = now();
        let selector = format!("--selector=app={job}");
        while since(begun) < 60.0 {
            // There is no log before the container runs.
            let log = kubectl(self.bed, &["logs", "--tail=-1", &selector]).unwrap_or_default();
            if log.contains(line) {
                pause(1.5);
                return Ok(());
            }
            pause(0.2);
        }
        Err(format!("no pod of {job} said `{line}` in a minute"))
    }

    /// Returns the throughput that each client has printed.
    fn throughputs(&self) -> Result<Vec<f64>, String> {
        let log = kubectl(self.bed, &["logs", "--tail=-1", "--selector=app=ycsb"])?;
        let lines =
            [":: Running YCSB-F benchmark", ":: Completed Experiment", ":: Median Latency: "];
        has(&log, &lines)?;
        let words = log.lines().filter_map(|line| {
            let (_, behind) = line.split_once(":: Average Throughput: ")?;
            behind.strip_suffix(" Mops/sec")?.parse().ok()
        });
        let found: Vec<f64> = words.collect();
        match found.len() == 2 && found.iter().all(|throughput| 0.0 < *throughput) {
            true => Ok(found),
            false => Err(format!("{found:?} are not the throughputs of two clients:\n{log}")),
        }
    }

    /// Lets both servers take a checkpoint, so that all keys are durable.
    fn checkpoint(&self) -> Result<(), String> {
        let addresses = self.addresses()?;
        addresses.split(',').try_for_each(|address| {
            let mut command = self.bed.benchwright(&["kv", "checkpoint", address]);
            self.bed.cluster.output(&mut command).map(drop)
        })
    }

    /// Reads every key once.
    fn verify(&self) -> Result<(), String> {
        let mut command = self.bed.benchwright(&["ycsb", "run", "kv", "-threads", "64"]);
        for property in [
            "workload=site.ycsb.workloads.CoreWorkload",
            "kv.keys=integer",
            "fieldcount=1",
            "fieldlength=6",
            "requestdistribution=sequential",
            "readproportion=1",
            "updateproportion=0",
            &format!("recordcount={KEYS}"),
            &format!("operationcount={KEYS}"),
            &format!("kv.servers={}", self.addresses()?),
        ] {
            command.args(["-p", property]);
        }
        let printed = self.bed.cluster.output(&mut command)?;
        has(&printed, &[&format!("[READ], Return=OK, {KEYS}\n")])
    }

    /// Kills a pod, and waits until it is there again with what its checkpoint has.
    fn kill(&self, pod: &str) -> Result<(), String> {
        let uid = ["get", "pod", pod, "--output=jsonpath={.metadata.uid}"];
        let before = kubectl(self.bed, &uid)?;
        kubectl(self.bed, &["delete", "pod", pod, "--grace-period=0", "--force"])?;
        let begun = now();
        while kubectl(self.bed, &uid).is_ok_and(|uid| uid == before) && since(begun) < 30.0 {
            pause(0.2);
        }
        self.until_ready()?;
        let log = kubectl(self.bed, &["logs", pod])?;
        has(&log, &["Recovered checkpoint ", "ready ", "recovered="])?;
        match log.contains("recovered=none") {
            true => Err(format!("{pod} has recovered nothing:\n{log}")),
            false => Ok(()),
        }
    }

    /// Returns what the clients say of a server that died: when it did so decides whether operations failed, had no
    /// answer before the end, or were never sent.
    fn dies_while_running(&self) -> Result<String, String> {
        self.create("ycsb", KEYS, MANY_SECONDS)?;
        self.until_logged("ycsb", "Running YCSB-F benchmark")?;
        self.kill("servers-1")?;
        self.until("ycsb", "failed")?;
        let log = kubectl(self.bed, &["logs", "--tail=-1", "--selector=app=ycsb"])?;
        has(&log, &[":: Completed Experiment"])?;
        let told = log.lines().filter_map(|line| line.strip_prefix("run: "));
        let told: Vec<&str> =
            told.filter(|line| ENDS.iter().any(|end| line.ends_with(end))).collect();
        match told.is_empty() {
            true => Err(format!("none of {ENDS:?} is in:\n{log}")),
            false => Ok(told.join(", ")),
        }
    }

    fn dies_while_filling(&self) -> Result<(), String> {
        self.name_servers()?;
        self.create("load", MANY_KEYS, SECONDS)?;
        self.until_logged("load", "Filling data into the server")?;
        self.kill("servers-0")?;
        self.until("load", "failed")?;
        let log = kubectl(self.bed, &["logs", "job/load"])?;
        // What was on its way may have been answered before the end.
        has(&log, &["the fill has ended early", " keys were not written"])
    }
}

/// Removes what was made by hand.
fn remove(bed: &Bed) -> Result<(), String> {
    let gone = ["--ignore-not-found", WITHIN];
    let delete = |words: &[&str]| kubectl(bed, &[&["delete"], words, &gone].concat()).map(drop);
    delete(&["job", "load", "ycsb"])?;
    delete(&["secret", "servers"])?;
    delete(&["--filename", SERVERS])?;
    delete(&["pvc", "--selector=app=servers"])
}

/// The sizes of the experiment, so that it takes seconds.
const SIZES: [&str; 5] = [
    LOAD_NODES,
    "vars.records=10000",
    "where.cluster.generator={cpu_limit: 0.25, memory_limit: 256MiB}",
    "phases={warm_up: {fixed: 500ms}, measure: {time: 3s}, drain: 1s}",
    SLO,
];
/// Loads with a verdict that a disturbed machine keeps, and one for a finding.
const SHORT: [&str; 2] =
    ["searches=null", "search={strategy: sweep, range: [200/s, 600/s], step: 200/s}"];
const LONG: [&str; 2] =
    ["searches=null", "search={strategy: sweep, range: [200/s, 4000/s], step: 400/s}"];
const ONE_RATE: [&str; 3] = ["searches=null", "load.rate=400/s", "repeat.trials=1"];

fn settings<'a>(bed: &Bed) -> Vec<&'a str> {
    let load = if bed.is_long { LONG } else { SHORT };
    [&SIZES[..], &load].concat()
}

/// The servers of the same file, filled, verified and measured by two generators: what both have measured is one load.
fn experiment(bed: &Bed) -> Result<String, String> {
    let out = bed.run_anyhow("kv", &words("experiments/kv-ycsb.yaml", &settings(bed)))?;
    let mut measured = 0;
    for (number, whole) in super::loads(&out)? {
        let parts = parts_of(&out.join(format!("trials/{number}")))?;
        let sum = |of: super::Count| parts.values().map(of).sum::<u64>();
        for (name, of) in super::COUNTS {
            if parts.len() != 2 || of(&whole) != sum(of) {
                let (whole, sum) = (of(&whole), sum(of));
                return Err(format!(
                    "trial {number}: {name} {whole} of {} parts, {sum}",
                    parts.len()
                ));
            }
        }
        measured += whole.total.counts.completed;
    }
    let summary = summary(&out)?;
    match summary.contains("capacity") {
        true => {
            Ok(format!("an experiment of {measured} operations: {}", summary.replace('\n', " ")))
        }
        false => Err(format!("the experiment has no verdict: {summary}")),
    }
}

/// A trial that is long enough to be disturbed, and few others: of interest is what the disturbed one says.
const DISTURBED: [&str; 2] = [
    "phases.measure.time=8s",
    "budget={trials: 2, invalid_attempts: 3, time: 2m, disturbance: 30s}",
];

/// A server that dies in a trial is a finding, and the next trial has a new one.
fn dying(bed: &Bed) -> Result<String, String> {
    let out = bed.results("kv-dying");
    let settings = [&SIZES[..], &ONE_RATE, &DISTURBED].concat();
    let mut command = bed.benchwright(&["run"]);
    command.args(words("experiments/kv-ycsb.yaml", &settings)).arg("--out").arg(&out);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let runner = command.spawn().map_err(|error| format!("starting benchwright: {error}"))?;
    let pod = ["delete", "pod", "servers-1", "--grace-period=0", "--force"];
    let killed = failures::until_loaded(bed)
        .and_then(|()| kubectl(bed, &[&pod[..], &["--namespace=benchwright"]].concat()));
    let ended = runner.wait_with_output().map_err(|error| format!("awaiting it: {error}"))?;
    killed?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let found = finding(&out);
    match (ended.status.code(), found) {
        (Some(0 | 1 | 3), Some(found)) if out.join("answer.json").exists() => Ok(found),
        (code, found) => Err(format!("ended with {code:?}, found {found:?}: {said}")),
    }
}

/// Returns what the journal says of the server that died.
fn finding(out: &Path) -> Option<String> {
    let reasons = failures::reasons(out);
    let of_server = reasons.split("\",\"").find(|reason| reason.contains("servers.2"))?;
    Some(of_server.trim_matches(['[', '"']).to_owned())
}

fn kubectl(bed: &Bed, words: &[&str]) -> Result<String, String> {
    bed.cluster.kubectl(words)
}

/// Checks that a text has all of these.
fn has(text: &str, parts: &[&str]) -> Result<(), String> {
    match parts.iter().find(|part| !text.contains(**part)) {
        None => Ok(()),
        Some(part) => Err(format!("`{part}` is missing in:\n{text}")),
    }
}
