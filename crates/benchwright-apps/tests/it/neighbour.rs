//! The noisy neighbour: it makes its bursts, and ends with the system.

use std::process::Command;
use std::time::Duration;

use crate::instance::{Instance, now, sleep};

fn bursts(instance: &Instance) -> u64 {
    let (status, text) = instance.get("/metrics");
    assert_eq!(status, 200);
    let line = text.lines().find_map(|line| line.strip_prefix("neighbour_bursts_total "));
    line.unwrap().parse().unwrap()
}

fn until_bursts(instance: &Instance, number: u64) {
    let begun = now();
    while bursts(instance) < number {
        assert!(begun.elapsed() < Duration::from_secs(20), "it makes hardly any noise");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_neighbour_makes_bursts_until_it_is_ended() {
    let arguments = ["--cpu", "0.2", "--burst", "200us", "--spell", "50ms", "--threads", "2"];
    let neighbour = Instance::of("neighbour", &arguments);
    assert_eq!(neighbour.get("/healthz"), (200, "ok".to_owned()));
    assert_eq!(neighbour.get("/other").0, 404);
    until_bursts(&neighbour, 20);
    assert_eq!(neighbour.terminate(), Some(0));
}

#[test]
fn its_threads_stay_on_the_cpu_that_is_named() {
    let neighbour = Instance::of("neighbour", &["--on-cpu", "0"]);
    until_bursts(&neighbour, 1);
    let threads = std::fs::read_dir(format!("/proc/{}/task", neighbour.id())).unwrap();
    let mut noise = 0;
    for thread in threads {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        if status.starts_with("Name:\tnoise-") {
            noise += 1;
            assert!(status.contains("\nCpus_allowed_list:\t0\n"), "{status}");
        }
    }
    assert_eq!(noise, 1);
    assert_eq!(neighbour.terminate(), Some(0));
    let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
    let output = command.args(["neighbour", "--on-cpu", "1023"]).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--on-cpu 1023"));
}

#[test]
fn a_share_that_leaves_no_time_is_refused_with_the_remedy() {
    let refused = |share: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright-apps"));
        let output = command.args(["neighbour", &format!("--cpu={share}")]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    for share in ["0", "0.5", "-0.1", "half", "NaN"] {
        let error = refused(share);
        assert!(error.contains("write a number above 0 and up to 0.45"), "{share}: {error}");
    }
}
