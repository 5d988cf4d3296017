use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

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
    assert!(error.contains("it is not a folder; set BENCHWRIGHT_RUNTIME to"), "{error}");
    assert_eq!(problem(&path).as_ref(), Some(&error));
    assert_eq!(problem(&folder.path().join("new")), None);
    let error = make(&folder.path().join("missing/inner")).unwrap_err().to_string();
    assert!(error.contains("missing cannot be used"), "{error}");
    // A link is no folder of ours, also if nothing is at its end.
    let link = folder.path().join("link");
    symlink(folder.path().join("nowhere"), &link).unwrap();
    let error = make(&link).unwrap_err().to_string();
    assert!(error.contains("link cannot be used") && error.contains("not a folder"), "{error}");
    assert_eq!(problem(&link).as_ref(), Some(&error));

    // Others could put another folder in its place.
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let error = make(&open.join("runtime")).unwrap_err().to_string();
    assert!(error.contains("others may change it, and it is not sticky"), "{error}");
    assert_eq!(problem(&open.join("runtime")).as_ref(), Some(&error));
    fs::set_permissions(&open, PermissionsExt::from_mode(0o1777)).unwrap();
    make(&open.join("runtime")).unwrap();
}
