use std::path::Path;

use super::*;
use crate::backend::dry_run::DryRun;
use crate::spec;

const MATRIX: &str = r#"{"status": "success", "data": {"resultType": "matrix", "result": [
    {"metric": {"namespace": "a"}, "values": [[100.5, "1.5"], [105.5, "NaN"], [110.5, "2.5"]]},
    {"metric": {"namespace": "b"}, "values": [[100.5, "+Inf"]]}]}}"#;

fn reply(body: &str) -> Reply {
    Reply { status: 200, body: body.to_owned() }
}

fn resolved() -> Resolved {
    let text = "name: x\nwhere: {backend: external}\nsut: {endpoint: \"http://a:1\"}\n\
                workload: {get: /}\nload: {model: open, rate: 5/s}\nmonitor:\n  \
                - prometheus: {name: cpu, url: \"http://a:9090/\", query: \"rate(x[1m])\"}\n";
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

#[test]
fn the_series_begin_with_the_measurement_and_have_numbers_alone() {
    let found = read(&reply(MATRIX), 100.0).unwrap();
    let labels = BTreeMap::from([("namespace".to_owned(), "a".to_owned())]);
    assert_eq!(found, [MonitoredSeries { labels, values: vec![(0.5, 1.5), (10.5, 2.5)] }]);
    let monitored = Monitored {
        name: "cpu".to_owned(),
        query: "x".to_owned(),
        every_s: 5.0,
        series: found,
        problems: Vec::new(),
    };
    assert_eq!(monitored.means().collect::<Vec<_>>(), [("cpu namespace=a".to_owned(), 2.0)]);
}

#[test]
fn an_error_of_the_server_is_passed_on() {
    let refused = r#"{"status": "error", "errorType": "bad_data", "error": "parse error: x"}"#;
    assert_eq!(read(&reply(refused), 0.0).unwrap_err(), "parse error: x");
    let other = read(&reply("<html>"), 0.0).unwrap_err();
    assert_eq!(other, "status 200, and no answer of a Prometheus");
    let one = r#"{"metric": {}, "values": []}"#;
    let many = format!(
        r#"{{"status": "success", "data": {{"result": [{}]}}}}"#,
        vec![one; MOST_SERIES + 1].join(",")
    );
    assert!(read(&reply(&many), 0.0).unwrap_err().contains("51 series, at most 50"));
}

/// A place that reaches no server, and virtual time.
#[test]
fn a_monitor_without_an_answer_has_a_problem_and_no_values() {
    let mut backend = DryRun::default();
    let problems = |moment, backend: &mut DryRun| {
        let end = Instant(5_000_000_000);
        let found = ask(&resolved(), (Instant::default(), end), moment, backend).unwrap();
        assert_eq!(found[0].series, []);
        found[0].problems.join("; ")
    };
    assert_eq!(problems(None, &mut backend), "there is no date here");
    let moment = Moment { date: Nanos::from_secs(1_000), at: Instant::default() };
    assert_eq!(problems(Some(moment), &mut backend), "no server can be reached from here");
}

#[test]
fn a_moment_gives_the_date_of_any_time() {
    let moment = Moment { date: Nanos::from_millis(1_000_750), at: Instant(7_000_000_000) };
    assert_eq!(moment.of(Instant(9_500_000_000)), 1_003.25);
    assert_eq!(moment.of(Instant(6_000_000_000)), 999.75);
}

#[test]
fn a_window_fits_the_measurement_and_the_scrapes() {
    let resolved = resolved();
    let Monitor::Prometheus(prometheus) = &resolved.spec.monitor[0];
    let check = |measured, scraped: Option<u64>| {
        let scraped = scraped.map(Nanos::from_secs);
        windows(prometheus, Nanos::from_secs(measured), scraped)
    };
    assert_eq!(check(60, Some(15)), [""; 0]);
    assert_eq!(check(60, None), [""; 0]);
    assert!(check(30, Some(15))[0].contains("of 60 s is longer than the measurement of 30 s"));
    assert!(check(60, Some(30))[0].contains("has fewer than 4 scrapes, which are 30 s apart"));
}

#[test]
fn a_rate_is_asked_once_its_last_values_are_scraped() {
    let resolved = resolved();
    let Monitor::Prometheus(of_program) = &resolved.spec.monitor[0];
    let query = "sum(rate(container_cpu_usage_seconds_total[1m]))".to_owned();
    let of_containers = Prometheus { query, ..of_program.clone() };
    let at_once = Prometheus { query: "up".to_owned(), ..of_program.clone() };
    let scraped = Some(Nanos::from_secs(5));
    assert_eq!(late(of_program, scraped), Nanos::from_secs(5));
    assert_eq!(late(&of_containers, scraped), Nanos::from_secs(20));
    assert_eq!(late(&at_once, scraped), Nanos::ZERO);
    assert_eq!(late(&of_containers, None), Nanos::ZERO);
}
