use std::path::Path;

use super::*;
use crate::spec;

#[test]
fn durations_are_those_of_prometheus() {
    let seconds = |text| duration(text).map(Nanos::as_secs_f64);
    for (text, expected) in [("1m", 60.0), ("1h30m", 5_400.0), ("500ms", 0.5), ("2d", 172_800.0)] {
        assert_eq!(seconds(text), Some(expected), "{text}");
    }
    for text in ["", "5", "m", "1x", "0s", "1m5", "-1m"] {
        assert_eq!(seconds(text), None, "{text}");
    }
}

#[test]
fn the_windows_of_a_query_are_found() {
    let windows = |query: &str| -> Vec<f64> {
        let (url, every) = (String::new(), five_seconds());
        let name = "cpu".to_owned().try_into().unwrap();
        let query = Prometheus { name, url, query: query.to_owned(), every };
        query.windows().map(Nanos::as_secs_f64).collect()
    };
    assert_eq!(windows(r#"sum by (pod) (rate(cpu{pod=~"a|b"}[1m])) / rate(x[30s])"#), [60.0, 30.0]);
    assert_eq!(windows("max_over_time(rate(x[1m])[10m:1m])"), [60.0, 600.0]);
    assert_eq!(windows("up"), [0.0; 0]);
}

#[test]
fn a_wrong_monitor_is_an_error_with_its_place() {
    let error = |monitor: &str| {
        let text = format!(
            "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: \"http://a:1\"}}\n\
             workload: {{get: /}}\nload: {{model: open, rate: 5/s}}\nmonitor:\n{monitor}"
        );
        let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
        read.map(|read| read.to_yaml()).map_err(|error| error.to_string())
    };
    let one = "  - prometheus: {name: cpu, url: \"http://a:9090\", query: \"rate(x[1m])\"}\n";
    assert!(error(one).unwrap().contains("every: 5s"));
    for (monitor, expected) in [
        (format!("{one}{one}"), "two monitors are called `cpu`"),
        (one.replace("http://a:9090", "a:9090"), "`a:9090` is not the address of a Prometheus"),
        (one.replace("rate(x[1m])", " "), "the query is empty"),
        (one.replace("cpu,", "cpu, every: 100ms,"), "too near to each other"),
        (one.replace("prometheus", "prom"), "prom"),
        ("  - cgroup\n".to_owned(), "`cgroup` is always read, so it is not written"),
        (format!("{one}  - node\n"), "every trial has steal, pressure and the use by others"),
        ("  - process: {}\n".to_owned(), "remove it: every trial has threads, sockets"),
        ("  - kubelet\n".to_owned(), "what kubelets count of each pod, on a cluster"),
    ] {
        let message = error(&monitor).unwrap_err();
        assert!(message.contains(expected) && message.contains("my.yaml:"), "{message}");
    }
}
