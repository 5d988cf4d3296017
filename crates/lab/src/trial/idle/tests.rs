use std::path::Path;

use measure::Instant;

use super::*;
use crate::backend::dry_run::DryRun;
use crate::progress::Silent;
use crate::spec;

/// Returns the length of the rest, and its warning.
fn check(cool_down: &str, mut backend: DryRun) -> (Nanos, Option<String>) {
    let text = format!(
        "name: x\nwhere: {{backend: external}}\nsut: {{endpoint: \"http://a:1\"}}\n\
         workload: {{get: /}}\nload: {{model: open, rate: 5/s}}\n\
         phases: {{measure: {{time: 5s}}, cool_down: {cool_down}}}\n"
    );
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    let warning = rest(&read.unwrap(), &mut backend, &mut Silent).unwrap();
    (backend.now() - Instant::default(), warning)
}

/// Half a CPU for three seconds, then a hundredth.
fn three_seconds(now: Instant) -> Nanos {
    let at = (now - Instant::default()).as_secs_f64();
    Nanos::from_secs_f64(0.5 * at.min(3.0) + 0.01 * (at - 3.0).max(0.0))
}

#[test]
fn a_system_that_still_works_is_waited_for() {
    let (rested, warning) = check("{}", DryRun::using(three_seconds));
    assert_eq!((rested, warning), (Nanos::from_millis(3_100), None));
    let idle = DryRun::using(|now| Nanos((now - Instant::default()).0 / 100));
    assert_eq!(check("{}", idle), (OVER, None));
}

#[test]
fn a_system_that_never_ends_is_measured_with_a_warning() {
    let busy = || DryRun::using(|now| Nanos((now - Instant::default()).0 / 4));
    let (rested, warning) = check("{until_idle: {max: 2s}}", busy());
    assert_eq!(rested, Nanos::from_secs(2));
    let warning = warning.unwrap();
    assert!(
        warning.starts_with("the system still used 0.25 CPUs after a rest of 2 s"),
        "{warning}"
    );
    assert_eq!(check("{until_idle: {below: 0.3}}", busy()), (OVER, None));
    assert_eq!(check("{until_idle: {max: 0s}}", busy()), (Nanos::ZERO, None));
}

#[test]
fn a_place_that_cannot_tell_says_so_if_the_spec_asks_for_it() {
    assert_eq!(check("{}", DryRun::default()), (Nanos::ZERO, None));
    let (rested, warning) = check("{until_idle: {max: 2s}}", DryRun::default());
    assert_eq!(rested, Nanos::ZERO);
    assert!(warning.unwrap().contains("phases.cool_down.trials"));
}
