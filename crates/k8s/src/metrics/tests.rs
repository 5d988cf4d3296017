use super::*;

#[test]
fn figures_are_read_from_prometheus_format() {
    let text = "# HELP a help\na_total{pod=\"x{y}\",container=\"main\"} 3 1795402800000\n\
                a_total_other 4\na_total 5\na_total{broken\na_total{} x\n";
    let found: Vec<(Option<&str>, f64, Option<u64>)> = samples(text, "a_total")
        .map(|sample| (sample.label("pod"), sample.value, sample.at_ms))
        .collect();
    assert_eq!(found, [(Some("x{y}"), 3.0, Some(1_795_402_800_000)), (None, 5.0, None)]);
}
