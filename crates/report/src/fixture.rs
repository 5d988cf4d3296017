//! A results directory of a sweep into saturation, generated from seeded randomness.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use measure::{Histogram, Nanos, Random};
use results::answer::{Answer, Capacity, Maximum, Verdict};
use results::components::{Component, mean};
use results::directory::Readers;
use results::environment::Node;
use results::journal::{Connections, Entry, Observed, Purpose, Status};
use results::load::{
    Counts, Gate, GateName, Interval, Load, Pacing, Part, Rates, Target, Validity,
};
use results::manifest::{Manifest, State};
use results::{
    Components, Directory, Environment, Little, Times, answer, components, failing, manifest, slo,
};
use tempfile::TempDir;

mod levels;
mod path;

pub(crate) use path::PATH;

/// The highest rate that the fixture's application completes.
const LIMIT_PER_S: f64 = 3_712.0;
const SECONDS: usize = 5;

/// A results directory that is removed on drop.
pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) directory: Directory,
    pub(crate) entries: Vec<Entry>,
    /// True if the trials measure 34 components with self-reported statistics.
    pub(crate) microservices: bool,
}

impl Fixture {
    /// A directory without trials.
    pub(crate) fn new(change: impl FnOnce(&mut Manifest)) -> Fixture {
        let mut manifest = manifest();
        change(&mut manifest);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hotel-2026-11-21-0942");
        let directory =
            Directory::create(&path, Readers::Owner, &manifest, SPEC, &environment()).unwrap();
        // The tests change figures in the journal, or in the loads.
        let directory = directory.believing_its_journal();
        Fixture { folder, directory, entries: Vec::new(), microservices: false }
    }

    /// A finished sweep: a probe, valid trials into saturation, one invalid and one aborted.
    pub(crate) fn sweep() -> Fixture {
        let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
        fixture.unfinished_sweep();
        fixture.directory.write_answer(&fixture.answer(Verdict::Answered)).unwrap();
        fixture
    }

    /// Adds the trials of that sweep, without its answer.
    pub(crate) fn unfinished_sweep(&mut self) {
        self.push(3_900.0, |entry| entry.purpose = Purpose::Probe);
        let mut rate = 2_400.0;
        for index in 0..17 {
            match index {
                6 => self.push(rate, |entry| {
                    entry.status = Status::Invalid;
                    entry.reasons = vec![
                        "generator late: lateness p99 1.90 ms, bound 0.49 ms (host paused 24 ms)"
                            .into(),
                    ];
                }),
                13 => self.abort(rate),
                _ => {}
            }
            self.push(rate, |_| {});
            rate = (rate * 1.05_f64).round();
        }
    }

    /// Adds a trial measured at this rate, after `change` has modified its entry.
    pub(crate) fn push(&mut self, offered: f64, change: impl FnOnce(&mut Entry)) {
        self.push_at(LIMIT_PER_S, offered, change);
    }

    /// Adds a trial of an application that completes at most `limit_per_s`.
    fn push_at(&mut self, limit_per_s: f64, offered: f64, change: impl FnOnce(&mut Entry)) {
        let number = self.entries.len() as u32 + 1;
        let load = measured_at(limit_per_s, u64::from(number), offered);
        let mut entry = entry(number, offered);
        let mut observed = observed(&load, number, limit_per_s);
        if self.microservices {
            let components = microservices((offered / LIMIT_PER_S).min(0.98));
            let used = |(name, c): (String, Component)| (name, mean(c.cpu).unwrap());
            observed.cpu = components.into_iter().map(used).collect();
        }
        entry.observed = Some(observed);
        if 0.97 * offered > load.total.rates_per_s.completed {
            entry.findings = vec!["saturated: completed no longer follows offered".into()];
        }
        change(&mut entry);
        let folder = self.directory.trial_path(number);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("load.json"), serde_json::to_vec(&load).unwrap()).unwrap();
        fs::write(folder.join("components.json"), self.components(offered)).unwrap();
        self.append(entry);
    }

    /// Instances and replicas of a whole application if the fixture is one, otherwise two
    /// components.
    fn components(&self, offered: f64) -> Vec<u8> {
        let share = (offered / LIMIT_PER_S).min(0.98);
        let hotel = component("hotel", [share, share * 0.99, share, share, share]);
        let generator = component("generator", [0.31, 0.32, 0.3, 0.31, 0.31]);
        let mut components =
            BTreeMap::from([("hotel".to_owned(), hotel), ("generator".to_owned(), generator)]);
        if self.microservices {
            components = microservices(share);
        }
        let document = Components {
            schema: components::SCHEMA.into(),
            interval_s: 1.0,
            roles: BTreeMap::from([("sut".into(), 1.0)]),
            outstanding: vec![Some(130.0); SECONDS],
            components,
            speed: BTreeMap::from([(0, speed())]),
            machine: Some(machine()),
            events: vec![components::Event {
                from_s: 1.0,
                to_s: 2.0,
                text: "Pod hotel-0: Unhealthy: readiness probe <failed>".into(),
            }],
            monitors: monitors(share),
        };
        serde_json::to_vec(&document).unwrap()
    }

    fn abort(&mut self, offered: f64) {
        let number = self.entries.len() as u32 + 1;
        let reasons = vec![
            "hotel ended with signal 9; its last lines:\nlistening on 127.0.0.1\nkilled".into(),
        ];
        self.append(Entry { status: Status::Aborted, reasons, ..entry(number, offered) });
    }

    /// Adds many trials that share one measurement, to test their number. Only as many have a
    /// folder as the tables show.
    pub(crate) fn repeat(&mut self, times: u32) {
        self.push(2_400.0, |_| {});
        let first = self.entries[0].clone();
        let document = fs::read(self.directory.trial_path(1).join("load.json")).unwrap();
        let mut lines = serde_json::to_string(&first).unwrap() + "\n";
        for number in 2..=times {
            let mut entry = Entry { trial: number, ..first.clone() };
            let observed = entry.observed.as_mut().unwrap();
            observed.offered_per_s = 1_000.0 + f64::from(number) * 3.7;
            observed.completed_per_s = observed.offered_per_s * 0.999;
            observed.p99_ns = Some(4_000_000 + u64::from(number) * 7_919);
            entry.asked_per_s = Some(observed.offered_per_s);
            entry.asked_per_target_per_s = entry.asked_per_s;
            entry.findings = vec!["completed follows offered".into()];
            if number <= crate::table::MOST_ROWS as u32 {
                let folder = self.directory.trial_path(number);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("load.json"), &document).unwrap();
            }
            lines += &(serde_json::to_string(&entry).unwrap() + "\n");
            self.entries.push(entry);
        }
        fs::write(self.directory.path().join("journal.jsonl"), lines).unwrap();
    }

    pub(crate) fn answer(&self, verdict: Verdict) -> Answer {
        let valid = || {
            self.entries
                .iter()
                .filter(|e| e.status == Status::Valid && e.purpose == Purpose::Trial)
                .map(|e| (e.trial, e.observed.as_ref().unwrap()))
        };
        let maximum =
            valid().max_by(|a, b| a.1.completed_per_s.total_cmp(&b.1.completed_per_s)).unwrap();
        let capacity = valid()
            .filter(|(_, o)| o.slo_met == Some(true))
            .max_by(|a, b| a.1.offered_per_s.total_cmp(&b.1.offered_per_s))
            .unwrap();
        Answer {
            schema: answer::SCHEMA.into(),
            experiment: "hotel-max-throughput".into(),
            verdict,
            summary: "The application completes at most 3,712/s on one CPU; six loads above it \
                      brought no more."
                .into(),
            maximum_throughput: Some(Maximum {
                rate_per_s: maximum.1.completed_per_s,
                at_least: false,
                offered_per_s: maximum.1.offered_per_s,
                trial: maximum.0,
                sessions: false,
            }),
            capacity: Some(Capacity {
                rate_per_s: capacity.1.offered_per_s,
                at_least: false,
                completed_per_s: capacity.1.completed_per_s,
                trial: capacity.0,
                slo: "p99 ≤ 100 ms and failures ≤ 0.1 %".into(),
                missed_at_per_s: Some(3_724.0),
                missed_below_per_s: None,
                in_doubt: false,
                sessions: false,
            }),
            limited_by: Some("hotel, CPU 0.98 of 1".into()),
            stopped_by: "no_new_max: six loads above trial 10 completed no more than 1 % above it"
                .into(),
            levels: Vec::new(),
            searches: Vec::new(),
            reproducibility: Vec::new(),
            between_levels: Vec::new(),
            comparison: None,
            scaling: Vec::new(),
            validity: answer::Validity::of(&self.entries),
            resume: None,
            trials: self.entries.clone(),
            report: None,
        }
    }

    /// Appends without a sync, which `Writer` would do but a fixture does not need.
    fn append(&mut self, entry: Entry) {
        let path = self.folder.path().join("hotel-2026-11-21-0942/journal.jsonl");
        let mut journal = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        let line = serde_json::to_string(&entry).unwrap() + "\n";
        journal.write_all(line.as_bytes()).unwrap();
        self.entries.push(entry);
    }
}

const SPEC: &str = "name: hotel-max-throughput
about: How many requests a second does the hotel application complete, and up to which load does
  it answer within 100 ms?
where:
  backend: local
  roles: {sut: {cpus: \"0\"}, load: {cpus: \"1\"}}
load: {model: open, arrivals: poisson}
slo:
  - {metric: p99, max: 100ms}
  - {metric: failures, max: 0.1%}
search:
  strategy: sweep
  step: 5%
  stop: [{rule: no_new_max, window: 6, by: 1%}]
";

fn manifest() -> Manifest {
    Manifest {
        schema: "benchwright.results".into(),
        version: manifest::VERSION,
        tool: "benchwright 0.1.0".into(),
        experiment: "hotel-max-throughput".into(),
        about: Some(
            "How many requests a second does the hotel application complete, and up to which load \
             does it answer within 100 ms?"
                .into(),
        ),
        slo: slo::read("p99<=100ms,failures<=0.1%").unwrap(),
        profile: None,
        set: vec!["phases.measure.time=5s".into()],
        backend: "local".into(),
        seed: 8_271,
        key: "5f0c2f6a9c1f4d4e".into(),
        spec_folder: "experiments".into(),
        started_unix_s: Some(1_795_254_120),
        state: State::Open,
        resumed_after: Vec::new(),
        binaries: BTreeMap::from([
            ("benchwright".to_owned(), results::digest::sha256(b"one")),
            ("benchwright-apps".to_owned(), results::digest::sha256(b"two")),
        ]),
    }
}

fn environment() -> Environment {
    let node = Node {
        name: Some("bench-1".into()),
        kernel: Some("6.8.0".into()),
        distribution: Some("Debian GNU/Linux 13 (trixie)".into()),
        architecture: "x86_64".into(),
        cpu_model: Some("AMD EPYC".into()),
        cpus: 2,
        memory_bytes: Some(8 << 30),
        hypervisor: true,
        clock_source: Some("kvm-clock".into()),
        load_average: Some("0.42 0.30 0.11 2/212 4711".into()),
        ..Node::default()
    };
    Environment {
        nodes: vec![node],
        confinement: Some("cgroup v1".into()),
        roles: BTreeMap::from([("sut".into(), "0".into()), ("load".into(), "1".into())]),
        placement: BTreeMap::from([("hotel".into(), "0".into())]),
        ..Environment::default()
    }
}

/// A neighbour that takes a part of a CPU in the fourth second.
fn machine() -> components::Machine {
    let role = |stolen: [f64; SECONDS], foreign: [f64; SECONDS]| components::Disturbance {
        stolen: stolen.map(Some).to_vec(),
        foreign: foreign.map(Some).to_vec(),
    };
    components::Machine {
        pressure: [0.31, 0.3, 0.33, 0.62, 0.3].map(Some).to_vec(),
        roles: BTreeMap::from([
            ("load".into(), role([0.0; SECONDS], [0.01, 0.0, 0.02, 0.0, 0.01])),
            ("sut".into(), role([0.0, 0.0, 0.01, 0.18, 0.0], [0.0; SECONDS])),
        ]),
    }
}

/// The machine was slower by a third in the third second.
fn speed() -> components::Speed {
    let sweep = [2_800.0, 2_800.0, 4_200.0, 2_800.0, 2_800.0].map(Some).to_vec();
    components::Speed { cpu_share: 0.001, work_ns: BTreeMap::from([("sweep".into(), sweep)]) }
}

fn entry(trial: u32, asked: f64) -> Entry {
    Entry {
        trial,
        key: "5f0c2f6a9c1f4d4e".into(),
        purpose: Purpose::Trial,
        cell: None,
        search: None,
        strand: None,
        block: None,
        asked_per_s: Some(asked),
        asked_per_target_per_s: Some(asked),
        why: None,
        bounds: None,
        repetition: 1,
        attempt: 1,
        waited: None,
        warmed_up_ns: None,
        slow_machine: None,
        seed: u64::from(trial),
        status: Status::Valid,
        reasons: Vec::new(),
        observed: None,
        slo: Vec::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
        disturbed: Vec::new(),
        fingerprint: None,
        unread: Vec::new(),
        files: BTreeMap::new(),
    }
}

fn observed(load: &Load, trial: u32, limit_per_s: f64) -> Observed {
    let total = &load.total;
    let times = total.response_time.as_ref().unwrap();
    let share = (total.rates_per_s.completed / limit_per_s).min(0.98);
    Observed {
        generator: None,
        offered_per_s: total.rates_per_s.offered,
        completed_per_s: total.rates_per_s.completed,
        sustained_per_s: total.rates_per_s.completed.min(total.rates_per_s.offered),
        goodput_per_s: total.rates_per_s.goodput,
        succeeded_per_s: total.rates_per_s.succeeded,
        operations_per_s: None,
        ended_after_ns: None,
        requests: total.counts.intended,
        failures: total.counts.failed,
        unfinished: Some(total.counts.unfinished),
        failing: failing::of(load),
        labels: Vec::new(),
        p50_ns: Some(times.p50_ns),
        p90_ns: Some(times.p90_ns),
        p99_ns: Some(times.p99_ns),
        p999_ns: Some(times.p999_ns),
        max_ns: Some(times.max_ns),
        lateness_p99_ns: Some(48_000 + u64::from(trial) * 1_100),
        hiccup_p99_ns: Some(71_000 + u64::from(trial) * 900),
        delivery: None,
        little: Little::of(load),
        connections: Connections::of(load),
        transport: Vec::new(),
        slo_met: Some(times.p99_ns <= 100_000_000),
        generator_bound: false,
        rests_on_unfinished: false,
        sessions: false,
        sessions_per_s: None,
        lacks_connections: false,
        opening_ns: None,
        saturated: limit_per_s < total.rates_per_s.offered,
        bytes_per_answer: Some(433.5),
        bytes_per_operation: None,
        cpu: BTreeMap::from([("hotel".into(), share), ("generator".into(), 0.31)]),
        cpu_unknown: 0,
        // The machine was a quarter slower in the fourth trial.
        monitored: monitors(0.5).iter().flat_map(components::Monitored::means).collect(),
        work_ns: BTreeMap::from([("sweep".into(), if trial == 4 { 3_500.0 } else { 2_800.0 })]),
        foreign_most: None,
        stolen_most: None,
        limited_by: None,
        limit: None,
    }
}

/// The measurements of a queue in front of a server of limited rate.
pub(crate) fn measured(seed: u64, offered: f64) -> Load {
    measured_at(LIMIT_PER_S, seed, offered)
}

fn measured_at(limit_per_s: f64, seed: u64, offered: f64) -> Load {
    let mut random = Random::new(seed);
    let noise = 1.0 + (random.unit() - 0.5) * 0.004;
    // Above its limit a server completes less the more is offered.
    let decline = 1.0 - 0.03 * (offered / limit_per_s - 1.0).max(0.0);
    let completed = offered.min(limit_per_s * 0.998 * noise * decline);
    let growth_s = (offered / completed - 1.0) * SECONDS as f64;
    let load_share = (offered / limit_per_s).min(0.995);
    let (mut response, mut service) = (Histogram::new(), Histogram::new());
    let mut seconds = vec![Histogram::new(); SECONDS];
    let requests = (offered * SECONDS as f64) as u64;
    for index in 0..requests {
        let progress = index as f64 / requests as f64;
        let work_s = 2e-4 + random.exponential(1.5e-4);
        let wait_s = random.exponential(2.5e-4 / (1.0 - load_share)) + growth_s * progress;
        service.record(Nanos::from_secs_f64(work_s));
        let waited = Nanos::from_secs_f64(work_s + wait_s);
        response.record(waited);
        seconds[((progress * SECONDS as f64) as usize).min(SECONDS - 1)].record(waited);
    }
    let all = (completed * SECONDS as f64) as u64;
    // A part of what was in progress began before.
    let mean_s = response.mean().unwrap_or_default().as_secs_f64();
    let in_progress = Some(1.02 * offered * mean_s);
    let part = Part {
        counts: Counts {
            intended: requests,
            sent: all,
            completed: all,
            ok: all,
            unfinished: requests - all.min(requests),
            bytes_sent: all * 120,
            bytes_received: all * 433,
            ..Counts::default()
        },
        rates_per_s: Rates {
            asked: Some(offered),
            offered,
            completed,
            sustained: Some(completed.min(offered)),
            succeeded: Some(completed),
            goodput: completed,
        },
        in_progress,
        outcomes: BTreeMap::from([("ok".into(), all)]),
        statuses: BTreeMap::from([("200".into(), all)]),
        response_time: Times::of(&response),
        service_time: Times::of(&service),
        ..Part::default()
    };
    Load {
        seed,
        pacing: Pacing::Open { arrivals: "poisson".into() },
        measured_s: SECONDS as f64,
        targets: vec![Target {
            url: "http://127.0.0.1:40113/".into(),
            path: None,
            part: part.clone(),
        }],
        total: part,
        series: series(&seconds, completed, &mut random),
        validity: Validity {
            valid: true,
            reasons: Vec::new(),
            gates: vec![Gate {
                name: GateName::Late,
                passed: true,
                figure: "lateness p99 52 µs, bound 490 µs".into(),
            }],
            unknown: Vec::new(),
        },
        ..Load::empty("benchwright 0.1.0")
    }
}

fn series(seconds: &[Histogram], completed: f64, random: &mut Random) -> Vec<Interval> {
    let mut series = Vec::new();
    for (index, histogram) in seconds.iter().enumerate() {
        let mut interval = Interval {
            t_s: index as f64,
            length_s: 1.0,
            offered: histogram.count(),
            sent: completed as u64,
            completed: completed as u64,
            outstanding: Some(12),
            outstanding_mean: Some(9.5),
            backlog: Some(0),
            busy: Some(0.31),
            ..Interval::default()
        };
        interval.set_times(histogram, &Histogram::new());
        interval.lateness_p99_ns = Some(40_000 + random.below(30_000));
        interval.hiccup_max_ns = Some(90_000 + random.below(900_000));
        series.push(interval);
    }
    series
}

fn component(step: &str, cpu: [f64; SECONDS]) -> Component {
    let step = step.to_owned();
    Component {
        step,
        role: "sut".into(),
        cpus: 1.0,
        cpu: cpu.map(Some).into(),
        ..Default::default()
    }
}

/// Two instances of two replicas each, and a store for each instance; `geo` queues requests.
fn microservices(share: f64) -> BTreeMap<String, Component> {
    let services = [
        ("frontend", 0.26, 3.0),
        ("search", 0.15, 1.4),
        ("profile", 0.13, 0.9),
        ("reservation", 0.12, 0.7),
        ("geo", 0.11, 120.0),
        ("rate", 0.09, 0.5),
        ("user", 0.05, 0.3),
        ("recommendation", 0.04, 0.2),
    ];
    let mut components = BTreeMap::new();
    let mut add = |name: String, step: &str, cpu: f64, held: f64| {
        let waves = [0.97, 1.02, 1.0, 0.99, 1.02].map(|wave| share * cpu * wave);
        let growing = |seconds: f64| Some(held * (0.2 + 0.4 * seconds) + 2.0);
        let component = Component {
            busiest_thread: waves.map(Some).into(),
            run_queue: vec![Some(0.4); SECONDS],
            memory_bytes: vec![Some(9 << 20); SECONDS],
            connections: vec![Some(4); SECONDS],
            unread_connections: vec![Some(1); SECONDS],
            unread_bytes: vec![Some(120); SECONDS],
            accept_backlog: vec![Some(0); SECONDS],
            calls: vec![Some(1_200); SECONDS],
            in_service: [0.0, 1.0, 2.0, 3.0, 4.0].map(growing).into(),
            in_others: vec![Some(2.0); SECONDS],
            queued: [0.2, 0.6, 1.0, 1.4, 1.8].map(|growth| Some(held * growth)).into(),
            refused: vec![Some(0); SECONDS],
            ..component(step, waves)
        };
        components.insert(name, component);
    };
    for instance in 1..=2 {
        add(format!("store-{instance}"), "store", 0.025, 0.4);
        for (step, cpu, held) in services {
            for replica in 1..=2 {
                add(format!("{step}-{instance}.{replica}"), step, cpu / 4.0, held / 4.0);
            }
        }
    }
    components
}

/// Two monitors: one with two series, and one without values.
fn monitors(share: f64) -> Vec<components::Monitored> {
    let series = |namespace: &str, of: f64| components::MonitoredSeries {
        labels: BTreeMap::from([("namespace".to_owned(), namespace.to_owned())]),
        values: (0..3).map(|i| (2.0 * f64::from(i), share * of + 0.01 * f64::from(i))).collect(),
    };
    let monitored = |name: &str, series, problems| components::Monitored {
        name: name.to_owned(),
        query: format!("sum by (namespace) (rate({name}[1m]))"),
        every_s: 2.0,
        series,
        problems,
    };
    let cpu = vec![series("shop<br>", 0.8), series("ingress", 0.1)];
    vec![
        monitored("cpu", cpu, Vec::new()),
        monitored("disk", Vec::new(), vec!["the query has no values".to_owned()]),
    ]
}
