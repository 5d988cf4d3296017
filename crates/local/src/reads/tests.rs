use super::*;

#[test]
fn reads_are_counted_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    match per_second(folder.path()) {
        Ok(rate) => assert!(0.0 < rate, "{rate}"),
        // The folder may be in memory.
        Err(why) => assert!(why.contains("direct reads"), "{why}"),
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_is_not_there_has_no_rate() {
    let folder = tempfile::tempdir().unwrap();
    let why = per_second(&folder.path().join("absent")).unwrap_err();
    assert!(why.contains("No such file"), "{why}");
}
