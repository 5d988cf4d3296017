use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use super::*;

const NONE: Durability = Durability::None;
const CHECKPOINT: Durability = Durability::Checkpoint;

fn refusal(path: &Path, durability: Durability) -> String {
    Folder::claim(path, durability).unwrap_err().error.to_string()
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_has_one_server_and_without_durability_no_log_after_it() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("deep/storage");
    let folder = Folder::claim(&path, NONE).unwrap().expect("a folder");
    let refused = refusal(&path, NONE);
    assert!(refused.contains("another server uses the folder"), "{refused}");
    fs::write(path.join("log-00000001"), "records").unwrap();
    drop(folder);
    assert_eq!(names(&path), [LOCK]);
    assert!(Folder::claim(&path, NONE).is_ok());
}

#[test]
fn the_folder_of_a_server_that_was_killed_is_free() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    // A killed server leaves the file of its lock, but not the lock.
    fs::write(path.join(LOCK), "").unwrap();
    fs::write(path.join("log-00000000"), "records").unwrap();
    let folder = Folder::claim(path, CHECKPOINT).unwrap().expect("a folder");
    assert_eq!(names(path), ["log-00000000", LOCK]);
    drop(folder);
    let _folder = Folder::claim(path, NONE).unwrap().expect("a folder");
    assert_eq!(names(path), [LOCK]);
}

#[test]
fn checkpoints_and_files_of_others_are_never_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    fs::create_dir(path.join(LOST_AND_FOUND)).unwrap();
    fs::write(path.join("checkpoint-00000003"), "manifest").unwrap();
    fs::write(path.join("log-00000000"), "records").unwrap();
    let refused = refusal(path, NONE);
    assert!(refused.contains("use --durability checkpoint"), "{refused}");
    drop(Folder::claim(path, CHECKPOINT).unwrap());
    fs::write(path.join("notes"), "of the user").unwrap();
    for durability in [NONE, CHECKPOINT] {
        assert!(!refusal(path, durability).is_empty());
    }
    let refused = refusal(path, CHECKPOINT);
    assert!(refused.contains("other files, such as `notes`"), "{refused}");
    assert_eq!(names(path), ["checkpoint-00000003", "log-00000000", LOST_AND_FOUND, "notes", LOCK]);
}

#[test]
fn a_name_of_a_store_that_is_not_a_file_is_refused() {
    for name in [LOCK, "log-00000000", "checkpoint-00000001"] {
        let scratch = tempfile::tempdir().unwrap();
        let outside = scratch.path().join("outside");
        let path = scratch.path().join("storage");
        fs::create_dir(&path).unwrap();
        symlink(&outside, path.join(name)).unwrap();
        let refused = refusal(&path, CHECKPOINT);
        assert!(refused.contains(name) && refused.contains("choose an empty folder"), "{refused}");
        fs::remove_file(path.join(name)).unwrap();
        // A FIFO would wait for its other end.
        assert!(Command::new("mkfifo").arg(path.join(name)).status().unwrap().success());
        assert!(refusal(&path, CHECKPOINT).contains(name));
        assert!(!outside.exists());
    }
}

#[test]
fn a_store_in_memory_has_no_folder() {
    assert!(Folder::claim(Path::new("none"), NONE).unwrap().is_none());
    assert!(!Path::new("none").exists());
}

#[test]
fn a_file_is_not_a_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("file");
    fs::write(&path, "").unwrap();
    let refused = refusal(&path, NONE);
    assert!(refused.contains("it is not a folder\n  choose an empty folder"), "{refused}");
}

#[test]
fn a_folder_that_others_can_change_is_refused_and_the_lock_is_for_its_owner() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("storage");
    drop(Folder::claim(&path, CHECKPOINT).unwrap());
    let lock = fs::metadata(path.join(LOCK)).unwrap();
    assert_eq!(lock.permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = refusal(&path, CHECKPOINT);
    assert!(refused.contains("others may change it, and it is not sticky"), "{refused}");
    assert!(refused.contains("choose a folder that nobody else can change"), "{refused}");
}

#[test]
fn a_file_system_that_cannot_be_written_has_a_remedy_of_its_own() {
    let told = |error: i32| {
        let (why, remedy) = unusable(&io::Error::from_raw_os_error(error));
        format!("{why}: {remedy}\n")
    };
    let [not_permitted, not_a_folder, full, read_only] = [13, 20, 28, 30];
    let told = [read_only, not_permitted, not_a_folder, full].map(told).concat();
    expect_test::expect![[r#"
        its file system is read-only: choose a folder of another file system
        you may not write there: choose a folder that you may write to
        it is not a folder: choose an empty folder
        No space left on device: make room
    "#]]
    .assert_eq(&told);
}
