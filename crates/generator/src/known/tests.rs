use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use results::self_test::{Maximum, Punctuality, SCHEMA, Stall};

use super::*;

fn found(valid: bool) -> SelfTest {
    SelfTest {
        schema: SCHEMA.into(),
        version: "benchwright 1".into(),
        machine: "a machine".into(),
        seed: 1,
        passed: true,
        cpus: None,
        attempts: Vec::new(),
        stall: Stall {
            stall_ns: 0,
            measured_ns: 0,
            rate_per_s: 0.0,
            connections: 0,
            valid: true,
            agrees: true,
            open_response_p99_ns: 0,
            open_service_p99_ns: 0,
            closed_response_p99_ns: 0,
        },
        maximum: Maximum { completed_per_s: 70_000.0, connections: 64, busy_share: 1.0, valid },
        punctuality: Punctuality {
            rate_per_s: 0.0,
            valid: true,
            lateness_p50_ns: 0,
            lateness_p99_ns: 0,
            hiccup_p99_ns: 0,
            clock_ns: 17.0,
        },
    }
}

#[test]
fn a_maximum_holds_for_its_version_on_its_machine() {
    let text = output::json(&found(true));
    let maximum = |version, machine| maximum_of(&text, version, machine);
    assert_eq!(maximum("benchwright 1", "a machine"), Rate::per_second(70_000.0));
    assert_eq!(maximum("benchwright 2", "a machine"), None);
    assert_eq!(maximum("benchwright 1", "another"), None);
    assert_eq!(maximum_of(&output::json(&found(false)), "benchwright 1", "a machine"), None);
    assert_eq!(maximum_of("{", "benchwright 1", "a machine"), None);
}

#[test]
fn it_is_kept_where_caches_are() {
    let path = |cache: &str, home: &str| path_in(Some(cache.into()), Some(home.into()));
    let expected = |path: &str| Some(PathBuf::from(path));
    assert_eq!(path("/c", "/h"), expected("/c/benchwright/self-test.json"));
    assert_eq!(path("relative", "/h"), expected("/h/.cache/benchwright/self-test.json"));
    assert_eq!(path_in(None, None), None);
}

#[test]
fn only_a_file_that_nobody_else_can_have_made_is_believed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".cache/benchwright/self-test.json");
    save(&path, &found(true)).unwrap();
    let saved = read(&path).unwrap();
    assert!(maximum_of(&saved, "benchwright 1", "a machine").is_some());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = regular::folder_of(&path);
    assert_eq!((mode(folder), mode(&path)), (0o700, 0o600));

    let refused = || read(&path).unwrap_err().to_string();
    let allow = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    allow(&path, 0o666).unwrap();
    assert_eq!(refused(), "others may change it");
    fs::remove_file(&path).unwrap();
    symlink("/dev/zero", &path).unwrap();
    assert_eq!(refused(), "a link, not a regular file");
    fs::remove_file(&path).unwrap();
    // Opening it would wait for a writer.
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(refused(), "not a regular file");
    // What is in its place is replaced, and what a link leads to stays.
    fs::remove_file(&path).unwrap();
    fs::write(home.path().join("precious"), "kept").unwrap();
    symlink(home.path().join("precious"), &path).unwrap();
    save(&path, &found(true)).unwrap();
    assert_eq!(read(&path).unwrap(), saved);
    assert_eq!(fs::read(home.path().join("precious")).unwrap(), b"kept");

    for (place, why) in [
        (folder, "others may change it"),
        (regular::folder_of(folder), "others may change it, and it is not sticky"),
    ] {
        let before = mode(place);
        allow(place, 0o777).unwrap();
        assert_eq!(refused(), why);
        let unsaved = format!("{:#}", save(&path, &found(true)).unwrap_err());
        assert_eq!(unsaved, format!("{}: {why}", place.display()));
        allow(place, before).unwrap();
    }
}
