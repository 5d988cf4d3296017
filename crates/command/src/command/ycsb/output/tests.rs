use measure::Nanos;
use ycsb::drive::Ran;
use ycsb::measurements::{Ended, Measurements, Name, Terms};
use ycsb::properties::Place;
use ycsb::workload::{Part, Workload};

use super::*;

/// A run of two reads, of which one failed, and its settings.
fn ran(text: &str) -> (Done, Settings, Properties) {
    let mut properties = Properties::default();
    let all = format!(
        "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=9\noperationcount=2\n{text}"
    );
    properties.read("w", all.as_bytes()).unwrap();
    let workload =
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths are in a file"));
    let settings = Settings::new(&properties, Phase::Run, &workload.unwrap()).unwrap();
    let terms: Terms = settings.terms.clone();
    let mut measurements = Measurements::new(terms);
    for (status, micros) in [(Status::Ok, 1000), (Status::Error, 5000)] {
        let (service, response) = (Nanos::from_micros(micros), Nanos::from_micros(2 * micros));
        measurements.record(&Ended { name: Name::Read, status, end: response, service, response });
        measurements.operations += 1;
    }
    let (run_time, is_interrupted) = (Nanos::from_millis(10), false);
    let ran = Ran { run_time, measurements, is_interrupted, unfinished: 0, late: Nanos::ZERO };
    (Done::from(ran), settings, properties)
}

#[test]
fn a_document_has_both_times_the_failures_and_the_properties() {
    let (mut done, settings, mut properties) = ran("");
    properties.set("table", "t", Place::Default);
    (done.ran.unfinished, done.ran.late) = (3, Nanos(70));
    (done.why, done.failed_servers, done.is_given_up) = (Some("why not"), vec![1], true);
    let resolved = properties.resolved(&[]);
    let few: Vec<_> = resolved.into_iter().filter(|(name, _)| name.starts_with('t')).collect();
    let places = ["a:1", "b:2"].map(str::to_owned);
    let ending = Ending { settings: &settings, done: &done, places: &places };
    let document = document(&ending, "kv", &few);
    expect_test::expect![[r#"
        {
          "schema": "benchwright.ycsb/1",
          "phase": "run",
          "binding": "kv",
          "run_time_ns": 10000000,
          "operations": 2,
          "operations_per_s": 200.0,
          "interrupted": false,
          "given_up": true,
          "overloaded": false,
          "unfinished": 3,
          "late_ns": 70,
          "why": "why not",
          "failed_servers": [
            "b:2"
          ],
          "lost": 0,
          "times": {
            "READ": {
              "ok": {
                "service": {
                  "count": 1,
                  "mean_ns": 1000000,
                  "min_ns": 1000000,
                  "p50_ns": 1000000,
                  "p90_ns": 1000000,
                  "p95_ns": 1000000,
                  "p99_ns": 1000000,
                  "p999_ns": 1000000,
                  "max_ns": 1000000
                },
                "response": {
                  "count": 1,
                  "mean_ns": 2000000,
                  "min_ns": 2000000,
                  "p50_ns": 2000000,
                  "p90_ns": 2000000,
                  "p95_ns": 2000000,
                  "p99_ns": 2000000,
                  "p999_ns": 2000000,
                  "max_ns": 2000000
                }
              },
              "failed": {
                "FAILED": {
                  "service": {
                    "count": 1,
                    "mean_ns": 5000000,
                    "min_ns": 5000000,
                    "p50_ns": 5000000,
                    "p90_ns": 5000000,
                    "p95_ns": 5000000,
                    "p99_ns": 5000000,
                    "p999_ns": 5000000,
                    "max_ns": 5000000
                  },
                  "response": {
                    "count": 1,
                    "mean_ns": 10000000,
                    "min_ns": 10000000,
                    "p50_ns": 10000000,
                    "p90_ns": 10000000,
                    "p95_ns": 10000000,
                    "p99_ns": 10000000,
                    "p999_ns": 10000000,
                    "max_ns": 10000000
                  }
                }
              },
              "statuses": {
                "OK": 1,
                "ERROR": 1
              }
            }
          },
          "properties": {
            "table": "t",
            "target": "0",
            "threadcount": "1",
            "timeseries.granularity": "1000"
          }
        }
    "#]]
    .assert_eq(&printed::json(&document));
    let load = Settings { phase: Phase::Load, ..settings.clone() };
    let ending = Ending { settings: &load, ..ending };
    assert_eq!(
        super::document(&ending, "kv", &few)["uninserted"],
        2,
        "of two nothing was inserted"
    );
}

#[test]
fn a_result_is_in_the_files_that_the_properties_name() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let text = format!(
        "exportfile={place}/result\nhdrhistogram.fileoutput=true\nhdrhistogram.output.path={place}/h-\n\
         measurementtype=hdrhistogram+raw\nmeasurement.raw.output_file={place}/raw"
    );
    let (done, settings, _) = ran(&text);
    let ending = Ending { settings: &settings, done: &done, places: &[] };
    Output::new(&settings, &[]).unwrap().write(&ending, 1000, None).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(
        read("result")
            .starts_with("[OVERALL], RunTime(ms), 10\n[OVERALL], Throughput(ops/sec), 200.0\n")
    );
    assert_eq!(
        read("raw"),
        "RawREAD latency raw data: op, timestamp(ms), latency(us)\nRawREAD,1002,1000\n\
         RawREAD-FAILED latency raw data: op, timestamp(ms), latency(us)\nRawREAD-FAILED,1010,5000\n"
    );
    let log = read("h-HdrREAD.hdr");
    let histogram = log.lines().last().and_then(|line| times::decode(line.rsplit(',').next()?));
    let histogram = histogram.unwrap();
    assert_eq!((histogram.count(), histogram.min()), (1, Some(Nanos(1000))));
    assert!(folder.path().join("h-HdrREAD-FAILED.hdr").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_run() {
    for property in [
        "exportfile=/no/such/folder/x",
        "hdrhistogram.fileoutput=true\nhdrhistogram.output.path=/no/such/",
    ] {
        let (_, settings, _) = ran(property);
        let refused = Output::new(&settings, &[]).map(|_| ()).unwrap_err();
        assert!(refused.error.to_string().contains("correct the property"), "{:#}", refused.error);
    }
}

#[test]
fn no_output_replaces_a_file_of_properties_or_another_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("workload"), "x").unwrap();
    std::fs::write(path("h-READ.hdr"), "x").unwrap();
    let inputs = ["workload", "h-READ.hdr"].map(|name| Named::read("-P", path(name)));
    for (property, clash) in [
        (format!("exportfile={}", path("workload")), true),
        (format!("measurementtype=raw\nmeasurement.raw.output_file={}", path("workload")), true),
        (format!("hdrhistogram.fileoutput=true\nhdrhistogram.output.path={}", path("h-")), true),
        (format!("exportfile={}", path("other")), false),
    ] {
        let (_, settings, _) = ran(&property);
        let made = Output::new(&settings, &inputs).map(drop);
        assert_eq!(made.is_err(), clash, "{property}");
        assert_eq!(std::fs::read_to_string(path("workload")).unwrap(), "x");
    }
}
