use std::path::Path;

use expect_test::expect;
use results::answer;
use results::comparison::Verdict;
use results::doctor::{Doctor, Fingerprint};
use results::journal::Delivery;
use results::{Answer, Directory};

use super::*;
use crate::backend::for_tests;
use crate::past::Past;
use crate::progress::Silent;
use crate::{Host, experiment, spec};

const BASE: &str = "
name: versions
where: {backend: simulated}
workload: {get: /}
load: {model: open, rate: 600/s}
phases: {warm_up: {fixed: 1s}, measure: {time: 5s}, drain: 100ms}
slo: [{metric: p99, max: 30ms}]
";

/// Two levels of a queue with an exponential service time of 1 ms, and of so much.
fn versions(time: &str, rest: &str) -> String {
    format!(
        "{BASE}
simulated: {{service_time: 1ms, distribution: exponential}}
factors:
  version:
    levels:
      - {{name: old, set: {{phases: {{drain: 100ms}}}}}}
      - {{name: new, set: {{simulated: {{service_time: {time}}}}}}}
{rest}"
    )
}

fn run(text: &str, path: &Path) -> Answer {
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let host = Host::new("/nowhere/benchwright".into(), "0.0.0");
    let ended = experiment::run(&resolved, Some(path.into()), &host, &for_tests, &mut Silent);
    ended.unwrap().answer
}

fn compared(text: &str) -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    run(text, &folder.path().join("run")).comparison.unwrap()
}

#[test]
fn trials_in_blocks_are_compared_block_by_block() {
    let slower = compared(&versions(
        "1.1ms",
        "repeat: {trials: 10, order: {blocks: 4}}\ncompare: {metrics: [p50, completed]}",
    ));
    assert_eq!([&*slower.a, &*slower.b], ["old", "new"]);
    let [p50, completed] = &slower.metrics[..] else { panic!("{slower:?}") };
    assert_eq!((p50.verdict, p50.blocks, p50.interleaved), (Verdict::Worse, 5, true));
    assert_eq!((p50.trials_a, p50.trials_b), (10, 10));
    assert_eq!(completed.verdict, Verdict::Equivalent, "{completed:?}");
    assert_eq!(slower.verdict, Verdict::Worse);
    let shifts: Vec<Metric> = slower.percentiles.iter().map(|shift| shift.metric).collect();
    assert_eq!(shifts, Metric::PERCENTILES);
}

/// A service that refuses requests is fast.
#[test]
fn an_arm_that_fails_more_than_the_documented_share_is_worse_than_one_that_works() {
    let rest = "repeat: {trials: 10, order: {blocks: 4}}\ncompare: {metrics: [p50, completed]}";
    let with = |slo: &str, strand: u32, percent: u64| {
        let text = versions("1ms", rest).replace("slo: [", &format!("slo: [{slo}"));
        let mut past = crate::for_tests::ran(&text);
        for entry in past.journal.iter_mut().filter(|entry| entry.strand == Some(strand)) {
            let observed = entry.observed.as_mut().unwrap();
            observed.failures = observed.requests * percent / 100;
            (observed.p50_ns, observed.completed_per_s) = (Some(50_000), 900.0);
        }
        let found = past.compared(&[], None).unwrap();
        (found.verdict, found.metrics.iter().map(in_words).collect::<Vec<_>>().join("\n"))
    };
    let (verdict, words) = with("", 2, 40);
    assert_eq!(verdict, Verdict::Worse);
    expect![[r#"
        p50 worse: too many requests failed in 10 of 10 trials of B, and in 0 of 10 of A (p < 0.0001): a service that fails is worse, however fast it fails
        completed worse: too many requests failed in 10 of 10 trials of B, and in 0 of 10 of A (p < 0.0001): a service that fails is worse, however fast it fails"#]].assert_eq(&words);
    let (verdict, words) = with("", 1, 40);
    assert_eq!(verdict, Verdict::Undecided);
    expect![[r#"
        p50 undecided: too many requests failed in 10 of 10 trials of A and 0 of 10 of B: figures of failures are not those of the service, and the others alone decide nothing; find out why they failed, or compare the goodput
        completed undecided: too many requests failed in 10 of 10 trials of A and 0 of 10 of B: figures of failures are not those of the service, and the others alone decide nothing; find out why they failed, or compare the goodput"#]].assert_eq(&words);
    assert_eq!(with("", 2, 100).0, Verdict::Worse);
    assert_eq!(with("", 2, 4).0, Verdict::Worse);
    assert_eq!(with("", 2, 2).0, Verdict::Better);
    // Its own objective is tighter.
    assert_eq!(with("{metric: failures, max: 1%}, ", 2, 2).0, Verdict::Worse);
}

/// All requests hide the few of a label.
#[test]
fn a_label_that_fails_is_not_better() {
    let rest = "repeat: {trials: 10, order: {blocks: 4}}\ncompare: {metrics: [p99]}";
    let mut past = crate::for_tests::ran(&versions("1ms", rest));
    for (entry, n) in past.journal.iter_mut().zip(1..) {
        let is_old = entry.cell.as_deref() == Some("version=old");
        let (failed, p99_ns) = if is_old { (0, 5_000_000) } else { (20, 50_000) };
        let label = OfLabel {
            label: "login".to_owned(),
            completed: 50,
            failed,
            p99_ns: Some(p99_ns + n),
            ..OfLabel::default()
        };
        entry.observed.as_mut().unwrap().labels = vec![label];
    }
    let found = past.compared(&["login.p99".parse().unwrap()], None).unwrap();
    assert_eq!(found.verdict, Verdict::Worse, "{found:?}");
}

/// The worse arm is not judged by those of its trials that went well.
#[test]
fn the_trials_that_work_do_not_decide_for_those_that_fail() {
    let rest = "repeat: {trials: 10, order: {blocks: 4}}\ncompare: {metrics: [p50, goodput]}";
    let with = |time: &str, failing: &[u32]| {
        let mut past = crate::for_tests::ran(&versions(time, rest));
        let is_failing =
            |entry: &&mut Entry| entry.strand == Some(2) && failing.contains(&entry.repetition);
        for entry in past.journal.iter_mut().filter(is_failing) {
            let observed = entry.observed.as_mut().unwrap();
            (observed.failures, observed.goodput_per_s) = (observed.requests, 0.0);
        }
        let found = past.compared(&[], None).unwrap();
        found.metrics.iter().map(in_words).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        p50 undecided: −71.4 % (−72.9 … −69.5 %), p = 0.0021; median 1.75 ms → 496 µs; 10 and 6 trials in 5 blocks; too many requests failed in 0 of 10 trials of A and 4 of 10 of B: figures of failures are not those of the service, and the others alone decide nothing; find out why they failed, or compare the goodput
        goodput undecided: −2.4 % (−100.0 … +0.6 %), p = 0.0985; median 603/s → 592/s; 10 and 10 trials in 5 blocks; how many more are needed cannot be known"#]].assert_eq(&with("0.5ms", &[1, 4, 5, 8]));
    expect![[r#"
        p50 worse: +33728.8 % (+31377.5 … +39526.1 %), p = 0.0021; median 1.75 ms → 595 ms; 10 and 6 trials in 5 blocks
        goodput worse: −100.0 % (−100.0 … −100.0 %), p = 0.0003; median 603/s → 0/s; 10 and 10 trials in 5 blocks"#]].assert_eq(&with("2ms", &[1, 4, 5, 8]));
}

/// Between two valid trials of an arm, others had their turn.
#[test]
fn a_turn_without_a_valid_trial_does_not_shift_the_trials_after_it() {
    let rest = "repeat: {trials: 6, order: interleaved}\ncompare: {metrics: [p50]}";
    let mut past = crate::for_tests::ran(&versions("1ms", rest));
    for (entry, n) in past.journal.iter_mut().zip(0u64..) {
        let observed = entry.observed.as_mut().unwrap();
        // The machine slows down by a tenth from one turn to the next.
        observed.p50_ns = Some(10_000_000 + 1_000_000 * (n / 2));
    }
    past.journal[2].status = Status::Invalid;
    let found = past.compared(&[], None).unwrap();
    let p50 = &found.metrics[0];
    assert_eq!((p50.effect, p50.blocks), (Some(1.0), 5));
}

/// The speeds are in the places of their figures: a machine that explains all of the figures leaves only
/// the true difference.
#[test]
fn trials_are_compared_at_equal_speed_if_every_speed_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let rest = "repeat: {trials: 10, order: {blocks: 4}}\ncompare: {metrics: [p50]}";
    run(&versions("1.1ms", rest), &path);
    let mut past = Past::read(&path).unwrap();
    let adjusted = |past: &Past| past.compared(&[], None).unwrap().metrics[0].adjusted;
    assert_eq!(adjusted(&past), None);
    for (entry, n) in past.journal.iter_mut().zip(1..) {
        let slowed = 1.0 + f64::from(7 * n % 10) / 20.0;
        let factor = if entry.cell.as_deref() == Some("version=old") { 1.0 } else { 1.1 };
        let observed = entry.observed.as_mut().unwrap();
        observed.p50_ns = Some((1e6 * factor * slowed) as u64);
        observed.work_ns.insert("sweep".into(), 100.0 * slowed);
    }
    let found = adjusted(&past).unwrap();
    assert!((found.effect - 1.1).abs() < 1e-3, "{found:?}");
    assert!((found.slope + 1.0).abs() < 1e-2, "{found:?}");
    past.journal[3].observed.as_mut().unwrap().work_ns.clear();
    assert_eq!(adjusted(&past), None, "one is not known");
}

/// A lost event took longer than was waited for it: how much longer is not known.
#[test]
fn a_percentile_among_lost_events_is_compared_as_the_bound_that_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run(&versions("1.1ms", "repeat: {trials: 10, order: {blocks: 4}}\ncompare: {}"), &path);
    let mut past = Past::read(&path).unwrap();
    let mut with = |lost_by_old: u64, lost_by_new: u64| {
        for (entry, n) in past.journal.iter_mut().zip(1..) {
            let is_old = entry.cell.as_deref() == Some("version=old");
            let lost = if is_old { lost_by_old } else { lost_by_new };
            entry.observed.as_mut().unwrap().delivery = Some(Delivery {
                p99_ns: Some(if lost == 0 { 12_900_000 } else { 1_000_000_000 } + n),
                at_least_from_ns: (0 < lost).then_some(1_000_000_000),
                lost,
                ..Delivery::default()
            });
        }
        let found = past.compared(&[Metric::DeliveryP99.into()], None).unwrap();
        let found = &found.metrics[0];
        (found.verdict, found.effect, in_words(found))
    };
    let (verdict, effect, words) = with(0, 5);
    assert_eq!((verdict, effect), (Verdict::Worse, None), "{words}");
    assert!(
        words.contains("in 0 and 10 of them it falls among lost events, and the verdict holds")
    );
    let (verdict, _, words) = with(5, 5);
    assert_eq!(verdict, Verdict::Undecided);
    assert!(words.ends_with("how long these took decides: compare `lost`"), "{words}");
    assert!(matches!(with(0, 0).1, Some(ratio) if (ratio - 1.0).abs() < 1e-6));
}

/// The slower label hides in all requests, of which it is a few.
#[test]
fn a_metric_of_a_label_decides() {
    let mut past = crate::for_tests::ran(&versions(
        "1ms",
        "repeat: {trials: 10, order: {blocks: 4}}\ncompare: {metrics: [p99]}",
    ));
    for (entry, n) in past.journal.iter_mut().zip(1..) {
        let factor = if entry.cell.as_deref() == Some("version=old") { 1.0 } else { 1.2 };
        let label = |label: &str, ms: f64| OfLabel {
            label: label.to_owned(),
            p99_ns: Some((1e6 * ms) as u64 + n),
            ..OfLabel::default()
        };
        let labels = vec![label("login", 5.0 * factor), label("search", 5.0)];
        entry.observed.as_mut().unwrap().labels = labels;
    }
    let verdicts = |metrics: &str| {
        let metrics: Vec<MetricOf> = metrics.split(',').map(|text| text.parse().unwrap()).collect();
        let found = past.compared(&metrics, None)?;
        let each = found.metrics.iter();
        Ok(each.map(|one| (one.of.label.clone().unwrap(), one.verdict)).collect::<Vec<_>>())
    };
    let (login, search) = ("login".to_owned(), "search".to_owned());
    assert_eq!(
        verdicts("login.p99,search.p99").map_err(|error: crate::Error| error.to_string()),
        Ok(vec![(login, Verdict::Worse), (search, Verdict::Equivalent)])
    );
    expect!["no request has the label `logout`; write one of login, search"]
        .assert_eq(&verdicts("logout.p99").unwrap_err().to_string());
}

/// It would be "undecided" after all of its trials, however large the difference is.
#[test]
fn a_comparison_that_no_result_can_decide_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.yaml");
    let load = |text: String| {
        std::fs::write(&path, text).unwrap();
        spec::load(&path, None, &[]).map(drop).map_err(|error| error.to_string())
    };
    let trials = |repeat: &str, metrics: &str| {
        load(versions("1.1ms", &format!("repeat: {repeat}\ncompare: {{metrics: [{metrics}]}}")))
    };
    let searches = |count: u32| {
        let rest =
            format!("search: {{start: 300/s}}\nrepeat: {{searches: {count}}}\ncompare: {{}}");
        load(versions("1.1ms", &rest).replace(", rate: 600/s", ""))
    };
    let blocks = |trials: u32| format!("{{trials: {trials}, order: {{blocks: 4}}}}");
    for (refused, remedy) in [
        (
            trials("{trials: 1}", "p99"),
            "has p = 1.0000, and a verdict needs p ≤ 0.0500: write trials: 4 or",
        ),
        (
            trials("{trials: 5, order: interleaved}", "p99"),
            "has p = 0.0625, and a verdict needs p ≤ 0.0500: write trials: 6 or",
        ),
        (
            trials(&blocks(4), "p99"),
            "has p = 0.0556, and a verdict needs p ≤ 0.0500: write trials: 5 or",
        ),
        (
            trials(&blocks(5), "completed, p50, p99"),
            "has p = 0.0278, and a verdict of 3 figures together needs p ≤ 0.0167: write trials: 6 or",
        ),
        (
            trials("{order: interleaved, until: {metric: p99, ci_rel: 5%, max: 5}}", "p99"),
            ": write max: 6 or",
        ),
        (searches(3), "has p = 0.1000, and a verdict needs p ≤ 0.0500: write searches: 4 or"),
    ] {
        let error = refused.unwrap_err();
        assert!(
            error.contains("the comparison cannot decide") && error.contains(remedy),
            "{error}"
        );
        assert!(error.contains("my.yaml:"), "it has a place: {error}");
    }
    for accepted in [
        trials("{trials: 4}", "p99"),
        trials("{trials: 6, order: interleaved}", "p99"),
        trials(&blocks(6), "completed, p50, p99"),
        searches(4),
    ] {
        assert_eq!(accepted, Ok(()));
    }
}

/// In turn, each turn is a block; one after the other, all trials are one block, and a drift would
/// look like a difference.
#[test]
fn the_order_makes_the_blocks() {
    let with = |order: &str| {
        let rest = format!("repeat: {{trials: 4, order: {order}}}\ncompare: {{}}");
        let found = compared(&versions("1.1ms", &rest));
        let p99 = &found.metrics[0];
        (p99.metric, p99.blocks, p99.interleaved)
    };
    assert_eq!(with("interleaved"), (Metric::P99, 4, true));
    assert_eq!(with("listed"), (Metric::P99, 1, false));
}

#[test]
fn searches_are_compared_by_their_results() {
    let found = compared(
        &versions(
            "1.25ms",
            "search: {start: 300/s}\nrepeat: {searches: 5, order: interleaved}\ncompare: {}",
        )
        .replace(", rate: 600/s", ""),
    );
    let capacity = &found.metrics[0];
    assert_eq!(capacity.metric, Metric::Capacity);
    assert_eq!((capacity.trials_a, capacity.trials_b, capacity.blocks), (5, 5, 1));
    assert!(capacity.interleaved);
    assert_eq!(capacity.verdict, Verdict::Worse, "{capacity:?}");
    assert!((0.72..0.85).contains(&capacity.effect.unwrap()), "{capacity:?}");
    assert_eq!(found.percentiles, []);
}

/// Two queues that take 1 ms and this time, each searched ten times in this range.
fn searched(time: &str, range: &str, rest: &str) -> String {
    format!(
        "
name: versions
where: {{backend: simulated}}
simulated: {{service_time: 1ms}}
factors:
  version:
    levels:
      - {{name: old, set: {{phases: {{drain: 100ms}}}}}}
      - {{name: new, set: {{simulated: {{service_time: {time}}}}}}}
workload: {{get: /}}
load: {{model: open}}
phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 1s}}, drain: 100ms}}
slo: [{{metric: p99, max: 30ms}}]
search: {{range: {range}}}
repeat: {{searches: 10, order: interleaved}}
compare: {{}}
{rest}"
    )
}

fn answered(text: &str) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    run(text, &folder.path().join("run"))
}

/// The one does twice as much as the other, and both do more than the range has.
#[test]
fn searches_that_end_at_the_end_of_the_range_decide_nothing() {
    let answer = answered(&searched("2ms", "[100/s, 300/s]", ""));
    let found = answer.comparison.as_ref().unwrap();
    assert_eq!((answer.verdict, found.verdict), (answer::Verdict::NoAnswer, Verdict::Undecided));
    expect!["capacity undecided: median at least 300/s → at least 300/s; 10 and 10 searches; 10 and 10 of them found only a bound, and what they would have found decides: widen the range or raise the budget, until each search ends with an answer"].assert_eq(&in_words(&found.metrics[0]));
    assert!(answer.searches.iter().all(|search| search.capacity.as_ref().unwrap().at_least));
    assert!(answer.searches.iter().all(|search| search.interval.is_none()));
    assert!(answer.searches.iter().all(|search| search.estimate.is_none()));
    expect![[r#"
        version=old           capacity at least 300/s (all 10) with p99 ≤ 30 ms; no answer: the SLO was met up to 300/s, the end of the range: raise it
        version=new           capacity at least 300/s (all 10) with p99 ≤ 30 ms; no answer: the SLO was met up to 300/s, the end of the range: raise it
        comparison            capacity undecided: median at least 300/s → at least 300/s; 10 and 10 searches; 10 and 10 of them found only a bound, and what they would have found decides: widen the range or raise the budget, until each search ends with an answer
        reproducibility       version=old: 10 of 10 searches found only a bound of the capacity, so its spread is not known (median at least 300/s): widen the range or raise the budget, until each search ends with an answer
        reproducibility       version=new: 10 of 10 searches found only a bound of the capacity, so its spread is not known (median at least 300/s): widen the range or raise the budget, until each search ends with an answer
        validity              160 of 160 trials valid
        no answer             version=old · 1: the SLO was met up to 300/s, the end of the range: raise it
    "#]].assert_eq(&crate::answer::table(&answer));
}

/// No load of the range meets the SLO with the new version: it has no capacity there, and is worse for
/// certain.
#[test]
fn an_arm_that_never_meets_the_slo_is_worse_than_one_that_does() {
    let answer = answered(&searched("50ms", "[200/s, 1200/s]", ""));
    let found = answer.comparison.as_ref().unwrap();
    assert_eq!((answer.verdict, found.verdict), (answer::Verdict::No, Verdict::Worse));
    expect!["capacity worse: at most −80.0 %, p < 0.0001; median 1,000/s → at most 200/s; 10 and 10 searches; 0 and 10 of them found only a bound, and the verdict holds whatever they would have found"].assert_eq(&in_words(&found.metrics[0]));
    let sentences = crate::explanation::of_run(&answer);
    let rule = sentences.iter().find(|sentence| sentence.about == "comparison").unwrap();
    assert!(rule.text.contains("counts with both ends of what it leaves open"), "{}", rule.text);
}

#[test]
fn searches_that_the_budget_cuts_have_no_interval_and_decide_nothing() {
    let answer = answered(&searched("1.2ms", "[100/s, 1600/s]", "budget: {trials: 2}"));
    let found = answer.comparison.as_ref().unwrap();
    assert_eq!((answer.verdict, found.verdict), (answer::Verdict::NoAnswer, Verdict::Undecided));
    expect!["capacity undecided: median at least 800/s → at least 800/s; 10 and 10 searches; 10 and 10 of them found only a bound, and what they would have found decides: widen the range or raise the budget, until each search ends with an answer"].assert_eq(&in_words(&found.metrics[0]));
    assert!(answer.searches.iter().all(|search| search.interval.is_none()));
    assert_eq!(answer.reproducibility.iter().map(|of| of.metrics.len()).sum::<usize>(), 0);
}

#[test]
fn two_directories_with_bounds_are_undecided_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |name: &str, time: &str| {
        let text = format!(
            "
name: {name}
where: {{backend: simulated}}
simulated: {{service_time: {time}}}
workload: {{get: /}}
load: {{model: open}}
phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 1s}}, drain: 100ms}}
slo: [{{metric: p99, max: 30ms}}]
search: {{range: [100/s, 300/s]}}
repeat: {{searches: 10, order: interleaved}}
"
        );
        let path = folder.path().join(name);
        run(&text, &path);
        Past::read(&path).unwrap()
    };
    let (one, two, slow) = (ran("one", "1ms"), ran("two", "2ms"), ran("slow", "50ms"));
    let verdict = |a: &Past, b| a.compared_with(b, &[], 0.03).unwrap().verdict;
    assert_eq!(verdict(&one, &two), Verdict::Undecided);
    assert_eq!(verdict(&one, &slow), Verdict::Worse);
    assert_eq!(verdict(&slow, &one), Verdict::Better);
    assert_eq!(verdict(&slow, &slow), Verdict::Undecided);
}

#[test]
fn each_combination_of_the_other_factors_is_compared_by_itself() {
    let found = compared(&format!(
        "{BASE}
simulated: {{service_time: 1ms, distribution: exponential}}
factors:
  servers: {{path: simulated.servers, levels: [1, 2, 4]}}
  model: {{path: load.arrivals, levels: [poisson, constant]}}
repeat: {{trials: 3, order: interleaved}}
compare: {{factor: servers, arms: [4, 1]}}
"
    ));
    assert_eq!([&*found.a, &*found.b], ["4", "1"]);
    let cells: Vec<&str> =
        found.metrics.iter().filter_map(|compared| compared.of.cell.as_deref()).collect();
    assert_eq!(cells, ["model=poisson", "model=constant"]);
}

#[test]
fn two_directories_are_compared_with_their_differences_and_not_as_interleaved() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |name: &str, time: &str, rate: &str, governor: &str| {
        let text = format!(
            "{BASE}simulated: {{service_time: {time}, distribution: exponential}}\n\
             repeat: {{trials: 6}}\n"
        )
        .replace("600/s", rate);
        let path = folder.path().join(name);
        run(&text, &path);
        // A machine beside the queue, which has none.
        let directory = Directory::open(&path).unwrap();
        let mut environment = directory.environment().unwrap();
        environment.nodes = vec![results::environment::Node {
            governor: Some(governor.into()),
            load_average: Some(time.into()),
            ..Default::default()
        }];
        environment.placement.insert("queue-1.1".into(), governor.len().to_string());
        directory.write_environment(&environment).unwrap();
        // The governor is a fact of the machine already, and is listed once.
        let binary = if governor == "performance" { "a1" } else { "b2" };
        let values = [("governor", governor), ("binary store", binary)];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let fingerprint = Fingerprint::new(values.into(), None);
        directory.write_doctor(&Doctor::new(Vec::new(), fingerprint)).unwrap();
        Past::read(&path).unwrap()
    };
    let old = ran("old", "1ms", "600/s", "performance");
    let new = ran("new", "1.1ms", "600/s", "powersave");
    let found = old.compared_with(&new, &[], 0.03).unwrap();
    let p99 = &found.metrics[0];
    assert_eq!((p99.verdict, p99.blocks, p99.interleaved), (Verdict::Worse, 1, false));
    let differences: Vec<String> = p99
        .environment_differences
        .iter()
        .map(|d| format!("{}: {} → {}", d.what, d.a.as_deref().unwrap(), d.b.as_deref().unwrap()))
        .collect();
    assert_eq!(
        differences,
        [
            "machine: governor: performance → powersave",
            "placement of queue-1.1: 11 → 9",
            "check: binary store: a1 → b2",
            "spec: simulated.service_time: 1ms → 1100us",
        ]
    );
    let same = old.compared_with(&old, &[], 0.03).unwrap();
    assert_eq!(same.metrics[0].environment_differences, []);
    assert_eq!(same.metrics[0].effect, Some(1.0));

    let other = ran("other", "1ms", "500/s", "performance");
    let error = old.compared_with(&other, &[], 0.03).unwrap_err().to_string();
    assert_eq!(error, "the loads differ (600/s, 500/s): trials are compared at the same load only");
}

#[test]
fn a_comparison_that_cannot_be_made_is_an_error_of_the_spec() {
    let error = |text: &str| {
        let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
        read.unwrap_err().to_string().lines().next().unwrap().to_owned()
    };
    let queue = format!("{BASE}simulated: {{service_time: 1ms}}\n");
    let with = |rest: &str| error(&versions("1.1ms", rest));
    let found = [
        error(&format!("{queue}compare: {{}}")),
        error(&format!(
            "{queue}factors: {{servers: {{path: simulated.servers, levels: [1, 2, 4]}}}}\ncompare: {{}}"
        )),
        with("compare: {factor: servers}"),
        with("compare: {arms: [old, older]}"),
        with("compare: {arms: [old, old]}"),
        with("compare: {metrics: [capacity]}"),
        with("compare: {metrics: [p98]}"),
        with("compare: {margin: 0%}"),
        with("repeat: {until: {metric: capacity, ci_rel: 1%, max: 9}}"),
    ];
    expect_test::expect![[r#"
        two arms are compared, and there is no factor
        two arms are compared, and `servers` has 3
        no factor is called `servers`
        `version` has no level `older`
        a level is compared with itself
        no question here is compared by `capacity`
        `p98` is not a metric; write one of completed, goodput, p50, p90, p99, p99.9, delivery_p50, delivery_p90, delivery_p99, delivery_p99.9, delivery_p99.99, lost, duplicated, capacity, maximum_throughput
        the margin is zero
        `capacity` is not a figure of a trial
    "#]].assert_eq(&(found.join("\n") + "\n"));
}
