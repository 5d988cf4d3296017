use super::*;
use crate::Random;

fn near(value: f64, wanted: f64, error: f64) -> bool {
    (value - wanted).abs() <= error
}

/// √((n − 1)/χ²) for n − 1 degrees of freedom, from tables of χ².
#[test]
fn the_interval_of_an_rsd_has_the_known_factors() {
    for (n, low, high) in [(5, 0.60, 2.87), (10, 0.69, 1.83), (20, 0.76, 1.46)] {
        let values: Vec<f64> = (0..n).map(|i| 100.0 + f64::from(i)).collect();
        let Rsd { rsd, interval } = rsd(&values, 0.95).unwrap();
        assert!(near(interval.0 / rsd, low, 0.005), "{n}: {}", interval.0 / rsd);
        assert!(near(interval.1 / rsd, high, 0.005), "{n}: {}", interval.1 / rsd);
    }
}

#[test]
fn an_rsd_has_the_divisor_of_a_sample() {
    // Mean 3, squares 4 + 1 + 0 + 1 + 4 = 10, variance 10 / 4.
    let found = rsd(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
    assert!(near(found.rsd, 2.5f64.sqrt() / 3.0, 1e-12));
    assert_eq!(rsd(&[1.0], 0.95), None);
    assert_eq!(rsd(&[-1.0, 0.5], 0.95), None);
}

#[test]
fn shamos_is_the_deviation_of_normal_values_and_sees_two_groups() {
    let mut random = Random::new(1);
    let values: Vec<f64> = (0..1_500).map(|_| 100.0 + 2.0 * random.normal()).collect();
    assert!(near(shamos(&values).unwrap(), 0.02, 0.001), "{:?}", shamos(&values));
    // More than half of the values are equal, so their deviation from the median would be 0.
    let two = [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 94.0, 94.0, 94.0, 94.0];
    assert!(0.05 < shamos(&two).unwrap());
    // One outlier in ten moves it little.
    let one = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 101.2, 98.8, 500.0];
    assert!(shamos(&one).unwrap() < 0.02);
}

/// An exponential tail fits exactly: the floor is then the standard error by the formula, which a
/// simulation repeats.
#[test]
fn the_sampling_floor_is_what_chance_alone_gives() {
    let p90 = Percentile { level: 0.9, value: 10f64.ln() };
    let p99 = Percentile { level: 0.99, value: 100f64.ln() };
    let count = 2_000;
    let floor = sampling_floor(p90, p99, count).unwrap();
    let mut random = Random::new(7);
    let quantile = |random: &mut Random| {
        let mut values: Vec<f64> = (0..count).map(|_| random.exponential(1.0)).collect();
        values.sort_by(f64::total_cmp);
        values[(count as usize * 99).div_ceil(100) - 1]
    };
    let quantiles: Vec<f64> = (0..1_000).map(|_| quantile(&mut random)).collect();
    let seen = rsd(&quantiles, 0.95).unwrap().rsd;
    assert!(near(seen / floor, 1.0, 0.1), "{seen} beside {floor}");
    assert_eq!(sampling_floor(p90, p99, 0), None);
    assert_eq!(sampling_floor(p99, p90, 100), None);
}

/// Returns how often spreads are called different at 5 % with this noise, whose scale is so many times as
/// large in the first set.
fn called_different(
    count: usize,
    scale: f64,
    noise: impl Fn(usize, &mut Random) -> Vec<f64>,
) -> f64 {
    let mut random = Random::new(3);
    let runs = 600;
    let mut trials = |sd: f64| -> Vec<f64> {
        noise(count, &mut random).iter().map(|value| 100.0 * (sd * value).exp()).collect()
    };
    let different = (0..runs).filter(|_| {
        let test = compare_spreads(&trials(0.01 * scale), &trials(0.01)).unwrap();
        test.p <= 0.05 && test.autocorrelation.is_none()
    });
    different.count() as f64 / f64::from(runs)
}

fn normal(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| random.normal()).collect()
}

/// Student's t with three degrees of freedom.
fn heavy_tails(count: usize, random: &mut Random) -> Vec<f64> {
    let value = |_| {
        let squares = (0..3).map(|_| random.normal().powi(2)).sum::<f64>();
        random.normal() / (squares / 3.0).sqrt()
    };
    (0..count).map(value).collect()
}

fn with_outliers(count: usize, random: &mut Random) -> Vec<f64> {
    let apart = |random: &mut Random| {
        if random.unit() < 0.08 { random.exponential(10.0) } else { 0.0 }
    };
    (0..count).map(|_| random.normal() + apart(random)).collect()
}

/// Each trial resembles the one before.
fn autocorrelated(count: usize, random: &mut Random) -> Vec<f64> {
    let mut before = random.normal();
    let value = |_| {
        before = 0.8 * before + 0.6 * random.normal();
        before
    };
    (0..count).map(value).collect()
}

/// The choice between F and Brown and Forsythe's test by a look at outliers refused 9 to 10 % with heavy
/// tails, and 16 to 25 % of trials that resemble each other.
#[test]
fn equal_spreads_are_called_different_as_rarely_as_promised_whatever_the_noise() {
    for count in [5, 10] {
        for (noise, share) in [
            ("normal", called_different(count, 1.0, normal)),
            ("heavy tails", called_different(count, 1.0, heavy_tails)),
            ("outliers", called_different(count, 1.0, with_outliers)),
            ("autocorrelated", called_different(count, 1.0, autocorrelated)),
        ] {
            // Three standard deviations of a share of 0.055.
            assert!(share <= 0.083, "{count} trials, {noise}: {share}");
        }
    }
}

#[test]
fn a_fifth_of_the_spread_is_found_in_ten_trials() {
    let found = called_different(10, 5.0, normal);
    assert!(0.85 < found, "{found}");
    let found = called_different(10, 5.0, heavy_tails);
    assert!(0.74 < found, "{found}");
}

/// Five trials each: of the 70 exchanges of four and four distances two are as extreme as possible.
#[test]
fn the_probability_of_spreads_is_that_of_all_exchanges() {
    let (wide, narrow) = ([90.0, 95.0, 100.0, 106.0, 112.0], [99.0, 99.6, 100.0, 100.3, 100.9]);
    let test = compare_spreads(&wide, &narrow).unwrap();
    assert!(near(test.p, 2.0 / 70.0, 1e-9), "{test:?}");
    assert!(near(test.ratio, 0.09, 0.02), "{test:?}");
    assert_eq!(compare_spreads(&narrow, &wide).unwrap().p, test.p);
    assert_eq!(compare_spreads(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
    // The deviation of five equal logarithms is not always zero.
    assert_eq!(compare_spreads(&[7.0; 5], &[1.0, 2.0, 3.0]), None);
    assert_eq!(compare_spreads(&[1.0, 2.0], &[1.0, 2.0, 3.0]), None);
    // Near the longest exact sets both ways agree.
    let mut random = Random::new(4);
    let mut values =
        |sd: f64| -> Vec<f64> { (0..50).map(|_| sd * random.normal().abs()).collect() };
    let (one, other) = (values(1.0), values(1.6));
    let longer = |values: &[f64]| [values, &values[..1]].concat();
    let both = [exchanged(&one, &other), exchanged(&longer(&one), &longer(&other))];
    assert!(both.iter().all(|p| (1e-6..0.02).contains(p)), "{both:?}");
}

/// F and Brown and Forsythe's test, which are shown beside it, keep their promise with normal trials.
#[test]
fn the_tests_of_spreads_to_look_at_are_right_for_normal_trials() {
    let mut random = Random::new(3);
    let runs = 1_000;
    let mut refused = (0, 0);
    for _ in 0..runs {
        let mut trials = || -> Vec<f64> {
            normal(10, &mut random).iter().map(|value| 100.0 * (0.02 * value).exp()).collect()
        };
        let test = compare_spreads(&trials(), &trials()).unwrap();
        refused.0 += u32::from(test.f <= 0.05);
        refused.1 += u32::from(test.brown_forsythe <= 0.05);
    }
    let share = |refused: u32| f64::from(refused) / f64::from(runs);
    assert!(near(share(refused.0), 0.05, 0.041), "{refused:?}");
    assert!(share(refused.1) < 0.091, "{refused:?}");
}

#[test]
fn an_outlier_is_named_and_normal_values_hardly_ever_are() {
    let values = [100.0, 101.0, 99.0, 100.0, 112.0, 100.0, 99.5];
    let found = outliers(&values, 0.05);
    assert_eq!(found.iter().map(|one| one.index).collect::<Vec<_>>(), [4]);
    assert_eq!(outliers(&[3.0; 5], 0.05), []);
    let mut random = Random::new(5);
    let runs = 4_000;
    let named = (0..runs).filter(|_| {
        let values: Vec<f64> = (0..5).map(|_| random.normal()).collect();
        !outliers(&values, 0.05).is_empty()
    });
    let share = named.count() as f64 / f64::from(runs);
    assert!(share < 0.071, "{share}");
}
