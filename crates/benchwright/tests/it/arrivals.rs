//! The stream of arrivals as the server sees it: the same for any number of shards.

use std::collections::BTreeMap;

use crate::support::{Scratch, Server, Steal, machine, run_while, skip, when_calm};

/// A request that is sent within this time after its intended time was on time, in ns.
const ON_TIME: u64 = 100_000;
/// The error of comparing the kernel's clock with ours, in ns: they cannot be read together.
const CLOCKS: u64 = 100_000;
/// The fewest gaps that can be compared as a distribution.
const FEWEST_GAPS: usize = 300;

/// One load, with the arrival times in the server's kernel. Times are in nanoseconds from the start
/// of the load.
struct Stream {
    /// The intended time and the send time of each request, by arrival number.
    sent: Vec<(u64, u64)>,
    /// The arrival time of each request, by arrival number.
    arrived: BTreeMap<u64, u64>,
}

impl Stream {
    fn intended(&self) -> impl Iterator<Item = u64> {
        self.sent.iter().map(|(intended, _)| *intended)
    }

    fn is_on_time(&self, number: usize) -> bool {
        let (intended, sent) = self.sent[number];
        sent - intended <= ON_TIME
    }
}

/// Runs a load of three seconds with this many shards.
fn stream(shards: &str) -> Stream {
    let scratch = Scratch::new();
    scratch.file("mix.jsonl", r#"{"target": "/{{seq}}"}"#);
    let requests = scratch.path().join("requests");
    let server = Server::reference(&["--kernel-timestamps", "--log", requests.to_str().unwrap()]);
    let mut command = scratch.benchwright();
    command.args(["load", &server.url, "--rate", "1k/s", "--arrivals", "poisson", "--seed", "5"]);
    command.args(["--duration", "3s", "--connections", "14", "--shards", shards]);
    command.args(["--mix", "mix.jsonl", "--samples", "samples.csv", "--json"]);
    let document = run_while(&mut command, |_| {}).json();
    server.end();

    let start = document["clock"]["measurement_start_ns"].as_u64().unwrap();
    let since = |ns: &str| ns.parse::<u64>().unwrap() - start;
    let samples = std::fs::read_to_string(scratch.path().join("samples.csv")).unwrap();
    let times = |row: &str| {
        let mut fields = row.split(',').map(since);
        (fields.next().unwrap(), fields.next().unwrap())
    };
    let mut sent: Vec<(u64, u64)> = samples.lines().skip(1).map(times).collect();
    sent.sort_unstable();
    let mut arrived = BTreeMap::new();
    for line in std::fs::read_to_string(requests).unwrap().lines() {
        let (at, rest) = line.split_once("\t/").unwrap();
        let number = rest.split('\t').next().unwrap().parse().unwrap();
        assert_eq!(arrived.insert(number, since(at)), None, "{number} came twice");
    }
    Stream { sent, arrived }
}

#[test]
fn the_server_sees_the_same_stream_whatever_the_shards() {
    let _machine = machine();
    if net::epoll::kernel_timestamps_granted().is_err() {
        return skip("the_server_sees_the_same_stream_whatever_the_shards", "SO_TIMESTAMPING");
    }
    let steal = Steal::read();
    let compared = when_calm(|| {
        let streams = ["1", "2", "7"].map(stream);
        let [one, others @ ..] = &streams;
        for other in others {
            // The intended times are the same to the nanosecond.
            assert!(one.intended().eq(other.intended()));
            assert!(one.arrived.keys().eq(other.arrived.keys()));
        }
        for Stream { sent, arrived } in &streams {
            assert!((2_700..3_300).contains(&sent.len()), "{}", sent.len());
            assert!(arrived.keys().copied().eq(0..sent.len() as u64), "each number once");
            // Numbers follow the order of intended times, and no request arrives before its own.
            for (number, (&arrived, &times)) in arrived.values().zip(sent).enumerate() {
                assert!(times.0 <= arrived + CLOCKS, "{number} of {times:?} arrived at {arrived}");
            }
        }
        // The arrivals that were on time are as equal as two samples of one distribution.
        if others.iter().all(|other| are_equal(one, other)) { Ok(true) } else { Err(false) }
    });
    if !compared {
        steal.assert_was_much("too few requests were on time in both streams");
    }
}

/// Asserts that requests which were on time in both streams arrived with the same distribution.
/// Returns false if there are too few of them.
fn are_equal(one: &Stream, other: &Stream) -> bool {
    let both = |number: &usize| one.is_on_time(*number) && other.is_on_time(*number);
    let on_time: Vec<usize> = (0..one.sent.len()).filter(both).collect();
    let pairs: Vec<usize> =
        on_time.windows(2).filter(|pair| pair[0] + 1 == pair[1]).map(|pair| pair[0]).collect();
    if pairs.len() < FEWEST_GAPS {
        return false;
    }
    let at = |stream: &Stream, number: usize| stream.arrived[&(number as u64)];
    let times = |stream| on_time.iter().map(|&number| at(stream, number)).collect();
    assert_equal("times", times(one), times(other));
    // Two requests that are sent together may arrive in either order.
    let gap = |stream, number| at(stream, number + 1).abs_diff(at(stream, number));
    let gaps = |stream| pairs.iter().map(|&number| gap(stream, number)).collect();
    assert_equal("gaps", gaps(one), gaps(other));
    true
}

/// Asserts that the Kolmogorov-Smirnov distance of two samples is within the bound that one in a
/// million pairs of the same distribution would exceed.
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
