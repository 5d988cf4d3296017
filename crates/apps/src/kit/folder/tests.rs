use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::*;

const PREFIX: &str = "benchwright-test-";

fn leftover(parent: &Path, end: &str) -> PathBuf {
    let path = parent.join(format!("{PREFIX}{end}"));
    fs::create_dir(&path).unwrap();
    fs::write(path.join("data"), "x").unwrap();
    path
}

#[test]
fn only_the_folders_of_dead_instances_of_ours_are_removed() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path();
    let living = temporary(parent, PREFIX).unwrap();
    let dead = leftover(parent, "00000000000000af");
    // A link to somebody's data, and what only looks like ours.
    let precious = parent.join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("data"), "x").unwrap();
    symlink(&precious, parent.join(format!("{PREFIX}00000000000000b0"))).unwrap();
    let others = ["4711", "of-a-friend-1234", "00000000000000af0"].map(|end| leftover(parent, end));

    let next = temporary(parent, PREFIX).unwrap();
    assert!(!dead.exists() && living.path().is_dir() && precious.join("data").exists());
    assert!(others.iter().all(|path| path.join("data").exists()));
    assert_ne!(living.path(), next.path());

    // Only root can give something to another user.
    if fs::metadata(parent).unwrap().uid() == 0 {
        let foreign = leftover(parent, "00000000000000b1");
        std::os::unix::fs::chown(&foreign, Some(65_534), None).unwrap();
        drop(temporary(parent, PREFIX).unwrap());
        assert!(foreign.join("data").exists());
    }
    let path = living.path().to_owned();
    drop(living);
    assert!(!path.exists());
}

#[test]
fn a_folder_that_is_removed_before_it_is_locked_is_not_used() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("x");
    fs::create_dir(&path).unwrap();
    let held = lock(&path).unwrap();
    assert!(is_taken(&lock(&path).unwrap_err()), "another one has it");
    fs::remove_dir(&path).unwrap();
    drop(held);
    assert!(is_taken(&lock(&path).unwrap_err()));
}

#[test]
fn a_place_of_others_is_refused_for_temporary_folders_with_the_remedy() {
    let parent = tempfile::tempdir().unwrap();
    let refused = |mode: u32| {
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(mode)).unwrap();
        temporary(parent.path(), "x-").map(drop).map_err(|error| error.to_string())
    };
    assert!(refused(0o777).unwrap_err().ends_with(
        "it is not sticky; set TMPDIR to a folder of your own, or name one with --data"
    ));
    refused(0o1777).unwrap();
    refused(0o700).unwrap();
    // Only root can give it away.
    if chown(parent.path(), Some(65_534), None).is_ok() {
        assert!(refused(0o700).unwrap_err().contains(" belongs to user 65534; set TMPDIR"));
    }
}
