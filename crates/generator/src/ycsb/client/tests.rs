//! Whole clients on virtual time, against a store that is a model of Redis.

mod store;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::rc::Rc;

use load::pacing::{self, Dealt};
use load::shard::{Numbers, Schedule, Shard};
use load::source::{Source, Streams as Arrivals};
use measure::pace::Portion;
use measure::{Quantile, Random};
use net::Simulation;
use ycsb::export;
use ycsb::measurements::{Name, Status};
use ycsb::properties::{Place, Properties};

use self::store::{Served, Store};
use super::*;

const START: Instant = Instant(0);

/// Reads properties, of which the first ones are those of every test.
fn properties(given: &[(&str, &str)]) -> Properties {
    let of_all = [
        ("workload", "site.ycsb.workloads.CoreWorkload"),
        ("recordcount", "200"),
        ("operationcount", "3000"),
        ("fieldlength", "20"),
        ("dataintegrity", "true"),
        ("threadcount", "8"),
    ];
    let mut properties = Properties::default();
    for (name, value) in of_all.iter().chain(given) {
        properties.set(name, value, Place::Argument("-p".into()));
    }
    properties
}

fn client(properties: &Properties, phase: Phase) -> Client {
    let workload = Workload::new(properties, Part::WHOLE, |_| unreachable!()).unwrap();
    let settings = Settings::new(properties, phase, &workload).unwrap();
    let server = std::net::SocketAddr::from(([127, 0, 0, 1], 1)).into();
    Client {
        workload: Arc::new(workload),
        settings,
        servers: Servers::Redis { server, login: Login::default() },
        timeout: Nanos::from_secs(10),
        shards: Some(1),
        seed: 3,
    }
}

/// Runs a client on virtual time, and returns its measurements and the store.
fn run(client: &Client, store: Store) -> (Measurements, Store) {
    let (measurements, store, _) = run_to_its_end(client, store);
    (measurements, store)
}

/// Also returns the end of a run that was given up.
fn run_to_its_end(client: &Client, store: Store) -> (Measurements, Store, Option<Instant>) {
    let plan = client.plan();
    let stop = AtomicBool::new(false);
    let new = Measurements::new(client.settings.terms.clone());
    let into = Arc::new(Mutex::new(new));
    let ends = Arc::new(Ends::default());
    let recorder = Recorder::new(Arc::clone(&into), Arc::clone(&ends), 1, &stop);
    let store = Rc::new(RefCell::new(store));
    let world = Simulation::new(Served(Rc::clone(&store)));
    let mut shard = Shard::new(world, recorder, plan.limits, [&stop, &stop]);
    let pipeline = client.settings.threads as usize;
    let terms = [resp::Terms { pipeline, login: Login::default() }];
    let driver = of_redis(&plan.pools, &client.streams(1), &terms).pop().unwrap();
    let Pool { endpoints, connections } = plan.pools[0].clone();
    let numbers = Numbers { first: 0, step: 1, quota: plan.requests };
    let of = load::observe::Of { pool: 0, target: 0 };
    shard.add_pool(of, driver, (endpoints, connections), numbers);
    shard.connect(START + Nanos::SECOND).unwrap();
    let end = START + Nanos::from_secs(3600);
    shard.observer().begin(START, Window { start: START, end });
    let mut source = match &plan.pacing {
        Pacing::Closed { think } => Source::Closed { think: *think, random: Random::new(1) },
        Pacing::Open { load, sharing } => {
            let dealt = Dealt { targets: 1, part: Portion::WHOLE, pools: 1, shards: 1, shard: 0 };
            let arrivals = pacing::arrivals(load, *sharing, dealt, plan.seed, (START, end));
            Source::Open(Arrivals::new(arrivals, 1, plan.requests))
        }
    };
    let (ended, _) = shard
        .run(&mut source, Schedule { start: START, overload: START, end, drain: plan.drain })
        .unwrap();
    drop(shard);
    let given_up = ends.is_given_up.load(Ordering::Relaxed).then_some(ended);
    let store = Rc::into_inner(store).unwrap().into_inner();
    (Arc::into_inner(into).unwrap().into_inner().unwrap(), store, given_up)
}

/// A store that the client's load has filled.
fn filled(properties: &Properties) -> Store {
    let (measurements, store) = run(&client(properties, Phase::Load), Store::default());
    assert_eq!(statuses(&measurements), [(Name::Insert, Status::Ok, 200)]);
    assert_eq!((store.records.len(), store.index.len()), (200, 200));
    store
}

/// The statuses that occurred, with their numbers.
fn statuses(measurements: &Measurements) -> Vec<(Name, Status, u64)> {
    let of = |name, counts: [u64; Status::ALL.len()]| {
        let each = Status::ALL.into_iter().zip(counts);
        each.filter(|(_, count)| 0 < *count).map(move |(status, count)| (name, status, count))
    };
    measurements.names().flat_map(|(name, named)| of(name, named.statuses)).collect()
}

fn quantile(measurements: &Measurements, level: f64) -> (Nanos, Nanos) {
    let (_, read) = measurements.names().find(|(name, _)| *name == Name::Read).unwrap();
    let level = Quantile::new(level).unwrap();
    let of = |times: &ycsb::measurements::Times| times.histogram().quantile(level).unwrap();
    (of(&read.ok.response), of(&read.ok.service))
}

#[test]
fn a_stall_is_in_the_intended_times_and_not_in_the_service_times() {
    let properties = properties(&[
        ("readproportion", "1"),
        ("updateproportion", "0"),
        ("dataintegrity", "false"),
        ("operationcount", "10000"),
        ("target", "1000"),
        ("threadcount", "1"),
    ]);
    let mut store = filled(&properties);
    let second = |n| START + Nanos::from_secs(n);
    store.stall = Some((second(4), second(5)));
    let (measurements, _) = run(&client(&properties, Phase::Run), store);
    assert_eq!(statuses(&measurements), [(Name::Read, Status::Ok, 10_000)]);
    let (intended, service) = quantile(&measurements, 0.99);
    assert!(Nanos::from_millis(900) <= intended, "{intended}");
    assert!(service < Nanos::from_millis(1), "{service}");
    // Both are printed, as there is a target.
    let output = client(&properties, Phase::Run).settings.output;
    let lines = export::lines(Nanos::from_secs(10), &measurements, &output);
    let printed = |metric: &str| lines.iter().any(|line| line.metric == metric);
    assert!(printed("READ") && printed("Intended-READ"));
}

#[test]
fn a_run_whose_store_dies_is_given_up_and_keeps_its_figures() {
    let given = [("readproportion", "1"), ("updateproportion", "0"), ("operationcount", "0")];
    let properties = properties(&[&given[..], &[("maxexecutiontime", "3000")]].concat());
    let mut store = filled(&properties);
    let death = START + Nanos::SECOND;
    store.death = Some(death);
    let (measurements, _, given_up) = run_to_its_end(&client(&properties, Phase::Run), store);
    let took = given_up.expect("nobody listens any more") - death;
    assert!(PATIENCE <= took && took < PATIENCE * 2, "{took}");
    let statuses = statuses(&measurements);
    let of = |wanted| statuses.iter().find(|(_, status, _)| *status == wanted).map(|it| it.2);
    assert!(of(Status::Ok) > Some(1000), "{statuses:?}");
    assert!(of(Status::ServiceUnavailable) > Some(8), "{statuses:?}");
}

#[test]
fn a_run_whose_store_hangs_is_given_up_without_a_time_limit() {
    let given = [("readproportion", "1"), ("updateproportion", "0")];
    let properties = properties(&[&given[..], &[("operationcount", "1000000")]].concat());
    let hang = START + Nanos::SECOND;
    // The first operation without an answer is outstanding for as long as that, or for less.
    for timeout in [10, 2] {
        let mut store = filled(&properties);
        store.hang = Some(hang);
        let client =
            Client { timeout: Nanos::from_secs(timeout), ..client(&properties, Phase::Run) };
        let (measurements, _, given_up) = run_to_its_end(&client, store);
        let took = given_up.expect("nobody answers any more") - hang;
        let soon = PATIENCE.saturating_sub(SOON);
        assert!(soon <= took && took < PATIENCE + Nanos::from_secs(5), "{timeout}: {took}");
        assert!(0 < measurements.failed(), "{timeout}");
    }
}

#[test]
fn a_server_that_does_not_answer_gives_a_run_up_only_if_all_others_do_not_either() {
    let at = |millis| START + Nanos::from_millis(millis);
    let ends = Ends::default();
    ends.answered(at(1_000));
    // One waits from before the last answer on, and others are answered meanwhile.
    assert!(!ends.is_hopeless(at(500), at(10_500)));
    ends.answered(at(10_600));
    assert!(!ends.is_hopeless(at(900), at(10_900)));
    // From the last answer on.
    assert!(!ends.is_hopeless(at(20_400), at(20_400)));
    assert!(ends.is_hopeless(at(20_600), at(20_600)));
}

/// A server that greets, and answers nothing else.
fn deaf() -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let greeted = listener.incoming().map(|stream| {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 64]).and_then(|_| stream.write_all(b"+PONG\r\n"));
            stream
        });
        // Their ends would tell that nobody answers.
        greeted.collect::<Vec<_>>()
    });
    address.into()
}

#[test]
fn the_time_of_a_run_that_time_ends_is_that_time_though_its_server_hangs() {
    let properties = properties(&[("operationcount", "0"), ("maxexecutiontime", "1")]);
    let server = deaf();
    let servers = Servers::Redis { server, login: Login::default() };
    let client = Client { servers, ..client(&properties, Phase::Run) };
    let begun = clock::now();
    let done = super::run(&client, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert!(clock::now() - begun < client.timeout, "it waits for no operation to its end");
    assert_eq!(done.ran.run_time, Nanos::SECOND);
    assert_eq!((done.ran.measurements.operations, done.ran.unfinished), (0, 8));
    assert_eq!((done.failed_servers, done.is_given_up), (vec![0], false));
    // Answers that came late, or a run that ended early, have the time that they took.
    let run_time = |end: u64, answered: u64| {
        let [end, answered] = [end, answered].map(|millis| START + Nanos::from_millis(millis));
        client.run_time(START, end, answered)
    };
    assert_eq!(run_time(3_000, 1_500), Nanos::from_millis(1_500));
    assert_eq!(run_time(700, 600), Nanos::from_millis(700));
}

#[test]
fn the_operations_of_every_workload_are_those_that_the_store_has_seen() {
    for (name, shares, requests) in [
        ("a", "read 0.5 update 0.5", "zipfian"),
        ("b", "read 0.95 update 0.05", "zipfian"),
        ("c", "read 1", "zipfian"),
        ("d", "read 0.95 insert 0.05", "latest"),
        ("e", "scan 0.95 insert 0.05", "zipfian"),
        ("f", "read 0.5 readmodifywrite 0.5", "zipfian"),
    ] {
        let words: Vec<&str> = shares.split(' ').collect();
        let given = words.chunks(2).map(|pair| (format!("{}proportion", pair[0]), pair[1]));
        let given: Vec<(String, &str)> = given.collect();
        let mut all = vec![("readproportion", "0"), ("updateproportion", "0")];
        all.extend(given.iter().map(|(name, share)| (name.as_str(), *share)));
        all.extend([("requestdistribution", requests), ("maxscanlength", "20")]);
        let properties = properties(&all);
        let mut store = filled(&properties);
        store.counts.clear();
        let (measurements, store) = run(&client(&properties, Phase::Run), store);
        assert_eq!((measurements.operations, measurements.failed()), (3000, 0), "{name}");
        let count = |wanted| {
            let all = statuses(&measurements);
            all.into_iter().find(|(name, ..)| *name == wanted).map_or(0, |(.., count)| count)
        };
        let seen = |command: &str| store.counts.get(command).copied().unwrap_or(0);
        let inserts = count(Name::Insert);
        assert_eq!(count(Name::Update) + inserts, seen("HMSET"), "{name}");
        assert_eq!(inserts, seen("ZADD"), "{name}");
        assert_eq!(count(Name::Scan), seen("ZRANGEBYSCORE"), "{name}");
        if name != "e" {
            assert_eq!(count(Name::Read), seen("HMGET") + seen("HGETALL"), "{name}");
        }
        assert_eq!(count(Name::Read), count(Name::Verify), "{name}");
        assert_eq!(store.records.len() as u64, 200 + inserts, "{name}");
        assert_eq!(store.index.len(), store.records.len(), "{name}");
        // Of a read-modify-write, the read and the update count, too.
        let both = measurements.names().find(|(name, _)| *name == Name::ReadModifyWrite);
        let both = both.map_or(0, |(_, both)| both.ok.response.histogram().count());
        assert_eq!(count(Name::Update) != 0 && name == "f", both != 0);
        let asked = count(Name::Read) + count(Name::Update) + inserts + count(Name::Scan);
        assert_eq!(asked - both, 3000, "{name}");
    }
}

#[test]
fn a_wrong_value_is_a_verification_that_failed() {
    let properties = properties(&[("readproportion", "1"), ("updateproportion", "0")]);
    let mut store = filled(&properties);
    for fields in store.records.values_mut() {
        fields.insert(b"field3".to_vec(), b"something else".to_vec());
    }
    let (measurements, _) = run(&client(&properties, Phase::Run), store);
    let wrong = (Name::Verify, Status::UnexpectedState, 3000);
    assert_eq!(statuses(&measurements), [(Name::Read, Status::Ok, 3000), wrong]);
}

#[test]
fn a_load_ends_with_an_insert_that_fails_unless_it_keeps_going() {
    let given = properties(&[("threadcount", "1")]);
    let full = || Store { most_records: Some(50), ..Store::default() };
    let (measurements, store) = run(&client(&given, Phase::Load), full());
    let failed = (Name::Insert, Status::Error, 1);
    assert_eq!(statuses(&measurements), [(Name::Insert, Status::Ok, 50), failed]);
    assert_eq!(store.records.len(), 50);
    let given = properties(&[("core_workload_insertion_keep_going_on_error", "true")]);
    let (measurements, _) = run(&client(&given, Phase::Load), full());
    let failed = (Name::Insert, Status::Error, 150);
    assert_eq!(statuses(&measurements), [(Name::Insert, Status::Ok, 50), failed]);
}
