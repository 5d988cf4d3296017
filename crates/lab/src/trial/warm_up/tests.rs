use std::path::Path;

use super::*;
use crate::backend::simulated::Simulated;
use crate::course::{Position, Trial};
use crate::progress::Silent;
use crate::spec::{self, Resolved};
use crate::system::System;
use crate::trial::{self, Observation};
use measure::{Instant, Rate};
use results::journal::Purpose;

fn read(rate: &str) -> Resolved {
    let text = format!(
        "name: x\nwhere: {{backend: simulated}}\nsimulated: {{service_time: 1ms}}\n\
         workload: {{get: /}}\nload: {{model: open, rate: {rate}}}\n\
         phases: {{warm_up: {{until_steady: {{min: 10s, max: 30s}}}}, measure: {{time: 20s}}}}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

fn run(per_s: f64, resolved: &Resolved, purpose: Purpose) -> (Observation, Instant) {
    use crate::backend::Backend;
    let mut backend = Simulated::new(resolved);
    let asked = Rate::per_second(per_s);
    let (number, repetition, attempt, seed, place) = (1, 1, 1, 7, Position::default());
    let trial = Trial { number, purpose, asked, repetition, attempt, seed, place };
    let ran = trial::run(&trial, resolved, &mut System::default(), &mut backend, &mut Silent);
    (ran.unwrap(), backend.now())
}

fn warnings(observation: &Observation, resolved: &Resolved) -> Vec<String> {
    crate::judge::judge(observation, resolved).warnings
}

#[test]
fn a_steady_system_is_warmed_up_for_hardly_more_than_the_least_time() {
    let resolved = read("300/s");
    let (observation, now) = run(300.0, &resolved, Purpose::Trial);
    let WarmedUp { length, is_steady } = observation.warmed_up.unwrap();
    assert!(is_steady);
    assert!((Nanos::from_secs(10)..Nanos::from_secs(15)).contains(&length), "{length}");
    assert_eq!(warnings(&observation, &resolved), [""; 0]);
    // The measured load has its own short warm-up and all of its time.
    assert_eq!(observation.driven.load.measured_s, 20.0);
    assert!(length + Nanos::from_secs(21) <= now.saturating_since(Instant::default()));
}

/// Above the capacity of 1000/s, the line of waiting requests grows without end.
#[test]
fn an_overloaded_system_is_measured_after_the_longest_time_with_a_warning() {
    let resolved = read("1.2k/s");
    let (observation, _) = run(1_200.0, &resolved, Purpose::Trial);
    let WarmedUp { length, is_steady } = observation.warmed_up.unwrap();
    assert!(!is_steady);
    assert!(Nanos::from_secs(30) <= length, "{length}");
    assert_eq!(observation.driven.load.measured_s, 20.0);
    let warnings = warnings(&observation, &resolved);
    for expected in [
        "not steady after a warm-up of 30 s; allow more: phases.warm_up.until_steady.max",
        "the p50 and p99 still changed steadily in the measurement",
    ] {
        assert!(warnings.iter().any(|warning| warning == expected), "{warnings:?}");
    }
}

#[test]
fn a_probe_has_no_warm_up_until_steady() {
    assert_eq!(run(300.0, &read("300/s"), Purpose::Probe).0.warmed_up, None);
}

#[test]
fn the_longest_time_is_planned_and_the_used_one_is_counted() {
    let resolved = read("300/s");
    // 30 s, 1 s, 20 s and a drain of 1 s.
    assert_eq!(trial::planned_length(&resolved, Purpose::Trial), Nanos::from_secs(52));
    assert_eq!(trial::planned_length(&resolved, Purpose::Probe), Nanos::from_secs(4));
}
