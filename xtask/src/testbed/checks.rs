//! The checks that need a real cluster. All run on one, and leave it as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use measure::Nanos;
use results::components::{self, Components};
use results::journal::{Entry, Purpose};
use results::{Directory, Load};
use serde_json::Value;

use super::cluster::{Cluster, differences};
use super::{Standing, benchwright, up};
use crate::bench::machine::{self, now};
use crate::journal;
use crate::programs::Build;

mod channel;
mod doctor;
mod failures;
mod kill;
mod kv;
pub(super) mod rights;
mod social;
mod users;

/// The cluster of a check, and the programs that its image was made of.
pub(super) struct Bed {
    cluster: Cluster,
    benchwright: PathBuf,
    /// A folder for results.
    folder: PathBuf,
    /// True for as many repetitions as a figure needs; false for as many as find a fault.
    is_long: bool,
}

struct Check {
    name: &'static str,
    /// The property that it shows, in a line.
    shows: &'static str,
    /// Returns its figures in words.
    run: fn(&Bed) -> Result<String, String>,
}

const CHECKS: [Check; 14] = [
    Check { name: "contract", shows: "the backend does what every backend must do", run: contract },
    Check { name: "charts", shows: "helm and the API server accept our charts", run: charts },
    Check { name: "guide", shows: "guide 1's own command lines work", run: guide },
    Check { name: "doctor", shows: "the checks find faults that are made", run: doctor::run },
    Check { name: "parts", shows: "three generators make one load", run: parts },
    Check { name: "overhead", shows: "what a trial takes beside its phases", run: overhead },
    Check { name: "hotel", shows: "guide 1 ends with an answer and leaves nothing", run: hotel },
    Check {
        name: "users",
        shows: "guide 4: levels are scaled by the API, and two counts of CPU agree",
        run: users::run,
    },
    Check {
        name: "social",
        shows: "guide 2: its steps from one file; what is changed is undone",
        run: social::run,
    },
    Check {
        name: "channel",
        shows: "guide 3: four stages from one file, with CPUs of their own at the last",
        run: channel::run,
    },
    Check {
        name: "kv",
        shows: "guide 5: its lines by hand, from one file, and with a server that dies",
        run: kv::run,
    },
    Check {
        name: "failures",
        shows: "each failure of the cluster has its outcome",
        run: failures::run,
    },
    Check {
        name: "rights",
        shows: "deploy/rbac.yaml has the rights that a runner uses, and no other",
        run: rights::run,
    },
    Check { name: "kill", shows: "a killed runner loses and leaves nothing", run: kill::run },
];

/// The checks that find faults soon, and on a machine that is disturbed.
const SHORT: [&str; 7] = ["contract", "charts", "guide", "doctor", "parts", "kv", "rights"];
/// The longest time in which the cluster removes what belonged to something removed.
const UNTIL_REMOVED_S: f64 = 30.0;
/// The words that are no names.
const WORDS: [&str; 2] = ["--long", "--short"];

/// Prints the checks.
pub(super) fn list() -> Result<(), String> {
    CHECKS.iter().for_each(|Check { name, shows, .. }| println!("{name:<10} {shows}"));
    Ok(())
}

/// Returns true if each of the words is the name of a check, or an option.
pub(super) fn are_known(words: &[&str]) -> bool {
    let is_name = |word: &str| CHECKS.iter().any(|check| check.name == word);
    words.iter().all(|word| WORDS.contains(word) || is_name(word))
}

/// Runs the checks of these names, or all; `--long` among them makes them long, and `--short` stands
/// for the names of the short ones.
pub(super) fn run(words: &[&str]) -> Result<(), String> {
    let is_long = words.contains(&"--long");
    let mut names: Vec<&str> = words.iter().copied().filter(|word| !WORDS.contains(word)).collect();
    if words.contains(&"--short") {
        names.extend(SHORT);
    }
    let standing = Standing::now();
    let build = if is_long { Build::Release } else { Build::Tests };
    up(build)?;
    let folder = std::env::temp_dir().join(format!("xtask-testbed-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let benchwright = benchwright(build)?;
    let bed = Bed { cluster: Cluster::running()?, benchwright, folder, is_long };
    let mut failed = Vec::new();
    for Check { name, run, .. } in &CHECKS {
        if !names.is_empty() && !names.contains(name) {
            continue;
        }
        println!("\n── {name}");
        match bed.left_nothing(run) {
            Ok(figures) => println!("{name}: ok: {figures}"),
            Err(why) => {
                println!("{name}: FAILED: {why}");
                failed.push(*name);
            }
        }
    }
    // What a failed check has left in it may explain why.
    if failed.is_empty() {
        let _ = fs::remove_dir_all(&bed.folder);
    }
    standing.end()?;
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(format!("{}; results: {}", failed.join(", "), bed.folder.display())),
    }
}

impl Bed {
    /// Runs a check, and looks at what it left on the cluster, which removes the volume of a claim after it.
    fn left_nothing(&self, check: &fn(&Bed) -> Result<String, String>) -> Result<String, String> {
        let before = self.cluster.objects()?;
        let figures = check(self)?;
        let begun = now();
        loop {
            match differences(&before, &self.cluster.objects()?).as_slice() {
                [] => return Ok(figures),
                left if UNTIL_REMOVED_S < since(begun) => {
                    return Err(format!("{figures}\n  and left:\n  {}", left.join("\n  ")));
                }
                _ => pause(0.5),
            }
        }
    }

    /// Returns a command of our program, which is interrupted if the checks are killed: otherwise its
    /// lease would refuse the next ones.
    fn benchwright(&self, words: &[&str]) -> Command {
        let mut command = self.cluster.command("setpriv");
        command.args(["--pdeathsig", "INT", "--"]).arg(&self.benchwright);
        command.args(words).stdin(Stdio::null());
        command
    }

    /// Returns a fresh folder for the results of a run.
    fn results(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        // The first time there is nothing to remove.
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    /// Writes a file for kubectl; returns its path.
    fn file(&self, name: &str, text: &str) -> Result<String, String> {
        let file = self.folder.join(name);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file.display().to_string())
    }

    /// Runs an experiment to its answer; returns its results.
    fn run(&self, name: &str, words: &[&str]) -> Result<PathBuf, String> {
        let out = self.results(name);
        let mut command = self.benchwright(&["run"]);
        command.args(words).arg("--out").arg(&out);
        self.cluster.output(&mut command)?;
        Ok(out)
    }
}

impl Bed {
    /// Runs an experiment to its end, on a machine that may be disturbed: what is looked at is the
    /// same in trials that are not valid.
    fn run_anyhow(&self, name: &str, words: &[&str]) -> Result<PathBuf, String> {
        let out = self.results(name);
        let mut command = self.benchwright(&["run"]);
        command.args(words).arg("--out").arg(&out);
        let output = command.output().map_err(|error| format!("starting benchwright: {error}"))?;
        match output.status.code() {
            Some(0 | 1 | 3) if out.join("answer.json").exists() => Ok(out),
            code => Err(format!("{code:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// Returns what a trial wrote about its components, by the names of their pods.
fn components_of(out: &Path, trial: u32) -> Result<Components, String> {
    let document = document(&out.join(format!("trials/{trial}/{}", components::FILE)))?;
    serde_json::from_value(document).map_err(|error| format!("trial {trial}: {error}"))
}

/// Returns a check that a run made after the load of a trial.
fn check_of(out: &Path, trial: u32, id: &str) -> Result<Value, String> {
    let doctor = document(&out.join(format!("trials/{trial}/doctor.json")))?;
    let mut checks = doctor["checks"].as_array().into_iter().flatten();
    let check = checks.find(|check| check["id"] == id);
    check.cloned().ok_or_else(|| format!("trial {trial} has no check {id}"))
}

fn document(path: &Path) -> Result<Value, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn contract(bed: &Bed) -> Result<String, String> {
    // The build of the tests, in which continuous integration has it already.
    if !Build::Tests.make() {
        return Err("it could not be built".to_owned());
    }
    let program = Build::Tests.program("examples/contract")?;
    let mut command = bed.cluster.command(&program.display().to_string());
    bed.cluster.output(command.arg("experiments/hello.yaml"))?;
    Ok("kept".to_owned())
}

const CHART: &str = "deploy/charts/hotel";
const USERS: &str = "deploy/charts/users";
const SOCIAL: &str = "deploy/charts/social";
const REDIS: &str = "deploy/charts/redis";
const CONTAINER: &str = "deploy/charts/container";

/// The charts with every value that adds or changes objects.
const CHARTS: [(&str, &str); 10] = [
    (CHART, ""),
    (
        CHART,
        "memcached.enabled=true,persistentVolume.enabled=true,postgres.address=db:5432,replicaCount=3",
    ),
    (USERS, ""),
    (
        USERS,
        "health=own,overload=refuse,balancer.service.type=NodePort,balancer.service.nodePort=30400",
    ),
    (SOCIAL, ""),
    (
        SOCIAL,
        "redis.master=redis-master:6379,redis.replicas=redis-replicas:6379,memcached.enabled=true,\
         global.replicas=2,home-timeline.replicas=3,persistentVolume.enabled=true",
    ),
    (REDIS, ""),
    (REDIS, "replica.replicaCount=6,master.persistence.enabled=false,auth.enabled=false"),
    (CONTAINER, "image=registry.example/shop:1.4"),
    (
        CONTAINER,
        "image=registry.example/shop:1.4,port=80,replicaCount=3,command={/shop},args={-v},\
         environment.LEVEL=3,runAsUser=1000,readyPath=/healthz,resources.limits.cpu=1",
    ),
];

fn charts(bed: &Bed) -> Result<String, String> {
    let mut objects = 0;
    for (chart, set) in CHARTS {
        bed.cluster.helm(&["lint", "--strict", chart, "--set", set])?;
        let text = bed.cluster.helm(&[
            "template",
            "test",
            chart,
            "--namespace",
            "default",
            "--set",
            set,
        ])?;
        let file = bed.file("chart.yaml", &text)?;
        let dry = ["apply", "--dry-run=server", "--namespace", "default", "--filename", &file];
        objects += bed.cluster.kubectl(&dry)?.lines().count();
    }
    let rights = ["apply", "--dry-run=client", "--filename"];
    for file in ["deploy/rbac.yaml", "deploy/runner.yaml"] {
        bed.cluster.kubectl(&[&rights[..], &[file]].concat())?;
    }
    Ok(format!("{objects} objects"))
}

/// The instances of guide 1 that two CPUs carry.
const INSTANCES: [&str; 2] = ["hotel-res1", "hotel-res2"];

fn guide(bed: &Bed) -> Result<String, String> {
    let mut urls = Vec::new();
    for namespace in INSTANCES {
        bed.cluster.helm(&[
            "install",
            "test",
            CHART,
            "--create-namespace",
            "--wait",
            "--set",
            "replicaCount=1",
            "--set",
            "image.repository=local/benchwright",
            "--set",
            concat!("image.tag=", env!("CARGO_PKG_VERSION")),
            "--set",
            "features.gcPercent=1000",
            "--set",
            "features.memcTimeout=10",
            "-n",
            namespace,
        ])?;
        let node = bed.cluster.kubectl(&[
            "get",
            "nodes",
            "--selector=!node-role.kubernetes.io/master",
            "-o",
            "jsonpath={.items[0].status.addresses[0].address}",
        ])?;
        let port = bed.cluster.kubectl(&[
            "get",
            "--namespace",
            namespace,
            "-o",
            "jsonpath={.spec.ports[0].nodePort}",
            "services",
            "frontend-test-hotelres",
        ])?;
        urls.push(format!("http://{node}:{port}"));
    }
    let mut wrk2 = bed.benchwright(&["wrk2", "-D", "exp", "-L", "-s"]);
    wrk2.args(["experiments/hotel-mixed.lua", "-t", "2", "-c", "32", "-d", "15", "-R", "200"]);
    let printed = bed.cluster.output(wrk2.args(&urls));
    for namespace in INSTANCES {
        bed.cluster.helm(&["uninstall", "test", "--wait", "-n", namespace])?;
        bed.cluster.kubectl(&["delete", "namespace", namespace])?;
    }
    let printed = printed?;
    let line = printed.lines().rev().find(|line| line.contains("Requests/sec"));
    match line {
        Some(line) if !printed.contains("Non-2xx") => Ok(line.trim().to_owned()),
        _ => Err(printed),
    }
}

/// An SLO that a disturbed machine keeps: its trials are not repeated.
const SLO: &str = "slo=[{metric: p99, max: 2s}, {metric: failures, max: 1%}]";

/// Returns the words of a run of `hello.yaml` on the cluster.
fn hello<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    words("experiments/hello.yaml", &[&[SLO], settings].concat())
}

/// Returns the words of a run on the cluster.
fn words<'a>(spec: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    [spec, "--profile", "cluster"].into_iter().chain(settings).collect()
}

/// The number of loads whose start is measured.
const LOADS: usize = 10;

fn parts(bed: &Bed) -> Result<String, String> {
    let trials = format!("repeat.trials={LOADS}");
    let settings = [
        "search=null",
        "load.rate=300/s",
        "where.roles.load.nodes=kubernetes.io/os=linux",
        "where.cluster.generator.cpu_limit=0.25",
        &trials,
    ];
    let out = bed.run_anyhow("parts", &hello(&settings))?;
    let mut spreads = Vec::new();
    for (number, whole) in loads(&out)? {
        let folder = out.join(format!("trials/{number}"));
        let parts = parts_of(&folder)?;
        if parts.len() != 3 {
            return Err(format!("trial {number} has {} parts", parts.len()));
        }
        let sum = |of: fn(&Load) -> u64| parts.values().map(of).sum::<u64>();
        for (name, of) in COUNTS {
            if of(&whole) != sum(of) {
                return Err(format!("trial {number}: {name} {} of {}", of(&whole), sum(of)));
            }
        }
        let start = |load: &Load| load.clock.as_ref().map(|clock| clock.start_ns);
        let starts: Vec<u64> = parts.values().filter_map(start).collect();
        let (first, last) = (starts.iter().min(), starts.iter().max());
        let spread = last.zip(first).ok_or("a part has no clock")?;
        spreads.push(Nanos(spread.0 - spread.1));
    }
    spreads.sort();
    let median = spreads[spreads.len() / 2];
    let (least, most) = (spreads[0], spreads[spreads.len() - 1]);
    let figures = format!(
        "{} loads, starts within {median} (median; {least} to {most}), counts are sums",
        spreads.len()
    );
    match median <= Nanos::from_millis(50) {
        true => Ok(figures),
        false => Err(figures),
    }
}

type Count = fn(&Load) -> u64;

/// The counts of a load that are sums of its parts'.
const COUNTS: [(&str, Count); 3] = [
    ("intended", |load| load.total.counts.intended),
    ("completed", |load| load.total.counts.completed),
    ("recorded", |load| load.total.response_time.as_ref().map_or(0, |times| times.count)),
];

/// Returns the journal of a run.
fn entries(out: &Path) -> Result<Vec<Entry>, String> {
    Directory::open(out).and_then(|folder| folder.journal()).map_err(|error| error.to_string())
}

/// Returns the trials of a run that are answers.
fn answers(out: &Path) -> Result<Vec<Entry>, String> {
    let is_answer = |entry: &Entry| entry.purpose == Purpose::Trial && entry.status.answers();
    Ok(entries(out)?.into_iter().filter(is_answer).collect())
}

/// Returns the loads of all trials, by number.
fn loads(out: &Path) -> Result<BTreeMap<u32, Load>, String> {
    let load = |number: u32| {
        read(&out.join(format!("trials/{number}/load.json"))).map(|load| (number, load))
    };
    entries(out)?.iter().map(|entry| load(entry.trial)).collect()
}

/// Returns the documents of a trial's generators by their nodes.
fn parts_of(folder: &Path) -> Result<BTreeMap<String, Load>, String> {
    let files = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let parts = files.flatten().filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let node = name.strip_prefix("load.")?.strip_suffix(".json")?.to_owned();
        Some(read(&file.path()).map(|load| (node, load)))
    });
    parts.collect()
}

fn read(path: &Path) -> Result<Load, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Load::read(&bytes).map_err(|why| format!("{}: {why}", path.display()))
}

fn overhead(bed: &Bed) -> Result<String, String> {
    let measured = |name: &str, trials: &str| {
        let begun = now();
        let settings = ["search=null", "load.rate=300/s", trials];
        let out = bed.run_anyhow(name, &hello(&settings))?;
        let took = since(begun);
        Ok::<_, String>((took, journal::count(&journal::read(&out)) as f64))
    };
    let (one, trials_of_one) = measured("one", "repeat.trials=1")?;
    let (many, trials_of_many) = measured("many", "repeat.trials=10")?;
    // The rest is what both have in common.
    let each = (many - one) / (trials_of_many - trials_of_one) - PHASES_S;
    let figures = format!("{each:.2} s a trial; {one:.1} s for a run of {trials_of_one}");
    match each <= MOST_OVERHEAD_S {
        true => Ok(figures),
        false => Err(figures),
    }
}

/// The longest time that a trial may take beside its phases.
const MOST_OVERHEAD_S: f64 = 2.0;
/// The phases of `hello.yaml`.
const PHASES_S: f64 = 3.0;

fn hotel(bed: &Bed) -> Result<String, String> {
    let ci = ["experiments/hotel.yaml", "--profile", "cluster", "--profile", "ci"];
    summary(&bed.run("hotel", &ci)?)
}

/// Returns the answer of a run in words.
fn summary(out: &Path) -> Result<String, String> {
    let directory = Directory::open(out).map_err(|error| error.to_string())?;
    let answer = directory.answer().map_err(|error| error.to_string())?;
    Ok(answer.map(|answer| answer.summary).unwrap_or_default())
}

fn since(begun: std::time::Instant) -> f64 {
    machine::since(begun).as_secs_f64()
}

fn pause(seconds: f64) {
    machine::sleep(Nanos::from_secs_f64(seconds));
}
