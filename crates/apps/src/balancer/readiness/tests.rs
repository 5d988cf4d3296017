use super::*;

/// Returns the readiness after each of these results: `+` succeeded, `-` failed.
fn after(results: &str, failures: u32, successes: u32) -> String {
    let number = |number| NonZeroU32::new(number).unwrap();
    let thresholds = Thresholds { failures: number(failures), successes: number(successes) };
    let mut readiness = Readiness::default();
    let mut changes = 0;
    let after = results.chars().map(|result| {
        let before = readiness.is_ready();
        let changed = readiness.probed(result == '+', thresholds);
        assert_eq!(changed, before != readiness.is_ready());
        changes += u32::from(changed);
        if readiness.is_ready() { 'R' } else { '.' }
    });
    after.collect()
}

#[test]
fn a_replica_is_ready_after_enough_successes_in_a_row() {
    assert_eq!(after("--+", 3, 1), "..R");
    assert_eq!(after("+-++-+++", 3, 3), ".......R");
}

#[test]
fn a_replica_stays_ready_until_enough_failures_in_a_row() {
    assert_eq!(after("+--+--+---+", 3, 1), "RRRRRRRRR.R");
    assert_eq!(after("+-+", 1, 1), "R.R");
    assert_eq!(after("+---++", 3, 2), ".....R");
}
