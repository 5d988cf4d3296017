use super::*;

fn names(shape: &Shape) -> Vec<String> {
    let names = shape
        .segments()
        .map(|segment| format!("{} from {}", segment.name, segment.begin.in_words()));
    names.collect()
}

#[test]
fn paces_follow_each_other_with_rests_between_them() {
    let shape = Shape::of_paces("100,200:20,400:60").unwrap();
    assert_eq!(
        names(&shape),
        [
            "100/s 10s from 0 s",
            "rest from 10 s",
            "200/s 20s from 18 s",
            "rest from 38 s",
            "400/s 60s from 46 s",
        ]
    );
    assert_eq!(shape.length(), Some(Nanos::from_secs(106)));
    assert_eq!(shape.integral(Nanos::from_secs(106)), 1000.0 + 4000.0 + 24_000.0);
    assert_eq!(shape.rate_at(Nanos::from_secs(12)), None);
}

#[test]
fn the_warm_up_has_a_rate_and_a_rest_of_its_own() {
    let shape = Shape::of_paces("500:30").unwrap();
    assert_eq!(shape.rest_after_warm_up(), Nanos::from_secs(5));
    let warm = shape.after_warm_up(Nanos::from_secs(15));
    assert_eq!(names(&warm), ["warm-up from 0 s", "warm-up from 10 s", "500/s 30s from 15 s"]);
    assert_eq!(warm.integral(Nanos::from_secs(15)), 1000.0);
    assert_eq!(shape.after_warm_up(Nanos::ZERO), shape);
    assert_eq!(shape.after_warm_up(Nanos::from_secs(2)).integral(Nanos::from_secs(2)), 0.0);
}

#[test]
fn other_lists_are_refused_with_an_example() {
    for wrong in ["", "x", "100,", "0", "100:0", "100:-1", "1.5", "100:20:3", "-5", "5000000000"] {
        let error = Shape::of_paces(wrong).unwrap_err();
        assert!(error.ends_with("for example 100,200:20,400:60"), "{error}");
    }
    let error = Shape::of_paces("1:4294967295").unwrap_err();
    assert!(error.ends_with("shorten it"), "{error}");
}
