use super::*;

#[test]
fn a_run_is_known_by_its_process_and_its_start() {
    let run = RunId::next();
    assert!(run.is_alive());
    assert_eq!(RunId::parse(&format!("benchwright-{run}"), "benchwright-"), Some(run.clone()));
    assert!(!RunId { start: run.start + 1, ..run }.is_alive());
    for name in ["benchwright-", "benchwright-run-1-2", "benchwright-1", "benchwright-1-2-3-4"] {
        assert_eq!(RunId::parse(name, "benchwright-"), None, "{name}");
    }
}
