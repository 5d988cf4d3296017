use std::convert::Infallible;
use std::sync::Arc;

use measure::Quantile;

use super::*;
use crate::export;
use crate::properties::{Place, Properties};
use crate::settings::Phase;
use crate::stream::Shared;
use crate::workload::{Part, Workload};

/// Time that passes only while somebody sleeps.
struct Virtual(Instant);

impl Clock for Virtual {
    fn now(&mut self) -> Instant {
        self.0
    }

    fn sleep_until(&mut self, until: Instant) {
        self.0 = self.0.max(until);
    }
}

/// Each operation takes as long as the function says for its number.
struct Scripted<F>(u64, F);

impl<F: FnMut(u64) -> Nanos> Binding for Scripted<F> {
    type Error = Infallible;

    fn begin(&mut self, _: &mut Stream, _: Name, _: &Operation) -> Result<Nanos, Infallible> {
        self.0 += 1;
        Ok((self.1)(self.0 - 1))
    }

    fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn prepared(phase: Phase, text: &str) -> (Stream, Settings) {
    let mut properties = Properties::default();
    properties.set("workload", "site.ycsb.workloads.CoreWorkload", Place::Default);
    properties.read("w", text.as_bytes()).unwrap();
    let workload =
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths are in a file"));
    let workload = Arc::new(workload.unwrap());
    let settings = Settings::new(&properties, phase, &workload).unwrap();
    let stream = match phase {
        Phase::Load => Stream::load(&workload, Part::WHOLE, 1),
        Phase::Run => Stream::run(&workload, Part::WHOLE, 1, &Arc::new(Shared::new(&workload))),
    };
    (stream, settings)
}

fn run(phase: Phase, text: &str, takes: impl FnMut(u64) -> Nanos) -> (Ran, Settings) {
    let (mut stream, settings) = prepared(phase, text);
    let mut binding = Scripted(0, takes);
    let stop = AtomicBool::new(false);
    let clock = &mut Virtual(Instant(1_000_000));
    let Ok(ran) = drive(&mut stream, &settings, &mut binding, clock, &stop, &mut |_| ());
    (ran, settings)
}

fn printed(ran: &Ran, settings: &Settings) -> String {
    let lines = export::lines(ran.run_time, &ran.measurements, &settings.output);
    settings.output.exporter.text(&lines)
}

#[test]
fn a_stall_is_in_the_intended_times_of_all_operations_that_it_delays() {
    // 10 s at 1000/s, one at a time, of which the 2000th takes a second.
    let text =
        "recordcount=1000\noperationcount=10000\ntarget=1000\nreadproportion=1\nupdateproportion=0";
    let takes = |number| if number == 2000 { Nanos::SECOND } else { Nanos::from_micros(100) };
    let (ran, settings) = run(Phase::Run, text, takes);
    let (_, read) = ran.measurements.names().next().unwrap();
    let p99 = |times: &crate::measurements::Times| times.histogram.quantile(Quantile::P99).unwrap();
    assert!(
        Nanos::from_millis(900) <= p99(&read.ok.response),
        "{}",
        p99(&read.ok.response).written()
    );
    assert!(p99(&read.ok.service) < Nanos::from_millis(1), "{}", p99(&read.ok.service).written());
    let printed = printed(&ran, &settings);
    assert!(printed.contains("[READ], 99thPercentileLatency(us), 100\n"), "{printed}");
    assert!(printed.contains("[Intended-READ], Operations, 10000\n"), "{printed}");
}

#[test]
fn a_closed_loop_has_as_many_operations_outstanding_as_threads() {
    let text = "recordcount=1000\nthreadcount=10";
    let (ran, settings) = run(Phase::Load, text, |_| Nanos::from_millis(5));
    expect_test::expect![[r#"
        [OVERALL], RunTime(ms), 500
        [OVERALL], Throughput(ops/sec), 2000.0
        [INSERT], Operations, 1000
        [INSERT], AverageLatency(us), 5000.0
        [INSERT], MinLatency(us), 5000
        [INSERT], MaxLatency(us), 5000
        [INSERT], 50thPercentileLatency(us), 5000
        [INSERT], 95thPercentileLatency(us), 5000
        [INSERT], 99thPercentileLatency(us), 5000
        [INSERT], Return=OK, 1000
        [CLEANUP], Operations, 10
        [CLEANUP], AverageLatency(us), 0.0
        [CLEANUP], MinLatency(us), 0
        [CLEANUP], MaxLatency(us), 0
        [CLEANUP], 50thPercentileLatency(us), 0
        [CLEANUP], 95thPercentileLatency(us), 0
        [CLEANUP], 99thPercentileLatency(us), 0
    "#]]
    .assert_eq(&printed(&ran, &settings));
}

#[test]
fn a_read_modify_write_is_measured_in_its_parts_and_as_a_whole() {
    let text = "recordcount=10\noperationcount=4\nreadproportion=0\nupdateproportion=0\nreadmodifywriteproportion=1\n\
                dataintegrity=true\nhdrhistogram.percentiles=50";
    let (ran, settings) = run(Phase::Run, text, |number| Nanos::from_millis(2 + number % 2));
    expect_test::expect![[r#"
        [OVERALL], RunTime(ms), 20
        [OVERALL], Throughput(ops/sec), 200.0
        [READ], Operations, 4
        [READ], AverageLatency(us), 2000.0
        [READ], MinLatency(us), 2000
        [READ], MaxLatency(us), 2000
        [READ], 50thPercentileLatency(us), 2000
        [READ], Return=OK, 4
        [UPDATE], Operations, 4
        [UPDATE], AverageLatency(us), 3000.0
        [UPDATE], MinLatency(us), 3000
        [UPDATE], MaxLatency(us), 3000
        [UPDATE], 50thPercentileLatency(us), 3000
        [UPDATE], Return=OK, 4
        [READ-MODIFY-WRITE], Operations, 4
        [READ-MODIFY-WRITE], AverageLatency(us), 5000.0
        [READ-MODIFY-WRITE], MinLatency(us), 5000
        [READ-MODIFY-WRITE], MaxLatency(us), 5000
        [READ-MODIFY-WRITE], 50thPercentileLatency(us), 5000
        [VERIFY], Operations, 4
        [VERIFY], AverageLatency(us), 0.0
        [VERIFY], MinLatency(us), 0
        [VERIFY], MaxLatency(us), 0
        [VERIFY], 50thPercentileLatency(us), 0
        [VERIFY], Return=ERROR, 4
        [CLEANUP], Operations, 1
        [CLEANUP], AverageLatency(us), 0.0
        [CLEANUP], MinLatency(us), 0
        [CLEANUP], MaxLatency(us), 0
        [CLEANUP], 50thPercentileLatency(us), 0
    "#]]
    .assert_eq(&printed(&ran, &settings));
}

#[test]
fn the_time_limit_and_an_interruption_end_a_run_after_what_is_outstanding() {
    let text = "recordcount=10\nmaxexecutiontime=2\nthreadcount=2\nstatus=true\nstatus.interval=1";
    let (mut stream, settings) = prepared(Phase::Run, text);
    let stop = AtomicBool::new(false);
    let mut binding = Scripted(0, |_| Nanos::from_millis(300));
    let mut told = Vec::new();
    let clock = &mut Virtual(Instant(0));
    let mut tell =
        |state: State| told.push((state.elapsed.0 / 1_000_000, state.measurements.operations));
    let Ok(ran) = drive(&mut stream, &settings, &mut binding, clock, &stop, &mut tell);
    assert_eq!((ran.run_time, ran.measurements.operations), (Nanos::from_millis(2100), 14));
    assert!(!ran.is_interrupted);
    assert_eq!(told, [(1000, 6), (2000, 12), (2100, 14)]);

    let (mut stream, settings) = prepared(Phase::Run, text);
    let takes = |number| {
        if number == 3 {
            stop.store(true, Ordering::Relaxed);
        }
        Nanos::from_millis(300)
    };
    let clock = &mut Virtual(Instant(0));
    let Ok(ran) = drive(&mut stream, &settings, &mut Scripted(0, takes), clock, &stop, &mut |_| ());
    assert!(ran.is_interrupted);
    assert_eq!((ran.run_time, ran.measurements.operations), (Nanos::from_millis(600), 4));
}

/// Time that passes only while somebody sleeps, each time for a millisecond too long.
struct Sleepy(Instant);

impl Clock for Sleepy {
    fn now(&mut self) -> Instant {
        self.0
    }

    fn sleep_until(&mut self, until: Instant) {
        self.0 = self.0.max(until) + Nanos::from_millis(1);
    }
}

#[test]
fn what_a_target_asked_for_and_time_ended_is_counted() {
    let text = |rest: &str| format!("recordcount=10\nmaxexecutiontime=2\n{rest}");
    let waited = |ran: &Ran| (ran.measurements.operations, ran.unfinished, ran.late);
    let ten = |_| Nanos::from_millis(10);
    let (ran, _) = run(Phase::Run, &text("target=1000"), ten);
    assert_eq!(waited(&ran), (200, 1800, Nanos::from_millis(1800)));
    let (ran, _) = run(Phase::Run, &text("target=1000\noperationcount=500"), ten);
    assert_eq!(waited(&ran), (200, 300, Nanos::from_millis(1800)));
    for rest in [
        "target=100",
        "threadcount=3",
        "target=1000\nthreadcount=10",
        "target=300\noperationcount=20",
    ] {
        let (ran, _) = run(Phase::Run, &text(rest), ten);
        assert_eq!((ran.unfinished, ran.late), (0, Nanos::ZERO), "{rest}");
    }
    // An operation that is due just before the end is begun, though the loop is late.
    let (mut stream, settings) = prepared(Phase::Run, &text("target=1001\nthreadcount=10"));
    let (stop, clock) = (AtomicBool::new(false), &mut Sleepy(Instant(0)));
    let mut binding = Scripted(0, |_| Nanos::from_micros(100));
    let Ok(ran) = drive(&mut stream, &settings, &mut binding, clock, &stop, &mut |_| ());
    assert_eq!(waited(&ran), (2002, 0, Nanos::ZERO));
}
