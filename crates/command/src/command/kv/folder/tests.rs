use super::*;

#[test]
fn a_folder_has_one_server_and_is_empty_after_it() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("deep/storage");
    let folder = Folder::claim(&path).unwrap().expect("a folder");
    let refusal = Folder::claim(&path).unwrap_err().error.to_string();
    assert!(refusal.contains("the folder is not empty") && refusal.contains("rm -r "), "{refusal}");
    fs::write(path.join("log-00000001"), "records").unwrap();
    fs::write(path.join("notes"), "of the user").unwrap();
    drop(folder);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    fs::remove_file(path.join("notes")).unwrap();
    assert!(Folder::claim(&path).is_ok());
}

#[test]
fn a_store_in_memory_has_no_folder() {
    assert!(Folder::claim(Path::new("none")).unwrap().is_none());
    assert!(!Path::new("none").exists());
}

#[test]
fn a_file_is_not_a_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("file");
    fs::write(&path, "").unwrap();
    assert!(Folder::claim(&path).unwrap_err().error.to_string().contains("choose an empty folder"));
}
