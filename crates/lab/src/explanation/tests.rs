use expect_test::expect;
use results::analysis::{Difference, Outlier, What};

use super::*;
use crate::for_tests::ran;
use crate::past::Past;

const QUEUE: &str = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms, distribution: exponential, servers: 2}
workload: {get: /}
load: {model: open}
phases: {warm_up: {fixed: 1s}, measure: {time: 5s}, drain: 100ms}
slo: [{metric: p99, max: 30ms}]
";

fn explained(past: &Past) -> String {
    let line = |Sentence { about, text }: Sentence| format!("{about}: {text}\n");
    of_run(&past.answer()).into_iter().map(line).collect()
}

#[test]
fn a_capacity_is_explained_by_the_trials_at_its_bounds() {
    let past = ran(&format!("{QUEUE}search: {{start: 500/s}}\n"));
    expect![[r#"
        verdict: capacity 1,915/s with p99 ≤ 30 ms (the capacity lies between 1,915/s and 1,936/s, 1.1 % apart)
        capacity: 1,915/s is the highest load with p99 ≤ 30 ms: 2 of 3 trials met it (trial 10: p99 ≤ 30 ms is met: 13 of 9,527 requests over (0.136 %, allowed 1 %); trial 18: p99 ≤ 30 ms is missed: 519 of 1,966 requests over (26.399 %, allowed 1 %); trial 19: p99 ≤ 30 ms is met: 0 of 9,463 requests over (0 %, allowed 1 %)); at 1,936/s 2 of 6 trials met it (trial 13: p99 ≤ 30 ms is met: 0 of 9,678 requests over (0 %, allowed 1 %); trial 14: p99 ≤ 30 ms is missed: 179 of 7,233 requests over (2.475 %, allowed 1 %); trial 15: p99 ≤ 30 ms is missed: 218 of 3,187 requests over (6.84 %, allowed 1 %); and 3 more)
        estimate: estimated from all its trials: 1,911/s (95 % interval 1,799 … 1,972/s); the load at which a trial begins to fail differs by 5.1 % between trials
        end: the capacity lies between 1,915/s and 1,936/s, 1.1 % apart, after 22 trials
        limit: the first resource that was used up: servers, CPU 1.93 of 2
        validity: 22 of 22 trials valid
    "#]].assert_eq(&explained(&past));
}

#[test]
fn a_maximum_is_explained_by_the_loads_above_it() {
    let past = ran(&format!(
        "{QUEUE}search: {{start: 1000/s, step: 20%, stop: [{{rule: no_new_max, window: 3}}]}}\n"
    ));
    expect![[r#"
        verdict: maximum throughput 2,031/s; capacity 1,728/s with p99 ≤ 30 ms (no new maximum in 3 loads)
        capacity: 1,728/s is the highest load with p99 ≤ 30 ms: 1 of 1 trial met it (trial 4: p99 ≤ 30 ms is met: 0 of 8,691 requests over (0 %, allowed 1 %)); at 2,074/s 0 of 1 trial met it (trial 5: p99 ≤ 30 ms is missed: 10,304 of 10,304 requests over (100 %, allowed 1 %), 176 of them unfinished)
        maximum throughput: 2,031/s sustained of 6,172/s offered in trial 11; higher loads brought no more: 7,440/s → 1,994/s (trial 12); 8,899/s → 2,001/s (trial 13); 10,715/s → 1,987/s (trial 14)
        end: no new maximum in 3 loads, after 14 trials
        limit: the first resource that was used up: servers, CPU 2.00 of 2
        validity: 14 of 14 trials valid
    "#]].assert_eq(&explained(&past));
}

#[test]
fn a_comparison_and_a_target_are_explained_by_their_rules() {
    let past = ran(&format!(
        "{}
factors: {{time: {{path: simulated.service_time, levels: [1ms, 1.1ms]}}}}
repeat: {{trials: 6, order: {{blocks: 4}}}}
compare: {{metrics: [p50, p99]}}
reproducibility: {{target: {{metric: p50, rsd: 1%}}}}
",
        QUEUE.replace("model: open", "model: open, rate: 600/s")
    ));
    assert_eq!(past.answer().verdict, results::answer::Verdict::No);
    expect![[r#"
        verdict: 1.1ms compared with 1ms: worse; p50 +12.9 % (worse), p99 +6.3 % (undecided); 1ms → 1.1ms: p50 no difference shown (RSD × 1.51, p = 0.3968); time=1.1ms · 600/s: RSD of p50 3.7 % (2.3 % … 9.1 %), target 1 % missed; time=1ms · 600/s: RSD of p50 2.5 % (1.5 % … 6.0 %), target 1 % missed (2 searches ended)
        slo: time=1ms: 6 of 6 trials met it (trial 3: p99 ≤ 30 ms is met: 0 of 2,897 requests over (0 %, allowed 1 %); trial 4: p99 ≤ 30 ms is met: 0 of 3,081 requests over (0 %, allowed 1 %); trial 5: p99 ≤ 30 ms is met: 0 of 2,940 requests over (0 %, allowed 1 %); and 3 more)
        sustained: time=1ms: 589/s of 589/s offered, as in trial 9
        end: time=1ms: the load was measured, after 6 trials
        slo: time=1.1ms: 6 of 6 trials met it (trial 1: p99 ≤ 30 ms is met: 0 of 3,099 requests over (0 %, allowed 1 %); trial 2: p99 ≤ 30 ms is met: 0 of 3,063 requests over (0 %, allowed 1 %); trial 7: p99 ≤ 30 ms is met: 0 of 3,069 requests over (0 %, allowed 1 %); and 3 more)
        sustained: time=1.1ms: 611/s of 611/s offered, as in trial 8
        end: time=1.1ms: the load was measured, after 6 trials
        validity: 12 of 12 trials valid
        comparison: p50 worse: +12.9 % (+6.2 … +18.9 %), p = 0.0093; median 789 µs → 889 µs; 6 and 6 trials in 3 blocks. Rule: the interval excludes 0 % and the change is beyond the margin (3 %)
        comparison: p99 undecided: +6.3 % (−1.1 … +15.6 %), p = 0.1111; median 5.04 ms → 5.40 ms; 6 and 6 trials in 3 blocks; about 1 more block is needed. Rule: the interval neither excludes 0 % with a change beyond the margin, nor is it within it (3 %)
        trend: time=1.1ms · 600/s: completed changes by −0.97 % from trial to trial (S = -13 of 15, p = 0.0167): a warm-up, or a drift
        trend: time=1.1ms · 600/s: goodput changes by −0.97 % from trial to trial (S = -13 of 15, p = 0.0167): a warm-up, or a drift
        reproducibility: time=1.1ms · 600/s: the RSD of p50 is 2.31 % … 9.09 % with 6 trials, the target 1.00 %: the whole interval is beyond the target
        reproducibility: time=1ms · 600/s: the RSD of p50 is 1.53 % … 6.03 % with 6 trials, the target 1.00 %: the whole interval is beyond the target
    "#]].assert_eq(&explained(&past));
}

#[test]
fn a_trial_is_explained_by_its_objectives_and_what_limited_it() {
    let past = ran(&format!("{QUEUE}search: {{start: 500/s}}\n"));
    let answer = past.answer();
    let missed = answer.trials.iter().find(|entry| entry.slo.iter().any(|judged| !judged.met));
    let sentences = of_trial(&answer, missed.unwrap().trial).unwrap();
    let line = |Sentence { about, text }: Sentence| format!("{about}: {text}\n");
    expect![[r#"
        purpose: 4,000/s asked, repetition 1: a new load
        validity: valid: the generator was punctual and lost nothing, and its machine was undisturbed
        load: 4,047/s offered, 1,913/s completed
        little: 3,181 in progress, and 4,047/s × 664 ms account for 2,687: 15.5 % apart
        saturation: saturated: the completed rate no longer followed the offered one
        limit: servers, CPU 2.00 of 2
        slo: p99 ≤ 30 ms is missed: 4,643 of 4,643 requests over (100 %, allowed 1 %), 4,173 of them unfinished
        warning: p99 rests on 46 requests beyond it, at least 100 are needed: measure longer
    "#]].assert_eq(&sentences.into_iter().map(line).collect::<String>());
    let error = of_trial(&answer, 1_000).unwrap_err().to_string();
    assert!(error.starts_with("there is no trial 1000: the run has 1 to "), "{error}");
}

#[test]
fn a_trend_and_an_outlier_of_equal_trials_are_explained() {
    let past = ran(&format!(
        "{}repeat: {{trials: 8}}\n",
        QUEUE.replace("model: open", "model: open, rate: 600/s")
    ));
    let mut answer = past.answer();
    let of = &mut answer.reproducibility[0].metrics[0];
    let found = |what, text: &str| Difference { what, text: text.to_owned() };
    of.figures.trend = Some(Trend { s: 20, of: 28, p: 0.0141 });
    of.figures.slope = Some(-0.0031);
    let differed = vec![found(What::MachineSpeed, "machine speed 0.82")];
    of.figures.outliers =
        vec![Outlier { trial: 5, value: 500.0, p: 0.01, differed: Some(differed) }];
    let line = |Sentence { about, text }: Sentence| format!("{about}: {text}\n");
    let told = |sentence: &Sentence| ["trend", "outlier"].contains(&&sentence.about[..]);
    let sentences = of_run(&answer).into_iter().filter(told).map(line).collect::<String>();
    expect![[r#"
        trend: 600/s: completed changes by −0.31 % from trial to trial (S = 20 of 28, p = 0.0141): a warm-up, or a drift
        outlier: 600/s: completed 500/s lies apart, and counts; trial 5: machine speed 0.82
    "#]].assert_eq(&sentences);
}

#[test]
fn a_run_without_trials_says_so_and_not_which_numbers_it_has() {
    let past = ran(&format!("{QUEUE}search: {{start: 500/s}}\n"));
    let answer = results::Answer {
        trials: Vec::new(),
        stopped_by: "the system did not become ready".to_owned(),
        ..past.answer()
    };
    let Err(Error::Question(error)) = of_trial(&answer, 1) else { panic!("it has no trial") };
    assert_eq!(
        error.to_string(),
        "trial 1 does not exist: the run has no trials (the system did not become ready); leave the number \
         out to explain the run"
    );
    assert!(of_trial(&past.answer(), 3).is_ok());
}
