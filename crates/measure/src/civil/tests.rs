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
#[test]
fn points_in_time_are_read_with_their_zones() {
    assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0.0));
    assert_eq!(seconds("2026-11-24T10:12:00.25+01:00"), Some(1_795_511_520.25));
    assert_eq!(seconds("2024-02-29 23:59:59-00:30"), Some(1_709_252_999.0));
    let wrong = [
        "",
        "2026-11-24T10:12:00",
        "2026-13-24T10:12:00Z",
        "2026-11-24T10:12:00.5",
        "è026-11-24T10:12:00Z",
    ];
    assert!(wrong.iter().all(|text| seconds(text).is_none()));
}

#[test]
fn the_times_of_access_logs_are_read_with_their_zones() {
    assert_eq!(of_log("10/Oct/2000:13:55:36 -0700"), Some(971_211_336));
    assert_eq!(of_log("01/Jan/1970:01:00:00 +0100"), Some(0));
    let wrong = [
        "",
        "10/Oct/2000:13:55:36",
        "10/Okt/2000:13:55:36 +0000",
        "10/Oct/2000:13:55 +0000",
        "99/Oct/2000:13:55:36 +0000",
        "10/Oct/2000:13:55:36 +9999",
        "è",
    ];
    assert!(wrong.iter().all(|text| of_log(text).is_none()));
}
