use measure::Histogram;

use super::*;

#[test]
fn a_percentile_that_a_file_does_not_have_is_absent() {
    let percentiles = vec![Percentile { level: 0.99, time_ns: 7 }];
    let quantiles = Quantiles { percentiles, ..Quantiles::default() };
    let facts = Facts { times: Some(Distribution::Quantiles(quantiles)), ..Facts::default() };
    assert_eq!(facts.figure(Metric::P99), Some(7.0));
    assert_eq!(facts.figure(Metric::P999), None);
    assert_eq!(facts.figure(Metric::Completed), None);
    assert_eq!((facts.count(), facts.mean(), facts.max()), (None, None, None));
}

#[test]
fn a_document_is_read_back_as_it_was_written() {
    let mut histogram = Histogram::new();
    (1..=100).for_each(|ms| histogram.record(Nanos::from_millis(ms)));
    let times = Times::of(&histogram).map(|times| Distribution::Histogram(Box::new(times)));
    let facts = Facts {
        since: Some(Since::Sent),
        pacing: Some(Loop::Closed),
        requests: Some(100),
        times,
        ..Facts::default()
    };
    let written = Foreign {
        schema: SCHEMA.to_owned(),
        file: "a.csv".to_owned(),
        format: "hey-csv".to_owned(),
        tool: "hey".to_owned(),
        facts,
        supports: Vec::new(),
        limits: vec![Limit { code: Code::ClosedLoop, text: "a closed loop".to_owned() }],
    };
    let text = serde_json::to_string(&written).unwrap();
    assert!(text.contains("\"loop\":\"closed\"") && text.contains("\"closed_loop\""), "{text}");
    let read: Foreign = serde_json::from_str(&text).unwrap();
    assert_eq!(read, written);
    assert_eq!(read.facts.quantile_ns(Quantile::P50), Some(50_003_967));
}
