//! Runs that are refused: they change nothing, and leave nothing.

use super::*;

#[test]
fn a_resume_that_is_refused_changes_nothing_of_a_finished_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    run(&read(SWEEP), Some(path.clone()), &host(), &mut Silent).unwrap();
    let manifest = || fs::read_to_string(path.join("manifest.json")).unwrap();
    let before = manifest();
    assert!(before.contains("finished"), "{before}");
    let settings = |set: &str| {
        let ended =
            crate::experiment::resume(&path, &[set.to_owned()], &host(), &for_tests, &mut Silent);
        format!("{:?}", ended.unwrap_err())
    };
    let why = settings("nonsense");
    assert!(why.contains("path=value") && !why.contains("measure the same"), "{why}");
    assert!(settings("slo=[{metric: p99, max: 9ms}]").contains("would not measure the same"));
    let journal = path.join("journal.jsonl");
    let lines = fs::read_to_string(&journal).unwrap();
    let second = lines.lines().nth(1).unwrap();
    fs::write(&journal, lines.replace(second, "{broken")).unwrap();
    resume(&path, &host(), &mut Silent).unwrap_err();
    assert_eq!(manifest(), before);
    assert!(path.join("answer.json").exists());
}

#[test]
fn what_begins_with_a_run_is_not_done_for_one_that_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut begun = 0;
    let mut begin = || {
        begun += 1;
        anyhow::ensure!(begun == 1, "it is there");
        Ok(())
    };
    let mut begins = |text: &str, name: &str| {
        let (resolved, out) = (read(text), Some(folder.path().join(name)));
        let host = host();
        run_that_begins_with(&mut begin, &resolved, out, &host, &for_tests, &mut Silent).map(drop)
    };
    begins(SWEEP, "a").unwrap();
    begins(SWEEP, "a").unwrap_err();
    begins(SWEEP, "b").unwrap_err();
    assert_eq!(begun, 2, "the place of the second was taken before");
    assert!(!folder.path().join("b").exists());
}

#[test]
fn a_budget_that_is_too_short_for_a_trial_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let with = |time: &str| {
        let resolved = read(&format!("{SWEEP}budget: {{time: {time}}}\n"));
        let ended = run(&resolved, Some(path.clone()), &host(), &mut Silent);
        ended.map(drop)
    };
    let why = with("1s").unwrap_err();
    let Error::Question(why) = why else { panic!("{why:?}") };
    let enough = why.to_string();
    let enough =
        enough.strip_prefix("budget.time is 1s, which is too short for one trial; allow at least ");
    assert!(!path.exists(), "{why}");
    with(enough.unwrap_or_else(|| panic!("{why}"))).unwrap();
}
