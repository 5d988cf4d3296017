use super::*;

#[test]
fn dates_name_folders_and_are_shown_to_people() {
    assert_eq!(date(1_795_254_120), "2026-11-21-0942");
    assert_eq!(dated(1_795_254_120), "2026-11-21 09:42");
}
