use std::fs;

use super::*;

#[test]
fn nobody_else_can_prepare_the_folder_if_there_is_such_a_place() {
    let system = tempfile::tempdir().unwrap();
    let user = geteuid().as_raw();
    let of_another = chosen(None, user + 1, system.path());
    assert_eq!(of_another, std::env::temp_dir().join(format!("{NAME}-{}", user + 1)));
    let of_user = system.path().join(format!("user/{user}"));
    fs::create_dir_all(&of_user).unwrap();
    let expected = if user == 0 { system.path() } else { &of_user };
    assert_eq!(chosen(None, user, system.path()), expected.join(NAME));
    assert_eq!(chosen(Some("".into()), user, system.path()), expected.join(NAME));
    assert_eq!(chosen(Some("/own".into()), user, system.path()), Path::new("/own"));
}

#[test]
fn a_folder_that_somebody_else_could_use_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared");
    fs::write(&path, "").unwrap();
    let error = make(&path).unwrap_err().to_string();
    assert!(error.contains("cannot be used: it is not a folder; remove it, or set"), "{error}");
}
