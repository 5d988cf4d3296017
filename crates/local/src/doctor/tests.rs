use super::*;

#[test]
fn this_machine_is_judged_before_and_after_a_load_and_has_one_fingerprint() {
    let host = Host::new(std::env::current_exe().unwrap(), "0");
    let programs = programs(None, &host).unwrap();
    let wanted = Demands::default();
    let mut machine = Machine::new(Path::new("/"));
    let spin = Nanos::from_millis(20);
    let before = machine.before(&wanted, programs.clone(), spin, &host).unwrap();
    assert_eq!(before.checks.len(), 32);
    let spins = before.checks.iter().find(|check| check.id == "local.spin").unwrap();
    assert!(spins.value.contains("longest gap"), "{}", spins.sentence());
    let binary = &before.fingerprint.values["binary benchwright"];
    assert_eq!(binary.len(), 12);
    let after = machine.after(&wanted, programs, &host).unwrap();
    assert_eq!(results::doctor::differences(&before.fingerprint, &after.fingerprint), [""; 0]);
}

#[test]
fn a_program_is_digested_again_only_after_it_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    fs::write(&path, "one").unwrap();
    let files = BTreeMap::from([("program".to_owned(), path.clone())]);
    let mut programs = Programs::default();
    let host = Host::new(path.clone(), "0");
    let first = programs.digests(files.clone(), &host).unwrap();
    // Known from here on, whatever would be read.
    programs.digests.insert("program".to_owned(), "kept".to_owned());
    assert_eq!(programs.digests(files.clone(), &host).unwrap()["program"], "kept");
    fs::write(&path, "three").unwrap();
    let changed = programs.digests(files, &host).unwrap();
    assert!(changed["program"] != "kept" && changed != first);
}
