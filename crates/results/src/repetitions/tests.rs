use expect_test::expect;

use super::*;
use crate::answer;
use crate::journal::{Delivery, Observed, Waited, Why};

fn entry(trial: u32, asked: f64, p99_ms: f64) -> Entry {
    Entry {
        asked_per_s: Some(asked),
        asked_per_target_per_s: Some(asked),
        status: Status::Valid,
        observed: Some(Observed {
            p90_ns: Some((p99_ms * 0.8e6) as u64),
            p99_ns: Some((p99_ms * 1e6) as u64),
            ..Observed::example(asked, 30_000)
        }),
        ..Entry::aborted(trial)
    }
}

fn p99(reproduced: &Reproduced) -> &OfMetric {
    reproduced.metrics.iter().find(|of| of.metric == Metric::P99).unwrap()
}

#[test]
fn equal_trials_are_taken_together_by_load() {
    let mut journal: Vec<Entry> =
        (1..=5).map(|n| entry(n, 100.0, 10.0 + 0.01 * f64::from(n))).collect();
    journal.extend((6..=8).map(|n| entry(n, 200.0, 20.0)));
    journal.extend((9..=10).map(|n| entry(n, 300.0, 30.0)));
    let found = of(&journal, &[], None, None);
    let trials: Vec<&[u32]> = found.iter().map(|group| &group.trials[..]).collect();
    assert_eq!(trials, [&[1, 2, 3, 4, 5][..], &[6, 7, 8]], "two trials have no spread to show");
    let figures = &p99(&found[0]).figures;
    assert_eq!(figures.n, 5);
    assert!((figures.rsd.unwrap() - 0.00158).abs() < 1e-4, "{figures:?}");
    assert!(figures.sampling_floor.is_some());
    assert_eq!(figures.trend.unwrap().s, 10, "it rises from trial to trial");
    assert_eq!(figures.slope_in_words().unwrap(), "+0.10 %", "0.01 ms of 10 ms");
    assert_eq!(found[0].label(), "100/s");
}

#[test]
fn trials_that_are_not_valid_or_were_asked_for_because_of_a_result_do_not_count() {
    let mut journal: Vec<Entry> = (1..=6).map(|n| entry(n, 100.0, 10.0)).collect();
    journal[0].status = Status::Bounded;
    journal[1].status = Status::Invalid;
    journal[2].purpose = Purpose::Probe;
    journal[3].why = Some(Why::Confirm);
    assert_eq!(of(&journal, &[], None, None), []);
    journal.push(entry(7, 100.0, 10.0));
    assert_eq!(of(&journal, &[], None, None)[0].trials, [5, 6, 7]);
}

#[test]
fn an_outlier_is_named_by_the_number_of_its_trial_and_counts() {
    let mut journal: Vec<Entry> =
        (11..=20).map(|n| entry(n, 100.0, 10.0 + 0.01 * f64::from(n % 3))).collect();
    journal.push(entry(31, 100.0, 15.0));
    let found = of(&journal, &[], None, None);
    let p99 = p99(&found[0]);
    assert_eq!(p99.figures.outliers[0].trial, 31);
    assert_eq!(p99.figures.n, 11);
    assert!(found[0].warnings.iter().any(|warning| warning.text.contains("trial 31 lies apart")));
}

fn an_outlier_among(
    change_others: impl Fn(&mut Entry),
    change: impl Fn(&mut Entry),
) -> analysis::Outlier {
    let mut journal: Vec<Entry> =
        (1..=10).map(|n| entry(n, 100.0, 10.0 + 0.01 * f64::from(n % 3))).collect();
    let work = |entry: &mut Entry, ns| {
        entry.observed.as_mut().unwrap().work_ns.insert("sha".to_owned(), ns);
    };
    for other in &mut journal {
        other.fingerprint = Some("aa".to_owned());
        work(other, 1_000.0);
        change_others(other);
    }
    let mut apart = entry(11, 100.0, 15.0);
    apart.fingerprint = Some("bb".to_owned());
    apart.findings = vec!["a CPU was offline".to_owned()];
    let text = "waited 20 s for a calm machine".to_owned();
    apart.waited = Some(Waited { waited_ns: 20_000_000_000, calm: true, text });
    work(&mut apart, 1_250.0);
    change(&mut apart);
    journal.push(apart);
    p99(&of(&journal, &[], None, None)[0]).figures.outliers[0].clone()
}

#[test]
fn an_outlier_names_what_differed_in_it() {
    let outlier = an_outlier_among(|_| {}, |_| {});
    expect!["trial 11: fingerprint bb instead of aa; a CPU was offline; machine speed 0.80; before it: waited 20 s for a calm machine"].assert_eq(&outlier.in_words());
    let what: Vec<What> = outlier.differed.unwrap().iter().map(|one| one.what).collect();
    assert_eq!(what, [What::Fingerprint, What::Finding, What::MachineSpeed, What::Wait]);
}

#[test]
fn what_most_others_have_too_is_not_a_difference() {
    let outlier = an_outlier_among(
        |other| {
            // The sixth of ten others is one more than half of them.
            if other.trial <= 6 {
                other.fingerprint = Some("bb".to_owned());
                other.findings = vec!["a CPU was offline".to_owned()];
                other.waited = Some(Waited { waited_ns: 1, calm: true, text: String::new() });
            }
        },
        |apart| {
            apart.observed.as_mut().unwrap().work_ns.insert("sha".to_owned(), 1_100.0);
        },
    );
    assert_eq!(outlier.in_words(), "trial 11: no recorded difference from the others");
}

#[test]
fn an_outlier_names_a_second_in_which_others_used_the_machine() {
    let disturb = |entry: &mut Entry, foreign, stolen| {
        let observed = entry.observed.as_mut().unwrap();
        (observed.foreign_most, observed.stolen_most) = (Some(foreign), Some(stolen));
    };
    let outlier_with = |usual: (f64, f64), own: (f64, f64)| {
        let outlier = an_outlier_among(
            |other| {
                *other = entry(other.trial, 100.0, 10.0 + 0.01 * f64::from(other.trial % 3));
                disturb(other, usual.0, usual.1);
            },
            |apart| {
                *apart = entry(11, 100.0, 15.0);
                disturb(apart, own.0, own.1);
            },
        );
        outlier.in_words()
    };
    expect!["trial 11: other processes used the CPUs for up to 62 % of a second (usually 3 %); the hypervisor took a CPU for up to 4 % of a second (usually 0 %)"]
        .assert_eq(&outlier_with((0.03, 0.0), (0.62, 0.04)));
    let nothing = "trial 11: no recorded difference from the others";
    assert_eq!(outlier_with((0.03, 0.0), (0.09, 0.02)), nothing, "below the bounds");
    assert_eq!(outlier_with((0.4, 0.03), (0.62, 0.04)), nothing, "not twice the usual share");
}

#[test]
fn a_fingerprint_differs_only_from_one_that_most_others_have() {
    let outlier = an_outlier_among(
        |other| other.fingerprint = Some(format!("{}", other.trial % 2)),
        |apart| {
            *apart = Entry { findings: Vec::new(), waited: None, ..entry(11, 100.0, 15.0) };
            apart.fingerprint = Some("bb".to_owned());
        },
    );
    assert_eq!(outlier.differed, Some(Vec::new()));
}

/// A target is met only if the whole interval of the RSD is within it.
#[test]
fn the_interval_of_the_rsd_decides_on_the_target() {
    let journal: Vec<Entry> =
        (1..=10).map(|n| entry(n, 100.0, 10.0 + 0.1 * f64::from(n % 2))).collect();
    let verdict = |rsd| {
        let found = of(&journal, &[], Some(Target { metric: Metric::P99, rsd }), None);
        p99(&found[0]).target.unwrap().verdict
    };
    // The RSD is 0.53 %, its interval 0.36 … 0.96 %.
    assert_eq!(verdict(0.01), Verdict::Met);
    assert_eq!(verdict(0.006), Verdict::Undecided);
    assert_eq!(verdict(0.003), Verdict::Missed);
}

/// A percentile among lost events repeats as well as the wait for them does.
#[test]
fn a_percentile_that_is_a_lower_bound_has_no_spread() {
    let with = |trial: u32, lost: u64| {
        let mut entry = entry(trial, 100.0, 10.0);
        entry.observed.as_mut().unwrap().delivery = Some(Delivery {
            p50_ns: Some(5_000_000),
            p99_ns: Some(if lost == 0 { 12_900_000 } else { 1_000_000_000 }),
            at_least_from_ns: (0 < lost).then_some(1_000_000_000),
            lost,
            ..Delivery::default()
        });
        entry
    };
    let found = of(&[with(1, 0), with(2, 50), with(3, 0), with(4, 60)], &[], None, None);
    let metrics: Vec<Metric> = found[0].metrics.iter().map(|of| of.metric).collect();
    assert!(metrics.contains(&Metric::DeliveryP50) && !metrics.contains(&Metric::DeliveryP99));
    let warning = found[0].warnings.iter().find(|warning| warning.code == Code::LowerBound);
    let text = &warning.unwrap().text;
    assert!(
        text.starts_with("no spread of delivery_p99: in trials 2 and 4 events were lost"),
        "{text}"
    );
    let none = of(&[with(1, 0), with(2, 0), with(3, 0)], &[], None, None);
    assert!(none[0].warnings.iter().all(|warning| warning.code != Code::LowerBound));
}

fn search(repetition: u32, verdict: answer::Verdict, upper: Option<f64>) -> Search {
    let rate_per_s = 80.0 + f64::from(repetition % 2);
    let capacity = answer::Capacity {
        rate_per_s,
        at_least: upper.is_none(),
        completed_per_s: rate_per_s,
        trial: repetition,
        slo: "p99 ≤ 20 ms".into(),
        missed_at_per_s: upper,
        missed_below_per_s: None,
        in_doubt: false,
        sessions: false,
    };
    Search {
        strand: repetition,
        repetition,
        verdict,
        lower: Some(rate_per_s),
        upper,
        capacity: Some(capacity),
        trials: 5,
        ..Search::of_strand(repetition)
    }
}

#[test]
fn searches_that_found_only_a_bound_have_no_spread() {
    let found = |verdict, upper: Option<f64>| {
        let searches: Vec<Search> = (1..=3).map(|n| search(n, verdict, upper)).collect();
        of(&[], &searches, Some(Target { metric: Metric::Capacity, rsd: 0.01 }), None).remove(0)
    };
    let exact = found(answer::Verdict::Answered, Some(82.0));
    assert_eq!(exact.metrics[0].metric, Metric::Capacity);
    assert_eq!((exact.trials, exact.warnings.len()), (vec![1, 2, 3], 1), "too few for a trend");
    let cut = found(answer::Verdict::NoAnswer, None);
    assert_eq!(cut.metrics, []);
    let texts: Vec<&str> = cut.warnings.iter().map(|warning| &*warning.text).collect();
    expect!["3 of 3 searches found only a bound of the capacity, so its spread is not known (median at least 81.0/s): widen the range or raise the budget, until each search ends with an answer"].assert_eq(&texts.join("\n"));
}
