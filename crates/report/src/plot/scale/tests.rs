use super::*;

fn ticks(scale: Scale, most: usize) -> String {
    let ticks: Vec<String> =
        scale.ticks(most).iter().map(|tick| format!("{}", (tick * 1e6).round() / 1e6)).collect();
    ticks.join(" ")
}

#[test]
fn linear_ticks_are_round() {
    assert_eq!(ticks(Scale::from_zero([3_712.0]), 8), "0 500 1000 1500 2000 2500 3000 3500 4000");
    assert_eq!(ticks(Scale::from_zero([0.98]), 4), "0 0.5 1");
    assert_eq!(ticks(Scale::from_zero([7.0]), 8), "0 1 2 3 4 5 6 7");
    assert_eq!(ticks(Scale::from_zero([]), 4), "0 0.5 1");
}

#[test]
fn logarithmic_ticks_are_one_two_five_while_there_is_room() {
    let scale = Scale::log_around([1.3e6, 4.1e7]);
    assert_eq!(scale, Scale::Log { from: 1e6, to: 5e7 });
    assert_eq!(ticks(scale, 8), "1000000 2000000 5000000 10000000 20000000 50000000");
    assert_eq!(ticks(Scale::log_around([0.3, 4.0]), 4), "0.5 1 5");
    assert_eq!(ticks(Scale::log_around([1.0, 1e6]), 7), "1 10 100 1000 10000 100000 1000000");
    assert_eq!(ticks(Scale::log_around([1.0, 1e6]), 4), "1 100 10000 1000000");
}

#[test]
fn a_logarithmic_scale_of_equal_values_still_has_a_length() {
    assert_eq!(Scale::log_around([3.0, 3.0]), Scale::Log { from: 2.0, to: 10.0 });
    assert_eq!(Scale::log_around([0.0]), Scale::Log { from: 1.0, to: 10.0 });
}

#[test]
fn each_nine_takes_an_equal_part_of_the_axis() {
    let scale = Scale::Nines { samples: 10_000.0 };
    let places = [0.0, 0.9, 0.99, 0.999, 0.9999, 1.0].map(|level| scale.position(level));
    for (place, expected) in places.into_iter().zip([0.0, 0.25, 0.5, 0.75, 1.0, 1.0]) {
        assert!((place - expected).abs() < 1e-9, "{place} {expected}");
    }
    assert!((scale.position(0.5) - 2f64.log10() / 4.0).abs() < 1e-9);
}

#[test]
fn the_nines_end_where_one_sample_is_left() {
    let labels = |samples| {
        let ticks = Scale::Nines { samples }.ticks(8);
        ticks.into_iter().map(percent).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(labels(15_000.0), "0 50 90 99 99.9 99.99");
    assert_eq!(labels(1e6), "0 50 90 99 99.9 99.99 99.999 99.9999");
    assert_eq!(labels(1.0), "0 50 90");
}

#[test]
fn values_outside_a_scale_are_placed_at_its_border() {
    let scale = Scale::Log { from: 1.0, to: 100.0 };
    assert_eq!([0.0, 1.0, 10.0, 1e9].map(|x| scale.position(x)), [0.0, 0.0, 0.5, 1.0]);
}

#[test]
fn values_that_nothing_has_make_no_axis_fail() {
    let values = [f64::NAN, f64::INFINITY, 1.7e308, 1e308, 1e-308, 5e-324, 0.0, -1e308];
    for (from, to) in values.iter().flat_map(|from| values.map(|to| (*from, to))) {
        for scale in [
            Scale::Linear { from, to },
            Scale::from_zero([from, to]),
            Scale::log_around([from, to, 1.0]),
        ] {
            assert!(scale.ticks(8).len() <= 20, "{scale:?}");
        }
    }
}
