//! Results whose folder is moved or removed while they are made.

use super::*;

/// Does something when the second trial begins, and keeps what is told.
struct Meanwhile<F> {
    then: F,
    told: String,
}

impl<F: Fn()> Progress for Meanwhile<F> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins { trial, .. } if trial.number == 2 => (self.then)(),
            Event::Notice(text) | Event::Finished { text } => self.told += &format!("{text}\n"),
            _ => {}
        }
    }
}

#[test]
fn results_are_told_where_they_are_if_their_folder_was_moved_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let (path, moved) = (place.join("run"), place.join("moved"));
    let replace = || {
        fs::rename(&path, &moved).unwrap();
        fs::create_dir(&path).unwrap();
    };
    let mut meanwhile = Meanwhile { then: replace, told: String::new() };
    let ended = run(&read(SWEEP), Some(path.clone()), &host(), &mut meanwhile).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered);
    assert_eq!(ended.directory.path(), moved);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing is in the other folder");
    let told = meanwhile.told.replace(&place.display().to_string(), "…");
    assert!(told.contains("…/run is another folder now; the results are in …/moved\n"), "{told}");
    assert!(told.contains("results  …/moved ("), "{told}");
    assert_eq!(Past::read(&moved).unwrap().answer(), ended.answer);
}

#[test]
fn results_whose_folder_was_removed_meanwhile_are_lost_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let remove = || fs::remove_dir_all(&path).unwrap();
    let mut meanwhile = Meanwhile { then: remove, told: String::new() };
    let lost = run(&read(SWEEP), Some(path.clone()), &host(), &mut meanwhile).unwrap_err();
    assert!(matches!(lost, Error::NoAnswer(_)));
    assert_eq!(
        lost.to_string(),
        format!(
            "{}: this folder was removed, and all that was measured into it is lost; run it again, and leave \
             the folder alone until the run has ended",
            path.display()
        )
    );
}
