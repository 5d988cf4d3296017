use super::*;
use crate::cpus::allowed_here;

/// Ends in any case: within ten seconds even a busy machine lets a thread run.
#[test]
fn all_work_is_timed_on_a_cpu_and_the_cost_is_known() {
    let cpu = allowed_here().0[0];
    let gauging = Gauging::begin(&Cpus(vec![cpu]));
    host::rest(Duration::from_millis(500));
    let gauged = gauging.end();
    let [gauged] = gauged.as_slice() else { panic!("one CPU, but {gauged:?}") };
    assert_eq!(gauged.cpu, cpu);
    assert!(!gauged.rounds.is_empty());
    for (index, work) in Work::ALL.into_iter().enumerate() {
        let times = || gauged.rounds.iter().map(|round| round.took[index]);
        assert!(times().all(|time| time.is_some_and(|time| Nanos::ZERO < time)), "{work:?}");
    }
    assert!(Nanos::ZERO < gauged.used && gauged.used < gauged.lasted);
    // The bound is ten times the usual share: in a build without optimization all work takes longer.
    let share = gauged.used.as_secs_f64() / gauged.lasted.as_secs_f64();
    assert!(share < 0.02, "{:.2} % of a CPU", 100.0 * share);
}

#[test]
fn a_cpu_that_is_not_there_is_left_out() {
    let gauging = Gauging::begin(&Cpus(vec![1_000_000]));
    assert_eq!(gauging.end(), Vec::new());
}
