use std::io::Write;
use std::process::Command;

use super::*;

const MOUNTS: &[u8] = b"22 1 0:20 / / rw - ext4 /dev/a rw\n\
    30 22 0:25 /victim /tmp/benchwright-run-1/m rw - ext4 /dev/a rw\n\
    31 22 0:26 / /tmp/with\\040blank/x\\134y rw shared:1 - tmpfs tmpfs rw\n\
    short\n";

#[test]
fn a_mount_at_a_folder_or_below_it_is_found() {
    let found = |folder: &str| mounted_in(MOUNTS, Path::new(folder));
    let bound = Some(PathBuf::from("/tmp/benchwright-run-1/m"));
    assert_eq!(found("/tmp/benchwright-run-1"), bound);
    assert_eq!(found("/tmp/benchwright-run-1/m"), bound);
    assert_eq!(found("/tmp/benchwright-run-1/m/inner"), None);
    // The beginning of a name is another folder.
    assert_eq!(found("/tmp/benchwright-run-"), None);
    assert_eq!(found("/tmp/with blank"), Some(PathBuf::from("/tmp/with blank/x\\y")));
}

#[test]
fn a_folder_is_removed_with_the_links_in_it_and_not_what_they_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    let (removed, kept) = (folder.path().join("removed"), folder.path().join("kept"));
    fs::create_dir_all(removed.join("inner")).unwrap();
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("file"), "x").unwrap();
    std::os::unix::fs::symlink(&kept, removed.join("link")).unwrap();
    remove_folder(&removed).unwrap();
    assert!(!removed.exists() && kept.join("file").exists());
    assert_eq!(remove_folder(&removed).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// The variable that tells the test below that it is in a mount namespace of its own.
const INSIDE: &str = "BENCHWRIGHT_TEST_MOUNTS";

/// A mount needs the rights of root and shows in a namespace: the test starts itself in one, where there can be one.
#[test]
fn files_behind_a_mount_are_never_removed() {
    let test = "removal::tests::files_behind_a_mount_are_never_removed";
    if std::env::var_os(INSIDE).is_none() {
        let can = Command::new("unshare").args(["--mount", "true"]).output();
        if !can.is_ok_and(|can| can.status.success()) {
            return skip(test, "root, for `unshare --mount`");
        }
        let mut again = Command::new("unshare");
        again.arg("--mount").arg(std::env::current_exe().unwrap());
        let ran = again.args(["--exact", test]).env(INSIDE, "1").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (run, victim) = (folder.path().join("run"), folder.path().join("victim"));
    let mount = run.join("m");
    fs::create_dir_all(&mount).unwrap();
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "x").unwrap();
    fs::write(run.join("own"), "x").unwrap();
    let mounted = Command::new("mount").arg("--bind").args([&victim, &mount]).status().unwrap();
    assert!(mounted.success());
    // By the way of a link, too, and at the mount itself.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    for removed in [&run, &link.join("run"), &mount] {
        let why = remove_folder(removed).unwrap_err().to_string();
        assert!(why.contains("run/m is a mount point: unmount it"), "{why}");
        assert!(victim.join("file").exists() && run.join("own").exists());
    }
    assert!(Command::new("umount").arg(&mount).status().unwrap().success());
    remove_folder(&run).unwrap();
    assert!(victim.join("file").exists() && !run.exists());
}

fn skip(test: &str, needs: &str) {
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = fs::OpenOptions::new().append(true).open(file).unwrap();
        writeln!(file, "skipped: {test}: needs {needs}").unwrap();
    }
}
