use std::os::unix::fs::PermissionsExt;

use super::*;

/// Returns why a file or folder is refused.
fn refused(path: &Path) -> String {
    let of_file = open(path, OpenOptions::new().read(true)).map(drop);
    let of_folder = make_folder(path);
    assert!(of_file.is_err() && of_folder.is_err(), "{}", path.display());
    if path.is_dir() {
        of_folder.unwrap_err().to_string()
    } else {
        of_file.unwrap_err().to_string()
    }
}

#[test]
fn only_regular_files_of_ours_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("good"), "text").unwrap();
    let file = open(&path("good"), OpenOptions::new().read(true)).unwrap();
    assert_eq!(read(&file).unwrap(), "text");

    // Opening a FIFO would wait for a writer.
    assert!(std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    assert_eq!(refused(&path("fifo")), "not a regular file");
    std::os::unix::fs::symlink(path("good"), path("link")).unwrap();
    assert_eq!(refused(&path("link")), "a link, not a regular file");
    fs::write(path("shared"), "text").unwrap();
    fs::set_permissions(path("shared"), fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(refused(&path("shared")), "others may change it");
    let long = File::create(path("long")).unwrap();
    long.set_len(MOST + 1).unwrap();
    read(&File::open(path("long")).unwrap()).unwrap_err();
}

#[test]
fn only_folders_of_ours_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    make_folder(&path("new")).unwrap();
    assert_eq!(fs::metadata(path("new")).unwrap().permissions().mode() & 0o777, 0o700);
    make_folder(&path("new")).unwrap();
    fs::set_permissions(path("new"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(refused(&path("new")), "others may change it");
    // Only root can give something to another user.
    if geteuid().is_root() {
        fs::set_permissions(path("new"), fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::chown(path("new"), Some(65_534), None).unwrap();
        assert_eq!(refused(&path("new")), "it belongs to user 65534, not to 0");
    }
}

#[test]
fn a_place_is_ours_or_roots_and_so_is_the_link_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Everybody may write to this device, which is not sticky either.
    assert_eq!(check_place(Path::new("/dev/null")).unwrap_err().to_string(), "it is not a folder");
    let refused = |name: &str| check_place(&path(name)).unwrap_err().to_string();
    fs::create_dir(path("own")).unwrap();
    std::os::unix::fs::symlink(path("own"), path("link")).unwrap();
    check_place(&path("own")).unwrap();
    check_place(&path("link")).unwrap();
    fs::set_permissions(path("own"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(refused("link"), "others may change it, and it is not sticky");
    fs::set_permissions(path("own"), fs::Permissions::from_mode(0o1777)).unwrap();
    check_place(&path("link")).unwrap();
    // Only root can give something to another user.
    if geteuid().is_root() {
        std::os::unix::fs::lchown(path("link"), Some(65_534), None).unwrap();
        assert_eq!(refused("link"), "it belongs to user 65534");
        check_place(&path("own")).unwrap();
        std::os::unix::fs::chown(path("own"), Some(65_534), None).unwrap();
        assert_eq!(refused("own"), "it belongs to user 65534");
    }
}

#[test]
fn a_group_may_write_if_it_is_the_users_own_or_roots() {
    let alice = (1000, 1000);
    for (mode, owner_and_group, expected) in [
        (0o755, (1000, 50), false),
        // With a umask of 002, and a group for each user.
        (0o775, alice, false),
        (0o664, alice, false),
        (0o775, (0, 0), false),
        (0o775, (1000, 0), false),
        // A folder that a team shares, and `/usr/local` on Debian.
        (0o775, (1000, 50), true),
        (0o775, (0, 50), true),
        (0o775, (0, 1000), true),
        (0o777, alice, true),
        (0o757, (0, 0), true),
    ] {
        let found = is_open(mode, owner_and_group, alice);
        assert_eq!(found, expected, "{mode:o} {owner_and_group:?}");
    }
    // The group of this number is not the one of this user.
    assert!(is_open(0o775, alice, (1000, 100)));

    // Only root can give something to any group.
    if geteuid().is_root() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("of-a-team");
        make_folder(&path).unwrap();
        std::os::unix::fs::chown(&path, None, Some(50)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(refused(&path), "others may change it");
        let why = check_place(&path).unwrap_err().to_string();
        assert_eq!(why, "others may change it, and it is not sticky");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1770)).unwrap();
        check_place(&path).unwrap();
    }
}

#[test]
fn a_process_of_ours_has_our_real_user() {
    assert!(is_our_process(std::process::id() as i32));
    assert!(!is_our_process(0) && !is_our_process(i32::MAX));
}
