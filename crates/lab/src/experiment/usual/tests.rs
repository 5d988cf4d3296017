use std::path::Path;

use super::*;
use crate::backend::for_tests;
use crate::experiment::{Ended, run};
use crate::progress::Silent;
use crate::{Host, spec};

fn read(load: &str, search: &str) -> Resolved {
    let text = format!(
        "name: x\nwhere: {{backend: simulated}}\nsimulated: {{service_time: 1ms}}\n\
         workload: {{get: /}}\nload: {{model: open{load}}}\n\
         phases: {{warm_up: {{fixed: 1s}}, measure: {{time: 5s}}, drain: 5s}}\n\
         slo: [{{metric: p99, max: 100ms}}]\n{search}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

fn usual(load: &str, search: &str) -> Option<Usual> {
    of(&read(load, search))
}

/// Returns the estimate of an experiment on virtual time, and what it then took.
fn estimated_and_taken(resolved: &Resolved) -> (Usual, Usual) {
    let estimated = of_plan(&Plan::of(resolved).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new("/nowhere/benchwright".into(), "0.0.0");
    let out = Some(folder.path().join("r"));
    let Ended { took, directory, .. } = run(resolved, out, &host, &for_tests, &mut Silent).unwrap();
    let journal = directory.journal().unwrap();
    let trials = journal.iter().filter(|entry| entry.purpose == Purpose::Trial).count() as u64;
    (estimated, Usual { trials, time: took })
}

#[test]
fn an_estimate_is_within_a_fifth_of_what_the_run_then_takes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let shipped =
        |name: &str, profile: Option<&str>| spec::load(&folder.join(name), profile, &[]).unwrap();
    let adaptive = "search: {start: {probe: 0.7}}\nrepeat: {searches: 3}";
    let bisect = "search: {strategy: bisect, range: [100/s, 2000/s]}\nrepeat: {searches: 3}";
    let unknown = "search: {start: 100/s}\nrepeat: {searches: 3}";
    let sweep = "search: {range: [100/s, 900/s], step: 100/s}";
    let until = "repeat: {trials: 3, until: {metric: p50, ci_rel: 2%, max: 30}}";
    let factors = "factors: {time: {path: simulated.service_time, levels: [1ms, 2ms]}}\n\
                   repeat: {trials: 4, order: {blocks: 4}}";
    for (name, resolved) in [
        ("simulated", shipped("simulated.yaml", None)),
        ("simulated, ci", shipped("simulated.yaml", Some("ci"))),
        ("levels", shipped("levels.yaml", None)),
        ("versions", shipped("versions.yaml", Some("ci"))),
        ("adaptive", read("", adaptive)),
        ("bisect", read("", bisect)),
        ("unknown", read("", unknown)),
        ("sweep", read("", sweep)),
        ("until", read(", rate: 500/s", until)),
        ("factors", read(", rate: 100/s", factors)),
    ] {
        let (estimated, taken) = estimated_and_taken(&resolved);
        let ratio = estimated.time.as_secs_f64() / taken.time.as_secs_f64();
        assert!((1.0 / 1.2..1.2).contains(&ratio), "{name}: {estimated:?} and {taken:?}");
    }
}

#[test]
fn equal_trials_at_one_load_are_counted() {
    let Usual { trials, time } = usual(", rate: 10/s", "repeat: {trials: 7}").unwrap();
    assert_eq!((trials, time), (7, Nanos::from_secs(7 * 6)));
}

#[test]
fn a_sweep_goes_to_its_end_or_as_far_as_its_rule_lets_it() {
    let sweep =
        |stop: &str| usual("", &format!("search: {{range: [10/s, 100/s], step: 10/s{stop}}}"));
    assert_eq!(sweep("").unwrap().trials, 10);
    // The median of the capacities is 32/s, and 40/s and 50/s miss the SLO.
    assert_eq!(sweep(", stop: [{rule: slo_violated, times: 2}]").unwrap().trials, 5);
}

#[test]
fn a_changed_system_is_started_again_as_often_as_the_order_demands() {
    let text = |order: &str| {
        format!(
            "name: x\nsut: {{deploy: [process: {{name: a, command: [a]}}]}}\n\
             factors: {{replicas: {{path: sut.replicas, levels: [1, 2]}}}}\n\
             workload: {{get: /}}\nload: {{model: open, rate: 10/s}}\n\
             phases: {{cool_down: {{levels: 1min}}}}\nrepeat: {{trials: 10, order: {order}}}\n"
        )
    };
    let of = |order: &str| {
        let text = text(order);
        let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
        of_plan(&Plan::of(&read.unwrap()).unwrap()).unwrap()
    };
    let (listed, interleaved) = (of("listed"), of("interleaved"));
    assert_eq!((listed.trials, interleaved.trials), (20, 20));
    // One change, or one before each trial.
    let more = interleaved.time.saturating_sub(listed.time).as_secs_f64();
    assert!((19.0 * 60.0..19.0 * 60.4).contains(&more), "{more}");
}

#[test]
fn failures_of_a_bisection_are_short() {
    let search = "search: {strategy: bisect, range: [100/s, 800/s], precision: 2%}";
    let Usual { trials, time } = usual("", search).unwrap();
    // Both edges are tried only if the capacity is there: seven halvings of a factor of eight.
    assert_eq!(trials, 7);
    let whole = Nanos::from_secs(6) * trials;
    assert!(time < whole * 9 / 10 && whole / 2 < time, "{time} of {whole}");
}

#[test]
fn nothing_is_known_of_a_sweep_without_an_end_or_a_probe() {
    assert_eq!(usual("", "search: {start: 100/s, step: 5%, stop: [{rule: slo_violated}]}"), None);
    assert!(usual("", "search: {start: 100/s}").is_some());
}
