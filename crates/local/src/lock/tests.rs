use std::fs;
use std::thread;
use std::time::Duration;

use super::*;

#[test]
fn the_lock_has_one_holder_and_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runtime");
    let lock = Lock::take(&path).unwrap();
    let refused = || Lock::take(&path).unwrap_err().to_string();
    assert!(refused().contains(&format!("(pid {})", std::process::id())), "{}", refused());
    fs::write(path.join(FILE), "4194304").unwrap();
    let of_the_dead = refused();
    assert!(of_the_dead.contains("(another process)"), "{of_the_dead}");
    drop(lock);
    Lock::take(&path).unwrap();
}

/// A process that is being started has the files of its parent open.
#[test]
fn the_lock_is_free_once_it_is_dropped_even_if_a_child_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let lock = Lock::take(folder.path()).unwrap();
    let _of_child = lock._file.try_clone().unwrap();
    drop(lock);
    Lock::take(folder.path()).unwrap();
}

/// A run that is killed while it starts a process leaves a child that has the lock for a moment.
#[test]
fn the_lock_of_a_dead_holder_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runtime");
    let lock = Lock::take(&path).unwrap();
    fs::write(path.join(FILE), "4194304").unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| Lock::take(&path));
        lab::host::rest(Duration::from_millis(50));
        drop(lock);
        waits.join().unwrap().unwrap();
    });
}

#[test]
fn the_lock_is_not_taken_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "kept").unwrap();
    std::os::unix::fs::symlink(&precious, folder.path().join(FILE)).unwrap();
    Lock::take(folder.path()).unwrap_err();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
}
