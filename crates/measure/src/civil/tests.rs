use super::*;

#[test]
fn dates_follow_the_calendar() {
    let written = |unix_s| Civil::of(unix_s).to_string();
    assert_eq!(written(0), "1970-01-01 00:00");
    assert_eq!(written(951_782_399), "2000-02-28 23:59");
    assert_eq!(written(951_782_400), "2000-02-29 00:00");
    assert_eq!(written(951_868_800), "2000-03-01 00:00");
    assert_eq!(written(1_709_208_000), "2024-02-29 12:00");
    assert_eq!(written(1_795_254_120), "2026-11-21 09:42");
}

#[test]
fn a_date_and_its_days_are_the_same() {
    for day in (0..200_000).step_by(13) {
        let date = Civil::of(day * 86_400 + 59);
        assert_eq!(days(date.year, date.month, date.day), day as i64, "{date}");
        assert_eq!(date.second, 59);
    }
    assert_eq!(days(1969, 12, 31), -1);
}
