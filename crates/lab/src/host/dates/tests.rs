use super::*;

#[test]
fn dates_are_civil() {
    assert_eq!(date(0), "1970-01-01-0000");
    assert_eq!(date(951_782_399), "2000-02-28-2359");
    assert_eq!(date(951_868_800), "2000-03-01-0000");
    assert_eq!(date(1_795_254_120), "2026-11-21-0942");
}
