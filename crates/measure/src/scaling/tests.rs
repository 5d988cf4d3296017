use super::*;

fn law(lambda: f64, sigma: f64, kappa: f64) -> Law {
    Law { form: Form::Usl, lambda, sigma, kappa }
}

/// So many values at each level, with noise of this standard deviation of logarithms.
fn levels(law: Law, ns: &[f64], each: usize, sd: f64, random: &mut Random) -> Vec<Level> {
    let mut value = |n: f64| law.at(n) * (sd * random.normal()).exp();
    let level =
        |&n: &f64| Level { n, values: (0..each).map(|_| value(n)).collect(), interval: None };
    ns.iter().map(level).collect()
}

fn exact(law: Law, ns: &[f64], each: usize) -> Vec<Level> {
    levels(law, ns, each, 0.0, &mut Random::new(1))
}

fn identified(levels: &[Level]) -> Identified {
    match conclude(levels, &mut Random::new(2)) {
        Conclusion::Identified(found) => found,
        Conclusion::NotIdentifiable(reason) => panic!("{reason:?}"),
    }
}

fn reason(levels: &[Level]) -> Reason {
    match conclude(levels, &mut Random::new(2)) {
        Conclusion::Identified(found) => panic!("{:?}", found.law),
        Conclusion::NotIdentifiable(reason) => reason,
    }
}

fn near(value: f64, wanted: f64, share: f64) -> bool {
    (value - wanted).abs() <= share * wanted.abs() + 1e-9
}

#[test]
fn exact_data_of_each_form_give_their_parameters_back() {
    for (form, sigma, kappa) in [
        (Form::Linear, 0.0, 0.0),
        (Form::Amdahl, 0.08, 0.0),
        (Form::Usl, 0.05, 0.002),
        (Form::Usl, 0.0, 0.01),
    ] {
        let found = identified(&exact(law(750.0, sigma, kappa), &[1.0, 2.0, 4.0, 8.0, 16.0], 2));
        assert_eq!(found.form, form);
        assert!(near(found.lambda.value, 750.0, 1e-6), "{found:?}");
        assert!((found.sigma.value - sigma).abs() < 1e-6, "{:?}", found.sigma);
        assert!((found.kappa.value - kappa).abs() < 1e-7, "{:?}", found.kappa);
    }
}

/// Throughputs of a ray tracer on 1 to 64 processors (Gunther, *Guerrilla Capacity Planning*, 2007): the
/// published fit, by least squares of the throughputs themselves, has σ = 0.05, a κ near zero and a peak
/// far beyond the data.
#[test]
fn a_published_table_has_the_published_contention() {
    let table = [
        (1.0, 20.0),
        (4.0, 78.0),
        (8.0, 130.0),
        (12.0, 170.0),
        (16.0, 190.0),
        (20.0, 200.0),
        (24.0, 210.0),
        (28.0, 230.0),
        (32.0, 260.0),
        (48.0, 280.0),
        (64.0, 310.0),
    ];
    let levels: Vec<Level> =
        table.iter().map(|&(n, value)| Level { n, values: vec![value], interval: None }).collect();
    let found = identified(&levels);
    assert_eq!((found.form, found.peak), (Form::Amdahl, None));
    // Least squares of the logarithms weigh the low levels more.
    assert!((found.sigma.value - 0.05).abs() < 0.01, "{:?}", found.sigma);
    let (low, high) = found.sigma.interval;
    assert!(low < 0.05 && 0.05 < high, "{:?}", found.sigma);
    let (low, high) = found.lambda.interval;
    assert!(low < 20.0 && 20.0 < high, "{:?}", found.lambda);
}

#[test]
fn a_peak_is_named_only_within_twice_the_largest_level() {
    let ns = [1.0, 2.0, 4.0, 8.0, 16.0];
    let near_peak = identified(&exact(law(100.0, 0.05, 0.002), &ns, 2));
    assert!(near(near_peak.peak.unwrap().value, (0.95f64 / 0.002).sqrt(), 1e-4));
    let far_peak = identified(&exact(law(100.0, 0.05, 0.0002), &ns, 2));
    assert_eq!((far_peak.form, far_peak.peak), (Form::Usl, None));
    assert!(far_peak.at(32.0).is_some());
    assert_eq!(far_peak.at(32.1), None);
    assert_eq!(far_peak.at(0.9), None);
}

/// The least squares are compared with every point of a fine grid.
#[test]
fn no_point_of_a_grid_fits_better() {
    let mut random = Random::new(3);
    for _ in 0..5 {
        let truth = law(10.0, 0.6 * random.unit(), 0.02 * random.unit());
        let data =
            points(&levels(truth, &[1.0, 2.0, 3.0, 6.0, 12.0], 2, 0.1, &mut random)).unwrap();
        let (_, squares) = least_squares(&data, Form::Usl);
        for i in 0..=100 {
            for j in 0..=100 {
                let (sigma, kappa) = (f64::from(i) / 100.0, f64::from(j) * 0.0005);
                let residuals = data.iter().flat_map(|level| {
                    let expected = level.n.ln() - slowdown(level.n, sigma, kappa).ln();
                    level.logs.iter().map(move |log| log - expected)
                });
                let residuals: Vec<f64> = residuals.collect();
                let middle = mean(&residuals);
                let at_grid: f64 = residuals.iter().map(|r| (r - middle).powi(2)).sum();
                assert!(squares <= at_grid + 1e-9, "{squares} above {at_grid} at {sigma}, {kappa}");
            }
        }
    }
}

/// The share of experiments whose intervals hold the truth: λ, σ, κ, and the curve at the largest level.
fn coverage(truth: Law, ns: &[f64], each: usize, sd: f64, runs: u64) -> ([f64; 4], f64) {
    let (mut covered, mut known) = ([0.0; 4], 0.0);
    for run in 0..runs {
        let mut random = Random::part(11, run);
        let data = levels(truth, ns, each, sd, &mut random);
        let Conclusion::Identified(found) = conclude(&data, &mut random) else { continue };
        known += 1.0;
        let last = ns[ns.len() - 1];
        let pairs = [
            (found.lambda, truth.lambda),
            (found.sigma, truth.sigma),
            (found.kappa, truth.kappa),
            (found.at(last).unwrap(), truth.at(last)),
        ];
        for (sum, (estimate, truth)) in covered.iter_mut().zip(pairs) {
            let (low, high) = estimate.interval;
            *sum += f64::from(u8::from(low <= truth && truth <= high));
        }
    }
    (covered.map(|sum| sum / known), known / runs as f64)
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_promise() {
    let ns = [1.0, 2.0, 4.0, 8.0];
    for (truth, each, sd) in [
        (law(100.0, 0.0, 0.0), 3, 0.02),
        (law(100.0, 0.1, 0.0), 3, 0.02),
        (law(100.0, 0.05, 0.01), 3, 0.02),
    ] {
        let (covered, known) = coverage(truth, &ns, each, sd, 100);
        assert!(0.9 < known, "{truth:?}: identified in {known}");
        // Four standard deviations of a share of 0.95 below it.
        assert!(covered.iter().all(|share| 0.86 < *share), "{truth:?}: {covered:?}");
    }
}

#[test]
fn noise_leaves_the_law_unknown() {
    let (_, known) = coverage(law(100.0, 0.1, 0.0), &[1.0, 2.0, 3.0], 2, 0.4, 50);
    assert!(known < 0.2, "{known}");
}

#[test]
fn what_the_trials_do_not_show_has_its_reason() {
    let linear = law(100.0, 0.0, 0.0);
    assert_eq!(reason(&exact(linear, &[1.0, 2.0], 5)), Reason::TooFew { levels: 2, values: 10 });
    assert_eq!(
        reason(&exact(linear, &[1.0, 2.0, 3.0], 1)),
        Reason::TooFew { levels: 3, values: 3 }
    );
    assert!(matches!(reason(&exact(law(1e3, 1.0, 0.0), &[1.0, 2.0, 4.0], 3)), Reason::NoGrowth));
    let mut step = exact(linear, &[1.0, 2.0, 4.0, 8.0], 3);
    step[2].values = vec![250.0, 251.0, 249.0];
    let Reason::Misses { n, by } = reason(&step) else { panic!("{:?}", reason(&step)) };
    assert!(n == 4.0 && by < -0.05, "{n}: {by}");
}

/// The numbers of the users service, of which almost all answers were refusals at one replica.
#[test]
fn a_table_of_an_overload_is_superlinear_and_has_no_law() {
    let table: [(f64, [f64; 3]); 6] = [
        (1.0, [606.0, 623.0, 621.0]),
        (2.0, [1068.0, 1100.0, 1168.0]),
        (3.0, [1447.0, 2077.0, 2020.0]),
        (4.0, [3100.0, 3351.0, 3489.0]),
        (6.0, [5182.0, 5374.0, 5401.0]),
        (10.0, [7822.0, 8274.0, 8357.0]),
    ];
    let levels: Vec<Level> = table
        .iter()
        .map(|(n, values)| Level { n: *n, values: values.to_vec(), interval: None })
        .collect();
    let Reason::Superlinear { n, efficiency } = reason(&levels) else { panic!() };
    assert_eq!((n, (efficiency * 100.0).round()), (6.0, 144.0));
}

#[test]
fn chance_alone_is_not_superlinear() {
    let level = |n: f64, values: [f64; 3]| Level { n, values: values.to_vec(), interval: None };
    let scattered = [level(1.0, [80.0, 100.0, 120.0]), level(2.0, [180.0, 220.0, 250.0])];
    let efficiency = efficiencies(&scattered).unwrap()[1];
    assert!(SUPERLINEAR < efficiency.value && !efficiency.is_superlinear(), "{efficiency:?}");
}

/// Capacities of one search each, as a disturbed machine gave them: twice 125/s lies within the interval of
/// the 271/s.
#[test]
fn the_intervals_of_single_values_make_that_of_the_efficiency() {
    let level = |n: f64, value: f64, interval| Level { n, values: vec![value], interval };
    let wide = |n: f64, value: f64, low: f64, high: f64| level(n, value, Some((low, high)));
    let levels = [
        wide(1.0, 125.0, 100.0, 132.0),
        wide(2.0, 271.0, 242.0, 295.0),
        wide(3.0, 397.0, 353.0, 427.0),
        wide(4.0, 528.0, 508.0, 624.0),
    ];
    let (low, high) = efficiencies(&levels).unwrap()[1].interval.unwrap();
    // ln 1.084 less and more the roots of 0.1132² + 0.0545² and 0.0849² + 0.2231².
    assert!((low - 0.956).abs() < 1e-3 && (high - 1.376).abs() < 1e-3, "{low} … {high}");
    assert_eq!(superlinear(&levels), None);
    let narrow = [wide(1.0, 125.0, 124.0, 126.0), wide(2.0, 271.0, 268.0, 274.0)];
    let is_shown = |levels: &[Level]| superlinear(levels).is_some_and(|(n, _)| n == 2.0);
    assert!(is_shown(&narrow));
    // Without an interval of one of them nothing tells chance from more than was promised.
    let unknown = [level(1.0, 125.0, None), wide(2.0, 271.0, 268.0, 274.0)];
    assert_eq!(efficiencies(&unknown).unwrap()[1].interval, None);
    assert!(is_shown(&unknown));
}
