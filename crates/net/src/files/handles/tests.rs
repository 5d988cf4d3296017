use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use tempfile::TempDir;

use super::*;

fn open() -> (Handles, FolderId, TempDir) {
    let mut handles = Handles::default();
    let path = tempfile::tempdir().unwrap();
    let folder = handles.folder(path.path()).unwrap();
    (handles, folder, path)
}

#[test]
fn a_new_file_is_for_its_owner_alone() {
    let (mut handles, folder, path) = open();
    handles.open(folder, "a", Open::New).unwrap();
    let mode = fs::metadata(path.path().join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_is_not_a_regular_file_is_neither_opened_nor_listed() {
    let (mut handles, folder, path) = open();
    let path = path.path();
    fs::write(path.join("file"), "12345").unwrap();
    symlink(path.join("file"), path.join("link")).unwrap();
    symlink(path.join("nothing"), path.join("dangling")).unwrap();
    fs::create_dir(path.join("folder")).unwrap();
    let _socket = UnixListener::bind(path.join("socket")).unwrap();
    let listed = handles.list(folder).unwrap();
    assert_eq!(listed, [Listed { name: "file".to_owned(), length: 5 }]);
    for name in ["link", "dangling", "folder", "socket"] {
        handles.open(folder, name, Open::Existing).unwrap_err();
        handles.open(folder, name, Open::New).unwrap_err();
    }
    assert!(!path.join("nothing").exists());
    handles.open(folder, "file", Open::Existing).unwrap();
}

#[test]
fn a_folder_is_an_existing_one() {
    let (mut handles, _, path) = open();
    let missing = handles.folder(&path.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    fs::write(path.path().join("file"), "").unwrap();
    let file = handles.folder(&path.path().join("file")).unwrap_err();
    assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
}

#[test]
fn only_the_first_sync_of_a_file_syncs_its_name() {
    let (mut handles, folder, _path) = open();
    let file = handles.open(folder, "a", Open::New).unwrap();
    let syncs = |handles: &Handles| {
        let mut running = handles.operation(file, Operation::Sync, 1);
        let mut calls = 0;
        loop {
            calls += 1;
            let (handle, call) = running.call();
            let result = handle.perform(call);
            if let Some(result) = running.advance(result) {
                running.end(result).result.unwrap();
                return calls;
            }
        }
    };
    assert_eq!([syncs(&handles), syncs(&handles)], [2, 1]);
    // The process that made a file may have died before it synced the name.
    let again = handles.open(folder, "a", Open::Existing).unwrap();
    assert!(
        !handles.files[again.0 as usize].as_ref().unwrap().name_is_durable.load(Ordering::Relaxed)
    );
}
