//! Searches for a capacity, from the spec to the answer.

use measure::search::Bracket;

use super::*;

/// A queue of one server that takes 1 ms: it completes at most 1,000/s.
fn queue(search: &str, more: &str) -> String {
    format!(
        "
name: queue
where: {{backend: simulated}}
simulated: {{service_time: 1ms}}
workload: {{get: /}}
load: {{model: open}}
phases: {{warm_up: {{fixed: 200ms}}, measure: {{time: 4s}}, drain: 200ms}}
slo: [{{metric: p99, max: 20ms}}, {{metric: failures, max: 0.1%}}]
search: {search}
{more}
"
    )
}

#[test]
fn an_adaptive_search_from_a_probe_encloses_the_capacity() {
    let answer = check_run(
        &queue("{start: {probe: 0.7}}", ""),
        expect![[r#"
            queue · simulated · at most 100 trials, 7 min 22 s
            deploy   a simulated queue ready in 0.0 s
            probe    about 1,000/s closed loop → first load 700/s, adaptive to 2 %
              2     700/s   ok          p50 1.65 ms  p99 6.30 ms   cpu 0.69
              3     875/s   ok          p50 3.28 ms  p99 13.0 ms   cpu 0.86
              4   1,367/s   saturated   p50 215 ms   p99 349 ms    1,000 of 1,339/s completed  limited by: servers (CPU)
              5   1,367/s   saturated   p50 244 ms   p99 395 ms    1,000 of 1,419/s completed  limited by: servers (CPU)
              6   1,094/s   slo missed  p50 105 ms   p99 155 ms    limited by: servers (CPU)
              7   1,094/s   slo missed  p50 53.8 ms  p99 94.2 ms   limited by: servers (CPU)
              8     978/s   slo missed  p50 8.40 ms  p99 36.7 ms   limited by: servers (CPU)
              9     978/s   slo missed  p50 10.1 ms  p99 23.6 ms   limited by: servers (CPU)
             10     925/s   slo missed  p50 13.6 ms  p99 34.0 ms   limited by: servers (CPU)
             11     925/s   slo missed  p50 3.93 ms  p99 25.4 ms   cpu 0.92
             12     900/s   slo missed  p50 4.57 ms  p99 20.4 ms   cpu 0.90
             13     900/s   ok          p50 4.08 ms  p99 14.8 ms   cpu 0.90
             14     900/s   slo missed  p50 4.30 ms  p99 24.7 ms   cpu 0.90
             15     887/s   ok          p50 3.55 ms  p99 18.7 ms   cpu 0.88
             16     887/s   ok          p50 3.37 ms  p99 18.6 ms   cpu 0.87
             17     900/s   ok          p50 4.67 ms  p99 16.2 ms   cpu 0.92
             18     900/s   undecided   p50 3.97 ms  p99 20.2 ms   cpu 0.91
             19     900/s   slo missed  p50 3.75 ms  p99 22.2 ms   cpu 0.91
             20     900/s   slo missed  p50 6.83 ms  p99 23.9 ms   cpu 0.94
            ---
            capacity              887/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %; missed at 900/s
                                  estimated from all its trials: 902/s (95 % interval 870 … 926/s)
            validity              19 of 19 trials valid
            stopped by            the capacity lies between 887/s and 900/s, 1.5 % apart
        "#]],
    );
    let [search] = &answer.searches[..] else { panic!("{answer:#?}") };
    let (lower, upper) = (search.lower.unwrap(), search.upper.unwrap());
    let bounds = answer.trials.iter().filter_map(|entry| entry.bounds).map(|bounds| {
        let per_s = |bound: Option<f64>| bound.map_or("–".to_owned(), |per_s| per_s.to_string());
        format!("{} … {}", per_s(bounds.lower), per_s(bounds.upper))
    });
    // In the end the bounds are tried again: until 900/s has failed again, 925/s is the upper one.
    expect![[r#"
        – … –
        700 … –
        875 … –
        875 … –
        875 … 1367
        875 … 1367
        875 … 1094
        875 … 1094
        875 … 978
        875 … 978
        875 … 925
        875 … 925
        875 … 925
        875 … 900
        887 … 900
        887 … 900
        887 … 925
        887 … 925
        887 … 900
    "#]]
    .assert_eq(&bounds.map(|line| line + "\n").collect::<String>());
    assert!(850.0 < lower && lower < upper && upper < 1_000.0, "{search:?}");
}

#[test]
fn the_other_strategies_find_the_same_capacity_in_a_range() {
    for strategy in ["bisect", "mlr", "adaptive"] {
        let text = queue(&format!("{{strategy: {strategy}, range: [700/s, 1300/s]}}"), "");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let ended = run(&read(&text), Some(path), &host(), &mut Silent).unwrap();
        let capacity = ended.answer.capacity.unwrap().rate_per_s;
        assert!((850.0..1_000.0).contains(&capacity), "{strategy}: {capacity}");
    }
}

#[test]
fn a_capacity_that_is_not_in_the_range_is_said_to_be_outside() {
    check_run(
        &queue("{range: [100/s, 300/s]}", ""),
        expect![[r#"
            queue · simulated · at most 100 trials, 7 min 20 s
            deploy   a simulated queue ready in 0.0 s
              1     173/s   ok          p50 1.00 ms  p99 1.99 ms   cpu 0.17
              2     228/s   ok          p50 1.00 ms  p99 2.56 ms   cpu 0.23
              3     262/s   ok          p50 1.00 ms  p99 2.59 ms   cpu 0.27
              4     280/s   ok          p50 1.00 ms  p99 2.80 ms   cpu 0.27
              5     290/s   ok          p50 1.00 ms  p99 2.69 ms   cpu 0.30
              6     295/s   ok          p50 1.00 ms  p99 2.77 ms   cpu 0.30
              7     300/s   ok          p50 1.00 ms  p99 2.73 ms   cpu 0.30
              8     300/s   ok          p50 1.00 ms  p99 2.75 ms   cpu 0.29
            ---
            capacity              at least 300/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %, but 2,359 requests are too few to decide failures at 95 %
            validity              8 of 8 trials valid
            no answer             the SLO was met up to 300/s, the end of the range: raise it
        "#]],
    );
    check_run(
        &queue("{range: [2000/s, 3000/s]}", ""),
        expect![[r#"
            queue · simulated · at most 100 trials, 7 min 20 s
            deploy   a simulated queue ready in 0.0 s
              1   2,449/s   saturated   p50 543 ms   p99 842 ms    1,000 of 2,538/s completed  limited by: servers (CPU)
              2   2,449/s   saturated   p50 544 ms   p99 836 ms    1,000 of 2,496/s completed  limited by: servers (CPU)
              3   2,213/s   saturated   p50 520 ms   p99 805 ms    1,000 of 2,247/s completed  limited by: servers (CPU)
              4   2,213/s   saturated   p50 495 ms   p99 753 ms    1,000 of 2,241/s completed  limited by: servers (CPU)
              5   2,104/s   saturated   p50 463 ms   p99 708 ms    1,000 of 2,094/s completed  limited by: servers (CPU)
              6   2,104/s   saturated   p50 477 ms   p99 725 ms    1,000 of 2,130/s completed  limited by: servers (CPU)
              7   2,051/s   saturated   p50 457 ms   p99 719 ms    1,000 of 2,149/s completed  limited by: servers (CPU)
              8   2,051/s   saturated   p50 476 ms   p99 721 ms    1,000 of 2,123/s completed  limited by: servers (CPU)
              9   2,025/s   saturated   p50 438 ms   p99 690 ms    1,000 of 2,033/s completed  limited by: servers (CPU)
             10   2,025/s   saturated   p50 439 ms   p99 688 ms    1,000 of 1,963/s completed  limited by: servers (CPU)
             11   2,000/s   saturated   p50 461 ms   p99 699 ms    1,000 of 1,999/s completed  limited by: servers (CPU)
             12   2,000/s   saturated   p50 437 ms   p99 667 ms    1,000 of 1,967/s completed  limited by: servers (CPU)
             13   2,000/s   saturated   p50 446 ms   p99 712 ms    1,000 of 1,982/s completed  limited by: servers (CPU)
             14   2,000/s   saturated   p50 461 ms   p99 722 ms    1,000 of 2,024/s completed  limited by: servers (CPU)
            ---
            capacity              at most 2,000/s: no load met the SLO
            limited by            servers, CPU 1.00 of 1
            validity              14 of 14 trials valid
            verdict               no load met the SLO, down to 2,000/s: search lower, or ask for less
        "#]],
    );
}

/// Theory: four exponential servers of 1 ms answer 99 of 100 requests within 10 ms up to 3,501/s.
#[test]
fn the_figures_of_the_trials_tell_how_surely_the_capacity_is_known() {
    let four = "simulated: {service_time: 1ms, distribution: exponential, servers: 4}";
    let text = queue("{start: {probe: 0.7}}", "")
        .replace("simulated: {service_time: 1ms}", four)
        .replace("max: 20ms", "max: 10ms");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("four");
    let ended = run(&read(&text), Some(path), &host(), &mut Silent).unwrap();
    let search = &ended.answer.searches[0];
    let found = search.estimate.as_ref().unwrap();
    let (low, high) = found.interval;
    assert!(low < 3_501.0 && 3_501.0 < high, "{low} … {high}");
    // Its servers complete at most 4,000/s. Trials of 4 s differ by chance, so it is no narrower.
    assert!(high < 4_000.0 && high / low < 1.08, "{low} … {high}");
    assert!(low < found.rate_per_s && found.rate_per_s < high, "{found:?}");
}

#[test]
fn repeated_searches_have_an_interval_and_resume_to_the_same_bytes() {
    let repeated = "repeat: {searches: 3, order: interleaved}";
    let resolved = read(&queue("{start: 600/s, precision: 4%}", repeated));
    let answer = killed_at_random_bytes(&resolved, 50);
    let capacities: Vec<f64> =
        answer.searches.iter().map(|s| s.capacity.as_ref().unwrap().rate_per_s).collect();
    let (low, high) = answer.searches[0].interval.unwrap();
    let median = measure::estimate::median(&capacities).unwrap();
    assert!(low < median && median < high, "{low} {capacities:?} {high}");
}

#[test]
fn trials_with_too_few_requests_for_a_verdict_are_judged_together() {
    let resolved = read(&queue("{range: [700/s, 1300/s]}", "").replace("time: 4s", "time: 300ms"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let ended = run(&resolved, Some(path), &host(), &mut Silent).unwrap();
    let trials = &ended.answer.trials;
    let extended = trials.iter().filter(|e| e.why == Some(results::journal::Why::Extend)).count();
    assert!(0 < extended, "{trials:#?}");
    for pair in trials.windows(2) {
        let [before, extension] = pair else { unreachable!() };
        if extension.why == Some(results::journal::Why::Extend) {
            assert_eq!(before.asked_per_s, extension.asked_per_s);
            assert_ne!(before.seed, extension.seed);
        }
    }
    let Some(Bracket { lower: Some(_), upper: Some(_) }) = bracket(&resolved, trials) else {
        panic!("{trials:#?}")
    };
}

/// More trials would not bring an answer: there is nothing to go on with.
#[test]
fn a_search_that_reached_the_end_of_its_range_does_not_go_on() {
    let text = queue("{range: [100/s, 300/s]}", "");
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&read(&text), Some(folder.path().join("r")), &host(), &mut Silent).unwrap();
    assert!(ended.answer.searches[0].is_cut_off());
    assert_eq!((ended.answer.verdict, ended.answer.resume), (Verdict::NoAnswer, None));
}

/// The end of the range is no maximum of the system, and no capacity.
#[test]
fn a_sweep_that_ends_with_its_range_says_at_least() {
    let answer = check_run(
        &queue("{strategy: sweep, range: [200/s, 400/s], step: 200/s}", ""),
        expect![[r#"
            queue · simulated · at most 2 trials, 8.8 s
            deploy   a simulated queue ready in 0.0 s
              1     200/s   ok          p50 1.00 ms  p99 2.81 ms   cpu 0.19
              2     400/s   ok          p50 1.00 ms  p99 3.69 ms   cpu 0.38
            ---
            maximum throughput    at least 382/s sustained at 382/s offered (trial 2)
            capacity              at least 400/s highest load with p99 ≤ 20 ms and failures ≤ 0.1 %, but 1,530 requests are too few to decide failures at 95 %
            validity              2 of 2 trials valid
            stopped by            the range was measured up to 400/s
        "#]],
    );
    expect!["maximum throughput at least 382/s; capacity at least 400/s with p99 ≤ 20 ms and failures ≤ 0.1 %, but 1,530 requests are too few to decide failures at 95 % (the range was measured up to 400/s)"].assert_eq(&answer.summary);
    let (maximum, capacity) = (answer.maximum_throughput.unwrap(), answer.capacity.unwrap());
    assert!(maximum.at_least && capacity.at_least && answer.searches[0].is_cut_off());
    // Beyond the limit of the system, the range shows it.
    let answer = run_of(&queue("{strategy: sweep, range: [500/s, 1500/s], step: 500/s}", ""));
    let (maximum, capacity) = (answer.maximum_throughput.unwrap(), answer.capacity.unwrap());
    assert!(!maximum.at_least && !capacity.at_least && !answer.searches[0].is_cut_off());
}

/// The same end means the same, whatever the strategy.
#[test]
fn a_verdict_depends_on_what_was_found_and_not_on_the_strategy() {
    let verdict = |search: &str| run_of(&queue(search, "")).verdict;
    // The system meets its SLO up to about 890/s.
    for search in [
        "{range: [100/s, 300/s]}",
        "{range: [100/s, 300/s], strategy: bisect}",
        "{range: [100/s, 300/s], step: 100/s, result: capacity}",
    ] {
        assert_eq!(verdict(search), Verdict::NoAnswer, "{search}");
    }
    for search in [
        "{range: [2000/s, 3000/s]}",
        "{range: [2000/s, 3000/s], step: 500/s, result: capacity}",
        "{range: [2000/s, 3000/s], step: 500/s}",
        "{start: 2000/s, step: 50%, stop: [{rule: no_new_max, window: 1, by: 1%}]}",
    ] {
        assert_eq!(verdict(search), Verdict::No, "{search}");
    }
    let range = "{range: [500/s, 1500/s], step: 500/s, result: capacity}";
    for search in [range, "{range: [100/s, 300/s], step: 100/s}"] {
        assert_eq!(verdict(search), Verdict::Answered, "{search}");
    }
}

fn run_of(text: &str) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    run(&read(text), Some(folder.path().join("r")), &host(), &mut Silent).unwrap().answer
}

/// One miss may be of the machine, so it is no bound; but it is not left unsaid.
#[test]
fn a_search_that_ends_after_one_miss_names_the_load() {
    let answer = check_run(
        &queue("{range: [2000/s, 3000/s]}", "budget: {trials: 1}"),
        expect![[r#"
            queue · simulated · 1 trial, 4.4 s
            deploy   a simulated queue ready in 0.0 s
              1   2,449/s   saturated   p50 543 ms   p99 842 ms    1,000 of 2,538/s completed  limited by: servers (CPU)
            ---
            capacity              unknown: 2,449/s missed the SLO, and no load met it
            validity              1 of 1 trials valid
            no answer             the 1 trials of budget.trials were not enough
        "#]],
    );
    let words =
        "capacity unknown: 2,449/s missed p99 ≤ 20 ms and failures ≤ 0.1 %, and no load met it";
    assert!(answer.summary.contains(words), "{}", answer.summary);
}
