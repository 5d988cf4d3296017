//! A search that ends between bounds that are near enough says that only their confirmation is missing.

use super::*;

/// Searches a system that meets the SLO up to 500/s, whose machine is disturbed after so many trials; returns the
/// reason of the end.
fn ended(budget: &str, disturbed_after: usize) -> String {
    let resolved = queue(&format!(
        "slo: [{{metric: p99, max: 20ms}}]
search: {{range: [400/s, 600/s], precision: 10%, confirm: 2}}
budget: {{{budget}}}"
    ));
    let mut journal: Vec<Entry> = Vec::new();
    loop {
        let attempt = match decide(&resolved, &journal) {
            Decision::Run(attempt) => attempt,
            Decision::End(ending) => return ending.reason(),
        };
        let is_disturbed = disturbed_after <= journal.len();
        let status = if is_disturbed { Status::Invalid } else { Status::Valid };
        let asked = attempt.asked.unwrap().as_per_second();
        let mut entry = entry(&attempt, status, asked);
        entry.observed.as_mut().unwrap().slo_met = Some(asked <= 500.0);
        let trial = journal.len() as u32 + 1;
        journal.push(Entry { trial, why: attempt.why, ..entry });
    }
}

#[test]
fn bounds_that_are_near_enough_are_said_with_the_trials_that_are_missing_and_the_reason() {
    let reasons = [
        ended("trials: 4", 99),
        ended("trials: 5", 99),
        ended("trials: 7", 99),
        ended("time: 75s", 99),
        ended("invalid_attempts: 1", 7),
        ended("trials: 8", 99),
    ];
    expect![[r#"
        the 4 trials of budget.trials were not enough
        the capacity lies between 490/s and 515/s, within the precision asked; what is missing is 1 confirming trial at 490/s and 2 confirming trials at 515/s: the 5 trials of budget.trials were not enough
        the capacity lies between 490/s and 515/s, within the precision asked; what is missing is 1 confirming trial at 515/s: the 7 trials of budget.trials were not enough
        the capacity lies between 490/s and 515/s, within the precision asked; what is missing is 1 confirming trial at 515/s: the 75.0 s of budget.time were not enough (trials that count took 70.0 s, and the next one needs 10.0 s; each counts as planned, with its whole drain)
        the capacity lies between 490/s and 515/s, within the precision asked; what is missing is 1 confirming trial at 515/s: a trial was not valid 2 times: disturbed
        the capacity lies between 490/s and 515/s, 5.1 % apart"#]]
    .assert_eq(&reasons.join("\n"));
}
