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

#[test]
fn a_text_is_written_as_it_was_read_even_if_it_is_no_histogram() {
    let mut histogram = Histogram::new();
    histogram.record(Nanos::from_millis(3));
    let text = serde_json::to_string(&Times::of(&histogram)).unwrap();
    let (head, _) = text.rsplit_once(r#""histogram":"#).unwrap();
    for text in [text.clone(), format!(r#"{head}"histogram":"no base64"}}"#)] {
        let times: Times = serde_json::from_str(&text).unwrap();
        assert_eq!(times.histogram().is_some(), !text.contains("no base64"));
        assert_eq!(serde_json::to_string(&times).unwrap(), text);
    }
}

#[test]
fn a_histogram_that_claims_more_than_it_has_is_refused_before_memory_is_taken() {
    let mut histogram = Histogram::new();
    histogram.record(Nanos(7_000));
    let bytes = STANDARD.decode(encode(&histogram)).unwrap();
    let mut plain = inflated(bytes).unwrap();
    assert!(decode(&STANDARD.encode(&plain)).is_some());
    plain[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(inflated(plain).is_none());
}
