use expect_test::expect;

use super::*;

#[test]
fn a_metric_is_one_of_all_requests_or_of_a_label() {
    let read = |text: &str| text.parse::<MetricOf>().map(|wanted| (wanted.label, wanted.metric));
    let label = |text: &str| Some(text.to_owned());
    assert_eq!(read("p99"), Ok((None, Metric::P99)));
    assert_eq!(read("p99.9"), Ok((None, Metric::P999)));
    assert_eq!(read("login.p99"), Ok((label("login"), Metric::P99)));
    assert_eq!(read("GET /v1.2/p99.p50"), Ok((label("GET /v1.2/p99"), Metric::P50)));
    for text in ["p99", "login.p50"] {
        assert_eq!(text.parse::<MetricOf>().unwrap().to_string(), text);
    }
    let wrong: Vec<String> =
        ["login.p99.9", "login.goodput", ".p99", "p98"].map(|text| read(text).unwrap_err()).into();
    expect![[r#"
        there is no p99.9 by label; write login.p50 or login.p99
        there is no goodput by label; write login.p50 or login.p99
        `.p99` is not a metric; write one of completed, goodput, p50, p90, p99, p99.9, delivery_p50, delivery_p90, delivery_p99, delivery_p99.9, delivery_p99.99, lost, duplicated, capacity, maximum_throughput; p50 and p99 also of a label, for example login.p99
        `p98` is not a metric; write one of completed, goodput, p50, p90, p99, p99.9, delivery_p50, delivery_p90, delivery_p99, delivery_p99.9, delivery_p99.99, lost, duplicated, capacity, maximum_throughput; p50 and p99 also of a label, for example login.p99"#]]
    .assert_eq(&wrong.join("\n"));
}
