//! The Grafana dashboard in `deploy/grafana`: as Grafana's own SDK makes and checks it, and as a real
//! Prometheus answers its queries while a run lasts.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::prometheus::Prometheus;
use crate::support::{
    Ran, Scratch, Server, free_port, machine, run_while, signal, skip, tool, until,
    until_it_listens_to_ctrl_c,
};

/// The beginning of the names of the figures that only a cluster has.
const OF_CLUSTER: &str = "container_";

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana")
}

fn shipped() -> String {
    std::fs::read_to_string(deploy().join("dashboards/benchwright.json")).unwrap()
}

/// Returns the program that makes the dashboard, beside cargo's scratch folder in the target folder;
/// if it is missing, reports the test as skipped.
fn maker(test: &str) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("grafana/dashboard");
    if !program.is_file() {
        skip(
            test,
            "the maker of the dashboard in the target folder, where `cargo xtask ci` builds it",
        );
        return None;
    }
    Some(program)
}

/// Has a dashboard checked by the SDK.
fn checked(maker: &Path, dashboard: &str) -> Ran {
    let scratch = Scratch::new();
    scratch.file("dashboard.json", dashboard);
    let script = "exec \"$0\" check < \"$1\"";
    let file = scratch.path().join("dashboard.json");
    run_while(Command::new("sh").args(["-c", script]).arg(maker).arg(file), |_| {})
}

#[test]
fn the_dashboard_is_current_and_grafanas_sdk_accepts_it() {
    let Some(maker) = maker("the_dashboard_is_current_and_grafanas_sdk_accepts_it") else { return };
    let made = run_while(&mut Command::new(&maker), |_| {});
    assert_eq!(made.code, 0, "{made:#?}");
    assert!(made.stdout == shipped(), "not current; make it with `cargo xtask grafana`");
    let ran = checked(&maker, &shipped());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn grafanas_sdk_refuses_a_dashboard_with_a_fault() {
    let Some(maker) = maker("grafanas_sdk_refuses_a_dashboard_with_a_fault") else { return };
    for (right, wrong, complaint) in [
        ("\"expr\"", "\"exprs\"", "unexpected field 'exprs'"),
        ("\"refresh\": \"5s\"", "\"refresh\": 5", "refresh: json: cannot unmarshal number"),
        ("\"lineWidth\"", "\"linewidth\"", "unexpected field 'linewidth'"),
        ("\"fiscalYearStartMonth\": 0", "\"fiscalYearStartMonth\": 12", "must be < 12"),
    ] {
        assert!(shipped().contains(right), "{right}");
        let ran = checked(&maker, &shipped().replacen(right, wrong, 1));
        assert!(ran.code == 1 && ran.stderr.contains(complaint), "{wrong}: {ran:#?}");
    }
}

/// Returns the queries of all panels, with values in place of Grafana's variables.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&shipped()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let query = |target: &Value| {
        let written = target["expr"].as_str().unwrap();
        let query = written.replace("$instance", ".+").replace("$namespace", ".+");
        let query = query.replace("$__rate_interval", "4s");
        assert!(!query.contains('$'), "{query}");
        query
    };
    targets.map(query).collect()
}

#[test]
fn a_prometheus_answers_every_query_of_the_dashboard_while_a_run_lasts() {
    const TEST: &str = "a_prometheus_answers_every_query_of_the_dashboard_while_a_run_lasts";
    if !tool(TEST, "prometheus") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let address = format!("127.0.0.1:{}", free_port());
    let prometheus = Prometheus::start(scratch.path(), |_| {
        let shipped = std::fs::read_to_string(deploy().join("prometheus.yml")).unwrap();
        let config = shipped.replace("[\"127.0.0.1:9464\"]", &format!("[\"{address}\"]"));
        assert!(config.contains(&address), "{config}");
        config
    });
    let server = Server::reference(&["--delay", "5ms"]);
    scratch.file(
        "spec.yaml",
        format!(
            "name: watched\nwhere: {{backend: external}}\nsut: {{endpoint: \"{}\"}}\n\
             workload: {{get: /}}\nload: {{model: open, rate: 200/s}}\n\
             factors: {{rate: {{path: load.rate, levels: [100/s, 200/s]}}}}\n\
             phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 3s}}, drain: 1s}}\n\
             doctor: {{level: \"off\"}}\nrepeat: {{trials: 100}}\n\
             budget: {{invalid_attempts: 1000, disturbance: 10m}}\n",
            server.url
        ),
    );
    let mut command = scratch.benchwright();
    command.args(["run", "spec.yaml", "--out", "out", "--metrics", &address]);
    command.stdin(Stdio::null());
    let (of_cluster, own): (Vec<String>, Vec<String>) =
        queries().into_iter().partition(|query| query.contains(OF_CLUSTER));
    assert_eq!((of_cluster.len(), 10 < own.len()), (2, true));
    let ran = run_while(&mut command, |pid| {
        until_it_listens_to_ctrl_c(pid);
        let open = RefCell::new(own);
        until("every query has an answer", || {
            open.borrow_mut().retain(|query| prometheus.values(query).is_empty());
            open.borrow().is_empty()
        });
        for query in of_cluster {
            assert_eq!(prometheus.values(&query), [0.0; 0], "a machine without kubelets");
        }
        let now = prometheus.ask("benchwright_now");
        let labels = &now["data"]["result"][0]["metric"];
        assert_eq!(labels["experiment"], "watched", "{now}");
        signal(pid, "INT");
    });
    assert_eq!(ran.code, 130, "{ran:#?}");
}
