use super::*;

#[test]
fn a_run_is_known_by_its_process_and_its_start() {
    let run = RunId::new();
    assert!(run.is_alive());
    assert_eq!(RunId::parse(&format!("benchwright-{run}"), "benchwright-"), Some(run.clone()));
    assert!(!RunId { start: run.start + 1, ..run }.is_alive());
    for name in ["benchwright-", "benchwright-run-1-2", "benchwright-1", "benchwright-1-2-3-4"] {
        assert_eq!(RunId::parse(name, "benchwright-"), None, "{name}");
    }
}

#[test]
fn dates_are_civil() {
    assert_eq!(date(0), "1970-01-01-0000");
    assert_eq!(date(951_782_399), "2000-02-28-2359");
    assert_eq!(date(951_868_800), "2000-03-01-0000");
    assert_eq!(date(1_795_254_120), "2026-11-21-0942");
}

#[test]
fn the_lock_is_one_and_says_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let lock = Lock::take(folder.path()).unwrap();
    let error = Lock::take(folder.path()).unwrap_err().to_string();
    assert!(error.contains(&format!("(pid {})", std::process::id())), "{error}");
    drop(lock);
    Lock::take(folder.path()).unwrap();
}
