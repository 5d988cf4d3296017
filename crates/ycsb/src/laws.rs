//! Chi-square tests of every distribution against its exact law.

use std::sync::Arc;

use measure::Random;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::keys;
use crate::lengths::{Histogram, Lengths};
use crate::properties::{Place, Properties};
use crate::stream::{Shared, Stream};
use crate::workload::{Kind, Part, Workload};
use crate::zipf::{SCRAMBLED, THETA, Zeta, Zipf};

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// A test is wrong by chance once in 5000 cases; the seeds are fixed.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-4..=1.0 - 1e-4;

/// Returns the probability of deviations at least as large as those of the counts, if the weights are right. Cells are
/// joined until five are expected in each.
fn probability(counts: &[u64], weights: &[f64]) -> f64 {
    assert_eq!(counts.len(), weights.len());
    let draws = counts.iter().sum::<u64>() as f64;
    let sum: f64 = weights.iter().sum();
    let (mut square, mut cells) = (0.0, 0);
    let (mut count, mut expected) = (0.0, 0.0);
    for (cell, weight) in counts.iter().zip(weights) {
        count += *cell as f64;
        expected += draws * weight / sum;
        if 5.0 <= expected {
            square += (count - expected) * (count - expected) / expected;
            cells += 1;
            (count, expected) = (0.0, 0.0);
        }
    }
    // A rest in which fewer than five are expected belongs to no cell, but must not be a place for many.
    assert!(count <= 5.0 * expected + 25.0, "{count} in a rest of {expected}");
    ChiSquared::new(f64::from(cells - 1)).unwrap().sf(square)
}

/// Checks for each seed that draws of a cell follow the weights.
fn check(name: &str, draws: u64, weights: &[f64], mut draw: impl FnMut(&mut Random) -> usize) {
    for seed in SEEDS {
        let mut random = Random::new(seed);
        let mut counts = vec![0; weights.len()];
        (0..self::draws(draws)).for_each(|_| counts[draw(&mut random)] += 1);
        let probability = probability(&counts, weights);
        assert!(PLAUSIBLE.contains(&probability), "{name}, seed {seed}: {probability}");
    }
}

/// The probability of ranks below `x`, for `x` of 2 and more, of n items.
fn below(x: f64, n: f64, zeta: f64, theta: f64) -> f64 {
    let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - (1.0 + 0.5_f64.powf(theta)) / zeta);
    let below = ((x / n).powf(1.0 - theta) - 1.0 + eta) / eta;
    // The first two have cells of their own: the formula begins where they end.
    below.max((1.0 + 0.5_f64.powf(theta)) / zeta)
}

/// The probabilities of the ranks 0 to 99, and of bins that double from there on.
fn rank_weights(n: f64, zeta: f64, theta: f64) -> Vec<f64> {
    let ends = (2..100).map(f64::from).chain((0..).map(|bin| 100.0 * 2.0_f64.powi(bin)));
    let ends: Vec<f64> = ends.take_while(|end| *end < n).chain([n]).collect();
    let tail =
        ends.windows(2).map(|end| below(end[1], n, zeta, theta) - below(end[0], n, zeta, theta));
    [1.0 / zeta, 0.5_f64.powf(theta) / zeta].into_iter().chain(tail).collect()
}

/// The cell of a rank in these weights.
fn rank_cell(rank: u64) -> usize {
    if rank < 100 { rank as usize } else { 100 + (rank / 100).ilog2() as usize }
}

const RANKS: u64 = 500_000;

/// The draws of a test: so many, or ten million for `cargo xtask sim ycsb`.
fn draws(quick: u64) -> u64 {
    if std::env::var_os("BENCHWRIGHT_YCSB_LAWS").is_some() { 10_000_000 } else { quick }
}

#[test]
fn the_exact_law_has_the_probabilities_of_the_contract() {
    let weights = rank_weights(SCRAMBLED.items() as f64, 26.469_028_201_783_02, THETA);
    let is = |probability: f64, expected: f64| (probability - expected).abs() < 5e-9;
    for (rank, expected) in
        [(0, 0.037_780_00), (1, 0.019_021_39), (2, 0.015_314_37), (10, 0.003_652_59)]
    {
        assert!(is(weights[rank], expected), "{rank}: {}", weights[rank]);
    }
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let million = below(1e6, SCRAMBLED.items() as f64, 26.469_028_201_783_02, THETA);
    assert!(is(million, 0.585_348_04), "{million}");
}

#[test]
fn ranks_follow_the_exact_law() {
    let weights = rank_weights(SCRAMBLED.items() as f64, 26.469_028_201_783_02, THETA);
    check("scrambled", RANKS, &weights, |random| rank_cell(SCRAMBLED.rank(random.unit())));
    let zeta = Zeta::default();
    for items in [2, 10, 1000, 1_000_000] {
        let ranks = Zipf::new(items, &zeta);
        let weights = match items {
            2 => vec![1.0, 0.5_f64.powf(THETA)],
            _ => rank_weights(items as f64, zeta.of(items), THETA),
        };
        check("zipf", RANKS / 4, &weights, |random| rank_cell(ranks.rank(random.unit())));
    }
}

#[test]
fn another_exponent_is_noticed() {
    let canary = Zipf::new(SCRAMBLED.items(), &Zeta::new(0.98));
    let weights = rank_weights(SCRAMBLED.items() as f64, 26.469_028_201_783_02, THETA);
    for seed in SEEDS {
        let mut random = Random::new(seed);
        let mut counts = vec![0; weights.len()];
        (0..draws(RANKS / 10)).for_each(|_| counts[rank_cell(canary.rank(random.unit()))] += 1);
        assert!(probability(&counts, &weights) < 1e-9);
    }
}

const RECORDS: usize = 1000;

fn workload(text: &str) -> Arc<Workload> {
    let mut properties = Properties::default();
    properties.set("workload", "site.ycsb.workloads.CoreWorkload", Place::Default);
    properties.set("recordcount", "1000", Place::Default);
    properties.set("maxexecutiontime", "1", Place::Default);
    properties.read("w", text.as_bytes()).unwrap();
    Arc::new(
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths are in a file"))
            .unwrap(),
    )
}

/// Checks that the records of the reads of a workload follow the weights.
fn check_records(text: &str, weights: &[f64]) {
    let workload =
        workload(&format!("readproportion=1\nupdateproportion=0\nrequestdistribution={text}"));
    for seed in SEEDS {
        let shared = Arc::new(Shared::new(&workload));
        let stream = Stream::run(&workload, Part::WHOLE, seed, &shared);
        let mut counts = vec![0; RECORDS];
        stream
            .take(draws(200_000) as usize)
            .for_each(|operation| counts[operation.record as usize] += 1);
        let probability = probability(&counts, weights);
        assert!(PLAUSIBLE.contains(&probability), "{text}, seed {seed}: {probability}");
    }
}

#[test]
fn records_follow_the_law_of_each_distribution() {
    check_records("uniform", &[1.0; RECORDS]);
    let hot = |record| if record < 200 { 0.8 / 200.0 } else { 0.2 / 800.0 };
    check_records("hotspot", &(0..RECORDS).map(hot).collect::<Vec<_>>());
    // The distance from the last record is the whole part of an exponential number, and draws beyond the first are
    // repeated.
    let rate = -(0.05_f64.ln()) / (1000.0 * 0.857_142_857_1);
    let share =
        |distance: usize| (-rate * distance as f64).exp() - (-rate * (distance + 1) as f64).exp();
    check_records(
        "exponential",
        &(0..RECORDS).map(|record| share(RECORDS - 1 - record)).collect::<Vec<_>>(),
    );
    // Rank 0 is the last record, and the first one is never chosen. Ranks above 100 have a bin each.
    let zeta = Zeta::default().of(999);
    let first_two = [1.0 / zeta, 0.5_f64.powf(THETA) / zeta];
    let rank = |rank: usize| match first_two.get(rank) {
        Some(weight) => *weight,
        None => {
            below(rank as f64 + 1.0, 999.0, zeta, THETA) - below(rank as f64, 999.0, zeta, THETA)
        }
    };
    let latest = |record| if record == 0 { 0.0 } else { rank(RECORDS - 1 - record) };
    check_records("latest", &(0..RECORDS).map(latest).collect::<Vec<_>>());
}

#[test]
fn scrambled_records_follow_the_law_of_the_ranks_that_hash_to_them() {
    // The law has 10^10 ranks. The first million are summed exactly; the rest falls evenly on the 1001 numbers, of
    // which the last is not a record and is drawn again.
    const SUMMED: u64 = 1_000_000;
    let (n, zeta) = (SCRAMBLED.items() as f64, 26.469_028_201_783_02);
    let mut weights = vec![0.0; RECORDS + 1];
    let mut before = below(2.0, n, zeta, THETA);
    weights[(keys::key(0) % 1001) as usize] += 1.0 / zeta;
    weights[(keys::key(1) % 1001) as usize] += 0.5_f64.powf(THETA) / zeta;
    for rank in 2..SUMMED {
        let until = below((rank + 1) as f64, n, zeta, THETA);
        weights[(keys::key(rank) % 1001) as usize] += until - before;
        before = until;
    }
    weights.iter_mut().for_each(|weight| *weight += (1.0 - before) / 1001.0);
    weights.pop();
    check_records("zipfian", &weights);
}

#[test]
fn sequential_records_follow_each_other() {
    let workload = workload("readproportion=1\nupdateproportion=0\nrequestdistribution=sequential");
    let shared = Arc::new(Shared::new(&workload));
    let [mut first, mut second] =
        [0, 1].map(|number| Stream::run(&workload, Part { number, of: 2 }, 1, &shared));
    for record in 0..3000 {
        let stream = if record % 3 == 0 { &mut first } else { &mut second };
        assert_eq!(stream.next().unwrap().record, record % 1000);
    }
}

#[test]
fn kinds_have_their_shares_and_fields_are_uniform() {
    let workload = workload(
        "readproportion=1\nupdateproportion=2\ninsertproportion=3\nscanproportion=4\nreadmodifywriteproportion=5\n\
         maxscanlength=7\nreadallfields=false",
    );
    for seed in SEEDS {
        let mut stream =
            Stream::run(&workload, Part::WHOLE, seed, &Arc::new(Shared::new(&workload)));
        let (mut kinds, mut lengths) = ([0; 5], [0; 7]);
        let (mut read, mut written) = ([0; 10], [0; 10]);
        for _ in 0..draws(200_000) {
            let operation = stream.next().unwrap();
            kinds[operation.kind as usize] += 1;
            match operation.kind {
                Kind::Scan => lengths[operation.length as usize - 1] += 1,
                Kind::Insert => stream.acknowledge(operation.record),
                _ => {}
            }
            operation.read.inspect(|field| read[usize::from(*field)] += 1);
            operation.write.inspect(|field| written[usize::from(*field)] += 1);
        }
        for (counts, weights) in [
            (&kinds[..], &[1.0, 2.0, 3.0, 4.0, 5.0][..]),
            (&lengths, &[1.0; 7]),
            (&read, &[1.0; 10]),
            (&written, &[1.0; 10]),
        ] {
            let probability = probability(counts, weights);
            assert!(PLAUSIBLE.contains(&probability), "{counts:?}, seed {seed}: {probability}");
        }
    }
}

#[test]
fn lengths_follow_their_law() {
    let uniform = Lengths::Uniform { least: 5, most: 104 };
    check("uniform", 200_000, &[1.0; 100], |random| uniform.draw(random) as usize - 5);
    let zeta = Zeta::default();
    let zipfian = Lengths::Zipfian { least: 1, ranks: Zipf::new(100, &zeta) };
    let weights = rank_weights(100.0, zeta.of(100), THETA);
    check("zipfian", 200_000, &weights, |random| zipfian.draw(random) as usize - 1);
    let text = "BlockSize\t10\n0\t5\n1\t0\n2\t10\n3\t85\n";
    let histogram = Lengths::Histogram(Histogram::read(text).unwrap());
    check("histogram", 200_000, &[5.0, 0.0, 10.0, 85.0], |random| {
        histogram.draw(random) as usize / 10 - 1
    });
}
