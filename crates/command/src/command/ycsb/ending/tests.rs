use ycsb::drive::Ran;
use ycsb::measurements::{Ended, Measurements};
use ycsb::properties::Properties;
use ycsb::workload::{Part, Workload};

use super::*;

/// A phase of 1,000 records or operations whose inserts, or reads, ended so.
fn ended(phase: Phase, text: &str, ok: u64, failed: u64) -> (Settings, Done) {
    let mut properties = Properties::default();
    let all = format!(
        "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=1000\noperationcount=1000\n{text}"
    );
    properties.read("w", all.as_bytes()).unwrap();
    let workload =
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths are in a file"));
    let settings = Settings::new(&properties, phase, &workload.unwrap()).unwrap();
    let mut measurements = Measurements::new(settings.terms.clone());
    let name = if phase == Phase::Load { Name::Insert } else { Name::Read };
    let (service, response, end) = (Nanos(1), Nanos(1), Nanos(1));
    for (status, count) in [(Status::Ok, ok), (Status::ServiceUnavailable, failed)] {
        for _ in 0..count {
            measurements.record(&Ended { name, status, end, service, response });
            measurements.operations += 1;
        }
    }
    let (run_time, is_interrupted) = (Nanos::SECOND, false);
    let ran = Ran { run_time, measurements, is_interrupted, unfinished: 0, late: Nanos::ZERO };
    (settings, Done::from(ran))
}

/// Everything that is said, and the exit code.
fn said((settings, done): &(Settings, Done)) -> String {
    let places = ["a:1", "b:2"].map(str::to_owned);
    let ending = Ending { settings, done, places: &places };
    format!("{}\n{:?}\n", ending.messages().join("\n"), ending.exit())
}

#[test]
fn a_target_that_is_missed_ends_a_run_without_an_answer() {
    let late = |mut ended: (Settings, Done)| {
        (ended.1.ran.unfinished, ended.1.ran.late) = (70, Nanos::from_millis(900));
        ended
    };
    let of = |text: &str, failed| said(&late(ended(Phase::Run, text, 900, failed)));
    expect_test::expect![[r#"
        warning: 70 operations were due and had not ended with the run, which was 900 ms late: the target is too high; use a lower one, or more threads
        NoAnswer
    "#]]
    .assert_eq(&of("target=100", 0));
    assert!(of("target=100", 1).ends_with("threads\nNo\n"), "failures count first");
    expect_test::expect![[r#"
        warning: 70 operations had not ended with the run; they are not counted
        No
    "#]]
    .assert_eq(&of("", 0));
    // A server that hangs explains it.
    let mut hung = late(ended(Phase::Run, "target=100", 900, 0));
    hung.1.failed_servers = vec![0];
    expect_test::expect![[r#"
        warning: operations had no answer from the server a:1
        warning: 70 operations had not ended with the run; they are not counted
        No
    "#]]
    .assert_eq(&said(&hung));
    assert_eq!(said(&ended(Phase::Run, "target=100", 1000, 0)), "\nAnswered\n");
}

#[test]
fn a_load_that_ends_early_says_what_is_missing_and_blames_no_target() {
    let mut dead = ended(Phase::Load, "target=100", 250, 2);
    (dead.1.ran.unfinished, dead.1.ran.late) = (1, Nanos::from_millis(5));
    (dead.1.failed_servers, dead.1.why) = (vec![1], Some("connection refused"));
    expect_test::expect![[r#"
        warning: operations had no answer from the server b:2; the first failure that has a reason: connection refused
        error: 750 of 1,000 records were not inserted: the load ends at an insert that fails
          mend the cause, and load again; core_workload_insertion_retry_limit repeats inserts that fail
        No
    "#]]
    .assert_eq(&said(&dead));
    let goes_on = "core_workload_insertion_keep_going_on_error=true";
    expect_test::expect![[r#"
        error: 3 of 1,000 records were not inserted
          mend the cause, and load again
        No
    "#]]
    .assert_eq(&said(&ended(Phase::Load, goes_on, 997, 3)));
    expect_test::expect![[r#"
        error: 3 of 1,000 records were not inserted: maxexecutiontime was over
          set a longer one, and load again
        Answered
    "#]]
    .assert_eq(&said(&ended(Phase::Load, "maxexecutiontime=1", 997, 0)));
    // An attempt that was repeated is not a failure of its insert.
    let mut repeated = ended(Phase::Load, "", 1000, 2);
    repeated.1.retried = 2;
    assert_eq!(said(&repeated), "\nAnswered\n");
    let mut interrupted = ended(Phase::Load, "", 10, 0);
    interrupted.1.ran.is_interrupted = true;
    assert_eq!(said(&interrupted), "\nInterrupted\n");
}

#[test]
fn a_run_that_was_given_up_names_its_servers() {
    let mut given_up = ended(Phase::Run, "target=100", 250, 8);
    given_up.1.is_given_up = true;
    (given_up.1.failed_servers, given_up.1.why) = (vec![0, 1], Some("no answer in time"));
    (given_up.1.ran.unfinished, given_up.1.ran.late) = (90, Nanos::SECOND);
    expect_test::expect![[r#"
        warning: operations had no answer from the servers a:1, b:2; the first failure that has a reason: no answer in time
        error: the run ended early: the servers a:1, b:2 gave no answer for 10 s, and the result is that of the time until then
          look there, and run again
        NoAnswer
    "#]]
    .assert_eq(&said(&given_up));
}
