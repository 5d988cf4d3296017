use super::*;
use crate::failure::Failure;
use crate::journal::Observed;

fn entry(trial: u32, purpose: Purpose, status: Status) -> Entry {
    Entry { purpose, status, ..Entry::aborted(trial) }
}

#[test]
fn the_validity_lists_the_trials_that_were_not_valid() {
    let mut journal = vec![entry(1, Purpose::Probe, Status::Invalid)];
    journal.extend((2..5).map(|trial| entry(trial, Purpose::Trial, Status::Valid)));
    assert_eq!(validity_in_words(journal.iter()), "3 of 3 trials valid");
    journal.push(entry(5, Purpose::Trial, Status::Bounded));
    journal.extend((6..20).map(|trial| entry(trial, Purpose::Trial, Status::Invalid)));
    journal.push(entry(20, Purpose::Trial, Status::Aborted));
    assert_eq!(
        validity_in_words(journal.iter()),
        "3 of 19 trials valid; slowed, but usable: trial 5; not valid: trials 6, 7, 8, 9, 10, 11, 12, 13, 14, \
         15, 16, 17 and 2 more; aborted: trial 20"
    );
    // The numbers of two trials are not a count of them.
    journal.truncate(7);
    assert_eq!(
        validity_in_words(journal.iter()),
        "3 of 6 trials valid; slowed, but usable: trial 5; not valid: trials 6 and 7"
    );
}

#[test]
fn trials_that_are_valid_but_disturbed_or_slow_are_listed_and_counted() {
    let mut journal = vec![entry(1, Purpose::Probe, Status::Valid)];
    journal.extend((2..5).map(|trial| entry(trial, Purpose::Trial, Status::Valid)));
    journal.push(entry(5, Purpose::Trial, Status::Bounded));
    let foreign = vec!["pid 9 cc used 89.5 % of CPU 0".to_owned()];
    (journal[0].disturbed, journal[2].disturbed) = (foreign.clone(), foreign);
    journal[3].warnings = vec!["slow machine: 80 % of the speed of the trials before".to_owned()];
    assert_eq!(
        validity_in_words(journal.iter()),
        "3 of 4 trials valid; valid, but disturbed: trial 3; valid, but in a slow machine: trial 4; slowed, but usable: \
         trial 5"
    );
    let validity = Validity {
        trials: 4,
        valid: 3,
        valid_but_disturbed: 1,
        valid_but_slow: 1,
        bounded: 1,
        ..Validity::default()
    };
    assert_eq!(Validity::of(&journal), validity);
}

/// A service beside a compiler seems to do half of what it can.
#[test]
fn a_run_of_which_most_trials_were_disturbed_says_that_a_quiet_machine_does_better() {
    let mut journal: Vec<Entry> =
        (1..5).map(|trial| entry(trial, Purpose::Trial, Status::Valid)).collect();
    for entry in &mut journal[..2] {
        entry.disturbed = vec!["pid 9 cc used 89.5 % of CPU 0".to_owned()];
    }
    assert_eq!(habits_in_words(&journal), [], "half of them");
    journal[3].status = Status::Invalid;
    journal[3].disturbed = vec!["the generator: 12 % steal".to_owned(), "steal".to_owned()];
    let words = "3 of 4 trials were disturbed (trial 4: the generator: 12 % steal; steal), which only slows a system \
                 down: on a quiet machine it probably does better";
    assert_eq!(disturbed_in_words(&journal).unwrap(), words);
    let line = format!("{words}; measure again once the machine is quiet");
    assert_eq!(habits_in_words(&journal), [("disturbed", line)]);
}

#[test]
fn a_capacity_names_the_loads_beside_it_that_missed() {
    let capacity = |missed_at_per_s, missed_below_per_s| Capacity {
        rate_per_s: 5_000.0,
        at_least: false,
        completed_per_s: 5_000.0,
        trial: 1,
        slo: "p99 ≤ 100 ms".to_owned(),
        missed_at_per_s,
        missed_below_per_s,
        in_doubt: missed_below_per_s.is_some(),
        sessions: false,
    };
    assert_eq!(capacity(None, None).missed_in_words(), "");
    assert_eq!(
        capacity(Some(6_516.0), Some(3_000.0)).missed_in_words(),
        "; missed at 6,516/s; in doubt: 3,000/s below it missed too"
    );
    let of_sessions = Capacity { sessions: true, ..capacity(Some(65.0), None) };
    assert_eq!(of_sessions.missed_in_words(), "; missed at 65.0 sessions/s");
    assert!(of_sessions.rate_in_words().ends_with(" sessions/s"));
}

/// On a machine that is fast or slow the mean lies between both, and most searches found the same.
#[test]
fn the_interval_of_repeated_searches_has_their_median() {
    let search = |rate_per_s: f64| Search {
        capacity: Some(Capacity {
            rate_per_s,
            at_least: false,
            completed_per_s: rate_per_s,
            trial: 1,
            slo: "p99 ≤ 100 ms".to_owned(),
            missed_at_per_s: None,
            missed_below_per_s: None,
            in_doubt: false,
            sessions: false,
        }),
        trials: 12,
        ..Search::of_strand(1)
    };
    let mut searches = [vec![search(900.0); 6], vec![search(600.0); 4]].concat();
    add_intervals(&mut searches);
    let (low, high) = searches[0].interval.unwrap();
    assert!((650.0..670.0).contains(&low) && high == 900.0, "{low} … {high}");
}

/// An answer of version 2 with two searches: one ended at the end of its range, the other found its capacity.
#[test]
fn an_earlier_answer_is_read_with_its_bounds_marked() {
    let capacity = |missed_at: Option<f64>| {
        let mut capacity = serde_json::json!({
            "rate_per_s": 300.0, "completed_per_s": 300.0, "trial": 8, "slo": "p99 ≤ 20 ms"
        });
        if let Some(missed_at) = missed_at {
            capacity["missed_at_per_s"] = missed_at.into();
        }
        capacity
    };
    let search = |strand: u32, verdict: &str, upper: Option<f64>| {
        serde_json::json!({
            "strand": strand, "cell": format!("version={strand}"), "repetition": 1, "verdict": verdict,
            "maximum_throughput": null, "capacity": capacity(upper), "lower": 300.0, "upper": upper,
            "interval": [280.0, 320.0], "stopped_by": "", "trials": 8,
            "estimate": {"rate_per_s": 301.0, "interval": [280.0, 320.0], "noise": 0.01}
        })
    };
    let spread = serde_json::json!({"count": 1, "least": 300.0, "median": 300.0, "most": 300.0});
    let level = |strand: u32| {
        serde_json::json!({
            "cell": format!("version={strand}"), "levels": {"version": strand.to_string()},
            "searches": [{"maximum_throughput_per_s": null, "capacity_per_s": spread}]
        })
    };
    let mut answer: Answer = serde_json::from_value(serde_json::json!({
        "schema": "benchwright.run/2", "experiment": "versions", "verdict": "no_answer", "summary": "",
        "maximum_throughput": null, "capacity": null, "stopped_by": "",
        "levels": [level(1), level(2)],
        "searches": [search(1, "no_answer", None), search(2, "answered", Some(306.0))],
        "trials": []
    }))
    .unwrap();
    earlier::mark(&mut answer);
    let found: Vec<Found> = answer.searches.iter().map(|s| s.found(Metric::Capacity)).collect();
    assert_eq!(found, [Found::between(Some(300.0), None), Found::Exact(300.0)]);
    let medians: Vec<Found> = answer
        .levels
        .iter()
        .map(|level| level.searches[0].capacity_per_s.unwrap().median)
        .collect();
    assert_eq!(medians, found);
    let estimates: Vec<bool> =
        answer.searches.iter().map(|search| search.estimate.is_some()).collect();
    assert_eq!(estimates, [false, true]);
    assert!(answer.searches.iter().all(|search| search.interval.is_none()), "of one search each");
    assert_eq!(answer.schema, SCHEMA);
}

#[test]
fn an_answer_and_the_journal_are_compared_trial_by_trial() {
    let valid = |trial: u32| entry(trial, Purpose::Trial, Status::Valid);
    let journal: Vec<Entry> = (1..5).map(valid).collect();
    let answer = |trials: &[Entry]| {
        let text = r#"{"schema": "x", "experiment": "x", "verdict": "answered", "summary": "", "stopped_by": "",
            "maximum_throughput": null, "capacity": null, "trials": []}"#;
        Answer { trials: trials.to_vec(), ..serde_json::from_str(text).unwrap() }
    };
    assert_eq!(answer(&journal).unlike(&journal).in_words(), [""; 0]);
    let mut changed = journal.clone();
    changed[1].seed = 7;
    let unlike = answer(&changed).unlike(&journal[..3]);
    assert_eq!(
        unlike.in_words(),
        [
            "trial 4: answer.json counts what journal.jsonl does not have",
            "trial 2: answer.json and journal.jsonl say different things"
        ]
    );
    assert_eq!([1, 2, 3, 4].map(|trial| unlike.has(trial)), [false, true, false, true]);
    assert_eq!(
        answer(&journal[1..]).unlike(&journal).in_words(),
        ["trial 1: journal.jsonl has what answer.json does not count"]
    );
    // A file that cannot be read changes what the journal says of its trial, and not what was measured.
    let mut unread = journal.clone();
    unread[0].distrust(vec!["load.json cannot be read: not a regular file".to_owned()]);
    assert_eq!(answer(&journal).unlike(&unread), unlike::Unlike::default());
    assert_eq!(answer(&unread).unlike(&journal), unlike::Unlike::default());
}

/// One trial that missed the SLO makes no bound of a load that most of its trials met.
#[test]
fn an_answer_rests_on_its_load_and_on_the_next_one_that_missed_the_slo() {
    let trial = |trial: u32, load: f64, met: bool| Entry {
        asked_per_target_per_s: Some(load),
        observed: Some(Observed { slo_met: Some(met), ..Observed::example(load, 1_000) }),
        ..entry(trial, Purpose::Trial, Status::Valid)
    };
    let repeated =
        [(2, false), (3, true), (4, true)].map(|(number, met)| trial(number, 200.0, met));
    let missed = [trial(5, 400.0, false), trial(6, 300.0, false), trial(7, 300.0, false)];
    let journal = [vec![trial(1, 100.0, true)], repeated.to_vec(), missed.to_vec()].concat();
    let answer: Answer = serde_json::from_value(serde_json::json!({
        "schema": "x", "experiment": "x", "verdict": "answered", "summary": "", "stopped_by": "",
        "maximum_throughput": null, "trials": [],
        "capacity": {"rate_per_s": 100.0, "completed_per_s": 100.0, "trial": 1, "slo": "p99 ≤ 20 ms"}
    }))
    .unwrap();
    assert_eq!(answer.rests_on(&journal), [1, 6, 7].into());
}

/// A bucket of 50/s with 50 tokens passes 54.7/s for 3 s after a pause.
#[test]
fn a_rate_limiter_is_named_with_what_it_passed_where_it_refused() {
    let trial = |trial: u32, purpose, refused: u64, succeeded_per_s: f64| {
        let failure = Failure {
            outcome: "status".to_owned(),
            reason: Some("429".to_owned()),
            count: refused,
            of: 300,
            ..Failure::default()
        };
        let observed = Observed {
            succeeded_per_s: Some(succeeded_per_s),
            failing: vec![failure],
            ..Observed::example(100.0, 300)
        };
        Entry { observed: Some(observed), ..entry(trial, purpose, Status::Valid) }
    };
    let journal = [
        trial(1, Purpose::Probe, 200, 50.0),
        trial(2, Purpose::Trial, 9, 54.7),
        trial(3, Purpose::Trial, 90, 66.0),
    ];
    let [(about, text)] = &habits_in_words(&journal)[..] else { panic!("one note") };
    assert_eq!(*about, "rate limit");
    assert_eq!(
        text,
        "a rate limiter refused requests with 429 (trials 1 and 3), and where it did as few as 50.0/s succeeded: a load \
         above its rate that met the SLO may have lived on what it had saved up in a pause; measure each load for \
         longer (phases.measure.time, --duration)"
    );
    assert!(habits_in_words(&journal[1..2]).is_empty(), "a few");
}

#[test]
fn a_capacity_between_two_bounds_is_said_with_both_and_a_doubtful_load_as_missed() {
    let found = |at_least, upper| {
        let capacity = Capacity {
            rate_per_s: 43.8,
            at_least,
            completed_per_s: 43.8,
            trial: 1,
            slo: "p99 ≤ 100 ms".to_owned(),
            missed_at_per_s: Some(68.4),
            missed_below_per_s: None,
            in_doubt: false,
            sessions: false,
        };
        let search = Search { capacity: Some(capacity.clone()), upper, ..Search::of_strand(1) };
        let (known, beside) = capacity.known_in_words(Some(&search));
        known + &beside
    };
    assert_eq!(found(true, Some(68.4)), "at least 43.8/s and at most 68.4/s");
    assert_eq!(found(true, None), "at least 43.8/s; missed at 68.4/s");
    assert_eq!(found(false, Some(68.4)), "43.8/s; missed at 68.4/s");
}
