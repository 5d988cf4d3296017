use load::Outcome;

use super::*;

#[test]
fn conditions_are_read_and_printed() {
    for (text, printed) in [
        ("10ms", "p99<10.0 ms"),
        ("p99<10ms,errors<0.1%", "p99<10.0 ms,errors<0.1%"),
        (" p99.9 < 1s , p50<2ms", "p99.9<1.00 s,p50<2.00 ms"),
        ("errors<=0.5 %", "errors<0.5%"),
    ] {
        assert_eq!(text.parse::<Slo>().map(|slo| slo.to_string()), Ok(printed.to_owned()));
    }
    for text in ["", "p99", "p99<", "p0<1s", "p101<1s", "errors<1", "errors<200%", "mean<1s"] {
        let error = text.parse::<Slo>().expect_err(text);
        assert!(error.contains("write p99<10ms or errors<0.1%"), "{error}");
    }
}

#[test]
fn what_is_missed_is_told_with_its_figure() {
    let slo: Slo = "p99<10ms,p50<2ms,errors<1%".parse().unwrap();
    assert_eq!(slo.response_time(), Some(Nanos::from_millis(2)));
    let mut part = Part { intended: 100, ..Part::default() };
    part.outcomes[Outcome::Ok as usize] = 98;
    part.outcomes[Outcome::Reset as usize] = 2;
    (0..98).for_each(|_| part.response.record(Nanos::from_millis(1)));
    assert_eq!(slo.missed(&part), ["errors<1%, and they are 2.000 %"]);
    part.response.record(Nanos::from_millis(20));
    part.response.record(Nanos::from_millis(20));
    assert_eq!(
        slo.missed(&part),
        ["p99<10.0 ms, and it is 20.0 ms", "errors<1%, and they are 2.000 %"]
    );
    assert_eq!(slo.missed(&Part::default()).len(), 2);
}
