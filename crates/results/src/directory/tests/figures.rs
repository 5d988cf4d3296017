//! Journals that contradict the loads of their trials.

use measure::{Histogram, Nanos};

use super::*;
use crate::journal::{self, Observed, Status};
use crate::load::{Counts, Part, Rates};
use crate::slo::{self, Outcome, Verdict};
use crate::times::Times;
use crate::verdict;

/// A load of a thousand requests.
fn measured() -> Load {
    let mut histogram = Histogram::new();
    histogram.record_n(Nanos::from_millis(1), 900);
    histogram.record_n(Nanos::from_millis(4), 100);
    let all = 1_000;
    let counts = Counts { intended: all, sent: all, completed: all, ok: all, ..Counts::default() };
    let rates_per_s =
        Rates { offered: 200.0, completed: 200.0, goodput: 200.0, ..Rates::default() };
    let response_time = Times::of(&histogram);
    let total = Part { counts, rates_per_s, response_time, ..Part::default() };
    Load { total, saturated: Some(false), ..Load::empty("benchwright") }
}

fn judged(load: &Load) -> Outcome {
    verdict::known(&slo::read("p99<=10ms").unwrap(), load).unwrap()
}

/// The entry of a trial with this load.
fn entry(load: &Load) -> Entry {
    let times = load.total.response_time.as_ref().unwrap();
    let outcome = judged(load);
    let observed = Observed {
        p50_ns: Some(times.p50_ns),
        p99_ns: Some(times.p99_ns),
        max_ns: Some(times.max_ns),
        slo_met: Some(outcome.met),
        ..Observed::example(200.0, 1_000)
    };
    let (status, slo) = (Status::Valid, outcome.objectives);
    Entry { status, slo, observed: Some(observed), ..Entry::aborted(1) }
}

/// Returns what is said of a trial with this load, whose entry was changed in the journal alone.
fn said(load: &Load, change: impl Fn(&mut Entry)) -> String {
    let (_folder, directory) = fresh();
    let files = Files::from([(LOAD.to_owned(), serde_json::to_vec(load).unwrap())]);
    let mut entry = append(&directory, entry(load), &files).unwrap();
    change(&mut entry);
    let line = serde_json::to_string(&entry).unwrap() + "\n";
    fs::write(directory.path().join("journal.jsonl"), line).unwrap();
    let journal = directory.journal().unwrap();
    let said = journal::unread(&journal).concat();
    assert_eq!(journal[0].status == Status::Invalid, !said.is_empty(), "{said}");
    said
}

fn changed(change: impl Fn(&mut Observed)) -> String {
    said(&measured(), |entry| change(entry.observed.as_mut().unwrap()))
}

#[test]
fn a_journal_with_the_figures_of_the_load_is_believed() {
    assert_eq!(changed(|_| {}), "");
    // An older version kept fewer.
    assert_eq!(changed(|observed| (observed.p99_ns, observed.slo_met) = (None, None)), "");
    assert_eq!(said(&measured(), |entry| entry.slo.clear()), "");
    // What its generator has judged counts, whatever this version would judge.
    let mut outcome = judged(&measured());
    outcome.met = false;
    outcome.objectives[0].met = false;
    assert_eq!(said(&Load { slo: Some(outcome), ..measured() }, |_| {}), "");
}

#[test]
fn a_journal_with_another_figure_than_the_load_is_named_and_its_trial_is_not_valid() {
    let p99 = measured().total.response_time.unwrap().p99_ns;
    let halved = changed(|observed| observed.p99_ns = Some(p99 / 2));
    let (half, whole) = (Nanos(p99 / 2), Nanos(p99));
    assert_eq!(halved, format!("trial 1: the journal has p99 {half}, load.json {whole}"));
    let close = changed(|observed| observed.p99_ns = Some(p99 - 1));
    let less = p99 - 1;
    assert_eq!(close, format!("trial 1: the journal has p99 {less} ns, load.json {p99} ns"));
    for (said, expected) in [
        (changed(|observed| observed.failures = 5), "failures 5, load.json 0"),
        (changed(|observed| observed.requests = 10), "requests 10, load.json 1,000"),
        (changed(|of| of.completed_per_s = 400.0), "completed 400/s, load.json 200/s"),
        (changed(|of| of.saturated = true), "the target saturated, load.json not saturated"),
    ] {
        assert_eq!(said, format!("trial 1: the journal has {expected}"));
    }
}

#[test]
fn a_journal_with_another_verdict_than_the_load_is_named_and_its_trial_is_not_valid() {
    let first = |change: fn(&mut slo::Judged)| said(&measured(), |entry| change(&mut entry.slo[0]));
    for (said, expected) in [
        (first(|of| of.met = false), "p99 ≤ 10 ms missed, load.json met"),
        (first(|of| of.verdict = Verdict::Fail), "p99 ≤ 10 ms: fail, load.json pass"),
        (first(|of| of.over = 7), "requests over p99 ≤ 10 ms: 7, load.json 0"),
        (changed(|of| of.slo_met = Some(false)), "the SLO missed, load.json met"),
    ] {
        assert_eq!(said, format!("trial 1: the journal has {expected}"));
    }
}

#[test]
fn a_trial_with_figures_whose_journal_names_no_load_is_not_valid() {
    let named = "trial 1: the journal does not name its load.json";
    assert_eq!(said(&measured(), |entry| entry.files.clear()), named);
    let (_folder, directory) = fresh();
    let aborted = Entry { status: Status::Aborted, ..entry(&measured()) };
    append(&directory, aborted, &Files::new()).unwrap();
    append(&directory, Entry { trial: 2, ..entry(&measured()) }, &Files::new()).unwrap();
    let said = journal::unread(&directory.journal().unwrap());
    assert_eq!(said, ["trial 2: the journal does not name its load.json"]);
}

#[test]
fn figures_of_a_load_that_cannot_be_read_are_not_believed() {
    let (_folder, directory) = fresh();
    let files = Files::from([(LOAD.to_owned(), b"hello".to_vec())]);
    append(&directory, entry(&measured()), &files).unwrap();
    let said = journal::unread(&directory.journal().unwrap()).concat();
    assert!(said.starts_with("trial 1: load.json cannot be read: expected value"), "{said}");
}
