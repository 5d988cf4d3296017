use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_line_has_the_form_of_the_original() {
    let line = line(Nanos(1_580_838_640_253_452_741), "server", "Running server");
    assert_eq!(line, "[1580838640.253452741]::INFO::server:: Running server");
}

#[test]
fn sizes_and_numbers_are_powers_of_two() {
    let sizes = [128 << 10, 16 << 30, (1 << 30) + (1 << 29), 100].map(size);
    assert_eq!(sizes, ["128 KB", "16 GB", "1.50 GB", "100 B"]);
    assert_eq!([128 << 20, 4096, 100].map(number), ["128 M", "4 K", "100"]);
}

#[test]
fn the_latest_log_is_found_by_a_relative_link() {
    let logs = tempfile::tempdir().unwrap();
    for (number, message) in ["first", "second"].iter().enumerate() {
        // A process makes one log in reality.
        let folder = logs.path().join("server");
        let mut journal = match number {
            0 => Journal::create(logs.path(), "server", "server1.log").unwrap(),
            _ => {
                let old = fs::read_link(folder.join("latest")).unwrap();
                fs::rename(folder.join(&old), folder.join("old")).unwrap();
                Journal::create(logs.path(), "server", "server1.log").unwrap()
            }
        };
        journal.info("server", message);
        let text = fs::read_to_string(folder.join("latest/server1.log")).unwrap();
        assert!(text.ends_with(&format!("]::INFO::server:: {message}\n")), "{text}");
        assert!(fs::read_link(folder.join("latest")).unwrap().is_relative());
    }
}

#[test]
fn what_is_not_a_link_is_not_replaced_and_nothing_is_made_beside_it() {
    for make in [|path: &Path| fs::write(path, "mine"), |path: &Path| fs::create_dir(path)] {
        let logs = tempfile::tempdir().unwrap();
        let folder = logs.path().join("client");
        fs::create_dir(&folder).unwrap();
        make(&folder.join("latest")).unwrap();
        let refused = Journal::create(logs.path(), "client", "ycsb.log").unwrap_err();
        let refused = refused.error.to_string();
        let why = format!("{}/latest is not a link", folder.display());
        assert!(refused.contains(&why) && refused.contains("move it away"), "{refused}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(!fs::symlink_metadata(folder.join("latest")).unwrap().is_symlink());
    }
}

#[test]
fn a_log_without_its_link_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    // As one that was made after the check.
    fs::create_dir_all(folder.path().join("latest/mine")).unwrap();
    Journal::created(folder.path(), "server1.log").unwrap_err();
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_log_is_for_its_owner_and_in_a_folder_that_nobody_else_can_change() {
    let scratch = tempfile::tempdir().unwrap();
    let logs = scratch.path().join("logs");
    let create = || Journal::create(&logs, "server", "server1.log");
    let journal = create().unwrap();
    assert_eq!(fs::metadata(journal.path()).unwrap().permissions().mode() & 0o777, 0o600);
    for place in [logs.join("server"), logs.clone()] {
        fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = create().unwrap_err().error.to_string();
        let why = format!("{} cannot be used: others may change it", place.display());
        assert!(refused.contains(&why), "{refused}");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::remove_dir_all(&logs).unwrap();
    fs::write(&logs, "").unwrap();
    let refused = create().unwrap_err().error.to_string();
    assert!(refused.contains("cannot be used: it is not a folder"), "{refused}");
}
