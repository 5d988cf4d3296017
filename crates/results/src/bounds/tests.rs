use super::*;

#[test]
fn a_number_that_no_load_counts_is_refused() {
    let why = |text: &str| check(text.as_bytes());
    assert_eq!(
        why(r#"{"counts": {"sent": 9007199254740992}, "seed": 18446744073709551615}"#),
        Ok(())
    );
    assert_eq!(why(r#"{"clock": {"start_ns": 18446744073709551615}}"#), Ok(()));
    assert_eq!(
        why(r#"{"targets": [{"counts": {"sent": 9007199254740993}}]}"#),
        Err("9007199254740993 is not a valid number of a load".to_owned())
    );
}
