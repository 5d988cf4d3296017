use super::*;

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
        "3 of 19 trials valid; slowed, but usable: 5; not valid: 6, 7, 8, 9, 10, 11, 12, 13, 14, \
         15, 16, 17 and 2 more; aborted: 20"
    );
}

#[test]
fn a_capacity_names_the_loads_beside_it_that_missed() {
    let capacity = |missed_at_per_s, missed_below_per_s| Capacity {
        rate_per_s: 5_000.0,
        completed_per_s: 5_000.0,
        trial: 1,
        slo: "p99 ≤ 100 ms".to_owned(),
        missed_at_per_s,
        missed_below_per_s,
    };
    assert_eq!(capacity(None, None).missed_in_words(), "");
    assert_eq!(
        capacity(Some(6_516.0), Some(3_000.0)).missed_in_words(),
        "; missed at 6,516/s; in doubt: 3,000/s below it missed too"
    );
}
