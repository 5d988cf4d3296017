use std::ops::ControlFlow;
use std::path::Path;

use expect_test::expect;
use measure::Rate;
use measure::pace::Think;
use results::little::Little;

use super::*;
use crate::spec::generator::Arguments;

fn read(model: &str, load: &str, further: &str) -> Resolved {
    let text = format!(
        "name: x\nwhere: {{backend: simulated}}\nsimulated: {{{model}}}\nworkload: {{get: /{further}}}\n\
         load: {{{load}, connections: 8}}\nphases: {{measure: {{time: 1s}}}}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

fn backend(model: &str) -> Simulated {
    Simulated::new(&read(model, "model: open, rate: 10/s", ""))
}

/// More than a minute of load, so that the statistics are within a few percent.
fn drive(per_s: Option<f64>, targets: usize, seed: u64) -> Drive {
    Drive {
        targets: (0..targets).map(|i| format!("http://queue-{i}/")).collect(),
        rate: per_s.and_then(Rate::per_second),
        think: Think::Fixed(Nanos::from_millis(15)),
        opening: Nanos::ZERO,
        warm_up: Nanos::SECOND,
        measure: Nanos::from_secs(200),
        drain: Nanos::SECOND,
        interval: None,
        seed,
        arguments: Arguments::default(),
        secrets: Default::default(),
        foreign: None,
    }
}

fn load(model: &str, drive: &Drive) -> results::Load {
    backend(model).drive(drive, &mut |_| ControlFlow::Continue(())).unwrap().load
}

fn mean_ms(load: &results::Load) -> f64 {
    load.total.response_time.as_ref().unwrap().mean_ns as f64 / 1e6
}

/// Checks the mean response time of M/D/1 and of M/M/1 by Pollaczek and Khinchine.
#[test]
fn the_queue_obeys_the_theory() {
    for (distribution, variation) in [("constant", 0.0), ("exponential", 1.0)] {
        for load_factor in [0.5, 0.8] {
            let model = format!("service_time: 1ms, distribution: {distribution}");
            let load = load(&model, &drive(Some(load_factor * 1_000.0), 1, 1));
            let mean = mean_ms(&load);
            let waiting = load_factor / (1.0 - load_factor) * (1.0 + variation) / 2.0;
            let theory = 1.0 + waiting;
            assert!(
                (mean / theory - 1.0).abs() < 0.05,
                "{distribution} {load_factor}: {mean} {theory}"
            );
            let little = Little::of(&load).unwrap();
            let in_progress = load_factor * theory;
            assert!((little.in_progress / in_progress - 1.0).abs() < 0.05, "{little:?}");
            assert!(little.residual() < 0.01, "{}", little.in_words());
        }
    }
}

/// Eight connections with a think time of 15 ms and a response time of 1 ms complete 8 / 16 ms.
#[test]
fn a_closed_loop_is_paced_by_its_responses() {
    let load = load("service_time: 1ms, servers: 8", &drive(None, 1, 1));
    assert!((load.total.rates_per_s.completed - 500.0).abs() < 1.0, "{:?}", load.total.rates_per_s);
    assert_eq!(load.total.rates_per_s.asked, None);
    // A connection thinks for 15 of 16 ms, and has no request in progress then.
    let little = Little::of(&load).unwrap();
    assert!((little.in_progress - 0.5).abs() < 0.01 && little.residual() < 0.01, "{little:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    let text = |seed| {
        let load =
            load("service_time: 1ms, distribution: exponential", &drive(Some(300.0), 2, seed));
        serde_json::to_string(&results::Load { seed: 0, ..load }).unwrap()
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}

#[test]
fn targets_have_queues_of_their_own_and_add_up() {
    let load = load("service_time: 1ms", &drive(Some(500.0), 3, 1));
    let parts: u64 = load.targets.iter().map(|target| target.part.counts.intended).sum();
    assert_eq!(load.total.counts.intended, parts);
    assert_eq!(load.total.rates_per_s.asked, Some(1_500.0));
    let in_seconds: u64 = load.series.iter().map(|second| second.offered).sum();
    assert_eq!(in_seconds, parts);
}

/// A request that is not answered in time counts with at least the time that it was waited for.
#[test]
fn beyond_its_capacity_the_queue_leaves_requests_unfinished() {
    let load = load("service_time: 1ms", &drive(Some(2_000.0), 1, 1));
    let counts = &load.total.counts;
    assert!((load.total.rates_per_s.completed - 1_000.0).abs() < 2.0);
    assert_eq!(counts.ok + counts.unfinished, counts.intended);
    assert_eq!((counts.failed, counts.completed), (0, counts.ok));
    assert!((counts.completed_inside as f64 / 200.0 - 1_000.0).abs() < 2.0);
    let longest = load.total.response_time.as_ref().unwrap().max_ns;
    assert!(Nanos::from_secs(99) < Nanos(longest), "{longest}");
}

#[test]
fn only_answers_within_the_slo_are_goodput() {
    let of = |slo: Option<&str>| {
        let limit = slo.map(|limit| limit.parse().unwrap());
        let mut backend = Simulated { limit, ..backend("service_time: 1ms") };
        let driven = backend.drive(&drive(Some(2_000.0), 1, 1), &mut |_| ControlFlow::Continue(()));
        driven.unwrap().load.total.rates_per_s
    };
    let all = of(None);
    assert_eq!((all.goodput, all.succeeded), (all.completed, Some(all.completed)));
    // Half a second of overload makes a line of half a second.
    let within = of(Some("1500ms"));
    assert!(within.goodput < 0.02 * all.goodput, "{within:?}");
    assert_eq!(within.succeeded, all.succeeded);
}

/// Five bursts of a hundred requests a second: the last of each waits for the others.
#[test]
fn other_laws_are_drawn_as_the_generator_draws_them() {
    let of_law = |law: &str| {
        let resolved =
            read("service_time: 1ms", &format!("model: open, rate: 1/s, arrivals: '{law}'"), "");
        let mut backend = Simulated::new(&resolved);
        let load = backend
            .drive(&drive(Some(500.0), 1, 1), &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .load;
        assert_eq!(load.pacing, Pacing::Open { arrivals: law.to_owned() });
        let offered = load.total.rates_per_s.offered;
        assert!((offered / 500.0 - 1.0).abs() < 0.05, "{law}: {offered}");
        load.total.response_time.unwrap().max_ns
    };
    let longest = of_law("bursts:100");
    assert!((100_000_000..101_000_000).contains(&longest), "{longest}");
    assert_eq!(of_law("uniform-gap"), of_law("uniform-gap"));
    of_law("lognormal:0.5");
    of_law("zipf");
}

#[test]
fn a_shape_is_walked_after_a_warm_up_at_its_first_rate() {
    let shape = "100/s 400ms, ->500/s 200ms, 500/s 400ms";
    let resolved = read(
        "service_time: 1us",
        &format!("model: open, arrivals: constant, shape: '{shape}'"),
        "",
    );
    let phases = Drive { measure: Nanos::SECOND, ..drive(None, 2, 1) };
    let load =
        Simulated::new(&resolved).drive(&phases, &mut |_| ControlFlow::Continue(())).unwrap().load;
    // 40 + 60 + 200 requests in a second, for each of two targets.
    assert_eq!(load.total.counts.intended, 600);
    let asked = load.total.rates_per_s.asked.unwrap();
    assert!((asked - 600.0).abs() < 1e-6, "{asked}");
    assert_eq!(load.pacing, Pacing::Open { arrivals: "constant".to_owned() });
    assert_eq!(load.saturated, Some(false));
}

#[test]
fn a_think_time_may_be_exponential() {
    let mean = Nanos::from_millis(15);
    let phases = Drive { think: Think::Exponential { mean }, ..drive(None, 1, 1) };
    let load = load("service_time: 1ms, servers: 8", &phases);
    assert!((load.total.rates_per_s.completed / 500.0 - 1.0).abs() < 0.05);
    assert_eq!(load.pacing, Pacing::Closed { think_ns: mean.0 });
}

/// A connection has one request at a time, so two of them that wait for 20 ms each complete 100/s, however
/// many servers there are.
#[test]
fn an_open_loop_has_no_more_in_progress_than_connections() {
    for connections in ["2", "{per_rate: 0.005}"] {
        let load = format!("model: open, rate: 1/s, connections: {connections}");
        let text = format!(
            "name: x\nwhere: {{backend: simulated}}\nsimulated: {{service_time: 20ms, servers: 16}}\n\
             workload: {{get: /}}\nload: {{{load}}}\nphases: {{measure: {{time: 1s}}}}\n"
        );
        let resolved =
            spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
        let mut backend = Simulated::new(&resolved);
        let phases = drive(Some(400.0), 1, 1);
        let load = backend.drive(&phases, &mut |_| ControlFlow::Continue(())).unwrap().load;
        let completed = load.total.rates_per_s.completed;
        assert!((completed - 100.0).abs() < 0.1, "{connections}: {completed}");
        assert_eq!(load.saturated, Some(true));
        assert_eq!(backend.caveats(&resolved), [""; 0]);
    }
}

/// M/M/2 by Erlang's formula: two connections in front of any number of servers wait as two servers.
#[test]
fn requests_wait_for_a_connection_as_for_a_server() {
    let read = |servers: u32, connections: u32| {
        let text = format!(
            "name: x\nwhere: {{backend: simulated}}\nworkload: {{get: /}}\n\
             simulated: {{service_time: 1ms, distribution: exponential, servers: {servers}}}\n\
             load: {{model: open, rate: 1/s, connections: {connections}}}\n\
             phases: {{measure: {{time: 1s}}}}\n"
        );
        spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
    };
    let (use_of_each, phases) = (0.8, drive(Some(1_600.0), 1, 1));
    let theory = 1.0 / (1.0 - use_of_each * use_of_each);
    for (servers, connections) in [(2, 64), (16, 2)] {
        let mut backend = Simulated::new(&read(servers, connections));
        let driven = backend.drive(&phases, &mut |_| ControlFlow::Continue(())).unwrap();
        let mean = mean_ms(&driven.load);
        assert!((mean / theory - 1.0).abs() < 0.05, "{servers} {connections}: {mean} {theory}");
    }
}

fn failed(backend: &mut Simulated, drive: &Drive) -> Stop {
    backend.drive(drive, &mut |_| ControlFlow::Continue(())).unwrap_err()
}

#[test]
fn a_simulation_ends_once_the_run_is_interrupted() {
    let host = Host::new("x".into(), "0");
    // Sixteen million requests, and a queue that grows.
    let long = Drive { measure: Nanos::from_secs(16_000), ..drive(Some(1_000.0), 1, 1) };
    let mut backend = backend("service_time: 2ms").heeding(host.clone());
    let begins = std::sync::Barrier::new(2);
    let stop = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            begins.wait();
            failed(&mut backend, &long)
        });
        begins.wait();
        host.interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        run.join().unwrap()
    });
    assert!(matches!(stop, Stop::Interrupted), "{stop:?}");
    // Also after it went to another question.
    backend.enter(&read("service_time: 2ms", "model: open, rate: 10/s", "")).unwrap();
    assert!(matches!(failed(&mut backend, &long), Stop::Interrupted));

    host.interrupted.store(false, std::sync::atomic::Ordering::Relaxed);
    host.wishes.repeat_trial();
    assert!(matches!(failed(&mut backend, &long), Stop::Disturbed { .. }));
}

#[test]
fn a_load_that_no_memory_holds_is_refused_before_it_begins() {
    let refused = |model: &str, drive: &Drive| match failed(&mut backend(model), drive) {
        Stop::NoAnswer(error) => error.to_string(),
        other => panic!("{other:?}"),
    };
    expect!["1,000,000,000,000,000/s for each of 2 targets for 3 min 21 s has 402,000,000,000,000,000 requests, and a simulation keeps at most 20,000,000 in memory; lower the rate, or shorten the warm-up and the measurement"].assert_eq(&refused("service_time: 1ms", &drive(Some(1e15), 2, 1)));
    let closed = Drive { think: Think::NONE, ..drive(None, 1, 1) };
    expect!["a closed loop of 8 connections (service and think time: 0) never comes to an end; lengthen the service time or the think time, or shorten the warm-up and the measurement"].assert_eq(&refused("service_time: 0s", &closed));
    // 19,500,000 on average, but whole nanoseconds are a little shorter.
    let short = Drive { warm_up: Nanos::ZERO, measure: Nanos(19_500_000), ..closed };
    let distribution = "service_time: 1ns, distribution: exponential";
    expect!["a closed loop of 8 connections (service and think time: 1 ns) for 19.5 ms has more requests than the 20,000,000 that a simulation keeps in memory; lengthen the service time or the think time, or shorten the warm-up and the measurement"].assert_eq(&refused(distribution, &short));
}

#[test]
fn fields_without_a_meaning_here_are_named() {
    let caveats = |load: &str, further: &str| {
        let resolved = read("service_time: 1ms", load, further);
        Simulated::new(&resolved).caveats(&resolved)
    };
    assert_eq!(caveats("model: open, rate: 1/s, timeout: 1s", ""), [""; 0]);
    assert_eq!(caveats("model: closed, think: 1s", ""), [""; 0]);
    expect!["the simulation ignores load.pipeline, workload.body: it is a queue, without a network and contents; choose backend: local or external to use all fields"]
        .assert_eq(&caveats("model: open, rate: 1/s, pipeline: 4", ", body: x").join("\n"));
}

#[test]
fn a_load_ends_once_its_slo_is_missed_whatever_follows() {
    let resolved = |search: &str| {
        let text = format!(
            "name: x\nwhere: {{backend: simulated}}\nsimulated: {{service_time: 1ms}}\n\
             workload: {{get: /}}\nload: {{model: open}}\nphases: {{measure: {{time: 30s}}}}\n\
             slo: [{{metric: p99, max: 50ms}}]\nsearch: {{{search}}}\n"
        );
        spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
    };
    let run = |search: &str, per_s| {
        let drive = Drive { measure: Nanos::from_secs(30), ..drive(Some(per_s), 1, 1) };
        Simulated::new(&resolved(search))
            .drive(&drive, &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .load
    };
    let (bisect, sweep) =
        ("strategy: bisect, range: [100/s, 2k/s]", "range: [1/s, 9/s], step: 1/s");
    // A tenth too much: the line is 50 ms long after half a second of it.
    let load = run(bisect, 1_100.0);
    assert_eq!((load.ended, load.measured_s), (Some(Ended::SloMissed), 1.0));
    assert!((1_000..1_200).contains(&load.total.counts.intended));
    assert_eq!(load.total.counts.failed, 0);
    let judged = results::verdict::judge(&resolved(bisect).slos(), &load.total).unwrap();
    assert_eq!(judged.objectives[0].verdict, slo::Verdict::Fail);
    assert_eq!(run(bisect, 900.0).measured_s, 30.0);
    assert_eq!(run(sweep, 1_100.0).measured_s, 30.0, "a sweep asks for rates");
}

/// Twice as many requests arrive as the queue answers, and the generator waits for them for three more seconds.
#[test]
fn a_second_has_the_times_of_the_requests_that_ended_in_it() {
    let drive = Drive {
        measure: Nanos::from_millis(2_500),
        drain: Nanos::from_secs(3),
        ..drive(Some(200.0), 1, 1)
    };
    let load = load("service_time: 10ms", &drive);
    let timed = |interval: &Interval| interval.response_times().unwrap().count();
    let timed: Vec<u64> = load.series.iter().map(timed).collect();
    // The queue first answers the requests of the warm-up; half a second is left in the last interval.
    assert_eq!(
        load.series.iter().map(|second| second.completed).collect::<Vec<_>>(),
        [100, 100, 50]
    );
    assert_eq!(timed, [0, 92, 50]);
    assert!(timed.iter().sum::<u64>() < load.total.response_time.unwrap().count);
}
