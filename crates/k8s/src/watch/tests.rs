use measure::{Nanos, Offset};

use super::*;

/// As a kubelet of version 1.34 prints it.
const RESOURCES: &str = r#"
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="main",namespace="demo",pod="web-0"} 1.5 1700000000100
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 60.5 1700000000000
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="demo",pod="web-0"} 1.75 1700000000250
pod_cpu_usage_seconds_total{namespace="demo",pod="web-1"} 0.5 1700000000500
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="demo",pod="web-0"} 1.048576e+06 1700000000250
# TYPE scrape_error gauge
scrape_error 0
"#;

/// A pod with two containers, whose own control group counts both, and one that is known only as a whole.
const LIMITED: &str = r#"
container_cpu_cfs_periods_total{container="",id="/p",image="",name="",namespace="demo",pod="web-0"} 10 1700000000100
container_cpu_cfs_periods_total{container="a",id="/x",image="i",name="n",namespace="demo",pod="web-0"} 10 1700000000300
container_cpu_cfs_throttled_periods_total{container="",id="/p",image="",name="",namespace="demo",pod="web-0"} 7 1700000000100
container_cpu_cfs_throttled_periods_total{container="a",id="/x",image="i",name="n",namespace="demo",pod="web-0"} 7 1700000000300
container_cpu_cfs_throttled_seconds_total{container="",id="/p",image="",name="",namespace="demo",pod="web-0"} 0.75 1700000000100
container_cpu_cfs_throttled_seconds_total{container="a",id="/x",image="i",name="n",namespace="demo",pod="web-0"} 0.5 1700000000300
container_cpu_cfs_throttled_seconds_total{container="b",id="/y",image="i",name="m",namespace="demo",pod="web-0"} 0.25 1700000000200
container_cpu_cfs_throttled_seconds_total{container="",id="/q",image="",name="",namespace="demo",pod="web-1"} 0.125 1700000000100
container_cpu_usage_seconds_total{container="a",cpu="total",id="/x",image="i",name="n",namespace="demo",pod="web-0"} 2.5 1700000000300
container_cpu_usage_seconds_total{container="without",cpu="total",id="/z",image="i",name="o",namespace="demo",pod="web-0"} 9 1700000000300
"#;

fn pod(name: &str) -> Pod {
    ("demo".to_owned(), name.to_owned())
}

/// The node's clock is ahead by 1,699,999,990 s, so its figures are of about ten seconds.
fn clock() -> Offset {
    Offset { ahead_ns: 1_699_999_990_000_000_000, error: Nanos::ZERO }
}

#[test]
fn figures_of_pods_have_the_time_when_they_were_read_on_our_clock() {
    let figures = resources(RESOURCES, &clock());
    assert_eq!(figures.len(), 2);
    let web = &figures[&pod("web-0")];
    assert_eq!(web.cpu, [(Instant(10_250_000_000), 1_750_000_000)]);
    assert_eq!(web.memory, [(Instant(10_250_000_000), 1_048_576)]);
    assert_eq!(figures[&pod("web-1")].memory, []);
}

#[test]
fn each_limit_of_a_pod_is_counted_once() {
    let figures = limited(LIMITED, &clock());
    let a = Quota {
        time: vec![(Instant(10_300_000_000), 500_000_000)],
        ran: vec![(Instant(10_300_000_000), 2_500_000_000)],
        stopped: vec![(Instant(10_300_000_000), 7)],
        periods: vec![(Instant(10_300_000_000), 10)],
    };
    let b = Quota { time: vec![(Instant(10_200_000_000), 250_000_000)], ..Quota::default() };
    let expected = BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
    assert_eq!(figures[&pod("web-0")].quotas, expected);
    let whole = Quota { time: vec![(Instant(10_100_000_000), 125_000_000)], ..Quota::default() };
    assert_eq!(figures[&pod("web-1")].quotas, BTreeMap::from([(String::new(), whole)]));
}

#[test]
fn a_figure_that_is_read_twice_counts_once() {
    let mut figures = Figures::new();
    add(&mut figures, resources(RESOURCES, &clock()));
    add(&mut figures, resources(RESOURCES, &clock()));
    let later = RESOURCES.replace("1.75 1700000000250", "2.75 1700000010250");
    add(&mut figures, resources(&later, &clock()));
    let cpu = &figures[&pod("web-0")].cpu;
    assert_eq!(
        cpu.iter().map(|&(_, used)| used).collect::<Vec<_>>(),
        [1_750_000_000, 2_750_000_000]
    );
}
