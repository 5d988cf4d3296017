use super::*;

#[test]
fn a_night_is_numbered_from_1970() {
    assert_eq!(day("1970-01-01"), Some(0));
    assert_eq!(day("1969-12-31"), Some(-1));
    assert_eq!(day("2000-03-01"), Some(11_017));
    assert_eq!(day("2015-04-09"), Some(16_534));
    assert_eq!(day("0000-01-01"), Some(-719_528));
    assert_eq!(day("9999-12-31"), Some(2_932_896));
}

#[test]
fn every_day_of_four_centuries_follows_the_one_before() {
    let mut expected = day("1900-01-01").unwrap();
    for year in 1900..2300 {
        for month in 1..=12 {
            for date in 1..=length_of(month, year) {
                assert_eq!(day(&format!("{year:04}-{month:02}-{date:02}")), Some(expected));
                expected += 1;
            }
        }
    }
}

#[test]
fn a_date_outside_the_calendar_is_none() {
    for text in
        ["2015-02-29", "2015-13-01", "2015-00-10", "2015-04-31", "2015-4-9", "", "2015-04-0é"]
    {
        assert_eq!(day(text), None, "{text}");
    }
    assert!(day("2016-02-29").is_some());
    assert!(has_shape_of_date("2015-99-99"));
}

#[test]
fn a_stay_which_ends_before_it_begins_has_no_nights() {
    assert_eq!(nights("2015-04-09", "2015-04-12").unwrap().len(), 3);
    assert_eq!(nights("2015-04-09", "2015-04-09").unwrap().len(), 0);
    assert_eq!(nights("2015-04-12", "2015-04-09").unwrap().len(), 0);
}
