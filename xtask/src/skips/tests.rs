use super::*;

const SKIPS: &str = "\
skipped: the_original_script_runs_unmodified: needs BENCHWRIGHT_PEERS
skipped: the_report_opens_without_a_console_error: needs chromium
";

#[test]
fn in_ci_only_the_peers_may_be_missing() {
    assert_eq!(
        refused(SKIPS, true, false),
        ["skipped: the_report_opens_without_a_console_error: needs chromium"]
    );
}

#[test]
fn in_ci_a_test_may_not_skip_for_peers_that_are_given() {
    assert_eq!(refused(SKIPS, true, true).len(), 2);
}

#[test]
fn elsewhere_skips_are_reported_but_not_refused() {
    assert_eq!(refused(SKIPS, false, true), [""; 0]);
}
