use std::path::Path;

use expect_test::expect;
use results::Answer;

use super::*;
use crate::answer;
use crate::backend::for_tests;
use crate::progress::Silent;
use crate::{Host, experiment, spec};

/// Runs a closed loop on queues with so many servers and these service times.
fn run(levels: &[(u32, &str)], rest: &str) -> Answer {
    let level = |(servers, time): &(u32, &str)| {
        format!(
            "{{name: '{servers}', set: {{simulated: {{servers: {servers}, service_time: {time}}}}}}}"
        )
    };
    let levels: Vec<String> = levels.iter().map(level).collect();
    let text = format!(
        "
name: queues
where: {{backend: simulated}}
simulated: {{service_time: 1ms, distribution: exponential}}
factors: {{servers: {{levels: [{}]}}}}
scaling_law: {{factor: servers}}
workload: {{get: /}}
{rest}
phases: {{warm_up: {{fixed: 200ms}}, measure: {{time: 1s}}, drain: 100ms}}
",
        levels.join(", ")
    );
    let folder = tempfile::tempdir().unwrap();
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let host = Host::new("/nowhere/benchwright".into(), "0.0.0");
    let path = folder.path().join("run");
    experiment::run(&resolved, Some(path), &host, &for_tests, &mut Silent).unwrap().answer
}

const CLOSED: &str = "load: {model: closed, connections: 64}\nrepeat: {trials: 4}";

fn only(answer: &Answer) -> &Scaling {
    let [only] = &answer.scaling[..] else { panic!("{:#?}", answer.scaling) };
    only
}

#[test]
fn servers_that_share_nothing_scale_linearly() {
    let answer = run(&[(1, "1ms"), (2, "1ms"), (4, "1ms"), (8, "1ms")], CLOSED);
    let scaling = only(&answer);
    assert_eq!((scaling.quantity, scaling.law.form), (Metric::Goodput, Form::Linear));
    let lambda = scaling.law.lambda.unwrap();
    assert!(lambda.interval.0 < 1_000.0 && 1_000.0 < lambda.interval.1, "{lambda:?}");
    assert_eq!(scaling.levels.iter().map(|l| l.values.len()).collect::<Vec<_>>(), [4, 4, 4, 4]);
    // A busy server is a CPU of the model: a request takes 1 ms of it.
    let per_cpu = scaling.levels[3].per_cpu_second.unwrap();
    assert!((per_cpu - 1_000.0).abs() < 50.0, "{per_cpu}");
    let table = answer::table(&answer);
    let line = table.lines().find(|line| line.starts_with("scaling")).unwrap();
    expect![
        "scaling               goodput over servers: linear, 1,002/s each; efficiency 1.00 at 8"
    ]
    .assert_eq(line);
}

/// A closed loop of 2,000 connections on up to four servers leaves most of its requests unfinished, and none
/// of them fails: a server completes 1,000/s of its CPU time.
#[test]
fn overloaded_queues_complete_as_much_per_cpu_second_as_others() {
    let answer = run(
        &[(1, "1ms"), (2, "1ms"), (3, "1ms"), (4, "1ms")],
        "load: {model: closed, connections: 2000}\nrepeat: {trials: 4}",
    );
    let scaling = only(&answer);
    assert_eq!(scaling.law.form, Form::Linear, "{}", scaling.law.why);
    for level in &scaling.levels {
        let per_cpu = level.per_cpu_second.unwrap();
        assert!((999.0 - 24.0..1_024.0).contains(&per_cpu), "{per_cpu} at {}", level.n);
        assert_eq!(level.failed_share, Some(0.0));
        assert!(
            answer.trials.iter().all(|trial| 0 < trial
                .observed
                .as_ref()
                .unwrap()
                .unfinished
                .unwrap())
        );
    }
}

/// With 1 + σ(N − 1) times the service time, N servers complete what Amdahl's law says.
#[test]
fn the_shared_part_of_the_work_is_recovered() {
    let answer = run(&[(1, "1ms"), (2, "1.1ms"), (4, "1.3ms"), (8, "1.7ms")], CLOSED);
    let law = &only(&answer).law;
    let sigma = law.sigma.unwrap();
    assert_eq!(law.form, Form::Amdahl);
    assert!(sigma.interval.0 < 0.1 && 0.1 < sigma.interval.1, "{sigma:?}");
    assert!(sigma.interval.1 - sigma.interval.0 < 0.05, "{sigma:?}");
}

#[test]
fn a_bottleneck_behind_the_levels_is_no_law() {
    let answer = run(&[(1, "1ms"), (2, "2ms"), (4, "4ms")], CLOSED);
    assert_eq!(only(&answer).law.form, Form::NotIdentifiable);
}

/// Servers that share a queue have less variation: under an SLO two do more than twice as much.
#[test]
fn capacities_are_fitted_first_and_pooled_servers_are_superlinear() {
    let rest = "load: {model: open, connections: 64}
slo: [{metric: p99, max: 10ms}]
search: {strategy: sweep, range: [300/s, 5000/s], step: 10%, stop: [{rule: slo_violated, times: 2}]}
budget: {trials: 60}";
    let answer = run(&[(1, "1ms"), (2, "1ms"), (4, "1ms")], rest);
    let quantities: Vec<Metric> = answer.scaling.iter().map(|found| found.quantity).collect();
    assert_eq!(quantities, [Metric::Capacity, Metric::MaximumThroughput]);
    let law = &answer.scaling[0].law;
    assert_eq!(law.form, Form::NotIdentifiable);
    // One search at each level: the values are too few for a law in any case.
    assert!(law.why.contains("superlinear") || law.why.contains("too few"), "{}", law.why);
}

/// Two servers do more than the range has: the ends of a range follow no law.
#[test]
fn a_level_that_ends_at_the_end_of_its_range_has_no_capacity() {
    let rest = "load: {model: open, connections: 64}
slo: [{metric: p99, max: 20ms}]
search: {range: [300/s, 1200/s]}";
    let answer = run(&[(1, "1ms"), (2, "1ms"), (4, "1ms")], rest);
    let scaling = only(&answer);
    let [one, two, _] = &scaling.levels[..] else { panic!("{scaling:?}") };
    assert_eq!((one.values.len(), one.censored.len()), (1, 0));
    assert_eq!((two.values.len(), two.censored.len(), two.mean), (0, 1, None));
    expect!["capacity over servers: not identifiable (at 2 the search found only a bound (at least 1,200/s), so its throughput is not known; widen the range or raise the budget, until each search ends with an answer); efficiency 1.00 at 1"].assert_eq(&in_words(scaling));
    // The interval of one search is of its estimate, and so is the value beside it.
    let search = &answer.searches[0];
    let estimate = search.estimate.unwrap();
    assert_eq!((one.values[0], one.interval), (estimate.rate_per_s, Some(estimate.interval)));
    assert_eq!(search.interval, None);
}
