use super::*;

fn at(seconds: f64) -> Instant {
    Instant::default() + Nanos::from_secs_f64(seconds)
}

/// Rounds in which the sweep took so long and nothing else could be done.
fn gauged(sweeps: &[(f64, u64)]) -> Gauged {
    let round = |&(seconds, ns): &(f64, u64)| Round {
        at: at(seconds),
        took: Work::ALL.map(|work| (work == Work::Sweep).then_some(Nanos(ns))),
    };
    let rounds = sweeps.iter().map(round).collect();
    Gauged { cpu: 3, rounds, used: Nanos::from_millis(2), lasted: Nanos::from_secs(2) }
}

const SECONDS: [(f64, f64); 3] = [(10.0, 11.0), (11.0, 12.0), (12.0, 13.0)];

fn seconds() -> Vec<(Instant, Instant)> {
    SECONDS.iter().map(|&(from, to)| (at(from), at(to))).collect()
}

#[test]
fn the_median_of_a_second_is_not_moved_by_a_round_that_was_interrupted() {
    let rounds = [(9.9, 7), (10.0, 100), (10.3, 110), (10.6, 4_000_000), (12.5, 300)];
    let speed = by_second(&gauged(&rounds), &seconds());
    assert_eq!(speed.cpu_share, 0.001);
    let sweep = speed.work_ns["sweep"].clone();
    assert_eq!(sweep, [Some(110.0), None, Some(300.0)], "no round began in the middle second");
    assert_eq!(speed.work_ns.len(), 1, "work that was never timed is absent");
}

#[test]
fn the_time_of_a_trial_is_the_geometric_mean_over_seconds_and_cpus() {
    let of = |sweeps: &[(f64, u64)]| by_second(&gauged(sweeps), &seconds());
    let speeds = BTreeMap::from([(0, of(&[(10.5, 100), (11.5, 400)])), (1, of(&[(10.5, 1_600)]))]);
    let times = over_all(&speeds);
    assert_eq!(times, BTreeMap::from([("sweep".to_owned(), 400.0)]));
    assert_eq!(over_all(&BTreeMap::new()), BTreeMap::new());
}
