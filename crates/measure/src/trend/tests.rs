use super::*;

/// Every order of so many values.
fn orders(n: usize) -> Vec<Vec<f64>> {
    match n {
        0 => vec![Vec::new()],
        n => (orders(n - 1).iter())
            .flat_map(|order| {
                (0..n).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, n as f64);
                    order
                })
            })
            .collect(),
    }
}

#[test]
fn the_probability_is_that_of_all_orders() {
    for n in 2..=7 {
        let all: Vec<i64> = orders(n).iter().map(|order| s_of(order)).collect();
        for order in orders(n).iter().step_by(11) {
            let trend = mann_kendall(&[order]).unwrap();
            let far = all.iter().filter(|s| trend.s.abs() <= s.abs()).count();
            let p = far as f64 / all.len() as f64;
            assert!((trend.p - p).abs() < 1e-12, "{order:?}: {} of {p}", trend.p);
        }
    }
}

#[test]
fn four_values_can_never_show_a_trend() {
    let trend = mann_kendall(&[&[1.0, 2.0, 3.0, 4.0]]).unwrap();
    assert_eq!((trend.s, trend.most), (6, 6));
    assert!((trend.p - 2.0 / 24.0).abs() < 1e-12);
}

/// A published table: successful logins in three runs each with 1, 2, 3, 4, 6 and 10 replicas. They rise
/// inside the levels: 85 of 46,656 combinations of orders are as extreme on each side.
#[test]
fn groups_are_tested_together_whatever_their_levels() {
    let groups: [&[f64]; 6] = [
        &[606.0, 623.0, 621.0],
        &[1068.0, 1100.0, 1168.0],
        &[1447.0, 2077.0, 2020.0],
        &[3100.0, 3351.0, 3489.0],
        &[5182.0, 5374.0, 5401.0],
        &[7822.0, 8274.0, 8357.0],
    ];
    let trend = mann_kendall(&groups).unwrap();
    assert_eq!((trend.s, trend.most), (14, 18));
    assert!((trend.p - 2.0 * 85.0 / 46_656.0).abs() < 1e-12, "{}", trend.p);
}

#[test]
fn ties_and_long_series_are_nearly_normal() {
    // n = 10 with two ties of two: variance (10·9·25 − 2·2·1·9) / 18 = 123.
    let values = [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0, 7.0, 8.0];
    assert_eq!(variance_of_s(&values), 123.0);
    let trend = mann_kendall(&[&values]).unwrap();
    assert_eq!(trend.s, 43);
    assert!((trend.p - 2.0 * Normal::standard().sf(42.0 / 123f64.sqrt())).abs() < 1e-15);
    // At the longest exact series both agree.
    let values: Vec<f64> = (0..30).map(|i| f64::from(i * 7 % 30) + f64::from(i) * 0.4).collect();
    let trend = mann_kendall(&[&values]).unwrap();
    assert!((trend.p - normal_p(&[&values], trend.s)).abs() < 0.003, "{trend:?}");
}

#[test]
fn equal_values_are_no_trend_and_one_value_is_no_series() {
    assert_eq!(mann_kendall(&[&[3.0, 3.0, 3.0]]).unwrap().p, 1.0);
    assert_eq!(mann_kendall(&[&[3.0], &[]]), None);
}

#[test]
fn the_slope_is_deaf_to_one_outlier() {
    assert_eq!(slope(&[1.0, 3.0, 5.0, 100.0, 9.0]), Some(2.0));
    assert_eq!(slope(&[1.0]), None);
}
