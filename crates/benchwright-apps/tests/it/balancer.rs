//! The balancer: turns, readiness, and what becomes of requests when replicas die.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use scopeguard::guard;

use crate::instance::{Instance, sleep};
use crate::services::{Caller, wait_for};

const OFTEN: [&str; 4] = ["--probe-every", "50ms", "--probe-timeout", "2s"];
const LONG: Duration = Duration::from_secs(20);

fn replicas(count: usize) -> Vec<Instance> {
    (0..count).map(|_| Instance::of("users", &["--cost", "4"])).collect()
}

fn list(replicas: &[Instance]) -> String {
    replicas.iter().map(|one| one.address.to_string()).collect::<Vec<_>>().join(",")
}

fn balancer(backends: &str, arguments: &[&str]) -> Instance {
    Instance::of("balancer", &[&["--backends", backends][..], &OFTEN, arguments].concat())
}

fn is_ready(balancer: &Instance) -> bool {
    balancer.get("/balancer/ready").0 == 200
}

/// Returns the value of a metric with its labels.
fn value(metrics: &str, name: &str) -> u64 {
    let value = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
    metrics.lines().find_map(value).unwrap_or_default()
}

/// Returns the requests without a token that a replica refused.
fn refused(replica: &Instance) -> u64 {
    let (_, metrics) = replica.get("/metrics");
    value(&metrics, "users_requests_total{endpoint=\"user\",code=\"401\"}")
}

#[test]
fn ready_replicas_get_requests_in_turn_over_kept_connections() {
    let replicas = replicas(3);
    let balancer = balancer(&list(&replicas), &[]);
    wait_for("all are ready", LONG, || is_ready(&balancer));
    let mut caller = Caller::new(balancer.address);
    for _ in 0..30 {
        assert_eq!(caller.ask("GET", "/whoami").unwrap().0, 401);
    }
    assert_eq!(replicas.iter().map(refused).collect::<Vec<_>>(), [10, 10, 10]);
    let body = "{\"username\": \"ann\", \"password\": \"12341234\"}";
    let registered = balancer.exchange(format!(
        "POST /auth/register HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert!(registered.ends_with("{\"username\":\"ann\"}"), "{registered}");
}

#[test]
fn a_dead_replica_costs_the_requests_it_had_and_no_others() {
    let mut replicas = replicas(3);
    let folder = tempfile::tempdir().unwrap();
    let statistics = folder.path().join("statistics");
    let balancer = balancer(&list(&replicas), &["--statistics", statistics.to_str().unwrap()]);
    wait_for("all are ready", LONG, || is_ready(&balancer));
    let is_over = AtomicBool::new(false);
    let callers = 4;
    thread::scope(|scope| {
        let load = || {
            let mut caller = Caller::new(balancer.address);
            let (mut answered, mut lost) = (0, 0);
            while !is_over.load(Ordering::Relaxed) {
                match caller.ask("GET", "/whoami").unwrap() {
                    (401, _) => answered += 1,
                    (502, _) => lost += 1,
                    other => panic!("{other:?}"),
                }
                sleep(Duration::from_millis(1));
            }
            (answered, lost)
        };
        let load: Vec<_> = (0..callers).map(|_| scope.spawn(load)).collect();
        let end = guard(&is_over, |is_over| is_over.store(true, Ordering::Relaxed));
        sleep(Duration::from_millis(300));
        let dead = replicas.remove(0);
        let address = dead.address;
        dead.kill();
        wait_for("it is known", LONG, || !is_ready(&balancer));
        sleep(Duration::from_millis(300));
        drop(end);
        let counts: Vec<(u64, u64)> = load.into_iter().map(|one| one.join().unwrap()).collect();
        let lost: u64 = counts.iter().map(|(_, lost)| lost).sum();
        // Each caller has one request in progress.
        assert!(lost <= callers, "{counts:?}");
        assert!(counts.iter().all(|(answered, _)| 20 < *answered), "{counts:?}");
        let events = std::fs::read_to_string(with_events(&statistics)).unwrap();
        let of_dead: Vec<&str> =
            events.lines().filter(|line| line.contains(&address.to_string())).collect();
        assert_eq!(of_dead.len(), 2, "{events}");
        assert!(of_dead[0].ends_with("\"state\":null}"), "{events}");
        assert!(of_dead[1].contains("\"state\":\"not ready: 3 probes in a row failed"), "{events}");
    });
}

fn with_events(statistics: &Path) -> String {
    format!("{}.events", statistics.display())
}

#[test]
fn none_ready_is_503_at_once_until_one_is_ready_again() {
    let mut replicas = replicas(1);
    let address = list(&replicas);
    let balancer = balancer(&address, &["--failure-threshold", "2", "--success-threshold", "2"]);
    wait_for("it is ready", LONG, || is_ready(&balancer));
    assert_eq!(balancer.get("/whoami").0, 401);
    replicas.remove(0).kill();
    // Until it is known the connection is refused, and nobody else could answer.
    wait_for("it is known", LONG, || {
        let (code, body) = balancer.get("/whoami");
        assert!([502, 503].contains(&code), "{code} {body}");
        code == 503
    });
    assert_eq!(balancer.get("/whoami"), (503, "no replica is ready\n".into()));
    let _again = Instance::of("users", &["--listen", &address]);
    wait_for("it is ready again", LONG, || balancer.get("/whoami").0 == 401);
    let (_, metrics) = balancer.get("/balancer/metrics");
    let changes = format!("balancer_readiness_changes_total{{replica=\"{address}\"}}");
    assert_eq!(value(&metrics, &changes), 3, "{metrics}");
}

#[test]
fn what_is_listed_is_ready_and_what_is_not_gets_nothing() {
    // A probe of these would never be answered well: nobody makes one.
    let never = ["--readiness", "listed", "--probe-path", "/none"];
    let mut replicas = replicas(2);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list");
    let write = |text: &str| {
        let new = folder.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, &file).unwrap();
    };
    // A list that is not there yet has nobody.
    let balancer = balancer(&format!("@{}", file.display()), &never);
    assert_eq!(balancer.get("/whoami"), (503, "no replica is ready\n".into()));
    let code = |path: &str| balancer.get(path).0;
    assert_eq!(code("/balancer/ready"), 503);
    write(&list(&replicas));
    wait_for("both are listed", LONG, || code("/balancer/ready?replicas=2") == 200);
    assert_eq!(code("/balancer/ready?replicas=1"), 503);
    assert_eq!(code("/balancer/ready?replicas=one"), 400);
    assert_eq!(code("/whoami"), 401);
    let gone = replicas.remove(1);
    write(&list(&replicas));
    wait_for("one is listed", LONG, || code("/balancer/ready?replicas=1") == 200);
    let before = refused(&gone);
    (0..10).for_each(|_| assert_eq!(code("/whoami"), 401));
    assert_eq!(refused(&gone), before);
    std::fs::remove_file(&file).unwrap();
    wait_for("nobody is listed", LONG, || code("/whoami") == 503);
    let (_, metrics) = balancer.get("/balancer/metrics");
    let of_gone = |name: &str| value(&metrics, &format!("{name}{{replica=\"{}\"}}", gone.address));
    let (ready, changes) = ("balancer_replica_ready", "balancer_readiness_changes_total");
    assert_eq!((of_gone(ready), of_gone(changes)), (0, 2), "{metrics}");
}

#[test]
fn a_replica_whose_probes_wait_behind_logins_is_not_ready() {
    let one = Instance::of(
        "users",
        &[
            "--cost",
            "13",
            "--hashing-threads",
            "1",
            "--overload",
            "queue",
            "--health-on-service-port",
        ],
    );
    let timeout =
        ["--backends", &one.address.to_string(), "--probe-every", "50ms"].map(str::to_owned);
    let arguments: Vec<&str> = timeout.iter().map(String::as_str).collect();
    let short = ["--probe-timeout", "200ms", "--failure-threshold", "1"];
    let balancer = Instance::of("balancer", &[&arguments[..], &short].concat());
    wait_for("it is ready", LONG, || is_ready(&balancer));
    // Each of these hashes for hundreds of milliseconds.
    let body = "{\"username\": \"ann\", \"password\": \"12341234\"}";
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let length = body.len();
                one.exchange(format!(
                    "POST /auth/register HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                     Content-Length: {length}\r\n\r\n{body}"
                ))
            });
        }
        wait_for("it is not ready", LONG, || balancer.get("/whoami").0 == 503);
    });
    wait_for("it is ready again", LONG, || balancer.get("/whoami").0 == 401);
}
