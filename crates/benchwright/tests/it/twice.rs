//! Two processes at one results directory that share nothing else, as containers with one volume do: neither the lock
//! of the machine nor the folder for temporary files.

use crate::support::{LONG_SEARCH, Scratch, journal, run_while, signal, until};

#[test]
fn the_second_of_two_resumes_is_refused_and_every_line_of_the_journal_stays_readable() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    scratch.file("twice.yaml", LONG_SEARCH);
    let out = scratch.path().join("out");
    let trials = || journal(&out).len();
    let begun =
        run_while(scratch.benchwright().args(["run", "twice.yaml", "--out", "out"]), |pid| {
            until("a trial", || 0 < trials());
            signal(pid, "KILL");
        });
    assert_eq!(begun.code, -1, "{begun:#?}");
    let first = run_while(scratch.benchwright().args(["resume", "out"]), |pid| {
        let before = trials();
        until("another trial", || before < trials());
        for _ in 0..3 {
            let second = run_while(other.benchwright().arg("resume").arg(&out), |_| {});
            assert_eq!(second.code, 2, "{second:#?}");
            let why = "another run is writing to these results; wait for it, or stop it";
            assert!(second.stderr.contains(why), "{second:#?}");
        }
        signal(pid, "TERM");
    });
    assert_eq!(first.code, 130, "{first:#?}");
    let entries = journal(&out);
    let numbers: Vec<u64> = entries.iter().map(|entry| entry["trial"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let read = run_while(scratch.benchwright().args(["report", "out"]), |_| {});
    assert_eq!(read.code, 0, "{read:#?}");
}
