use super::*;
use crate::Random;

fn blocks(values: &[([f64; 2], [f64; 2])]) -> Vec<Block> {
    values.iter().map(|(a, b)| Block { a: a.to_vec(), b: b.to_vec() }).collect()
}

/// Returns the probability by trying all orders of the arms in all blocks.
fn enumerated(blocks: &[Block]) -> f64 {
    let logs = logs_of(blocks).unwrap();
    let aligned: Vec<Vec<f64>> = (logs.iter())
        .map(|block| {
            let all: Vec<f64> = block.a.iter().chain(&block.b).copied().collect();
            let middle = median(&all).unwrap();
            all.iter().map(|value| value - middle).collect()
        })
        .collect();
    let ranks = doubled_ranks(&aligned);
    let expected: f64 = ranks.iter().map(|ranks| ranks.iter().sum::<usize>() as f64 / 2.0).sum();
    let observed: usize = ranks.iter().map(|ranks| ranks[2] + ranks[3]).sum();
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let sums = ranks.iter().fold(vec![0], |sums, ranks| {
        sums.iter().flat_map(|sum| pairs.map(|(i, j)| sum + ranks[i] + ranks[j])).collect()
    });
    let distance = |sum: usize| (sum as f64 - expected).abs();
    let far = sums.iter().filter(|sum| distance(observed) - 1e-6 <= distance(**sum)).count();
    far as f64 / sums.len() as f64
}

#[test]
fn the_probability_is_that_of_all_orders() {
    let mut random = Random::new(2);
    for round in 0..40 {
        // A few values each, so that some are equal.
        let mut value = || 100.0 + random.below(8 + round) as f64;
        let blocks: Vec<_> =
            (0..4).map(|_| ([value(), value()], [value(), value() + 2.0])).collect();
        let blocks = self::blocks(&blocks);
        let p = compare(&blocks, 0.05).unwrap().p;
        assert!((p - enumerated(&blocks)).abs() < 1e-9, "{p} of {}", enumerated(&blocks));
    }
}

#[test]
fn no_probability_is_smaller_than_that_of_arms_that_lie_apart() {
    let apart = |in_a_block: &[usize]| {
        let block = |of_each: &usize| Block { a: vec![1.0; *of_each], b: vec![2.0; *of_each] };
        p_value(&in_a_block.iter().map(block).collect::<Vec<Block>>()).unwrap()
    };
    for (trials, in_a_block, blocks) in [
        (1, 1, &[1][..]),
        (4, 2, &[2, 2]),
        (5, 2, &[2, 2, 1]),
        (5, 1, &[1, 1, 1, 1, 1]),
        (4, 4, &[4]),
    ] {
        let (least, found) = (least_p(trials, in_a_block), apart(blocks));
        assert!((least - found).abs() < 1e-9, "{blocks:?}: {least}, {found}");
    }
}

#[test]
fn the_effect_is_a_ratio_whatever_the_level_of_a_block() {
    let blocks = blocks(&[
        ([100.0, 101.0], [110.0, 111.1]),
        ([205.0, 203.0], [225.5, 223.3]),
        ([50.0, 50.5], [55.0, 55.55]),
        ([80.0, 81.0], [88.0, 89.1]),
    ]);
    let found = compare(&blocks, 0.05).unwrap();
    assert!((found.ratio - 1.1).abs() < 1e-9, "{found:?}");
    assert!(
        1.0 < found.interval.0 && found.interval.0 < 1.1 && 1.1 < found.interval.1,
        "{found:?}"
    );
    assert_eq!(found.verdict(Better::Lower, 0.03), Verdict::Worse);
    assert_eq!(found.verdict(Better::Higher, 0.03), Verdict::Better);
    assert_eq!(found.verdict(Better::Lower, 0.2), Verdict::Equivalent);
}

#[test]
fn one_block_can_refuse_nothing() {
    let found = compare(&blocks(&[([1.0, 1.1], [9.0, 9.1])]), 0.05).unwrap();
    assert_eq!((found.interval, found.t_interval), ((0.0, f64::INFINITY), None));
    assert!((found.p - 2.0 / 6.0).abs() < 1e-12);
    assert_eq!(found.verdict(Better::Lower, 0.03), Verdict::Undecided);
}

#[test]
fn an_arm_without_trials_is_no_comparison() {
    assert_eq!(compare(&[], 0.05), None);
    assert_eq!(compare(&[Block { a: vec![1.0], b: Vec::new() }], 0.05), None);
    assert_eq!(compare(&blocks(&[([1.0, 0.0], [1.0, 2.0])]), 0.05), None);
}

/// Blocks of two and two of which some trials lie apart, by a fifth on average, with this effect on B.
fn with_outliers(count: usize, share: f64, effect: f64, random: &mut Random) -> Vec<Block> {
    let mut value = |effect: f64| {
        let apart = if random.unit() < share { random.exponential(0.2) } else { 0.0 };
        (effect + apart + 0.02 * random.normal()).exp()
    };
    let mut arm = |effect: f64| vec![value(effect), value(effect)];
    (0..count).map(|_| Block { a: arm(0.0), b: arm(effect) }).collect()
}

/// Checks what holds of any comparison.
fn assert_agrees(found: &Comparison, significance: f64) {
    let (low, high) = found.interval;
    assert_eq!(high < 1.0 || 1.0 < low, found.p <= significance, "{found:?}");
    assert!((low..=high).contains(&found.ratio), "{found:?}");
    let verdict = found.verdict(Better::Lower, 0.03);
    assert!(
        !matches!(verdict, Verdict::Better | Verdict::Worse) || found.p <= significance,
        "{verdict:?} of {found:?}"
    );
}

/// The interval and the probability come from one test, so they never disagree.
#[test]
fn the_interval_excludes_no_difference_exactly_if_the_test_does() {
    let mut random = Random::new(9);
    for round in 0..60 {
        let share = [0.0, 0.08, 0.3][round % 3];
        let blocks = with_outliers([3, 5][round % 2], share, 0.015, &mut random);
        for significance in [0.05, 0.025] {
            assert_agrees(&compare(&blocks, significance).unwrap(), significance);
            let one = Block {
                a: blocks.iter().flat_map(|block| block.a.clone()).collect(),
                b: blocks.iter().flat_map(|block| block.b.clone()).collect(),
            };
            assert_agrees(&compare(&[one], significance).unwrap(), significance);
            // A covariate that explains nothing, and lies apart now and then.
            let speeds = with_outliers(blocks.len(), share, 0.0, &mut random);
            let found = adjusted(&blocks, &speeds, significance).unwrap().comparison;
            assert_agrees(&found, significance);
        }
    }
}

/// Figures that a clock or a counter rounds are often equal.
#[test]
fn the_interval_agrees_with_the_test_if_most_figures_are_equal() {
    let mut random = Random::new(13);
    for round in 0..300 {
        let values = 2 + round % 3;
        let mut arm = |more: u64| -> Vec<f64> {
            (0..2).map(|_| 100.0 + (random.below(values) + more) as f64).collect()
        };
        let blocks: Vec<Block> =
            (0..3 + round % 3).map(|_| Block { a: arm(0), b: arm(round % 2) }).collect();
        assert_agrees(&compare(&blocks, 0.05).unwrap(), 0.05);
    }
    let equal = compare(&blocks(&[([7.0, 7.0], [7.0, 7.0]); 5]), 0.05).unwrap();
    assert!(equal.ratio == 1.0 && equal.p == 1.0, "{equal:?}");
    assert_eq!(equal.verdict(Better::Lower, 0.03), Verdict::Equivalent);
}

/// One trial of twenty took three times as long. The mean would say that B is 12 % slower.
#[test]
fn a_trial_that_lies_apart_decides_nothing() {
    let mut random = Random::new(21);
    let mut blocks = with_outliers(5, 0.0, 0.0, &mut random);
    let before = compare(&blocks, 0.05).unwrap();
    blocks[2].b[0] *= 3.0;
    let found = compare(&blocks, 0.05).unwrap();
    assert!((found.ratio / before.ratio - 1.0).abs() < 0.02, "{found:?}");
    let (low, high) = found.interval;
    assert!(low < 0.99 && 1.01 < high && high < 1.05, "{found:?}");
    assert!(1.03 < found.t_interval.unwrap().1, "the mean is moved: {found:?}");
    assert_eq!(found.verdict(Better::Lower, 0.03), Verdict::Undecided);
}

/// Without a difference better and worse are rare, and with one of 5 % equivalent is, under outliers.
#[test]
fn verdicts_err_as_rarely_as_promised_beside_outliers() {
    let mut random = Random::new(33);
    let runs = 300;
    for per_arm in [6, 10] {
        let mut verdicts = |effect: f64| -> Vec<Verdict> {
            let blocks = |_| with_outliers(per_arm / 2, 0.08, effect, &mut random);
            let found = (0..runs).map(blocks).map(|blocks| compare(&blocks, 0.05).unwrap());
            found.map(|found| found.verdict(Better::Lower, 0.03)).collect()
        };
        let share = |verdicts: Vec<Verdict>, counted: &[Verdict]| {
            let found = verdicts.iter().filter(|verdict| counted.contains(verdict)).count();
            found as f64 / f64::from(runs)
        };
        let different = share(verdicts(0.0), &[Verdict::Better, Verdict::Worse]);
        assert!(different < 0.055, "{per_arm} per arm: {different}");
        let equivalent = share(verdicts(0.05), &[Verdict::Equivalent]);
        assert!(equivalent <= 0.01, "{per_arm} per arm: {equivalent}");
    }
}

/// Of trials with equal means but unequal spreads and numbers, Welch's interval leaves out the true
/// ratio as often as it promises.
#[test]
fn the_interval_of_welch_covers_the_ratio() {
    let mut random = Random::new(17);
    let runs = 4_000;
    let missed = (0..runs).filter(|_| {
        let a: Vec<f64> = (0..5).map(|_| (0.01 * random.normal()).exp()).collect();
        let b: Vec<f64> = (0..9).map(|_| 1.1 * (0.04 * random.normal()).exp()).collect();
        let (low, high) = welch(&a, &b, 0.05).unwrap().interval;
        !(low..=high).contains(&1.1)
    });
    let share = missed.count() as f64 / f64::from(runs);
    assert!((0.035..0.065).contains(&share), "{share}");
    assert_eq!(welch(&[1.0], &[1.0, 2.0], 0.05), None);
    assert_eq!(welch(&[1.0, -1.0], &[1.0, 2.0], 0.05), None);
    assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0], 0.05), None);
    assert_eq!(welch(&[7.0; 5], &[14.0; 5], 0.05), None);
}

/// The number of further blocks is that of the usual formula (t·s/√n below what is spare), and is not
/// known where the noise is not.
#[test]
fn more_blocks_are_those_that_the_t_interval_needs() {
    let block = |a: f64, b: f64| Block { a: vec![100.0 * a], b: vec![100.0 * b] };
    // Differences of 0, 4 and −4 %: s = 4 %. An interval within ± 3 % needs t·s/√n < 3 %: n = 10.
    let noisy = [block(1.0, 1.0), block(1.0, 0.04_f64.exp()), block(1.0, (-0.04_f64).exp())];
    assert_eq!(more_blocks(&noisy, 0.05, 0.03), Some(7));
    // Of 6 ± 4 %: t·s/√n < 6 % from n = 5. But five pairs can refuse nothing at 5 %: two of their 32 orders
    // are as extreme as possible.
    let worse = noisy.clone().map(|block| Block { b: vec![block.b[0] * 0.06_f64.exp()], ..block });
    assert_eq!(more_blocks(&worse, 0.05, 0.03), Some(3));
    // An effect of the size of the margin is never decided as equivalent, and soon as worse.
    assert_eq!(more_blocks(&noisy[..1], 0.05, 0.03), None, "one pair shows no noise");
    let one = Block { a: vec![100.0, 104.0, 96.0], b: vec![101.0, 103.0, 97.0] };
    // A block of three and three: s = 2.9 % of its difference, and four degrees of freedom each.
    // The middle of the nine differences is 1 %, so that 2 % are spare.
    assert_eq!(more_blocks(&[one], 0.05, 0.03), Some(9));
}

/// Results of somebody else may have any figures. Beyond e^512 the shift is too large to be known to the last digit.
#[test]
fn figures_that_no_machine_has_are_compared_and_end() {
    let found = compare(&blocks(&[([1e-150; 2], [1e150; 2])]), 0.05).unwrap();
    assert!((found.ratio.ln() - 1e300_f64.ln()).abs() < 1e-6, "{found:?}");
    for (a, b) in [(1e-320, 1e3), (1e-320, f64::MAX), (1e300, 1e-300)] {
        let blocks = blocks(&[([a, 2.0 * a], [b / 2.0, b])]);
        assert!(compare(&blocks, 0.05).is_some(), "{a} and {b}");
        more_blocks(&blocks, 0.05, 0.03);
    }
}
