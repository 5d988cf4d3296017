use super::*;

#[test]
fn a_run_without_trials_says_so_and_not_which_numbers_it_has() {
    let Failure { exit, error } = check(1, 0, "the system did not become ready").unwrap_err();
    assert_eq!(exit, Exit::Question);
    assert_eq!(
        error.to_string(),
        "trial 1 does not exist: the run has no trials (the system did not become ready); leave the number \
         out to explain the run"
    );
    assert!(check(1, 3, "").is_ok());
}
