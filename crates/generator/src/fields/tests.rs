use std::fs;

use super::*;

#[test]
fn the_fields_of_a_file_follow_those_of_the_options_and_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fields");
    fs::write(&file, "Authorization: Bearer abc\n\nX-Team: 7\n").unwrap();
    let read = of_options(&["Accept: */*".to_owned()], Some(&file)).unwrap();
    let read: Vec<(&str, &str, bool)> =
        read.iter().map(|field| (&*field.name, &*field.value, field.is_of_file)).collect();
    assert_eq!(
        read,
        [("Accept", "*/*", false), ("Authorization", "Bearer abc", true), ("X-Team", "7", true)]
    );
}

#[test]
fn a_field_without_a_colon_is_refused_without_its_value() {
    let wrong = of_options(&["Bearer abcdef".to_owned()], None).unwrap_err();
    let message = format!("{wrong:#}");
    assert!(message.contains("write `Name: value`"), "{message}");
    assert!(!message.contains("abcdef"), "{message}");
}
