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

/// With equal true spreads, both tests refuse as often as they say; with a fifth, they find it.
#[test]
fn tests_of_spreads_refuse_as_often_as_they_promise() {
    let mut random = Random::new(3);
    let mut trials =
        |sd: f64| -> Vec<f64> { (0..10).map(|_| (sd * random.normal()).exp() * 100.0).collect() };
    let runs = 4_000;
    let mut shares = |sd: f64| {
        let mut refused = (0, 0);
        for _ in 0..runs {
            let test = compare_spreads(&trials(0.02), &trials(sd)).unwrap();
            refused.0 += u32::from(test.f <= 0.05);
            refused.1 += u32::from(test.brown_forsythe <= 0.05);
        }
        (f64::from(refused.0) / f64::from(runs), f64::from(refused.1) / f64::from(runs))
    };
    let (f, brown_forsythe) = shares(0.02);
    // Six standard deviations of a share of 0.05.
    assert!(near(f, 0.05, 0.021), "{f}");
    assert!(brown_forsythe < 0.071, "{brown_forsythe}");
    let (f, brown_forsythe) = shares(0.004);
    assert!(0.95 < f && 0.85 < brown_forsythe, "{f}, {brown_forsythe}");
    assert_eq!(compare_spreads(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
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
