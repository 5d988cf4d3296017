use super::*;
use crate::journal::{Observed, Status};

fn entry(trial: u32, status: Status, work_ns: &[(&str, f64)]) -> Entry {
    let work_ns = work_ns.iter().map(|(work, ns)| ((*work).to_owned(), *ns)).collect();
    let observed = Observed { work_ns, ..Observed::nothing() };
    Entry { status, observed: Some(observed), ..Entry::aborted(trial) }
}

#[test]
fn a_trial_whose_work_took_a_quarter_longer_than_usual_ran_at_four_fifths() {
    let valid = |trial, sweep, integers| {
        entry(trial, Status::Valid, &[("sweep", sweep), ("integers", integers)])
    };
    let entries = [valid(1, 100.0, 10.0), valid(2, 125.0, 12.5), valid(3, 90.0, 9.0)];
    let usual = Usual::of(&entries);
    let speeds: Vec<f64> = entries.iter().filter_map(|entry| usual.speed_in(entry)).collect();
    for (speed, expected) in speeds.iter().zip([1.0, 0.8, 1.0 / 0.9]) {
        assert!((speed - expected).abs() < 1e-12, "{speed}");
    }
    // Only one of the pieces of work became slower: the geometric mean.
    let mixed = usual.speed([("sweep", 200.0), ("integers", 10.0)]).unwrap();
    assert!((mixed - 0.5f64.sqrt()).abs() < 1e-12, "{mixed}");
}

#[test]
fn trials_that_are_no_evidence_do_not_decide_what_is_usual() {
    let at = |trial, status, ns| entry(trial, status, &[("sweep", ns)]);
    let probe = Entry { purpose: Purpose::Probe, ..at(3, Status::Valid, 1.0) };
    let entries = [at(1, Status::Valid, 100.0), at(2, Status::Invalid, 400.0), probe];
    let usual = Usual::of(&entries);
    assert_eq!(usual.speed_in(&entries[1]), Some(0.25));
}

#[test]
fn a_speed_that_was_not_measured_is_not_known() {
    let entries = [entry(1, Status::Valid, &[]), entry(2, Status::Valid, &[("sweep", 100.0)])];
    let usual = Usual::of(&entries);
    assert_eq!(usual.speed_in(&entries[0]), None);
    assert_eq!(usual.speed([("integers", 10.0)]), None, "it was never timed before");
    assert_eq!(Usual::of(&entries[..1]).speed_in(&entries[1]), None, "nothing is usual yet");
}

#[test]
fn a_run_that_is_going_on_has_a_usual_speed_from_its_fifth_trial_on() {
    let timed = |trial| entry(trial, Status::Valid, &[("sweep", 100.0)]);
    let mut entries: Vec<Entry> = (1..=4).map(timed).collect();
    entries.push(entry(5, Status::Valid, &[]));
    assert_eq!(Usual::so_far(entries.iter()), None);
    entries.push(timed(6));
    assert_eq!(Usual::so_far(entries.iter()), Some(Usual::of(&entries)));
}
