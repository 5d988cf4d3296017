//! Two processes at one results directory, as two containers on one volume are: only its journal tells them of each
//! other.

use super::*;

/// Goes on with the same results at each measurement, as another process would.
struct Twice {
    directory: PathBuf,
    refused: Vec<String>,
}

impl Progress for Twice {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Measuring { .. } = event {
            let begun = resume(&self.directory, &host(), &mut Silent);
            self.refused.push(begun.map(drop).unwrap_err().to_string());
        }
    }
}

#[test]
fn the_second_of_two_resumes_is_refused_and_every_line_of_the_journal_stays_readable() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let resolved = read(SWEEP);
    run(&resolved, Some(whole.clone()), &host(), &mut Silent).unwrap();
    let interrupted = host();
    let interrupt = Some((interrupted.clone(), 4));
    let mut transcript = Transcript { text: String::new(), interrupt };
    run(&resolved, Some(broken.clone()), &interrupted, &mut transcript).unwrap();

    let mut twice = Twice { directory: broken.clone(), refused: Vec::new() };
    resume(&broken, &host(), &mut twice).unwrap();
    assert!(2 < twice.refused.len(), "{:?}", twice.refused);
    for why in &twice.refused {
        assert!(why.contains("another run is writing to these results"), "{why}");
    }
    assert_eq!(contents(&broken), contents(&whole));
    let journal = fs::read_to_string(broken.join("journal.jsonl")).unwrap();
    let trial = |line: &str| serde_json::from_str::<Entry>(line).unwrap().trial;
    let trials: Vec<u32> = journal.lines().map(trial).collect();
    assert!(trials.is_sorted_by(|a, b| a < b), "{trials:?}");
}
