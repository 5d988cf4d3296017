//! The stream of arrivals as the server sees it: the same, however many shards make it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Scratch, Server, machine, run_while};

/// How often is tried until nothing disturbs the machine.
const MOST_ROUNDS: usize = 3;

/// One load, and what its server noted. Times are in nanoseconds from the start of the load.
struct Stream {
    /// In their order.
    intended: Vec<u64>,
    /// By arrival number.
    arrived: BTreeMap<u64, u64>,
    /// Whether nothing kept generator and machine from being punctual.
    valid: bool,
}

/// A load of three seconds by so many shards.
fn stream(shards: &str) -> Stream {
    let scratch = Scratch::new();
    scratch.file("mix.jsonl", r#"{"target": "/{{seq}}"}"#);
    let requests = scratch.path().join("requests");
    let server = Server::reference(&["--log", requests.to_str().unwrap()]);
    let mut command = scratch.benchwright();
    command.args(["load", &server.url, "--rate", "1k/s", "--arrivals", "poisson", "--seed", "5"]);
    command.args(["--duration", "3s", "--connections", "14", "--shards", shards]);
    command.args(["--mix", "mix.jsonl", "--samples", "samples.csv", "--json"]);
    let document = run_while(&mut command, |_| {}).json();
    server.end();

    let start = document["clock"]["measurement_start_ns"].as_u64().unwrap();
    let since = |ns: &str| ns.parse::<u64>().unwrap() - start;
    let samples = std::fs::read_to_string(scratch.path().join("samples.csv")).unwrap();
    let intended = |row: &str| since(row.split(',').next().unwrap());
    let mut intended: Vec<u64> = samples.lines().skip(1).map(intended).collect();
    intended.sort_unstable();
    let mut arrived = BTreeMap::new();
    for line in std::fs::read_to_string(requests).unwrap().lines() {
        let (at, rest) = line.split_once("\t/").unwrap();
        let number = rest.split('\t').next().unwrap().parse().unwrap();
        assert_eq!(arrived.insert(number, since(at)), None, "{number} came twice");
    }
    Stream { intended, arrived, valid: document["validity"]["valid"] == Value::Bool(true) }
}

#[test]
fn the_server_sees_the_same_stream_whatever_the_shards() {
    let _machine = machine();
    for _ in 0..MOST_ROUNDS {
        let streams = ["1", "2", "7"].map(stream);
        let [one, others @ ..] = &streams;
        for other in others {
            // What is meant to happen is the same to the nanosecond.
            assert!(one.intended == other.intended);
            assert!(one.arrived.keys().eq(other.arrived.keys()));
        }
        for Stream { intended, arrived, .. } in &streams {
            assert!((2_700..3_300).contains(&intended.len()), "{}", intended.len());
            assert!(arrived.keys().copied().eq(0..intended.len() as u64), "each number once");
            // Numbers are given in the order of the intended times, and nothing comes before its.
            assert!(arrived.values().zip(intended).all(|(arrived, intended)| intended <= arrived));
        }
        // What happens is as equal as two samples of one law, where nothing held it up.
        if streams.iter().all(|stream| stream.valid) {
            for other in others {
                let times = |stream: &Stream| stream.arrived.values().copied().collect();
                assert_equal("times", times(one), times(other));
                assert_equal("gaps", gaps(one), gaps(other));
            }
            return;
        }
    }
}

fn gaps(stream: &Stream) -> Vec<u64> {
    let mut times: Vec<u64> = stream.arrived.values().copied().collect();
    times.sort_unstable();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Kolmogorov's and Smirnov's distance of two samples is within what one in a million pairs of the
/// same law would exceed.
fn assert_equal(what: &str, mut one: Vec<u64>, mut other: Vec<u64>) {
    one.sort_unstable();
    other.sort_unstable();
    let share =
        |of: &[u64], value: u64| of.partition_point(|&one| one <= value) as f64 / of.len() as f64;
    let apart = |value: &u64| (share(&one, *value) - share(&other, *value)).abs();
    let distance = one.iter().chain(&other).map(apart).fold(0.0, f64::max);
    let (n, m) = (one.len() as f64, other.len() as f64);
    let bound = ((2e6_f64.ln() / 2.0) * (n + m) / (n * m)).sqrt();
    assert!(distance < bound, "{what}: {distance} of {bound}");
}
