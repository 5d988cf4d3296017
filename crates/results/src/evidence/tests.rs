use std::collections::BTreeMap;

use measure::Histogram;

use super::*;
use crate::load::GateName::{Busy, Disturbed, Late, Lost};
use crate::load::{Counts, Validity};
use crate::{slo, verdict};

/// Checks every case of a trial that is not valid.
#[test]
fn a_slowed_trial_is_evidence_where_both_bounds_agree() {
    use AtBounds::{Between, Met, Missed};
    use Evidence::{Answer, Nothing};
    use Fitness::{Busy, LateByItself, Slowed};
    // The verdict; then for one load, and for a sweep, whether the system kept up or not.
    for (fitness, verdict, [one, one_plateau], [sweep, sweep_plateau]) in [
        (LateByItself, Some(Met), [Answer, Answer], [Answer, Nothing]),
        (LateByItself, Some(Missed), [Answer, Answer], [Answer, Nothing]),
        (LateByItself, Some(Between), [Nothing, Nothing], [Nothing, Nothing]),
        (LateByItself, None, [Nothing, Nothing], [Answer, Nothing]),
        (Slowed, Some(Met), [Answer, Answer], [Answer, Nothing]),
        (Slowed, Some(Missed), [Nothing, Nothing], [Nothing, Nothing]),
        (Slowed, Some(Between), [Nothing, Nothing], [Nothing, Nothing]),
        (Slowed, None, [Nothing, Nothing], [Answer, Nothing]),
        (Busy, Some(Met), [Answer, Answer], [Answer, Nothing]),
        (Busy, Some(Missed), [Answer, Answer], [Answer, Nothing]),
        (Busy, Some(Between), [Nothing, Nothing], [Nothing, Nothing]),
        (Busy, None, [Nothing, Nothing], [Answer, Nothing]),
    ] {
        let found = |question| [true, false].map(|kept_up| of(fitness, verdict, kept_up, question));
        let case = format!("{fitness:?}, {verdict:?}");
        assert_eq!(found(Question::Verdict), [one, one_plateau], "{case}");
        assert_eq!(found(Question::VerdictAndRate), [sweep, sweep_plateau], "{case}");
        assert_eq!(found(Question::Figures), [Nothing, Nothing], "{case}");
        // A disturbed probe is made again; a busy generator would only be busy again.
        let probe = if fitness == Busy { Answer } else { Nothing };
        assert_eq!(found(Question::LowerBound), [probe, probe], "{case}");
    }
}

/// If it counted, a search would be told of the passes of slowed trials and not of their misses.
#[test]
fn a_slowed_trial_that_met_its_slo_is_no_evidence_of_a_capacity() {
    use AtBounds::{Between, Met, Missed};
    use Evidence::{Answer, Nothing};
    use Fitness::{LateByItself, Slowed};
    for (fitness, verdict, enclosing, [sweep, sweep_plateau]) in [
        (LateByItself, Met, Answer, [Answer, Nothing]),
        (LateByItself, Missed, Answer, [Answer, Nothing]),
        (LateByItself, Between, Nothing, [Nothing, Nothing]),
        (Slowed, Met, Nothing, [Nothing, Nothing]),
        (Slowed, Missed, Nothing, [Nothing, Nothing]),
        (Slowed, Between, Nothing, [Nothing, Nothing]),
    ] {
        let found =
            |question| [true, false].map(|kept_up| of(fitness, Some(verdict), kept_up, question));
        let case = format!("{fitness:?}, {verdict:?}");
        assert_eq!(found(Question::Capacity), [enclosing, enclosing], "{case}");
        assert_eq!(found(Question::CapacityAndRate), [sweep, sweep_plateau], "{case}");
    }
}

#[test]
fn a_valid_trial_is_whole_and_one_that_lost_requests_is_nothing() {
    for question in [
        Question::Verdict,
        Question::VerdictAndRate,
        Question::Capacity,
        Question::CapacityAndRate,
        Question::Figures,
    ] {
        for verdict in [None, Some(AtBounds::Met), Some(AtBounds::Missed), Some(AtBounds::Between)]
        {
            for kept_up in [true, false] {
                let found = |fitness| of(fitness, verdict, kept_up, question);
                assert_eq!(found(Fitness::Valid), Evidence::Whole);
                assert_eq!(found(Fitness::Lost), Evidence::Nothing);
            }
        }
    }
}

/// A load that these gates refuse, of a generator that worked and waited for a CPU for these shares.
fn refused(gates: &[GateName], busy: Option<f64>, others: Option<f64>) -> Load {
    let gate = |name: &GateName| Gate { name: *name, passed: false, figure: String::new() };
    let gates = gates.iter().map(gate).collect();
    Load {
        validity: Validity { valid: false, reasons: Vec::new(), gates, unknown: Vec::new() },
        generator: Generator {
            busy_share: busy,
            run_queue_wait_share: others,
            ..Generator::default()
        },
        ..Load::empty("")
    }
}

#[test]
fn a_generator_is_late_by_itself_only_if_its_work_filled_cpus_of_its_own() {
    for (gates, busy, others, expected) in [
        (&[Late][..], Some(0.9), Some(0.01), Fitness::LateByItself),
        (&[Late], Some(0.9), Some(0.03), Fitness::Slowed),
        (&[Late], Some(0.6), Some(0.0), Fitness::Slowed),
        (&[Late], Some(0.9), None, Fitness::Slowed),
        (&[Late], None, Some(0.0), Fitness::Slowed),
        (&[Late, Disturbed], Some(0.9), Some(0.0), Fitness::Slowed),
        (&[Disturbed], Some(0.9), Some(0.0), Fitness::Slowed),
        (&[Late, Lost], Some(0.9), Some(0.0), Fitness::Lost),
        (&[Busy], Some(0.9), Some(0.0), Fitness::Busy),
        (&[Busy], Some(0.9), Some(0.3), Fitness::Busy),
        (&[Busy, Disturbed], Some(0.9), Some(0.0), Fitness::Slowed),
        (&[Busy, Lost], Some(0.9), Some(0.0), Fitness::Lost),
        (&[], Some(0.9), Some(0.0), Fitness::Lost),
    ] {
        assert_eq!(Fitness::of(&refused(gates, busy, others)), expected, "{gates:?} {busy:?}");
    }
    assert_eq!(Fitness::of(&Load::empty("")), Fitness::Valid);
    // What it could not make says nothing of the system.
    let mut bound = refused(&[Late], Some(0.9), Some(0.0));
    bound.generator.generator_bound = Some(true);
    assert_eq!(Fitness::of(&bound), Fitness::Busy);
}

/// A load of 1,000 requests of which 300 were slow, with this longest lateness.
fn late(slow_ms: u64, longest_ms: u64) -> Load {
    let times = |of: &[(u64, u64)]| {
        let mut histogram = Histogram::new();
        of.iter().for_each(|(ms, count)| histogram.record_n(Nanos::from_millis(*ms), *count));
        Times::of(&histogram)
    };
    let counts = Counts { intended: 1_000, ok: 1_000, ..Default::default() };
    let total = Part {
        counts,
        response_time: times(&[(1, 700), (slow_ms, 300)]),
        // Punctual requests that waited behind late ones.
        response_time_less_lateness: times(&[(1, 700), (slow_ms, 300)]),
        lateness: times(&[(0, 980), (longest_ms, 20)]),
        ..Part::default()
    };
    Load { total, ..refused(&[Late], Some(0.9), Some(0.0)) }
}

#[test]
fn a_miss_that_a_burst_of_late_requests_may_have_caused_is_no_evidence() {
    let slos = slo::read("p99<=50ms").unwrap();
    let judged = |load: &Load| {
        let outcome = verdict::judge(&slos, &load.total).unwrap();
        let (evidence, text) = of_load(load, Some(&outcome), Question::Verdict);
        (outcome.met, evidence, text.unwrap_or_default())
    };
    for (slow_ms, longest_ms, met, expected, words) in [
        (40, 30, true, Evidence::Answer, "the upper bound decides"),
        (100, 30, false, Evidence::Answer, "the lower bound decides"),
        (70, 30, false, Evidence::Nothing, "no bound decides: the SLO may be met without"),
    ] {
        let (is_met, evidence, text) = judged(&late(slow_ms, longest_ms));
        assert_eq!((is_met, evidence), (met, expected), "{slow_ms} ms");
        assert!(text.starts_with(words), "{text}");
    }
    // Another program on its CPU may have slowed the system, too.
    let mut shared = late(100, 30);
    shared.generator.run_queue_wait_share = Some(0.5);
    let (_, evidence, text) = judged(&shared);
    assert_eq!(evidence, Evidence::Nothing);
    assert!(text.starts_with("no bound decides: what slowed the trial"), "{text}");
}

/// A response time contains the work of the generator; a failure does not.
#[test]
fn a_busy_generator_excuses_slow_responses_but_no_failures() {
    let judged = |slos: &str, failed: u64| {
        let mut busy = late(100, 0);
        busy.validity = refused(&[Busy], None, None).validity;
        busy.total.counts =
            Counts { intended: 1_000, ok: 1_000 - failed, failed, ..Counts::default() };
        let outcome = verdict::judge(&slo::read(slos).unwrap(), &busy.total).unwrap();
        let (evidence, text) = of_load(&busy, Some(&outcome), Question::Verdict);
        (outcome.met, evidence, text.unwrap_or_default())
    };
    for (slos, failed, met, expected, words) in [
        ("p99<=200ms", 0, true, Evidence::Answer, "the upper bound decides"),
        ("p99<=50ms", 0, false, Evidence::Nothing, "no bound decides: the SLO may be met without"),
        ("p99<=200ms,failures<=1%", 500, false, Evidence::Answer, "the failures decide"),
        // A failed request is over the limit of a response time, too.
        ("p99<=200ms", 500, false, Evidence::Answer, "the failures decide"),
    ] {
        let (is_met, evidence, text) = judged(slos, failed);
        assert_eq!((is_met, evidence), (met, expected), "{slos}");
        assert!(text.starts_with(words), "{slos}: {text}");
    }
}

#[test]
fn failures_that_lateness_may_have_caused_are_no_miss_without_it() {
    let slos = slo::read("failures<=0.1%").unwrap();
    let bounds = |ok: u64, failed: u64, outcome: &str| {
        let outcomes = BTreeMap::from([("ok".to_owned(), ok), (outcome.to_owned(), failed)]);
        let counts = Counts { intended: ok + failed, ok, failed, ..Counts::default() };
        let part = Part { counts, outcomes, ..Part::default() };
        at_bounds(&verdict::judge(&slos, &part).unwrap(), &part)
    };
    for (outcome, expected) in [
        ("status", AtBounds::Missed),
        ("timeout", AtBounds::Between),
        ("dropped", AtBounds::Between),
    ] {
        assert_eq!(bounds(900, 100, outcome), expected, "{outcome}");
    }
    assert_eq!(bounds(1_000, 0, "status"), AtBounds::Met);
}

/// The exit code of a load that is not valid is 0 or 1 where what was wrong cannot have changed the answer.
#[test]
fn a_load_that_is_not_valid_says_why_it_answers_even_so() {
    let said = |gates: &[GateName], limit: &str| {
        let mut times = Histogram::new();
        times.record_n(Nanos::from_millis(10), 1_000);
        let mut load = Load::empty("benchwright");
        (load.total.counts.intended, load.total.counts.ok) = (1_000, 1_000);
        load.total.response_time = Times::of(&times);
        load.total.response_time_less_lateness = Times::of(&times);
        load.slo = verdict::judge(&[limit.parse().unwrap()], &load.total);
        let gate = |name: &GateName| Gate { name: *name, passed: false, figure: "".into() };
        load.validity.gates = gates.iter().map(gate).collect();
        load.validity.valid = gates.is_empty();
        load.answers_even_so()
    };
    let met = "lateness can only make responses slower, so the SLO is met even so";
    assert_eq!(said(&[Late], "p99<=1s").as_deref(), Some(met));
    let met = "lateness and a disturbed machine can only make responses slower, so the SLO is met even so";
    assert_eq!(said(&[Late, Disturbed], "p99<=1s").as_deref(), Some(met));
    assert_eq!(said(&[Late], "p99<=1ms"), None, "what made it late may be why");
    assert_eq!(said(&[Lost, Late], "p99<=1s"), None, "the lost requests may be the slow ones");
    assert_eq!(said(&[], "p99<=1s"), None, "a valid load needs no reason");
}
