use super::*;

#[test]
fn a_histogram_survives_its_text() {
    let mut histogram = Histogram::new();
    for us in 1..10_000 {
        histogram.record(Nanos::from_micros(us));
    }
    let times = Times::of(&histogram).unwrap();
    let back = times.histogram().unwrap();
    assert_eq!(back.buckets().collect::<Vec<_>>(), histogram.buckets().collect::<Vec<_>>());
    assert_eq!(times.p99_ns / 1_000_000, 9);
}

#[test]
fn nothing_measured_is_absent() {
    assert_eq!(Times::of(&Histogram::new()), None);
}
