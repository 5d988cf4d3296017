use super::*;

/// Blocks of two and two, with a little noise and this ratio of B to A.
fn blocks(count: usize, ratio: f64) -> Vec<Block> {
    let block = |index: usize| {
        let base = 100.0 + index as f64;
        Block { a: vec![base, base * 1.004], b: vec![base * ratio * 1.002, base * ratio * 1.003] }
    };
    (0..count).map(block).collect()
}

fn question(metric: Metric, blocks: Vec<Block>) -> Question {
    Question {
        metric,
        of: Of::default(),
        blocks,
        censored: None,
        speeds: Vec::new(),
        interleaved: true,
        trials: Default::default(),
    }
}

fn compared(questions: Vec<Question>) -> Comparison {
    compare(["old", "new"], questions, Vec::new(), 0.03, &[])
}

#[test]
fn the_direction_of_a_metric_makes_a_difference_better_or_worse() {
    let verdict = |metric, ratio| compared(vec![question(metric, blocks(5, ratio))]).verdict;
    assert_eq!(verdict(Metric::P99, 1.05), Verdict::Worse);
    assert_eq!(verdict(Metric::P99, 0.95), Verdict::Better);
    assert_eq!(verdict(Metric::Capacity, 1.05), Verdict::Better);
    assert_eq!(verdict(Metric::Completed, 0.95), Verdict::Worse);
    assert_eq!(verdict(Metric::P99, 1.0), Verdict::Equivalent);
}

/// None lost against a hundred, and nothing completed against a thousand per second.
#[test]
fn a_figure_of_zero_is_compared_like_any_other() {
    let of = |metric, a: f64, b: f64| {
        let block = Block { a: vec![a, a], b: vec![b, b] };
        compared(vec![question(metric, vec![block; 5])]).metrics.remove(0)
    };
    let lossy = of(Metric::Lost, 0.0, 100.0);
    assert_eq!(
        (lossy.verdict, lossy.median_a, lossy.median_b),
        (Verdict::Worse, Some(Found::Exact(0.0)), Some(Found::Exact(100.0)))
    );
    assert!((lossy.effect.unwrap() - 101.0).abs() < 1e-9, "{lossy:?}");
    assert_eq!(of(Metric::Lost, 100.0, 0.0).verdict, Verdict::Better);
    assert_eq!(of(Metric::Lost, 0.0, 0.0).verdict, Verdict::Equivalent);
    assert_eq!(of(Metric::Goodput, 1_000.0, 0.0).verdict, Verdict::Worse);
}

#[test]
fn too_few_trials_are_undecided_and_say_how_many_are_missing() {
    let of = |blocks| compared(vec![question(Metric::P99, blocks)]).metrics.remove(0);
    let one = of(blocks(1, 1.05));
    assert_eq!((one.verdict, one.interval), (Verdict::Undecided, None), "{one:?}");
    // Two blocks of two and two can refuse nothing at 5 %: their smallest p is 2 of 36.
    assert_eq!(one.more_blocks_needed, Some(2));
    let none = of(vec![Block { a: vec![1.0], b: Vec::new() }]);
    assert_eq!((none.verdict, none.effect, none.p), (Verdict::Undecided, None, None));
    assert_eq!(none.more_blocks_needed, None);
}

/// The figures are those of the trials that work.
#[test]
fn trials_that_fail_decide_by_their_number() {
    let of = |metric, ratio, a: (usize, usize), b: (usize, usize)| {
        let trials = [a, b].map(|(failing, all)| Trials { all, failing });
        let all = blocks(5, ratio).into_iter();
        let none =
            |arm: (usize, usize), values: Vec<f64>| if arm.0 < arm.1 { values } else { vec![] };
        let blocks = all.map(|block| Block { a: none(a, block.a), b: none(b, block.b) }).collect();
        let question = Question { trials, ..question(metric, blocks) };
        compared(vec![question]).metrics.remove(0)
    };
    let p99 = |ratio, a, b| of(Metric::P99, ratio, a, b).verdict;
    assert_eq!(p99(0.5, (0, 10), (0, 10)), Verdict::Better);
    assert_eq!(p99(0.5, (0, 10), (10, 10)), Verdict::Worse);
    assert_eq!(p99(0.5, (0, 10), (7, 10)), Verdict::Worse);
    assert_eq!(p99(0.5, (0, 10), (2, 10)), Verdict::Undecided);
    assert_eq!(p99(1.0, (0, 10), (2, 10)), Verdict::Undecided);
    assert_eq!(p99(2.0, (0, 10), (2, 10)), Verdict::Worse);
    assert_eq!(p99(2.0, (2, 10), (0, 10)), Verdict::Undecided);
    assert_eq!(p99(0.5, (10, 10), (0, 10)), Verdict::Undecided);
    assert_eq!(p99(0.5, (10, 10), (10, 10)), Verdict::Undecided);
    assert_eq!(p99(0.5, (0, 1), (1, 1)), Verdict::Undecided, "one says nothing of the spread");
    let worse = of(Metric::P99, 0.5, (0, 10), (10, 10));
    assert_eq!(worse.more_blocks_needed, Some(0));
    assert!(
        worse.refused.is_some_and(|why| why.contains("10 of 10 trials of B, and in 0 of 10 of A"))
    );
}

/// Two metrics: the smaller p is judged at 2.5 %, and the other at 5 % only if that one was refused.
#[test]
fn several_metrics_share_the_probability_of_an_error() {
    let confidences = |ratio| -> Vec<f64> {
        let questions = vec![
            question(Metric::Completed, blocks(5, 1.0)),
            question(Metric::P99, blocks(5, ratio)),
        ];
        compared(questions).metrics.iter().map(|compared| compared.confidence).collect()
    };
    assert_eq!(confidences(1.1), [0.95, 0.975]);
    assert_eq!(confidences(1.0), [0.975, 0.975]);
}

#[test]
fn the_worst_verdict_of_the_metrics_is_that_of_the_whole() {
    let verdict = |ratios: [f64; 2]| {
        let [completed, p99] = ratios.map(|ratio| blocks(6, ratio));
        compared(vec![question(Metric::Completed, completed), question(Metric::P99, p99)]).verdict
    };
    assert_eq!(verdict([1.1, 1.1]), Verdict::Worse);
    assert_eq!(verdict([1.1, 1.0]), Verdict::Better);
    assert_eq!(verdict([1.0, 1.0]), Verdict::Equivalent);
    assert_eq!(compared(Vec::new()).verdict, Verdict::Undecided);
}

/// The machine was slower in the trials of B, which explains all of the difference; the raw figures
/// decide nevertheless.
#[test]
fn the_figures_at_equal_speed_stand_beside_the_verdict_and_do_not_decide() {
    let speed = |of: f64, noise: f64| vec![of, of * noise];
    let block = |index: usize| {
        let noise = 1.0 + 0.004 * (index + 1) as f64;
        Block { a: speed(1.0, noise), b: speed(0.9, 1.0 / noise) }
    };
    let speeds: Vec<Block> = (0..5).map(block).collect();
    let slowed = |speeds: &[f64]| speeds.iter().map(|speed| 100.0 / speed).collect();
    let figures: Vec<Block> =
        speeds.iter().map(|block| Block { a: slowed(&block.a), b: slowed(&block.b) }).collect();
    let question = Question { speeds, ..question(Metric::P99, figures) };
    let found = compared(vec![question]);
    let p99 = &found.metrics[0];
    assert_eq!((found.verdict, p99.verdict), (Verdict::Worse, Verdict::Worse), "{p99:?}");
    let adjusted = p99.adjusted.unwrap();
    assert!((adjusted.slope + 1.0).abs() < 1e-6, "{adjusted:?}");
    assert!((adjusted.effect - 1.0).abs() < 1e-6, "{adjusted:?}");
    assert_eq!(
        compared(vec![self::question(Metric::P99, blocks(5, 1.1))]).metrics[0].adjusted,
        None
    );
}
